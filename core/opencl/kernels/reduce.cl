// Reductions: a work-group folds one chunk of the elements that belong to one output, in a tree.
// The program defines ACC, MAP(v), COMBINE(a, b), FINISH(a), LOAD and STORE, M_IN, M_OUT.
// Of the geometry, operand 0 walks the outputs (kept dimensions) and operand 1 the inputs; `r` is
// the geometry of the reduced dimensions of the input (operand 1).
#define GROUP 64

DEVICE i64 place(const Geometry* g, int operand, i64 i) {
  i64 at = 0;
  for (int d = 0; d < g->ndim; d++) {
    i64 next = d + 1 < g->ndim ? i / g->size[d] : 0;
    at += (i - next * g->size[d]) * g->stride[operand][d];
    i = next;
  }
  return at;
}

#ifdef FOLD
DEVICE ACC fold_group(LOCAL ACC* shared, ACC mine) {
  int t = LOCAL_ID;
  shared[t] = mine;
  BARRIER();
  for (int half_ = GROUP / 2; half_ > 0; half_ /= 2) {
    if (t < half_) {
      ACC a = shared[t], b = shared[t + half_];
      shared[t] = COMBINE(a, b);
    }
    BARRIER();
  }
  ACC all = shared[0];
  BARRIER();
  return all;
}

KERNEL reduce(GLOBAL M_OUT* out, GLOBAL const M_IN* x, Geometry g, Geometry r, i64 chunks, ACC init,
              ACC p, i64 count) {
  LOCAL ACC shared[GROUP];
  i64 o = GROUP_ID / chunks, chunk = GROUP_ID % chunks;
  i64 size = (r.n + chunks - 1) / chunks, begin = chunk * size;
  i64 end = begin + size < r.n ? begin + size : r.n;
  i64 base = g.offset[1] + place(&g, 1, o);
  ACC acc = init;
  i64 step = r.stride[1][0];  // of the only dimension, if it is
  for (i64 i = begin + LOCAL_ID; i < end; i += GROUP) {
    ACC v = (ACC)LOAD(x, base + (r.ndim <= 1 ? i * step : place(&r, 1, i)));
    ACC w = MAP(v);
    acc = COMBINE(acc, w);
  }
  acc = fold_group(shared, acc);
  if (LOCAL_ID == 0) {
#ifdef PARTIAL
    out[GROUP_ID] = acc;
#else
    i64 at = g.offset[0] + place(&g, 0, o);
    acc = FINISH(acc);
    STORE(out, at, acc);
#endif
  }
}
#endif

#ifdef VARIANCE
DEVICE ACC sum_group(LOCAL ACC* shared, ACC mine) {
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
KERNEL variance(GLOBAL M_OUT* out, GLOBAL M_OUT* means, GLOBAL const M_IN* x, Geometry g,
                Geometry r, ACC correction, i32 root, i32 wants) {
  LOCAL ACC shared[GROUP];
  i64 base = g.offset[1] + place(&g, 1, GROUP_ID);
  ACC sum = 0;
  for (i64 i = LOCAL_ID; i < r.n; i += GROUP) sum += (ACC)LOAD(x, base + place(&r, 1, i));
  ACC mean = sum_group(shared, sum) / (ACC)r.n;
  ACC squares = 0;
  for (i64 i = LOCAL_ID; i < r.n; i += GROUP) {
    ACC d = (ACC)LOAD(x, base + place(&r, 1, i)) - mean;
    squares += d * d;
  }
  squares = sum_group(shared, squares);
  if (LOCAL_ID == 0) {
    ACC n = (ACC)r.n - correction;
    ACC v = squares / (n > 0 ? n : (ACC)0);
    i64 at = g.offset[0] + place(&g, 0, GROUP_ID);
    i64 at_mean = g.offset[2] + place(&g, 2, GROUP_ID);
    v = root ? sqrt(v) : v;
    if (wants & 1) STORE(out, at, v);
    if (wants & 2) STORE(means, at_mean, mean);
  }
}
#endif

#ifdef EXTREMES
// The first of the largest (or smallest); a NaN is both.
DEVICE int better(ACC a, i64 i, ACC b, i64 j) {
  if (j < 0) return 1;
  if (i < 0) return 0;
  int a_nan = a != a, b_nan = b != b;
  if (a_nan | b_nan) return a_nan & (!b_nan | (i < j));
  if (a == b) return i < j;
  return MOST ? a > b : a < b;
}
KERNEL extremes(GLOBAL M_OUT* values, GLOBAL i64* indices, GLOBAL const M_IN* x, Geometry g,
                Geometry r, i32 wants) {
  LOCAL ACC shared[GROUP];
  LOCAL i64 places[GROUP];
  i64 base = g.offset[1] + place(&g, 1, GROUP_ID);
  ACC best = 0;
  i64 at = -1;
  for (i64 i = LOCAL_ID; i < r.n; i += GROUP) {
    ACC v = (ACC)LOAD(x, base + place(&r, 1, i));
    if (better(v, i, best, at)) best = v, at = i;
  }
  int t = LOCAL_ID;
  shared[t] = best;
  places[t] = at;
  BARRIER();
  for (int half_ = GROUP / 2; half_ > 0; half_ /= 2) {
    if (t < half_ && better(shared[t + half_], places[t + half_], shared[t], places[t])) {
      shared[t] = shared[t + half_];
      places[t] = places[t + half_];
    }
    BARRIER();
  }
  if (t == 0) {
    if (wants & 1) STORE(values, g.offset[0] + place(&g, 0, GROUP_ID), shared[0]);
    if (wants & 2) indices[g.offset[2] + place(&g, 2, GROUP_ID)] = places[0];
  }
}
#endif
