// What lazy/rehearsal.h hears of, while a call is rehearsed: all that such a call does besides
// asking a device for primitives.
#pragma once

#include <cstdint>

namespace ember {

class Tensor;

// A bit of Storage::watch beside those of Watch: primitives of a rehearsal read or wrote it.
constexpr uint8_t kRehearsed = 8;

struct Rehearsed {
  void (*looked)() = nullptr;               // the program looks at elements
  void (*graded)(const Tensor&) = nullptr;  // a gradient arrives at a leaf
};
inline Rehearsed rehearsed;  // filled in while there is a rehearsal, on whatever thread

}  // namespace ember
