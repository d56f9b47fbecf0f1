// A group as ember/compiler takes it (ember/compiler/_program.py): nodes, which of them are
// written, and how a call walks its memory.
#pragma once

#include <memory>
#include <string>

#include "cpu/fused.h"
#include "lazy/grouping.h"

namespace ember::lazy {

// The fields of Node, in Python. A parameter is the place of a node or, if it is part of the code,
// a number.
struct ProgramNode {
  enum Op : uint8_t {
    Load,
    Number,
    Cast,
    Unary,
    UnaryGrad,
    Predicate,
    Binary,
    Compare,
    Ternary,
    Reduce
  };
  struct Param {
    bool constant;
    int64_t value;  // a place, or the bits of a double
  };
  Op op;
  Dtype dtype;
  Dtype compute = Dtype::Bool;  // of a row
  int row = -1;
  int slot = -1;                            // of an input or a number
  Scalar::Type type = Scalar::Type::Float;  // of a number
  std::vector<int> args{};
  std::vector<Param> params{};

  const char* row_name() const;
};

// A program in one layout: all that machine code depends on.
struct Program {
  std::vector<ProgramNode> nodes;
  std::vector<int> outputs;
  std::vector<int> rows;  // with reductions: whether an output has one element for each row
  // The fields of Layout, in Python.
  int rank = 1, reduced = 1;
  int64_t columns = 0;  // at most kMostColumns, a power of two
  int64_t inner = 0;    // of pointwise work on few elements in a row: how many, rounded up likewise
  bool chunks = false, long_rows = false, short_rows = false;
  std::string patterns;
  std::string key() const;
};

// Machine code for a program, some time. The same object serves all groups of that program.
struct Code {
  explicit Code(Program p) : program(std::move(p)) {}
  enum class State : uint8_t { Unseen, Wanted, Asked, Ready, Failed };
  const Program program;
  State state = State::Unseen;
  cpu::FusedKernel kernel = nullptr;
  std::vector<int64_t> functions;  // addresses of row kernels that it calls
  int64_t grain = 1 << 15;
  int64_t width = 0;       // columns that are reduced together
  void* ticket = nullptr;  // the host's, while it is asked for
};

// Where an operand of a call is.
struct Place {
  int64_t slot, offset;  // in bytes
  int step = -1;         // of an output that is in pieces at first: that of the reduction
  int packing = -1;      // of an input that is copied first: Bound::packings
};
// A copy of an input whose elements lie far apart, in the order in which a kernel reads them.
struct Packing {
  Dtype dtype;
  Shape shape, strides;  // of the input, in elements
  int64_t offset;
};
struct Bound {
  std::shared_ptr<Code> code;
  std::vector<Place> operands;  // inputs, then outputs
  std::vector<Packing> packings{};
  std::vector<int64_t> numbers;   // of the trace, in the order of the program's
  std::vector<int64_t> geometry;  // sizes, then the strides of each operand in bytes
  int64_t units = 1;              // without columns
  int64_t columns = 0;            // of which some make a unit, if not 0
  int64_t length = 1;             // elements of a unit, or of one column of it
  int64_t pieces = 0;             // of results that are made of such
  bool pays = true;               // to generate code, rather than run the steps one by one
};
// The group's program, bound to the slots and numbers of its trace; its code is that of an equal
// program before.
Bound bind(const Group& group, const Grouping& grouping, const std::vector<Step>& steps);

// Those that somebody wants and the host has not been asked for, or has not answered yet.
std::vector<std::shared_ptr<Code>>& unfinished();
void want(const std::shared_ptr<Code>& code);
void forget_code();

}  // namespace ember::lazy
