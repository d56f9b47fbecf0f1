// Work along one dimension. Operands of the geometry (whose line dimension has size 1): 0 and 2 are
// written (values and indices), 1 is read.
#define GROUP 64

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

#ifdef SOFTMAX
DEVICE ACC all_max(LOCAL ACC* shared, ACC mine) {
  int t = LOCAL_ID;
  shared[t] = mine;
  BARRIER();
  for (int half_ = GROUP / 2; half_ > 0; half_ /= 2) {
    if (t < half_) shared[t] = shared[t] > shared[t + half_] ? shared[t] : shared[t + half_];
    BARRIER();
  }
  ACC all = shared[0];
  BARRIER();
  return all;
}
DEVICE ACC all_sum(LOCAL ACC* shared, ACC mine) {
  int t = LOCAL_ID;
  shared[t] = mine;
  BARRIER();
  for (int half_ = GROUP / 2; half_ > 0; half_ /= 2) {
    if (t < half_) shared[t] += shared[t + half_];
    BARRIER();
  }
  ACC all = shared[0];
  BARRIER();
  return all;
}
KERNEL softmax(GLOBAL M_OUT* out, GLOBAL const M_IN* x, Geometry g, i64 n, i64 step0, i64 step1) {
  LOCAL ACC shared[GROUP];
  i64 at0 = line_at(&g, 0, GROUP_ID), at1 = line_at(&g, 1, GROUP_ID);
  ACC top = -(ACC)INFINITY, sum = 0;
  for (i64 i = LOCAL_ID; i < n; i += GROUP) {
    ACC v = (ACC)LOAD(x, at1 + i * step1);
    top = v > top ? v : top;
  }
  top = all_max(shared, top);
  for (i64 i = LOCAL_ID; i < n; i += GROUP) sum += exp((ACC)LOAD(x, at1 + i * step1) - top);
  sum = all_sum(shared, sum);
  ACC scale = LOG ? log(sum) : 1 / sum;
  for (i64 i = LOCAL_ID; i < n; i += GROUP) {
    ACC v = (ACC)LOAD(x, at1 + i * step1) - top;
    v = LOG ? v - scale : exp(v) * scale;
    STORE(out, at0 + i * step0, v);
  }
}
// Operand 2 is the softmax y, operand 1 the gradient.
KERNEL softmax_grad(GLOBAL M_OUT* out, GLOBAL const M_IN* grad, GLOBAL const M_Y* y, Geometry g,
                    i64 n, i64 step0, i64 step1, i64 step2) {
  LOCAL ACC shared[GROUP];
  i64 at0 = line_at(&g, 0, GROUP_ID), at1 = line_at(&g, 1, GROUP_ID), at2 = line_at(&g, 2, GROUP_ID);
  ACC sum = 0;
  for (i64 i = LOCAL_ID; i < n; i += GROUP) {
    ACC v = (ACC)LOAD(grad, at1 + i * step1);
    sum += LOG ? v : v * (ACC)LOAD_Y(y, at2 + i * step2);
  }
  sum = all_sum(shared, sum);
  for (i64 i = LOCAL_ID; i < n; i += GROUP) {
    ACC v = (ACC)LOAD(grad, at1 + i * step1), w = (ACC)LOAD_Y(y, at2 + i * step2);
    v = LOG ? v - exp(w) * sum : (v - sum) * w;
    STORE(out, at0 + i * step0, v);
  }
}
#endif
