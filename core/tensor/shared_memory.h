// Storages in memory that processes share: anonymous files (memfd) mapped into each of them. They
// have no names and nobody manages them; the kernel frees one when its last process lets go of it,
// in whatever way that process ended.
#pragma once

#include "tensor/storage.h"

namespace ember {

// Memory of a new anonymous file, zeros. With `warm` its pages are made now, all at once, which is
// several times cheaper than one by one as they are touched.
Ref<Storage> new_shared_storage(int64_t bytes, bool warm = false);

// The memory of a file that another process made; takes over the descriptor.
Ref<Storage> map_shared_storage(int descriptor, int64_t bytes, bool warm = false);

// Moves a storage of host memory to shared memory. Large blocks keep their address. What others
// have pointers to (`Storage::pins`) stays allocated as long as the storage.
void share_storage(Storage& storage);

// The descriptor to send to another process. It remains the storage's own; `*temporary` says that
// it has to be closed by the caller instead.
int shared_descriptor(Storage& storage, bool* temporary);

// Whether its memory may still be seen by another process that was told of it, or forked, since it
// was mapped here; otherwise whoever has the last reference may write new content into it.
bool was_passed_on(const Storage& storage);

}  // namespace ember
