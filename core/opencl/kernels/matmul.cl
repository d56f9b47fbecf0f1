// out = beta * out + alpha * (a @ b), in tiles of TILE_M x TILE_N elements. Operands 0, 1, 2 of the
// geometry are out, a and b over the batch dimensions; strides within a matrix come apart.
// An item sums ROWS x VECTORS vectors of WIDTH elements in registers. With STAGED, SIDE_Y x SIDE_X
// items make a tile together, from pieces of a and b in local memory; without it, a tile is the
// work of one item, which reads vectors of b and single elements of a straight from memory: from
// the operands where they lie well, else from the panels that `pack` makes. The program defines
// ACC, VECTOR (its vector type), M_OUT, M_A, M_B, LOAD_*, STORE and the sizes.
#ifdef TILES
#define TILE_M (SIDE_Y * ROWS)
#define TILE_N (SIDE_X * VECTORS * WIDTH)

#ifdef __OPENCL_VERSION__
#ifdef STAGED
#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
#define VLOAD(p) JOIN(vload, WIDTH)(0, p)
#define VSTORE(v, p) JOIN(vstore, WIDTH)(v, 0, p)
#else
// No function of the driver takes or gives long vectors: how these are passed depends on the
// instruction set, and PoCL's library may be compiled for another one than the kernel. (Where LLVM
// does not know the processor, as with Zen 4, calls and functions do not fit together, and its
// passes do not end.)
typedef VECTOR __attribute__((aligned(4))) LOOSE;
#define VLOAD(p) (*(GLOBAL const LOOSE*)(p))
#define VSTORE(v, p) (*(GLOBAL LOOSE*)(p) = (v))
#endif
#define VZERO ((VECTOR)(0))
#elif defined(WIDTH)
#undef VECTOR  // a name that CUDA may have given away
#define VECTOR Vector_
struct VECTOR {
  ACC v[WIDTH];
};
#define VECTOR_OP(op)                                               \
  static __device__ inline VECTOR operator op(VECTOR a, VECTOR b) { \
    for (int i = 0; i < WIDTH; i++) a.v[i] = a.v[i] op b.v[i];      \
    return a;                                                       \
  }                                                                 \
  static __device__ inline VECTOR operator op(ACC a, VECTOR b) {    \
    for (int i = 0; i < WIDTH; i++) b.v[i] = a op b.v[i];           \
    return b;                                                       \
  }
VECTOR_OP(+)
VECTOR_OP(*)
static __device__ inline VECTOR VLOAD(const ACC* p) {
  VECTOR a;
  for (int i = 0; i < WIDTH; i++) a.v[i] = p[i];
  return a;
}
static __device__ inline void VSTORE(VECTOR a, ACC* p) {
  for (int i = 0; i < WIDTH; i++) p[i] = a.v[i];
}
#define VZERO (VECTOR{})
#endif

// `row` and `column` say where the group's tile starts. A tile that would reach over the edge is
// moved back into the matrix, and writes only what is its own. `a_panel` is the distance of packed
// panels, or 0.
KERNEL matmul(GLOBAL M_OUT* out, GLOBAL const M_A* a, GLOBAL const M_B* b, Geometry g, i64 m, i64 n,
              i64 k, i64 out_row, i64 out_column, i64 a_row, i64 a_column, i64 b_row, i64 b_column,
              ACC alpha, ACC beta, i32 keeps, i64 a_panel, i64 b_panel, i64 splits, i64 depth,
              i64 out_split) {
  i64 across = (n + TILE_N - 1) / TILE_N, down = (m + TILE_M - 1) / TILE_M, group = GROUP_ID;
  i64 row = group % down * TILE_M;  // neighbours share a panel of b
  group /= down;
  i64 column = group % across * TILE_N;
  group /= across;
  i64 split = group % splits, batch = group / splits;
  i64 at_out = g.offset[0] + split * out_split, at_a = g.offset[1], at_b = g.offset[2];
  for (int d = 0; d < g.ndim; d++) {
    i64 next = batch / g.size[d], j = batch - next * g.size[d];
    batch = next;
    at_out += j * g.stride[0][d];
    at_a += j * g.stride[1][d];
    at_b += j * g.stride[2][d];
  }
  i64 begin = split * depth, end = begin + depth < k ? begin + depth : k;
  VECTOR sum[ROWS][VECTORS];
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
#pragma unroll
    for (int j = 0; j < VECTORS; j++) sum[i][j] = VZERO;
  }
#ifdef STAGED
  LOCAL ACC left[DEPTH * TILE_M];
  LOCAL ACC right[DEPTH * TILE_N];
  int y = LOCAL_ID / SIDE_X * ROWS, x = LOCAL_ID % SIDE_X * WIDTH;
  i64 top = row, first_column = column;
  for (i64 first = begin; first < end; first += DEPTH) {
    // Neighbouring items read neighbouring elements.
    for (int t = LOCAL_ID; t < DEPTH * TILE_M; t += SIDE_Y * SIDE_X) {
      int q = a_column == 1 ? t % DEPTH : t / TILE_M, p = a_column == 1 ? t / DEPTH : t % TILE_M;
      left[q * TILE_M + p] = row + p < m && first + q < end
                                 ? (ACC)LOAD_A(a, at_a + (row + p) * a_row + (first + q) * a_column)
                                 : (ACC)0;
    }
    for (int t = LOCAL_ID; t < DEPTH * TILE_N; t += SIDE_Y * SIDE_X) {
      int q = b_row == 1 ? t % DEPTH : t / TILE_N, p = b_row == 1 ? t / DEPTH : t % TILE_N;
      right[q * TILE_N + p] =
          column + p < n && first + q < end
              ? (ACC)LOAD_B(b, at_b + (first + q) * b_row + (column + p) * b_column)
              : (ACC)0;
    }
    BARRIER();
    for (int q = 0; q < DEPTH; q++) {
      VECTOR w[VECTORS];
#pragma unroll
      for (int j = 0; j < VECTORS; j++) w[j] = VLOAD(right + q * TILE_N + x + j * SIDE_X * WIDTH);
#pragma unroll
      for (int i = 0; i < ROWS; i++) {
        ACC v = left[q * TILE_M + y + i];
#pragma unroll
        for (int j = 0; j < VECTORS; j++) sum[i][j] = v * w[j] + sum[i][j];
      }
    }
    BARRIER();
  }
#else
  const int y = 0, x = 0;
  i64 top = a_panel || row + TILE_M <= m ? row : m - TILE_M;
  i64 first_column = b_panel || column + TILE_N <= n ? column : n - TILE_N;
  GLOBAL const ACC* pa = a + at_a + begin * a_column;
  GLOBAL const ACC* pb = b + at_b + begin * b_row;
  pa += a_panel ? row / TILE_M * a_panel : top * a_row;
  pb += b_panel ? column / TILE_N * b_panel : first_column;
  for (i64 q = begin; q < end; q++) {
    VECTOR w[VECTORS];
#pragma unroll
    for (int j = 0; j < VECTORS; j++) w[j] = VLOAD(pb + j * WIDTH);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
      ACC v = pa[i * a_row];
#pragma unroll
      for (int j = 0; j < VECTORS; j++) sum[i][j] = v * w[j] + sum[i][j];
    }
    pa += a_column;
    pb += b_row;
  }
#endif
  top += y;
  first_column += x;
#ifdef PLAIN
  if (out_column == 1 && top >= row && top + ROWS <= m && first_column >= column &&
      first_column + ((VECTORS - 1) * SIDE_X + 1) * WIDTH <= n) {
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
      GLOBAL ACC* line = out + at_out + (top + i) * out_row + first_column;
#pragma unroll
      for (int j = 0; j < VECTORS; j++) {
        VECTOR value = alpha * sum[i][j];
        if (keeps) value = beta * VLOAD(line + j * SIDE_X * WIDTH) + value;
        VSTORE(value, line + j * SIDE_X * WIDTH);
      }
    }
    return;
  }
#endif
  VECTOR kept[ROWS * VECTORS];  // `sum` stays in registers
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
#pragma unroll
    for (int j = 0; j < VECTORS; j++) kept[i * VECTORS + j] = sum[i][j];
  }
  const ACC* part = (const ACC*)kept;
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < VECTORS * WIDTH; j++) {
      i64 r = top + i, c = first_column + j / WIDTH * SIDE_X * WIDTH + j % WIDTH;
      if (r < row || r >= m || c < column || c >= n) continue;
      i64 at = at_out + r * out_row + c * out_column;
      ACC value = alpha * part[i * VECTORS * WIDTH + j];
      if (keeps) value += beta * (ACC)LOAD_OUT(out, at);
      STORE(out, at, value);
    }
}
#endif

#ifdef PACK
// Lines of a matrix (rows of a, columns of b) in panels of LINES, an element of each in turn, with
// zeros for lines that are missing. A group packs up to PIECE elements of each line of a panel.
KERNEL pack(GLOBAL ACC* out, GLOBAL const M_A* x, Geometry g, i64 lines, i64 k, i64 line_step,
            i64 step) {
  i64 pieces = (k + PIECE - 1) / PIECE, panels = (lines + LINES - 1) / LINES, group = GROUP_ID;
  i64 begin = group % pieces * PIECE, end = begin + PIECE < k ? begin + PIECE : k;
  group /= pieces;
  i64 panel = group % panels, batch = group / panels, at = g.offset[1];
  out += (batch * panels + panel) * k * LINES;
  for (int d = 0; d < g.ndim; d++) {
    i64 next = batch / g.size[d];
    at += (batch - next * g.size[d]) * g.stride[1][d];
    batch = next;
  }
  at += panel * LINES * line_step;
  int there = lines - panel * LINES < LINES ? (int)(lines - panel * LINES) : LINES;
#ifdef ADJACENT  // lines lie side by side
  if (there == LINES) {
    for (i64 q = begin; q < end; q++)
      for (int p = LOCAL_ID; p < LINES; p += LOCAL_SIZE)
        out[q * LINES + p] = (ACC)LOAD_A(x, at + q * step + p);
    return;
  }
#endif
  for (int p = 0; p < LINES; p++)
    for (i64 q = begin + LOCAL_ID; q < end; q += LOCAL_SIZE)
      out[q * LINES + p] = p < there ? (ACC)LOAD_A(x, at + p * line_step + q * step) : (ACC)0;
}
#endif

#ifdef JOIN_SPLITS
// Adds up the parts that groups made of one product.
KERNEL join_splits(GLOBAL M_OUT* out, GLOBAL const ACC* parts, Geometry g, i64 splits, i64 n,
                   i64 out_row, i64 out_column, i64 size, ACC alpha, ACC beta, i32 keeps) {
  i64 i = GLOBAL_ID;
  if (i >= g.n * size) return;
  i64 batch = i / size, r = i % size / n, c = i % size % n;
  i64 at = g.offset[0] + r * out_row + c * out_column;
  for (int d = 0; d < g.ndim; d++) {
    i64 next = batch / g.size[d];
    at += (batch - next * g.size[d]) * g.stride[0][d];
    batch = next;
  }
  ACC value = 0;
  for (i64 s = 0; s < splits; s++) value += parts[s * g.n * size + i];
  value = alpha * value;
  if (keeps) value += beta * (ACC)LOAD_OUT(out, at);
  STORE(out, at, value);
}
#endif

#ifdef DOTS
// Few columns: a group sums the products of one row of a with all COLUMNS of b, each of which is
// contiguous. LANES sums at a time for each item.
KERNEL dots(GLOBAL M_OUT* out, GLOBAL const M_A* a, GLOBAL const ACC* b, Geometry g, i64 m, i64 k,
            i64 out_row, i64 out_column, i64 a_row, ACC alpha, ACC beta, i32 keeps) {
  i64 blocks = (m + BLOCK - 1) / BLOCK, batch = GROUP_ID / blocks;
  i64 row = GROUP_ID % blocks * BLOCK, last = row + BLOCK < m ? row + BLOCK : m;
  i64 at_out = g.offset[0], at_a = g.offset[1], at_b = g.offset[2];
  for (int d = 0; d < g.ndim; d++) {
    i64 next = batch / g.size[d], j = batch - next * g.size[d];
    batch = next;
    at_out += j * g.stride[0][d];
    at_a += j * g.stride[1][d];
    at_b += j * g.stride[2][d];
  }
  SHARED(ACC, shared);
  for (; row < last; row++) {
    ACC sum[COLUMNS][LANES];
    for (int c = 0; c < COLUMNS; c++)
      for (int l = 0; l < LANES; l++) sum[c][l] = 0;
    i64 from = at_a + row * a_row, whole = k / LANES * LANES;
    for (i64 q = (i64)LOCAL_ID * LANES; q < whole; q += GROUP * LANES)
      for (int c = 0; c < COLUMNS; c++)
        for (int l = 0; l < LANES; l++)
          sum[c][l] += (ACC)LOAD_A(a, from + q + l) * b[at_b + c * k + q + l];
    for (i64 q = whole + LOCAL_ID; q < k; q += GROUP)
      for (int c = 0; c < COLUMNS; c++) sum[c][0] += (ACC)LOAD_A(a, from + q) * b[at_b + c * k + q];
    for (int c = 0; c < COLUMNS; c++) {
      FOLD_LANES(sum[c], ADD)
      ACC value = sum[c][0];
      FOLD_GROUP(shared, value, ADD)
      if (LOCAL_ID == 0) {
        i64 at = at_out + row * out_row + c * out_column;
        value = alpha * value;
        if (keeps) value += beta * (ACC)LOAD_OUT(out, at);
        STORE(out, at, value);
      }
    }
  }
}
#endif
