// Convolutions of any dtype as matrix products: the inputs of every place become a column, one
// sample and group at a time. Where each place reads one input, x itself is that matrix.
#include <algorithm>
#include <complex>
#include <cstring>

#include "cpu/conv.h"
#include "cpu/gemm.h"
#include "cpu/parallel.h"

namespace ember::cpu::column_conv {
namespace {

// The places [first, last) of one axis at which tap k is inside the input.
struct Reach {
  int64_t first, last, start;  // start: the input of place 0, maybe outside
  Reach(const ConvSizes& s, int axis, int64_t k) : start(k * s.dilation[axis] - s.pad[axis]) {
    const int64_t step = s.stride[axis], size = s.in[axis];
    first = start >= 0 ? 0 : (-start + step - 1) / step;
    last = start >= size ? 0 : (size - 1 - start) / step + 1;
    last = std::min(last, s.out[axis]);
    first = std::min(first, last);
  }
};

// Calls row(line, from, wide, steps) for every row of columns and every line of places along the
// last axis: `from` is where the input's line begins (-1: outside).
template <class F>
void each_line(const ConvSizes& s, int64_t channels, F line) {
  int64_t at = 0;
  for (int64_t c = 0; c < channels; c++)
    for (int64_t k0 = 0; k0 < s.kernel[0]; k0++)
      for (int64_t k1 = 0; k1 < s.kernel[1]; k1++)
        for (int64_t k2 = 0; k2 < s.kernel[2]; k2++) {
          const Reach wide(s, 2, k2);
          for (int64_t p0 = 0; p0 < s.out[0]; p0++) {
            const int64_t i0 = p0 * s.stride[0] + k0 * s.dilation[0] - s.pad[0];
            for (int64_t p1 = 0; p1 < s.out[1]; p1++, at += s.out[2]) {
              const int64_t i1 = p1 * s.stride[1] + k1 * s.dilation[1] - s.pad[1];
              const bool inside = i0 >= 0 && i0 < s.in[0] && i1 >= 0 && i1 < s.in[1];
              line(at, inside ? ((c * s.in[0] + i0) * s.in[1] + i1) * s.in[2] : -1, wide);
            }
          }
        }
}

template <class T>
void to_columns(const ConvSizes& s, const T* x, T* columns) {
  const int64_t width = s.out[2], step = s.stride[2];
  each_line(s, s.c / s.groups, [&](int64_t at, int64_t from, const Reach& wide) {
    T* to = columns + at;
    if (from < 0) {
      std::fill(to, to + width, T());
      return;
    }
    std::fill(to, to + wide.first, T());
    const T* in = x + from + wide.start;
    if (step == 1)
      std::copy(in + wide.first, in + wide.last, to + wide.first);
    else
      for (int64_t p = wide.first; p < wide.last; p++) to[p] = in[p * step];
    std::fill(to + wide.last, to + width, T());
  });
}

template <class T>
void add_columns(const ConvSizes& s, const T* columns, T* dx) {
  const int64_t step = s.stride[2];
  std::fill(dx, dx + s.c / s.groups * s.inputs(), T());
  each_line(s, s.c / s.groups, [&](int64_t at, int64_t from, const Reach& wide) {
    if (from < 0) return;
    T* out = dx + from + wide.start;
    for (int64_t p = wide.first; p < wide.last; p++) out[p * step] += columns[at + p];
  });
}

// Calls f(T()) with an element type of that size (to move) or of that kind (to add).
template <class F>
void of_size(int64_t size, F f) {
  switch (size) {
    case 1: return f(int8_t());
    case 2: return f(int16_t());
    case 4: return f(int32_t());
    case 8: return f(int64_t());
    default: return f(complex128());
  }
}
template <class F>
void of_kind(Dtype dtype, F f) {
  switch (dtype) {
    case Dtype::Float32: return f(float());
    case Dtype::Float64: return f(double());
    case Dtype::Int64: return f(int64_t());
    case Dtype::Int32: return f(int32_t());
    case Dtype::Int16: return f(int16_t());
    case Dtype::Int8: return f(int8_t());
    case Dtype::UInt8: return f(uint8_t());
    case Dtype::Complex64: return f(complex64());
    case Dtype::Complex128: return f(complex128());
    default: fail(Kind::Runtime, "convolution: not implemented for ", dtype);
  }
}

void fill_columns(int64_t size, const ConvSizes& s, const void* x, void* columns) {
  of_size(size, [&](auto t) {
    using T = decltype(t);
    to_columns(s, static_cast<const T*>(x), static_cast<T*>(columns));
  });
}
void sum_columns(Dtype dtype, const ConvSizes& s, const void* columns, void* dx) {
  of_kind(dtype, [&](auto t) {
    using T = decltype(t);
    add_columns(s, static_cast<const T*>(columns), static_cast<T*>(dx));
  });
}

// One convolution as matrices: w (out, taps) times columns (taps, places), of each sample and
// group.
struct Matrices {
  int64_t size, out, taps, places, inputs;
  bool direct;
  Matrices(Dtype dtype, const ConvSizes& s)
      : size(item_size(dtype)),
        out(s.o / s.groups),
        taps(s.c / s.groups * s.taps()),
        places(s.places()),
        inputs(s.c / s.groups * s.inputs()),
        direct(s.pointwise()) {}
  int64_t column_bytes() const { return direct ? 0 : taps * places * size; }
};

// Calls body(sample and group) for all; on threads of their own if there are enough of them, else
// the products share themselves out.
template <class F>
void each_matrix(const ConvSizes& s, const Matrices& m, F body) {
  const int64_t count = s.n * s.groups, work = m.out * m.taps * m.places;
  const int64_t grain = 1 + 65536 / std::max<int64_t>(work, 1);
  if (count < num_threads()) return body(0, count);
  parallel_for(count, std::max(grain, (count + num_threads() - 1) / num_threads()), body);
}

const char* at(const void* p, int64_t i, int64_t bytes) {
  return static_cast<const char*>(p) + i * bytes;
}
char* at(void* p, int64_t i, int64_t bytes) { return static_cast<char*>(p) + i * bytes; }

}  // namespace

void forward(Dtype dtype, const ConvSizes& s, const void* x, const void* w, void* y, bool add) {
  const Matrices m(dtype, s);
  each_matrix(s, m, [&](int64_t begin, int64_t end) {
    Scratch columns(m.column_bytes());
    for (int64_t i = begin; i < end; i++) {
      const char* source = at(x, i, m.inputs * m.size);
      if (!m.direct) {
        fill_columns(m.size, s, source, columns.data);
        source = columns.data;
      }
      gemm(dtype, m.out, m.places, m.taps,
           {at(w, i % s.groups, m.out * m.taps * m.size), m.taps, 1}, {source, m.places, 1},
           {at(y, i, m.out * m.places * m.size), m.places, 1}, 1.0, add ? 1.0 : 0.0);
    }
  });
}

void backward_data(Dtype dtype, const ConvSizes& s, const void* g, const void* w, void* dx) {
  const Matrices m(dtype, s);
  each_matrix(s, m, [&](int64_t begin, int64_t end) {
    Scratch columns(m.column_bytes());
    for (int64_t i = begin; i < end; i++) {
      char* result = at(dx, i, m.inputs * m.size);
      gemm(dtype, m.taps, m.places, m.out,
           {at(w, i % s.groups, m.out * m.taps * m.size), 1, m.taps},
           {at(g, i, m.out * m.places * m.size), m.places, 1},
           {m.direct ? result : columns.data, m.places, 1});
      if (m.direct) continue;
      sum_columns(dtype, s, columns.data, result);
    }
  });
}

int part_count(const ConvSizes& s) {
  if (s.n == 1 || in_parallel_region()) return 1;
  const int64_t threads = num_threads();
  return s.n < threads || s.work() < 131072 ? 1 : int(threads);
}

void backward_weights(Dtype dtype, const ConvSizes& s, const void* g, const void* x, void* parts) {
  const Matrices m(dtype, s);
  const int64_t count = part_count(s), each = (s.n + count - 1) / count;
  parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    Scratch columns(m.column_bytes());
    for (int64_t part = begin; part < end; part++) {
      char* dw = at(parts, part, s.groups * m.out * m.taps * m.size);
      const int64_t first = part * each, last = std::min(s.n, first + each);
      if (first >= last) std::memset(dw, 0, size_t(s.groups * m.out * m.taps * m.size));
      for (int64_t i = first * s.groups; i < last * s.groups; i++) {
        const char* source = at(x, i, m.inputs * m.size);
        if (!m.direct) {
          fill_columns(m.size, s, source, columns.data);
          source = columns.data;
        }
        gemm(dtype, m.out, m.taps, m.places, {at(g, i, m.out * m.places * m.size), m.places, 1},
             {source, 1, m.places}, {at(dw, i % s.groups, m.out * m.taps * m.size), m.taps, 1}, 1.0,
             i < (first + 1) * s.groups ? 0.0 : 1.0);
      }
    }
  });
}

// A channel at a time: each has its own rows of columns.
void unfold(Dtype dtype, const ConvSizes& s, const void* x, void* columns) {
  const int64_t size = item_size(dtype), each = s.taps() * s.places();
  ConvSizes one = s;
  one.c = 1;
  parallel_for(s.n * s.c, 1 + kGrain / each, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
      fill_columns(size, one, at(x, i, s.inputs() * size), at(columns, i, each * size));
  });
}

void fold(Dtype dtype, const ConvSizes& s, const void* columns, void* x) {
  const int64_t size = item_size(dtype), each = s.taps() * s.places();
  ConvSizes one = s;
  one.c = 1;
  parallel_for(s.n * s.c, 1 + kGrain / each, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
      sum_columns(dtype, one, at(columns, i, each * size), at(x, i, s.inputs() * size));
  });
}

}  // namespace ember::cpu::column_conv
