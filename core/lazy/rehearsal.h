// Replay: a call is run once with each primitive that the device is asked for written down, and
// can be done again from that alone, without the program.
//
// Note [Rehearsal]
// A call is known by what it asks of the device: primitives, kernels of groups, where their
// operands lie, and numbers. If two calls one after the other ask the same, a third will, unless
// something is different that can be seen from outside: the arguments, what is in memory (which
// replays read anew), and what the contract of replays says does not change (docs/compile.md). What
// can't be seen ends the rehearsal: elements that the program looks at, random numbers, results
// whose size depends on elements, results that want a backward pass.
//
// What the call makes lies in an arena, at the same place each time. Memory from before the call is
// its own, except that of the arguments, which may lie elsewhere the next time: operands go by way
// of a storage of the recording's (`shadow`), which is told where that is.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "cpu/fused.h"
#include "lazy/arena.h"

namespace ember::lazy {

// A kernel of a group, for Rehearsal::fused.
struct FusedPointer {
  size_t word;
  Storage* storage;
  int64_t offset;  // in bytes
  bool written;
};

// A call that can be done again.
class Recording {
 public:
  explicit Recording(Backend& device) : device_(device), arena_(std::make_shared<Arena>(device)) {}
  Recording(const Recording&) = delete;

  bool same_as(const Recording& o) const { return text_ == o.text_; }
  // The results, given new arguments; nothing if they, or what was there before, are not what they
  // were in a way that matters.
  std::optional<TensorList> run(const TensorList& arguments);
  // Those of the call that was recorded.
  TensorList results(const TensorList& arguments) const;
  size_t calls() const { return calls_.size(); }

 private:
  friend class Rehearsal;

  struct Argument {
    Dtype dtype;
    Shape shape, strides;
    int64_t offset, extent;  // elements; bytes of the storage
    bool needs_grad, leaf;
    Storage* shadow = nullptr;  // if it is read or written
    uint32_t versions = 0;      // by which it moves on
  };
  struct External {
    Ref<Storage> storage;
    void* data;
    uint32_t versions;
  };
  struct Leaf {
    Tensor leaf;
    bool had = false;  // a gradient, when the call began
    Tensor after;
  };
  struct Result {
    int argument = -1;  // it is this one; or a tensor in the arena, or from before
    Tensor tensor;
    bool made = false;
  };

  bool fits(const TensorList& arguments);
  bool is_free(const Storage& s, size_t argument, const TensorList& arguments) const;

  Backend& device_;
  std::shared_ptr<Arena> arena_;
  std::string text_;  // what was asked for
  std::vector<std::function<void(Backend&)>> calls_;
  std::vector<Ref<Storage>> shadows_;
  std::vector<Argument> arguments_;
  std::vector<External> externals_;
  std::vector<Leaf> leaves_;
  std::vector<Result> results_;
};

// A rehearsal on this thread.
namespace rehearsal {
// Its call runs in a region that opens after this and ends before end(). False if there can be none
// now; `before` is the recording of the call before, if there was one.
bool begin(const TensorList& arguments, const Recording* before);
// The recording, or why there is none.
std::unique_ptr<Recording> end(const TensorList& results, std::string& why);
void abandon();
bool here();
void refuse(const char* why);
// A kernel of a group runs.
void fused(cpu::FusedKernel kernel, const std::vector<int64_t>& words, int64_t units, int64_t grain,
           const std::vector<FusedPointer>& pointers);
}  // namespace rehearsal

}  // namespace ember::lazy
