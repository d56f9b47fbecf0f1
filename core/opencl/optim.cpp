// Optimizer steps, one launch for each parameter, of the texts in optim_formulas.h.
#include "opencl/device.h"
#include "opencl/launch.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"
#include "opencl/text.h"

namespace ember::opencl {

// The program of a step. `given` tells which of the lists that may be missing are there.
static std::string text_of(const UpdateRow& row, const std::vector<bool>& given, Dtype dtype) {
  const Dtype acc = compute_of(dtype);
  std::string lists = "GLOBAL M* p_row, i64 p_at, GLOBAL const M* g_row, i64 g_at, ";
  std::string numbers, read, write = "STORE(p_row, p_at + i, p); ", flags;
  auto add = [&](const std::string& name, bool present) {
    lists += "GLOBAL M* " + name + "_row, i64 " + name + "_at, ";
    if (present) {
      read += "T " + name + " = LOAD(" + name + "_row, " + name + "_at + i); ";
      write += "STORE(" + name + "_row, " + name + "_at + i, " + name + "); ";
    } else {
      read += "T " + name + " = 0; ";
    }
  };
  for (const char* name : row.state) add(name, true);
  for (size_t k = 0; k < row.sometimes.size(); k++) {
    add(row.sometimes[k], given[k]);
    flags += define((std::string("has_") + row.sometimes[k]).c_str(), given[k]);
  }
  for (const char* name : row.numbers) numbers += std::string(", T ") + name;
  return functions_for(acc, row.each) + element("", dtype, acc) + flags + define("LISTS", lists) +
         define("NUMBERS", numbers) + define("READ", read) + define("WRITE", write) +
         define("EACH", row.each) + sources::optim;
}

void OpenClBackend::update(Update f, const TensorList& params, const TensorList& grads,
                           const TensorList& state, const TensorList& scalars,
                           const std::vector<double>& options) {
  const UpdateRow& row = row_of(f);
  const size_t count = params.size();
  const std::vector<double> numbers = step_numbers(f, count, scalars, options);
  std::string key = std::string("step ") + name_of(f);
  std::vector<bool> given;
  for (size_t k = row.state.size(); k < row.lists(); k++) {
    given.push_back(bool(state[k * count]));
    key += given.back() ? " 1" : " 0";
  }
  for (size_t i = 0; i < count; i++) {
    const Tensor& p = params[i];
    if (p.numel() == 0) continue;
    check_computes(name_of(f), p.dtype());
    const Dtype acc = compute_of(p.dtype());
    Launch launch(key + " " + std::to_string(int(p.dtype())), "update",
                  [&] { return text_of(row, given, p.dtype()); });
    auto add = [&](const Tensor& t) { launch.tensor(t).value(t ? t.offset() : int64_t(0)); };
    add(p);
    add(grads[i]);
    for (size_t k = 0; k < row.lists(); k++) add(state[k * count + i]);
    launch.value(p.numel());
    for (size_t k = 0; k < row.numbers.size(); k++)
      launch.scalar(acc, Scalar(numbers[i * row.numbers.size() + k]));
    launch.run(p.numel(), std::min<int64_t>(256, int64_t(context().properties.group_size)));
  }
}

}  // namespace ember::opencl
