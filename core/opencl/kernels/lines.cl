// Work along one dimension. Operands of the geometry (whose line dimension has size 1): 0 and 2 are
// written (values and indices), 1 is read.
#define GROUP 64

DEVICE i64 place(const Geometry* g, int operand, i64 i) {
  i64 at = g->offset[operand];
  for (int d = 0; d < g->ndim; d++) {
    i64 next = d + 1 < g->ndim ? i / g->size[d] : 0;
    at += (i - next * g->size[d]) * g->stride[operand][d];
    i = next;
  }
  return at;
}

#ifdef SCAN
KERNEL scan(GLOBAL M_OUT* out, GLOBAL i64* indices, GLOBAL const M_IN* x, Geometry g, i64 n,
            i64 step0, i64 step1, i64 step2, i32 wants) {
  i64 line = GLOBAL_ID;
  if (line >= g.n) return;
  i64 at0 = place(&g, 0, line), at1 = place(&g, 1, line), at2 = place(&g, 2, line);
  ACC a = 0;
  i64 where_ = 0;
  for (i64 i = 0; i < n; i++) {
    ACC b = (ACC)LOAD(x, at1 + i * step1);
    if (i == 0)
      a = b;
    else {
      STEP
    }
    STORE(out, at0 + i * step0, a);
    if (wants) indices[at2 + i * step2] = where_;
  }
}
#endif

#ifdef SORT
// Bitonic sort of lines padded to a power of two; a place of -1 is padding and comes last.
DEVICE int goes_after(KEY a, i64 i, KEY b, i64 j) {
  if (i < 0 || j < 0) return i < 0 && j >= 0;
  int a_nan = a != a, b_nan = b != b;
  if (a_nan | b_nan) {
    if (a_nan & b_nan) return i > j;
    return DESCENDING ? b_nan : a_nan;
  }
  if (a == b) return i > j;
  return DESCENDING ? a < b : a > b;
}
KERNEL sort_load(GLOBAL KEY* keys, GLOBAL i64* places, GLOBAL const M_IN* x, Geometry g, i64 n,
                 i64 padded, i64 step1) {
  i64 i = GLOBAL_ID;
  if (i >= g.n * padded) return;
  i64 line = i / padded, j = i - line * padded;
  places[i] = j < n ? j : -1;
  keys[i] = j < n ? (KEY)LOAD(x, place(&g, 1, line) + j * step1) : (KEY)0;
}
KERNEL sort_step(GLOBAL KEY* keys, GLOBAL i64* places, i64 total, i64 padded, i64 size, i64 reach) {
  i64 t = GLOBAL_ID;
  if (t >= total / 2) return;
  i64 i = t / reach * 2 * reach + t % reach, j = i + reach;
  int up = (i & (padded - 1) & size) == 0;
  KEY a = keys[i], b = keys[j];
  i64 p = places[i], q = places[j];
  int after = goes_after(a, p, b, q);
  if (up ? after : goes_after(b, q, a, p)) {
    keys[i] = b;
    keys[j] = a;
    places[i] = q;
    places[j] = p;
  }
}
KERNEL sort_store(GLOBAL M_OUT* values, GLOBAL i64* indices, GLOBAL const KEY* keys,
                  GLOBAL const i64* places, Geometry g, i64 n, i64 padded, i64 step0, i64 step2,
                  i32 wants) {
  i64 i = GLOBAL_ID;
  if (i >= g.n * n) return;
  i64 line = i / n, j = i - line * n, from = line * padded + j;
  KEY v = keys[from];
  if (wants & 1) STORE(values, place(&g, 0, line) + j * step0, v);
  if (wants & 2) indices[place(&g, 2, line) + j * step2] = places[from];
}
#endif

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
  if (wants & 1) values[place(&g, 0, line)] = v[chosen];
  if (wants & 2) indices[place(&g, 2, line)] = at[chosen];
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
  i64 at0 = place(&g, 0, GROUP_ID), at1 = place(&g, 1, GROUP_ID);
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
  i64 at0 = place(&g, 0, GROUP_ID), at1 = place(&g, 1, GROUP_ID), at2 = place(&g, 2, GROUP_ID);
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
