// The three products of a convolution, which are one: for every group, row and column
//     out[row, column] = bias[row] + sum over depth of left[row, depth] * from[depth, column]
// where a column is (a, u0, u1, u2), a place of the depth is (b, j0, j1, j2), and the element of
// `from` is at the coordinates u * mul + add + j * inc, or 0 outside. No matrix of columns is made.
// The program defines ACC, the elements M and M_OUT, and what the kernel is to be.
typedef struct {
  i64 groups, rows, columns, depth, chunk;            // columns and depth are of one group
  i64 us[3], js[3], size[3], mul[3], add[3], inc[3];  // of the axes
  i64 from_at, from_group, from_a, from_b, from_axis[3];
  i64 left_at, left_group, left_row, left_b, left_j[3];
  i64 out_at, out_group, out_row, out_a, out_u[3], out_chunk;
  i64 bias_at, bias_row, has_bias;
} Conv;

// Splits i into (first, k0, k1, k2) by the sizes of the last three.
DEVICE void split_place(i64 i, const i64* size, i64* first, i64* k) {
  for (int d = 2; d >= 0; d--) {
    i64 next = size[d] == 1 ? i : i / size[d];
    k[d] = i - next * size[d];
    i = next;
  }
  *first = i;
}

#ifdef TILED
// A work-group makes ROWS x COLUMNS of the output, each of its LANES_Y x LANES_X items a block of
// it, from DEPTH places at a time in local memory. Within its block an item goes by pieces that fit
// in registers. An item that is alone reads the left operand where it is, and the other in runs
// along the last axis.
#define GROUP (LANES_Y * LANES_X)
#define BLOCK_Y (ROWS / LANES_Y)
#define BLOCK_X (COLUMNS / LANES_X)
#define STEP_V (GROUP < COLUMNS ? GROUP : COLUMNS)
#define STEP_Q (GROUP / STEP_V)
#define STEP_A (GROUP < DEPTH ? GROUP : DEPTH)
#if LANES_Y * LANES_X == 1
#define ALONE 1
#define SYNC()
#else
#define SYNC() BARRIER()
#endif
#define OUTSIDE (-(1 << 30))

KERNEL conv(GLOBAL M_OUT* out, GLOBAL const M* from, GLOBAL const M* left, GLOBAL const M* bias,
            Conv s) {
#ifdef ALONE
  int run[COLUMNS + 1], runs = 0;  // where they begin
#else
  LOCAL ACC lefts[ROWS][DEPTH + 1];  // rows begin in different banks
#endif
  LOCAL ACC rights[DEPTH][COLUMNS];
  LOCAL i32 column_at[3][COLUMNS];
  LOCAL i64 column_from[COLUMNS];
  LOCAL i32 depth_at[3][DEPTH];
  LOCAL i64 depth_from[DEPTH];
  LOCAL i64 depth_left[DEPTH];
  const int me = LOCAL_ID, y = me / LANES_X * BLOCK_Y, x = me % LANES_X * BLOCK_X;
  const i64 across = (s.columns + COLUMNS - 1) / COLUMNS, down = (s.rows + ROWS - 1) / ROWS;
  i64 tile = GROUP_ID / across;
  const i64 column = (GROUP_ID - tile * across) * COLUMNS;
  i64 rest = tile / down;
  const i64 row = (tile - rest * down) * ROWS;
  const i64 group = rest % s.groups, chunk = rest / s.groups;
  const i64 from_at = s.from_at + group * s.from_group;
  const i64 left_at = s.left_at + group * s.left_group + row * s.left_row;
  for (int v = me; v < COLUMNS; v += GROUP) {
    i64 a, u[3];
    split_place(column + v, s.us, &a, u);
    i64 at = a * s.from_a;
    for (int d = 0; d < 3; d++) {
      i64 c = u[d] * s.mul[d] + s.add[d];
      column_at[d][v] = (i32)c;
      at += c * s.from_axis[d];
    }
    column_from[v] = at;
    if (column + v >= s.columns) column_at[0][v] = OUTSIDE;
  }
#ifdef ALONE
  const i32 mul = (i32)s.mul[2];
  const i64 step_v = s.mul[2] * s.from_axis[2];
  if (s.us[2] >= SHORT_RUN)
    for (int v = 0; v < COLUMNS; v++)
      if (v == 0 || column + v >= s.columns || (column + v) % s.us[2] == 0) run[runs++] = v;
  run[runs] = COLUMNS;
#endif
  ACC sum[BLOCK_Y][BLOCK_X];
  for (int i = 0; i < BLOCK_Y; i++)
    for (int j = 0; j < BLOCK_X; j++) sum[i][j] = 0;
  const i64 begin = chunk * s.chunk;
  const i64 end = begin + s.chunk < s.depth ? begin + s.chunk : s.depth;
  const i32 size0 = (i32)s.size[0], size1 = (i32)s.size[1], size2 = (i32)s.size[2];
  for (i64 first = begin; first < end; first += DEPTH) {
    for (int q = me; q < DEPTH; q += GROUP) {
      i64 b, j[3];
      split_place(first + q, s.js, &b, j);
      i64 at = b * s.from_b, at_left = b * s.left_b;
      for (int d = 0; d < 3; d++) {
        i64 c = j[d] * s.inc[d];
        depth_at[d][q] = (i32)c;
        at += c * s.from_axis[d];
        at_left += j[d] * s.left_j[d];
      }
      depth_from[q] = at;
      depth_left[q] = at_left;
      if (first + q >= end) depth_at[0][q] = OUTSIDE;
    }
    SYNC();
#ifdef ALONE
    for (int q = 0; q < DEPTH && runs; q++) {
      const i32 at0 = depth_at[0][q], at1 = depth_at[1][q], at2 = depth_at[2][q];
      const i64 shift = from_at + depth_from[q];
      for (int k = 0; k < runs; k++) {
        const int begin_v = run[k], end_v = run[k + 1];
        const i32 c0 = at0 + column_at[0][begin_v], c1 = at1 + column_at[1][begin_v];
        const i32 c2 = at2 + column_at[2][begin_v];
        int low = begin_v, high = begin_v;  // what is inside
        if (((u32)c0 < (u32)size0) & ((u32)c1 < (u32)size1)) {
          if (c2 < 0) low += mul == 1 ? -c2 : (-c2 + mul - 1) / mul;
          if (c2 < size2) high += mul == 1 ? size2 - c2 : (size2 - c2 + mul - 1) / mul;
          low = low < end_v ? low : end_v;
          high = high < end_v ? high : end_v;
          high = high < low ? low : high;
        }
        GLOBAL const M* line = from + shift + column_from[begin_v];
        for (int v = begin_v; v < low; v++) rights[q][v] = 0;
        if (step_v == 1) {
          for (int v = low; v < high; v++) rights[q][v] = (ACC)LOAD(line, v - begin_v);
        } else {
          for (int v = low; v < high; v++) rights[q][v] = (ACC)LOAD(line, (v - begin_v) * step_v);
        }
        for (int v = high; v < end_v; v++) rights[q][v] = 0;
      }
    }
    if (!runs)
#endif
      for (int q = me / STEP_V; q < DEPTH; q += STEP_Q) {
        const i32 at0 = depth_at[0][q], at1 = depth_at[1][q], at2 = depth_at[2][q];
        const i64 shift = depth_from[q];
        for (int v = me % STEP_V; v < COLUMNS; v += STEP_V) {
          i32 c0 = at0 + column_at[0][v], c1 = at1 + column_at[1][v], c2 = at2 + column_at[2][v];
          int inside = (u32)c0 < (u32)size0 & (u32)c1 < (u32)size1 & (u32)c2 < (u32)size2;
          // The first element stands for those outside: a load that always happens is a vector's.
          ACC value = (ACC)LOAD(from, from_at + (inside ? shift + column_from[v] : 0));
          rights[q][v] = inside ? value : (ACC)0;
        }
      }
    const int deep = end - first < DEPTH ? (int)(end - first) : DEPTH;
#ifndef ALONE
    for (int p = me / STEP_A; p < ROWS; p += GROUP / STEP_A) {
      const int filled = row + p < s.rows ? deep : 0;
      GLOBAL const M* line = left + left_at + p * s.left_row;
      for (int q = me % STEP_A; q < DEPTH; q += STEP_A)
        lefts[p][q] = q < filled ? (ACC)LOAD(line, depth_left[q]) : (ACC)0;
    }
#endif
    SYNC();
    for (int i0 = 0; i0 < BLOCK_Y; i0 += PIECE_Y)
      for (int j0 = 0; j0 < BLOCK_X; j0 += PIECE_X) {
        ACC part[PIECE_Y][PIECE_X];
#pragma unroll
        for (int i = 0; i < PIECE_Y; i++)
#pragma unroll
          for (int j = 0; j < PIECE_X; j++) part[i][j] = sum[i0 + i][j0 + j];
#ifdef ALONE
        i64 rows_at[PIECE_Y];
#pragma unroll
        for (int i = 0; i < PIECE_Y; i++)  // a row that is none gives what nobody stores
          rows_at[i] = left_at + (row + i0 + i < s.rows ? i0 + i : 0) * s.left_row;
#endif
        for (int q = 0; q < deep; q++) {
          ACC w[PIECE_X];
#pragma unroll
          for (int j = 0; j < PIECE_X; j++) w[j] = rights[q][x + j0 + j];
#pragma unroll
          for (int i = 0; i < PIECE_Y; i++) {
#ifdef ALONE
            ACC v = (ACC)LOAD(left, rows_at[i] + depth_left[q]);
#else
            ACC v = lefts[y + i0 + i][q];
#endif
#pragma unroll
            for (int j = 0; j < PIECE_X; j++) part[i][j] += v * w[j];
          }
        }
#pragma unroll
        for (int i = 0; i < PIECE_Y; i++)
#pragma unroll
          for (int j = 0; j < PIECE_X; j++) sum[i0 + i][j0 + j] = part[i][j];
      }
    SYNC();
  }
  for (int j = 0; j < BLOCK_X; j++) {
    if (column + x + j >= s.columns) continue;
    i64 a, u[3];
    split_place(column + x + j, s.us, &a, u);
    i64 at = s.out_at + group * s.out_group + chunk * s.out_chunk + a * s.out_a;
    for (int d = 0; d < 3; d++) at += u[d] * s.out_u[d];
    for (int i = 0; i < BLOCK_Y; i++) {
      i64 r = row + y + i;
      if (r >= s.rows) continue;
      ACC value = sum[i][j];
      if (s.has_bias) value += (ACC)LOAD(bias, s.bias_at + (group * s.rows + r) * s.bias_row);
      STORE_OUT(out, at + r * s.out_row, value);
    }
  }
}
#endif

#ifdef DIRECT
// For few rows (depthwise convolutions): an item makes up to COLUMNS neighbours along the last axis
// of one row by itself.
KERNEL conv_direct(GLOBAL M_OUT* out, GLOBAL const M* from, GLOBAL const M* left,
                   GLOBAL const M* bias, Conv s) {
  const i64 blocks = (s.us[2] + COLUMNS - 1) / COLUMNS, lines = s.columns / s.us[2];
  i64 rest = GLOBAL_ID / blocks;
  const i64 first = (GLOBAL_ID - rest * blocks) * COLUMNS, row = rest / lines;
  if (row >= s.rows * s.groups) return;
  rest -= row * lines;
  const int width = first + COLUMNS <= s.us[2] ? COLUMNS : (int)(s.us[2] - first);
  const i64 a0 = rest / s.us[1], u1 = rest - a0 * s.us[1], a = a0 / s.us[0], u0 = a0 - a * s.us[0];
  const i64 group = row / s.rows, r = row - group * s.rows;
  const i64 from_at = s.from_at + group * s.from_group + a * s.from_a;
  const i64 left_at = s.left_at + group * s.left_group + r * s.left_row;
  const i64 js = s.js[0] * s.js[1] * s.js[2], bs = js ? s.depth / js : 0;
  const i64 step_v = s.mul[2] * s.from_axis[2];
  ACC sum[COLUMNS];
  const ACC start = s.has_bias ? (ACC)LOAD(bias, s.bias_at + row * s.bias_row) : (ACC)0;
  for (int v = 0; v < COLUMNS; v++) sum[v] = start;
  for (i64 b = 0; b < bs; b++)
    for (i64 j0 = 0; j0 < s.js[0]; j0++) {
      const i64 c0 = u0 * s.mul[0] + s.add[0] + j0 * s.inc[0];
      if (c0 < 0 || c0 >= s.size[0]) continue;
      for (i64 j1 = 0; j1 < s.js[1]; j1++) {
        const i64 c1 = u1 * s.mul[1] + s.add[1] + j1 * s.inc[1];
        if (c1 < 0 || c1 >= s.size[1]) continue;
        const i64 line = from_at + b * s.from_b + c0 * s.from_axis[0] + c1 * s.from_axis[1];
        for (i64 j2 = 0; j2 < s.js[2]; j2++) {
          const ACC w = (ACC)LOAD(left, left_at + b * s.left_b + j0 * s.left_j[0] +
                                            j1 * s.left_j[1] + j2 * s.left_j[2]);
          // Those v whose coordinate c2 + v * mul is inside.
          const i64 c2 = first * s.mul[2] + s.add[2] + j2 * s.inc[2];
          const i64 low = c2 < 0 ? (-c2 + s.mul[2] - 1) / s.mul[2] : 0;
          const i64 above = s.size[2] - c2,
                    room = above > 0 ? (above + s.mul[2] - 1) / s.mul[2] : 0;
          const int end = room < width ? (int)room : width;
          GLOBAL const M* x = from + line + c2 * s.from_axis[2];
          if (step_v == 1) {
            for (int v = (int)(low < end ? low : end); v < end; v++) sum[v] += w * (ACC)LOAD(x, v);
          } else {
            for (int v = (int)(low < end ? low : end); v < end; v++)
              sum[v] += w * (ACC)LOAD(x, v * step_v);
          }
        }
      }
    }
  i64 to = s.out_at + group * s.out_group + r * s.out_row + a * s.out_a + u0 * s.out_u[0] +
           u1 * s.out_u[1] + first * s.out_u[2];
  for (int v = 0; v < width; v++) STORE_OUT(out, to + v * s.out_u[2], sum[v]);
}
#endif

#ifdef DOTS
// For few elements of the output and a long depth (weights of depthwise convolutions): a work-group
// adds up one element.
KERNEL conv_dots(GLOBAL M_OUT* out, GLOBAL const M* from, GLOBAL const M* left, Conv s) {
  SHARED(ACC, shared);
  const int me = LOCAL_ID;
  const i64 line = GROUP_ID / s.columns, column = GROUP_ID - line * s.columns;
  const i64 group = line / s.rows, row = line - group * s.rows;
  i64 a, u[3], base[3];
  split_place(column, s.us, &a, u);
  const i64 from_at = s.from_at + group * s.from_group + a * s.from_a;
  const i64 left_at = s.left_at + group * s.left_group + row * s.left_row;
  for (int d = 0; d < 3; d++) base[d] = u[d] * s.mul[d] + s.add[d];
  const i64 js = s.js[0] * s.js[1] * s.js[2], lines = js / s.js[2] * (s.depth / js);
  ACC sum = 0;
  // Each item takes lines along the last axis, where only one coordinate moves.
  for (i64 i = me; i < lines; i += GROUP) {
    i64 rest = i / s.js[1], j1 = i - rest * s.js[1], b = rest / s.js[0], j0 = rest - b * s.js[0];
    i64 c0 = base[0] + j0 * s.inc[0], c1 = base[1] + j1 * s.inc[1];
    if (c0 < 0 || c0 >= s.size[0] || c1 < 0 || c1 >= s.size[1]) continue;
    GLOBAL const M* x = from + from_at + b * s.from_b + c0 * s.from_axis[0] + c1 * s.from_axis[1];
    GLOBAL const M* w = left + left_at + b * s.left_b + j0 * s.left_j[0] + j1 * s.left_j[1];
    for (i64 j2 = 0; j2 < s.js[2]; j2++) {
      i64 c2 = base[2] + j2 * s.inc[2];
      if (c2 >= 0 && c2 < s.size[2])
        sum += (ACC)LOAD(w, j2 * s.left_j[2]) * (ACC)LOAD(x, c2 * s.from_axis[2]);
    }
  }
  FOLD_GROUP(shared, sum, ADD)
  if (me == 0) {
    i64 at = s.out_at + group * s.out_group + row * s.out_row + a * s.out_a;
    for (int d = 0; d < 3; d++) at += u[d] * s.out_u[d];
    STORE_OUT(out, at, sum);
  }
}
#endif

#ifdef FOLDS
// Columns (a, j, u) of windows: `from` is walked as above; a is (sample, channel).
KERNEL unfold(GLOBAL M* out, GLOBAL const M* from, Conv s, i64 channels) {
  if (GLOBAL_ID >= s.rows) return;
  i64 a, u[3], j[3], kept;
  split_place(GLOBAL_ID, s.us, &a, u);
  split_place(a, s.js, &kept, j);
  i64 sample = kept / channels,
      at = s.from_at + sample * s.from_a + (kept - sample * channels) * s.from_b;
  int inside = 1;
  for (int d = 0; d < 3; d++) {
    i64 c = u[d] * s.mul[d] + s.add[d] + j[d] * s.inc[d];
    inside &= c >= 0 && c < s.size[d];
    at += c * s.from_axis[d];
  }
  out[s.out_at + GLOBAL_ID * s.out_u[2]] = inside ? from[at] : (M)0;
}
// The sum of what unfold would have copied from one element.
KERNEL fold(GLOBAL M_OUT* out, GLOBAL const M* columns, Conv s, i64 channels) {
  if (GLOBAL_ID >= s.rows) return;
  i64 kept, c[3];
  split_place(GLOBAL_ID, s.size, &kept, c);
  i64 sample = kept / channels;
  const i64 places = s.us[0] * s.us[1] * s.us[2], taps = s.js[0] * s.js[1] * s.js[2];
  ACC sum = 0;
  for (i64 tap = 0; tap < taps; tap++) {
    i64 none, j[3], place = 0;
    split_place(tap, s.js, &none, j);
    int hit = 1;
    for (int d = 0; d < 3; d++) {
      i64 t = c[d] - s.add[d] - j[d] * s.inc[d], u = t / s.mul[d];
      hit &= t >= 0 && u * s.mul[d] == t && u < s.us[d];
      place = place * s.us[d] + u;
    }
    if (hit)
      sum += (ACC)LOAD(columns, s.from_at + sample * s.from_a +
                                    ((kept - sample * channels) * taps + tap) * s.from_b +
                                    place * s.from_group);
  }
  i64 at = s.out_at + sample * s.out_a + (kept - sample * channels) * s.out_row;
  for (int d = 0; d < 3; d++) at += c[d] * s.out_u[d];
  STORE_OUT(out, at, sum);
}
#endif
