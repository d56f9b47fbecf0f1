// What a thread records: read whenever a tensor is made. autograd/grad_mode.h says what the modes
// mean.
#pragma once

#include "runtime.h"

namespace ember {

struct GradMode {
  bool enabled = true;
  bool only_made = false;  // of the inputs, only results of recorded ops count
  bool inference = false;  // new tensors have no version and never enter the tape
};
EMBER_FAST_TLS inline thread_local GradMode grad_mode;

}  // namespace ember
