// Work along one dimension. Operands of the geometry (whose line dimension has size 1): 0 and 2 are
// written (values and indices), 1 is read.
#ifdef PICK
// From lines sorted upwards (contiguous): the rank wanted.
KERNEL pick(GLOBAL M_IN* values, GLOBAL i64* indices, GLOBAL const M_IN* sorted,
            GLOBAL const i64* places, Geometry g, i64 n, i64 k, i32 rank, i32 wants) {
  i64 line = GLOBAL_ID;
  if (line >= g.n) return;
  GLOBAL const M_IN* v = sorted + line * n;
  GLOBAL const i64* at = places + line * n;
  i64 real = n;
  while (real > 0 && LOAD(v, real - 1) != LOAD(v, real - 1)) real--;
  i64 chosen = k;
  if (rank == 1) chosen = real < n ? real : (n - 1) / 2;
  if (rank == 2) chosen = real > 0 ? (real - 1) / 2 : 0;
  if (rank == 3) {
    i64 best = 0, run = 0;
    chosen = 0;
    for (i64 i = 0; i < n; i++) {
      run = i > 0 && LOAD(v, i) == LOAD(v, i - 1) ? run + 1 : 1;
      if (run > best) best = run, chosen = i;
    }
  }
  if (wants & 1) values[line_at(&g, 0, line)] = v[chosen];
  if (wants & 2) indices[line_at(&g, 2, line)] = at[chosen];
}
#endif

#ifdef SEARCH
KERNEL search(GLOBAL i64* out, GLOBAL const M_IN* sorted, GLOBAL const M_IN* values,
              GLOBAL const i64* sorter, i64 total, i64 per_line, i64 n, i64 line_step, i32 right,
              i32 has_sorter) {
  i64 i = GLOBAL_ID;
  if (i >= total) return;
  i64 base = i / per_line * line_step, low = 0, high = n;
  while (low < high) {
    i64 middle = low + (high - low) / 2;
    i64 at = base + (has_sorter ? sorter[base + middle] : middle);
    int before = right ? !(LOAD(sorted, at) > LOAD(values, i)) : LOAD(sorted, at) < LOAD(values, i);
    if (before)
      low = middle + 1;
    else
      high = middle;
  }
  out[i] = low;
}
#endif
