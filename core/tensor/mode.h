// What a thread records: read whenever a tensor is made. autograd/grad_mode.h says what the modes mean.
#pragma once

namespace ember {

struct GradMode {
  bool enabled = true;
  bool inference = false;  // new tensors have no version and never enter the tape
};
inline thread_local GradMode grad_mode;

}  // namespace ember
