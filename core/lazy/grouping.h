// Which steps of a trace make one kernel.
#pragma once

#include <deque>
#include <utility>

#include "lazy/trace.h"

namespace ember::lazy {

// Steps over one space, each of which reads what others wrote at the same place only, so that one
// loop can do them all. With reductions, a loop over rows that goes over each several times.
struct Group {
  std::vector<int64_t> shape;
  std::vector<int> steps;       // those that are needed, in their order
  int inputs = 0, outputs = 0;  // about how much memory it reads and writes
  bool reduces = false;
  int gone = 0;                                   // axes that are reduced: Step
  std::vector<std::pair<int, int>> overwrites{};  // (sweep, slot) of what it writes
};

struct Grouping {
  std::vector<Group> groups;  // in the order in which they can run
  std::vector<int> group_of;  // for each step
  // For input i of step s: the step of the same group whose value it is, or -1: from memory.
  std::vector<std::array<int, kMostInputs>> from;
  std::vector<bool> stored;  // whether the value of a step has to be written to memory
  std::deque<std::vector<int64_t>> lifted;  // shapes and strides of steps that were
};

// Steps that are computed for rows are lifted to the space of the rows' elements.
Grouping group_steps(std::vector<Step>& steps, const std::vector<bool>& unwanted_slots);

// Are these the same elements, in the same order?
bool same_place(const Step& a, const StepOperand& x, const Step& b, const StepOperand& y);
// Have they no element in common? False if that is not easily seen.
bool apart(const Step& a, const StepOperand& x, const Step& b, const StepOperand& y);

// Is a reduction one of few results? It is made in pieces, which threads share, and nothing of its
// group may need it.
bool is_in_pieces(const Step& step);

constexpr int kMostMemory = 32;                // operands in memory that one loop walks
using Sources = std::array<int, kMostInputs>;  // whose values the inputs of a step are, or -1
struct Access {
  int step, operand;  // -1: the output
};
struct History {
  std::vector<int> writes;
  std::vector<Access> reads;  // from memory
};

}  // namespace ember::lazy
