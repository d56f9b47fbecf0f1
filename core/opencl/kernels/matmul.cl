// out = beta * out + alpha * (a @ b), by tiles in local memory. Operands 0, 1, 2 of the geometry are
// out, a and b over the batch dimensions; the strides of rows and columns come apart.
// The program defines ACC, TILE, M_OUT, M_A, M_B, LOAD_OUT, LOAD_A, LOAD_B and STORE.
KERNEL matmul(GLOBAL M_OUT* out, GLOBAL const M_A* a, GLOBAL const M_B* b, Geometry g, i64 m, i64 n,
              i64 k, i64 out_row, i64 out_column, i64 a_row, i64 a_column, i64 b_row, i64 b_column,
              ACC alpha, ACC beta, i32 keeps) {
  LOCAL ACC left[TILE][TILE + 1];
  LOCAL ACC right[TILE][TILE + 1];
  i64 across = (n + TILE - 1) / TILE, down = (m + TILE - 1) / TILE;
  i64 batch = GROUP_ID / (across * down), tile = GROUP_ID % (across * down);
  int y = LOCAL_ID / TILE, x = LOCAL_ID % TILE;
  i64 row = tile / across * TILE + y, column = tile % across * TILE + x;
  i64 at_out = g.offset[0], at_a = g.offset[1], at_b = g.offset[2];
  for (int d = 0; d < g.ndim; d++) {
    i64 next = batch / g.size[d], j = batch - next * g.size[d];
    batch = next;
    at_out += j * g.stride[0][d];
    at_a += j * g.stride[1][d];
    at_b += j * g.stride[2][d];
  }
  ACC sum = 0;
  for (i64 first = 0; first < k; first += TILE) {
    i64 ka = first + x, kb = first + y;
    left[y][x] = row < m && ka < k ? (ACC)LOAD_A(a, at_a + row * a_row + ka * a_column) : (ACC)0;
    right[y][x] = kb < k && column < n ? (ACC)LOAD_B(b, at_b + kb * b_row + column * b_column) : (ACC)0;
    BARRIER();
    for (int i = 0; i < TILE; i++) sum += left[y][i] * right[i][x];
    BARRIER();
  }
  if (row < m && column < n) {
    i64 at = at_out + row * out_row + column * out_column;
    ACC value = alpha * sum;
    if (keeps) value += beta * (ACC)LOAD_OUT(out, at);
    STORE(out, at, value);
  }
}
