// What a kernel finds wrong in its data (a position out of bounds) and cannot raise: it skips the
// element and writes into a cell of its stream, which the host reads whenever it waits for that
// stream. EMBER_OPENCL_BLOCKING=1 waits after every launch, so that errors come at the op.
#pragma once

#include "check.h"
#include "opencl/device.h"

namespace ember::opencl {

// The number that stands in cells for an op, the kind of its error, and what is wrong (literals).
uint32_t fault_place(const char* op, Kind kind, const char* what);
// The cell, for a kernel that is about to be launched.
Handle fault_cell(Stream& stream);
// Enqueues a read of the cell, unless nothing can be in it: false.
bool read_fault(Stream& stream);
// Raises what was read, after waiting for it.
void raise_fault(Stream& stream);
bool waits_always();

}  // namespace ember::opencl
