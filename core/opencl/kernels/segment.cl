// Products with sparse matrices in compressed rows. The program defines ACC, M, LOAD, STORE and
// COLUMNS, how many neighbours an item makes.
KERNEL sparse_mm(GLOBAL M* out, i64 out_at, GLOBAL const i64* start, i64 start_at,
                 GLOBAL const i64* columns, i64 columns_at, GLOBAL const M* values, i64 values_at,
                 GLOBAL const M* dense, i64 dense_at, FAULTS, i64 rows, i64 width, i64 n,
                 i64 count) {
  const i64 blocks = (n + COLUMNS - 1) / COLUMNS, row = GLOBAL_ID / blocks;
  if (row >= rows) return;
  const i64 first = (GLOBAL_ID - row * blocks) * COLUMNS;
  const int size = first + COLUMNS <= n ? COLUMNS : (int)(n - first);
  i64 begin = start[start_at + row], end = start[start_at + row + 1];
  if (begin < 0 || end < begin || end > count) {
    FAULT(begin < 0 || begin > count ? begin : end, 0, count);
    begin = end = 0;
  }
  ACC sum[COLUMNS];
  for (int v = 0; v < COLUMNS; v++) sum[v] = 0;
  for (i64 e = begin; e < end; e++) {
    const i64 c = columns[columns_at + e];
    if (c < 0 || c >= width) {
      FAULT(c, 1, width);
      continue;
    }
    const ACC w = (ACC)LOAD(values, values_at + e);
    const i64 at = dense_at + c * n + first;
    if (size == COLUMNS) {
      for (int v = 0; v < COLUMNS; v++) sum[v] += w * (ACC)LOAD(dense, at + v);
    } else {
      for (int v = 0; v < size; v++) sum[v] += w * (ACC)LOAD(dense, at + v);
    }
  }
  for (int v = 0; v < size; v++) STORE(out, out_at + row * n + first + v, sum[v]);
}

// An item for each element of the sparse matrix, whose row it looks for.
KERNEL sampled_mm(GLOBAL M* out, i64 out_at, GLOBAL const i64* start, i64 start_at,
                  GLOBAL const i64* columns, i64 columns_at, GLOBAL const M* a, i64 a_at,
                  GLOBAL const M* b, i64 b_at, FAULTS, i64 rows, i64 width, i64 n, i64 count) {
  const i64 e = GLOBAL_ID;
  if (e >= count) return;
  i64 low = 0, high = rows;  // the last row that starts at e or before
  while (high - low > 1) {
    const i64 middle = (low + high) / 2;
    if (start[start_at + middle] <= e)
      low = middle;
    else
      high = middle;
  }
  const i64 c = columns[columns_at + e];
  ACC sum = 0;
  if (rows == 0 || c < 0 || c >= width) {
    FAULT(c, 1, width);
  } else {
    for (i64 j = 0; j < n; j++)
      sum += (ACC)LOAD(a, a_at + low * n + j) * (ACC)LOAD(b, b_at + c * n + j);
  }
  STORE(out, out_at + e, sum);
}
