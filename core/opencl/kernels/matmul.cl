// out = beta * out + alpha * (a @ b). A work-group of SIDE x SIDE items makes one tile of the
// output, each item BLOCK x BLOCK of its elements, from pieces of a and b in local memory. Operands
// 0, 1, 2 of the geometry are out, a and b over the batch dimensions; strides of rows and columns
// come apart. The program defines ACC, BLOCK, M_OUT, M_A, M_B, LOAD_OUT, LOAD_A, LOAD_B and STORE.
#define SIDE 8
#define TILE (SIDE * BLOCK)
#define DEPTH 16

KERNEL matmul(GLOBAL M_OUT* out, GLOBAL const M_A* a, GLOBAL const M_B* b, Geometry g, i64 m, i64 n,
              i64 k, i64 out_row, i64 out_column, i64 a_row, i64 a_column, i64 b_row, i64 b_column,
              ACC alpha, ACC beta, i32 keeps) {
  LOCAL ACC left[DEPTH][TILE];
  LOCAL ACC right[DEPTH][TILE];
  i64 across = (n + TILE - 1) / TILE, down = (m + TILE - 1) / TILE;
  i64 batch = GROUP_ID / (across * down), tile = GROUP_ID % (across * down);
  i64 row = tile / across * TILE, column = tile % across * TILE;
  int y = LOCAL_ID / SIDE * BLOCK, x = LOCAL_ID % SIDE * BLOCK;
  i64 at_out = g.offset[0], at_a = g.offset[1], at_b = g.offset[2];
  for (int d = 0; d < g.ndim; d++) {
    i64 next = batch / g.size[d], j = batch - next * g.size[d];
    batch = next;
    at_out += j * g.stride[0][d];
    at_a += j * g.stride[1][d];
    at_b += j * g.stride[2][d];
  }
  ACC sum[BLOCK][BLOCK];
  for (int i = 0; i < BLOCK; i++)
    for (int j = 0; j < BLOCK; j++) sum[i][j] = 0;
  for (i64 first = 0; first < k; first += DEPTH) {
    for (int t = LOCAL_ID; t < DEPTH * TILE; t += SIDE * SIDE) {
      int q = t % DEPTH, p = t / DEPTH;  // of a: along its rows
      left[q][p] = row + p < m && first + q < k
                       ? (ACC)LOAD_A(a, at_a + (row + p) * a_row + (first + q) * a_column)
                       : (ACC)0;
      int u = t / TILE, v = t % TILE;
      right[u][v] = column + v < n && first + u < k
                        ? (ACC)LOAD_B(b, at_b + (first + u) * b_row + (column + v) * b_column)
                        : (ACC)0;
    }
    BARRIER();
    for (int q = 0; q < DEPTH; q++) {
      ACC w[BLOCK];
      for (int j = 0; j < BLOCK; j++) w[j] = right[q][x + j];
      for (int i = 0; i < BLOCK; i++) {
        ACC v = left[q][y + i];
        for (int j = 0; j < BLOCK; j++) sum[i][j] += v * w[j];
      }
    }
    BARRIER();
  }
  for (int i = 0; i < BLOCK; i++)
    for (int j = 0; j < BLOCK; j++) {
      if (row + y + i >= m || column + x + j >= n) continue;
      i64 at = at_out + (row + y + i) * out_row + (column + x + j) * out_column;
      ACC value = alpha * sum[i][j];
      if (keeps) value += beta * (ACC)LOAD_OUT(out, at);
      STORE(out, at, value);
    }
}
