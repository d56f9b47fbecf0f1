// See iter.h. Three ways, from fast to general: contiguous memory of the kernel's own types;
// contiguous memory, single numbers and conversions; anything else, in two-dimensional tiles.
#include "cpu/iter.h"

#include <algorithm>

#include "cpu/dispatch.h"
#include "cpu/parallel.h"

namespace ember::cpu {

namespace {

// Bytes of one operand's scratch: four operands and one intermediate fit the L1 cache together.
constexpr int64_t kScratch = 4096;
// A tile of this many rows and columns is where a transposed operand is turned.
constexpr int64_t kTurn = 32;

struct Plan {
  int operands;
  int ndim = 0;
  int64_t size[kMaxDims];
  int64_t step[kMaxOperands][kMaxDims];  // in bytes
  char* data[kMaxOperands];
  Dtype dtype[kMaxOperands], native[kMaxOperands];

  Plan(int count, int dims, const int64_t* shape, const Strided* operand) : operands(count) {
    for (int o = 0; o < operands; o++)
      data[o] = operand[o].data, dtype[o] = operand[o].dtype, native[o] = operand[o].native;
    for (int d = dims - 1; d >= 0; d--) {
      if (shape[d] == 1) continue;
      size[ndim] = shape[d];
      for (int o = 0; o < operands; o++)
        step[o][ndim] = operand[o].strides[d] * item_size(operand[o].dtype);
      ndim++;
    }
    sort();
    merge();
    if (ndim == 0) {
      ndim = 1, size[0] = 1;
      for (int o = 0; o < operands; o++) step[o][0] = item_size(dtype[o]);
    }
  }

  // Innermost first: the axis along which the output (then the first input ...) moves least.
  bool goes_inside(int a, int b) const {
    for (int o = 0; o < operands; o++) {
      int64_t x = std::abs(step[o][a]), y = std::abs(step[o][b]);
      if (x == 0 || y == 0) continue;
      if (x != y) return x < y;
    }
    return false;
  }
  void sort() {
    for (int i = 1; i < ndim; i++)
      for (int j = i; j > 0 && goes_inside(j, j - 1); j--) {
        std::swap(size[j], size[j - 1]);
        for (int o = 0; o < operands; o++) std::swap(step[o][j], step[o][j - 1]);
      }
  }
  void merge() {
    if (ndim == 0) return;
    int last = 0;
    for (int d = 1; d < ndim; d++) {
      bool one = true;
      for (int o = 0; o < operands; o++) one &= step[o][d] == step[o][last] * size[last];
      if (one) {
        size[last] *= size[d];
        continue;
      }
      last++;
      size[last] = size[d];
      for (int o = 0; o < operands; o++) step[o][last] = step[o][d];
    }
    ndim = last + 1;
  }

  // Makes the axis along which operand `o` moves least the second one, if it is not the first:
  // tiles of these two use whole cache lines of both.
  void pair(int o) {
    int least = 0;
    for (int d = 1; d < ndim; d++)
      if (step[o][d] != 0 &&
          (step[o][least] == 0 || std::abs(step[o][d]) < std::abs(step[o][least])))
        least = d;
    if (least < 2 || size[least] < 8) return;
    std::swap(size[least], size[1]);
    for (int k = 0; k < operands; k++) std::swap(step[k][least], step[k][1]);
  }

  int64_t rows() const { return ndim > 1 ? size[1] : 1; }
  int64_t row_step(int o) const { return ndim > 1 ? step[o][1] : 0; }
  bool is_contiguous(int o) const { return step[o][0] == item_size(dtype[o]); }
  bool is_plain(int o) const { return is_contiguous(o) && dtype[o] == native[o]; }
  // Walking along its rows would touch a new cache line at each element, and along its columns
  // would not.
  bool is_turned(int o) const {
    int64_t inner = std::abs(step[o][0]), outer = std::abs(row_step(o));
    return ndim > 1 && outer != 0 && inner > outer && inner >= 64;
  }
};

// How a plan is cut: tiles of `columns` by `rows` elements of the two innermost axes.
struct Tiles {
  int64_t columns, rows;
  int64_t across, down, total;

  Tiles(const Plan& plan, int64_t wide) : columns(wide), rows(1) { count(plan); }
  Tiles(const Plan& plan, bool computes) {
    int64_t widest = 1;
    bool plain = true, turned = false;
    for (int o = 0; o < plan.operands; o++) {
      widest = std::max({widest, item_size(plan.dtype[o]), item_size(plan.native[o])});
      plain &= plan.is_plain(o);
      turned |= plan.is_turned(o);
    }
    const int64_t room = kScratch / widest;
    if (plain && plan.size[0] >= room / 4) {
      columns = std::min(plan.size[0], kGrain), rows = 1;
    } else if (turned && plan.rows() >= 8 && plan.size[0] >= 8) {
      columns = std::min(plan.size[0], computes ? 2 * kTurn : kTurn),
      rows = std::min(plan.rows(), computes ? room / columns : kTurn);
    } else {
      columns = std::min(plan.size[0], room), rows = std::min(plan.rows(), room / columns);
    }
    count(plan);
  }
  void count(const Plan& plan) {
    across = (plan.size[0] + columns - 1) / columns;
    down = (plan.rows() + rows - 1) / rows;
    total = across * down;
    for (int d = 2; d < plan.ndim; d++) total *= plan.size[d];
  }
};

// Calls work(at, columns, rows) for tiles [begin, end), `at` being each operand's first element in
// the tile.
template <class Work>
void walk(const Plan& plan, const Tiles& tiles, int64_t begin, int64_t end, Work&& work) {
  int64_t index[kMaxDims];
  int64_t i = begin % tiles.across, rest = begin / tiles.across;
  int64_t j = rest % tiles.down;
  rest /= tiles.down;
  char* base[kMaxOperands];
  for (int o = 0; o < plan.operands; o++) base[o] = plan.data[o];
  for (int d = 2; d < plan.ndim; d++) {
    index[d] = rest % plan.size[d];
    rest /= plan.size[d];
    for (int o = 0; o < plan.operands; o++) base[o] += index[d] * plan.step[o][d];
  }
  for (int64_t t = begin; t < end; t++) {
    char* at[kMaxOperands];
    for (int o = 0; o < plan.operands; o++)
      at[o] = base[o] + i * tiles.columns * plan.step[o][0] + j * tiles.rows * plan.row_step(o);
    work(at, std::min(tiles.columns, plan.size[0] - i * tiles.columns),
         std::min(tiles.rows, plan.rows() - j * tiles.rows));
    if (++i < tiles.across) continue;
    i = 0;
    if (++j < tiles.down) continue;
    j = 0;
    for (int d = 2; d < plan.ndim; d++) {
      for (int o = 0; o < plan.operands; o++) base[o] += plan.step[o][d];
      if (++index[d] < plan.size[d]) break;
      for (int o = 0; o < plan.operands; o++) base[o] -= plan.size[d] * plan.step[o][d];
      index[d] = 0;
    }
  }
}

// One thread's scratch memory, and what it does with a tile.
struct Worker {
  const Kernel& call;
  const Plan& plan;
  const Kernels& k = kernels();
  char* gathered[kMaxOperands] = {};  // the tile of which scratch[o] holds the elements
  int64_t columns_gathered = 0, rows_gathered = 0;
  alignas(64) char scratch[kMaxOperands][kScratch];
  alignas(64) char raw[kScratch];

  Worker(const Kernel& c, const Plan& p) : call(c), plan(p) {}

  bool is_dense(int o, int64_t columns, int64_t rows) const {
    return plan.is_contiguous(o) &&
           (rows == 1 || plan.row_step(o) == columns * item_size(plan.dtype[o]));
  }

  char* load(int o, char* at, int64_t columns, int64_t rows) {
    const bool same = plan.dtype[o] == plan.native[o], dense = is_dense(o, columns, rows);
    if (same && dense) return at;
    if (gathered[o] == at && columns_gathered == columns && rows_gathered >= rows)
      return scratch[o];
    gathered[o] = at;
    if (!dense) {
      const int64_t size = item_size(plan.dtype[o]);
      char* to = same ? scratch[o] : raw;
      k.move[size_index(size)](at, plan.step[o][0], plan.row_step(o), to, size, columns * size,
                               columns, rows);
      at = raw;
    }
    if (!same) k.cast[int(plan.dtype[o])][int(plan.native[o])](at, scratch[o], columns * rows);
    return scratch[o];
  }

  // A tile in which the output's rows need no detour is computed row by row, so that only what is
  // turned or converted goes through scratch.
  bool by_rows(char* const* at, int64_t columns, int64_t rows) {
    if (rows == 1 || columns < 16 || !plan.is_plain(0) || is_dense(0, columns, rows)) return false;
    char* place[kMaxOperands];
    int64_t step[kMaxOperands];
    for (int o = 0; o < plan.operands; o++) {
      const bool direct = plan.is_plain(o);
      place[o] = direct ? at[o] : load(o, at[o], columns, rows);
      step[o] = direct ? plan.row_step(o) : columns * item_size(plan.native[o]);
    }
    columns_gathered = columns, rows_gathered = rows;
    for (int64_t r = 0; r < rows; r++) {
      call(place, columns);
      for (int o = 0; o < plan.operands; o++) place[o] += step[o];
    }
    return true;
  }

  void operator()(char* const* at, int64_t columns, int64_t rows) {
    if (by_rows(at, columns, rows)) return;
    const bool same = plan.dtype[0] == plan.native[0], dense = is_dense(0, columns, rows);
    char* place[kMaxOperands];
    place[0] = same && dense ? at[0] : scratch[0];
    for (int o = 1; o < plan.operands; o++) place[o] = load(o, at[o], columns, rows);
    columns_gathered = columns, rows_gathered = rows;
    call(place, columns * rows);
    const char* from = scratch[0];
    if (!same) {
      char* to = dense ? at[0] : raw;
      k.cast[int(plan.native[0])][int(plan.dtype[0])](from, to, columns * rows);
      from = to;
    }
    const int64_t size = item_size(plan.dtype[0]);
    if (!dense)
      k.move[size_index(size)](from, size, columns * size, at[0], plan.step[0][0], plan.row_step(0),
                               columns, rows);
  }
};

// A second input that is the same number along each row, as in x * 2 or x - x.mean(1, True).
bool has_number(const Kernel& call, const Plan& plan) {
  return call.number && plan.step[2][0] == 0 && plan.dtype[2] == plan.native[2] &&
         plan.is_plain(0) && plan.is_plain(1) && (plan.ndim == 1 || plan.size[0] >= 64);
}
void run_with_number(const Kernel& call, const Plan& plan) {
  const Tiles tiles(plan, std::min(plan.size[0], kGrain));
  parallel_for(tiles.total, std::max<int64_t>(1, kGrain / tiles.columns),
               [&](int64_t begin, int64_t end) {
                 walk(plan, tiles, begin, end, [&](char* const* at, int64_t columns, int64_t) {
                   call.number(at[1], at[2], at[0], columns, *call.params);
                 });
               });
}

void run_plan(const Kernel& call, const Plan& plan) {
  if (has_number(call, plan)) return run_with_number(call, plan);
  const Tiles tiles(plan, true);
  const int64_t grain = std::max<int64_t>(1, kGrain / (tiles.columns * tiles.rows));
  parallel_for(tiles.total, grain, [&](int64_t begin, int64_t end) {
    Worker worker(call, plan);
    walk(plan, tiles, begin, end, worker);
  });
}

}  // namespace

void run(const Kernel& call, int ndim, const int64_t* shape, const Strided* operands) {
  const int count = call.inputs + 1;
  const int64_t n = element_count(ndim, shape);
  if (n == 0) return;
  bool plain = true;
  for (int o = 0; o < count && plain; o++)
    plain = operands[o].dtype == operands[o].native && is_dense(ndim, shape, operands[o].strides);
  if (!plain) return run_plan(call, Plan(count, ndim, shape, operands));
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    char* at[kMaxOperands];
    for (int o = 0; o < count; o++) at[o] = operands[o].data + begin * item_size(operands[o].dtype);
    call(at, end - begin);
  });
}

void run_copy(int ndim, const int64_t* shape, const Strided& out, const Strided& x) {
  const int64_t n = element_count(ndim, shape);
  if (n == 0) return;
  const Strided both[] = {out, x};
  Plan plan(2, ndim, shape, both);
  if (plan.is_contiguous(0)) plan.pair(1);
  const Kernels& k = kernels();
  const int64_t out_size = item_size(out.dtype), x_size = item_size(x.dtype);
  const bool same = out.dtype == x.dtype;
  Cast cast = k.cast[int(x.dtype)][int(out.dtype)];
  Move move_out = k.move[size_index(out_size)], move_x = k.move[size_index(x_size)];
  if (plan.ndim == 1 && plan.is_contiguous(0) && plan.is_contiguous(1)) {
    parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
      const char* from = plan.data[1] + begin * x_size;
      char* to = plan.data[0] + begin * out_size;
      if (same)
        std::memcpy(to, from, size_t((end - begin) * out_size));
      else
        cast(from, to, end - begin);
    });
    return;
  }
  const Tiles tiles(plan, !same);
  const int64_t grain = std::max<int64_t>(1, kGrain / (tiles.columns * tiles.rows));
  parallel_for(tiles.total, grain, [&](int64_t begin, int64_t end) {
    alignas(64) char raw[kScratch], converted[kScratch];
    walk(plan, tiles, begin, end, [&](char* const* at, int64_t columns, int64_t rows) {
      const int64_t x0 = plan.step[1][0], x1 = plan.row_step(1), out0 = plan.step[0][0],
                    out1 = plan.row_step(0);
      if (same) return move_x(at[1], x0, x1, at[0], out0, out1, columns, rows);
      const char* from = at[1];
      if (x0 != x_size || (rows > 1 && x1 != columns * x_size)) {
        move_x(at[1], x0, x1, raw, x_size, columns * x_size, columns, rows);
        from = raw;
      }
      const bool dense = out0 == out_size && (rows == 1 || out1 == columns * out_size);
      cast(from, dense ? at[0] : converted, columns * rows);
      if (!dense)
        move_out(converted, out_size, columns * out_size, at[0], out0, out1, columns, rows);
    });
  });
}

}  // namespace ember::cpu
