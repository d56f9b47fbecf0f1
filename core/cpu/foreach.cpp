// Pointwise functions of whole lists of tensors. The elements of all tensors are shared out to
// threads as if they were one row.
#include <algorithm>

#include "cpu/cpu_backend.h"
#include "cpu/dispatch.h"
#include "cpu/parallel.h"

namespace ember::cpu {

namespace {

constexpr int64_t kChunk = 1024;  // elements at a time of a number repeated

struct Item {
  char* out;
  const char* in[3];
  int64_t end;  // elements of this tensor and of those before it
};

struct ListCall {
  ListRow f;
  const TensorList &out, *lists[3];  // null: numbers
  const std::vector<double>& numbers;
};

// The kernel of a row, and how to give it a number as its last input.
struct ListKernel {
  int inputs;
  Kernel1 one = nullptr;
  Kernel2 two = nullptr, number = nullptr;
  Kernel3 three = nullptr;

  ListKernel(ListRow f, Dtype dtype) : inputs(f.inputs) {
    const Kernels& k = kernels();
    if (inputs == 1) one = k.unary[f.row][int(dtype)];
    if (inputs == 2) two = k.binary[f.row][int(dtype)];
    if (inputs == 2) number = k.binary_number[f.row][int(dtype)];
    if (inputs == 3) three = k.ternary[f.row][int(dtype)];
  }
  bool exists() const { return one || two || three; }
  void run(const char* const (&in)[3], char* out, int64_t n, const Params& p) const {
    if (one) one(in[0], out, n, p);
    if (two) two(in[0], in[1], out, n, p);
    if (three) three(in[0], in[1], in[2], out, n, p);
  }
};

template <class T>
void run_lists(const ListCall& call, const ListKernel& kernel, const std::vector<Item>& items) {
  const bool repeats = !call.lists[call.f.inputs - 1];
  const auto& numbers = call.numbers;
  parallel_for(items.back().end, kGrain, [&](int64_t begin, int64_t end) {
    auto after = [](int64_t at, const Item& item) { return at < item.end; };
    size_t i = size_t(std::upper_bound(items.begin(), items.end(), begin, after) - items.begin());
    T repeated[kChunk];
    for (; begin < end; i++) {
      const Item& item = items[i];
      const int64_t start = i ? items[i - 1].end : 0, stop = std::min(end, item.end);
      if (begin == stop) continue;
      const double number = numbers.empty() ? 1 : numbers[numbers.size() == 1 ? 0 : i];
      const int64_t at = (begin - start) * int64_t(sizeof(T));
      const char* in[3] = {item.in[0] + at, item.in[1] + at, item.in[2] + at};
      char* out = item.out + at;
      const Params p{repeats ? 1 : number};
      int64_t left = stop - begin;
      if (repeats && kernel.number) {
        repeated[0] = T(number);
        kernel.number(in[0], repeated, out, left, p);
      } else if (!repeats) {
        kernel.run(in, out, left, p);
      } else {
        std::fill_n(repeated, std::min(left, kChunk), T(number));
        in[call.f.inputs - 1] = reinterpret_cast<const char*>(repeated);
        for (int64_t n; left > 0; left -= n) {
          n = std::min(left, kChunk);
          kernel.run(in, out, n, p);
          const int64_t bytes = n * int64_t(sizeof(T));
          for (int j = 0; j < call.f.inputs - 1; j++) in[j] += bytes;
          out += bytes;
        }
      }
      begin = stop;
    }
  });
}

}  // namespace

void CpuBackend::list_pointwise(ListRow f, const TensorList& out, const TensorList& a,
                                const TensorList& b, const TensorList& c,
                                const std::vector<double>& numbers) {
  const Dtype dtype = out[0].dtype();
  const bool has_loops = dtype == Dtype::Float32 || dtype == Dtype::Float64;
  const ListKernel kernel(f, has_loops ? dtype : Dtype::Float32);
  if (!has_loops || !kernel.exists()) return Backend::list_pointwise(f, out, a, b, c, numbers);
  auto given = [](const TensorList& list) { return list.empty() ? nullptr : &list; };
  const ListCall call{f, out, {given(a), given(b), given(c)}, numbers};
  std::vector<Item> items(call.out.size());
  int64_t total = 0;
  for (size_t i = 0; i < items.size(); i++) {
    Item& item = items[i];
    item.out = call.out[i].data<char>();
    for (int j = 0; j < 3; j++)
      item.in[j] = call.lists[j] ? (*call.lists[j])[i].data<char>() : nullptr;
    item.end = total += call.out[i].numel();
  }
  if (total == 0) return;
  dtype == Dtype::Float32 ? run_lists<float>(call, kernel, items)
                          : run_lists<double>(call, kernel, items);
}

}  // namespace ember::cpu
