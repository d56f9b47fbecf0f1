// What a region has written down and not yet run: pointwise primitives and reductions of rows, in
// their order, as one array of words that says all but where memory is and what the numbers are. So
// two traces with equal words do the same, and a plan made for one (plan.h) runs the other.
//
// A trace names storages by slots. It does not count its references, or what asks whether it alone
// uses a storage (the engine, where it adds up gradients) would get another answer.
#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include "operands.h"

namespace ember::lazy {

enum class StepKind : uint8_t {
  Copy,
  Fill,
  Unary,
  UnaryGrad,
  Predicate,
  Binary,
  Compare,
  Ternary,
  Reduce
};
constexpr int kMostAxes = 8;
constexpr int kMostInputs = 3;

struct Number {
  int64_t bits;  // of a double, or an integer
  Scalar::Type type;
  Scalar scalar() const;
};
Number number_of(const Scalar& s);

// Who needs what a slot holds: the program; nobody but the trace; a backward pass.
enum class Use : uint8_t { Wanted, Dead, Saved };
struct Slot {
  Storage* storage;
  Use use = Use::Wanted;
  bool fresh = false;  // had no memory before the flush
};

// Gives the memory of a storage back, whose elements nobody needs yet or any more.
void withdraw(Storage& storage);

// One primitive, before it is written down.
struct Request {
  StepKind kind;
  int row;
  Dtype compute;
  const Tensor& out;
  std::array<Input, kMostInputs> in;
  int inputs;
  const Params* params = nullptr;
  int param_count = 0;     // of those that the row reads
  bool constants = false;  // parameters are part of the words, since kernels choose by them
  int gone = 0;            // of a reduction: a bit for each dimension

  // The space that is walked: that of the input, where the output has one element for each row.
  const TensorImpl& space() const {
    return kind == StepKind::Reduce ? *in[0].tensor->impl() : *out.impl();
  }
};

struct Step;

class Trace {
 public:
  // Whether the call is one that can be put off: of dtypes and on memory that this is made for, and
  // large enough to be worth it unless something that it reads is put off itself.
  static bool takes(const Request& call);
  void append(const Request& call);

  bool empty() const { return steps_ == 0; }
  bool full() const { return steps_ >= kMostSteps || held_ > kMostHeld; }
  int64_t steps() const { return steps_; }
  const std::vector<Number>& numbers() const { return numbers_; }
  std::vector<Slot>& slots() { return slots_; }
  // The words, followed by the use of each slot; large values that a backward pass alone needs
  // count as wanted unless they may `stay` pending, and so does what somebody asks for now.
  const std::vector<int64_t>& finish(bool stay, const Storage* asked);
  // A storage that only the trace still needs.
  void keep(Storage* storage);
  // A backward pass will need the tensor.
  void save(const Tensor& t);
  void forget(TensorImpl* t);
  // Forgets all but some steps. What was kept for others is given back, to be freed when nothing is
  // being run any more.
  std::vector<Ref<Storage>> clear(const std::vector<int>& but = {});

 private:
  static constexpr int64_t kMostSteps = 4096;
  static constexpr int64_t kMostHeld = 256 << 20;  // bytes of storages that only the trace needs

  void append_again(const Step& step, const std::vector<Slot>& slots,
                    const std::vector<Number>& numbers);
  int64_t slot_of(Storage& storage);
  int64_t number_index(const Number& number);

  std::vector<int64_t> words_;
  std::vector<Slot> slots_;
  std::vector<Number> numbers_;
  std::array<uint32_t, 64> seen_{};                  // numbers by a hash of them: index + 1
  std::unordered_map<TensorImpl*, uint32_t> saved_;  // how often; not counted: see forget()
  int64_t steps_ = 0, held_ = 0;
};

// The words of a step. Addresses are those of the array it was read from.
enum class Tag : uint8_t { Tensor, Number, Constant };
struct StepOperand {
  Tag tag = Tag::Number;
  Dtype dtype = Dtype::Float32;             // of a tensor
  Scalar::Type type = Scalar::Type::Float;  // of a number
  int64_t place = 0;                        // a slot; the index of a number; the bits of a constant
  int64_t offset = 0;                       // in elements
  const int64_t* strides = nullptr;         // in elements, for each axis
  const int64_t* word = nullptr;
};
struct Step {
  StepKind kind;
  int row;
  Dtype compute;
  int axes, inputs, params;
  const int64_t* shape;
  StepOperand out;
  std::array<StepOperand, kMostInputs> in, param;
  // The output has one element for all that is reduced together, a row, so its strides along the
  // axes that are `gone` are 0: of a reduction, and of what is computed for rows only and was
  // `lifted` to the space of their elements (grouping.cpp).
  bool rows = false, lifted = false;
  int gone = 0;                // a bit for each axis that has gone from such an output
  const int64_t *begin, *end;  // its words
  bool same_shape(const Step& o) const;
  bool is_shape(const std::vector<int64_t>& sizes) const;
};
// All steps of words that finish() made.
std::vector<Step> read_steps(const std::vector<int64_t>& words, int64_t steps);

}  // namespace ember::lazy
