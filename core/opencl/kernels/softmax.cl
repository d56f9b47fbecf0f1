// Softmax, its logarithm and their gradients along lines of n elements. Operands of the geometry,
// which walks the lines: 0 is written, 1 is read, 2 is y of the gradient; step0 ... step2 are the
// distances along a line. As in reduce.cl, there are two forms. Rows: the GROUP items of a group go
// through `per` lines one after the other, with LANES sums side by side. COLUMNS: an item goes down
// LANES neighbouring lines.
// Follows fold.cl. The program defines ACC, M_IN, M_OUT, M_Y, LOAD, LOAD_Y, STORE, LOG, and KEEP if
// out holds ACC.
#ifdef UNIT  // elements of a line, or neighbouring lines, are adjacent in every operand
#define TIMES(i, step) (i)
#else
#define TIMES(i, step) ((i) * (step))
#endif
#ifdef __clang__
#define VECTORS _Pragma("clang loop vectorize(assume_safety)")
#else
#define VECTORS
#endif

#ifndef COLUMNS
#define FOLD(acc, JOIN) \
  FOLD_LANES(acc, JOIN) \
  FOLD_GROUP(shared, acc[0], JOIN)
#define EACH_LINE                                                        \
  i64 line = GROUP_ID * per, last = line + per < g.n ? line + per : g.n; \
  i64 whole = n / (GROUP * LANES) * (GROUP * LANES);                     \
  for (; line < last; line++)

KERNEL softmax(GLOBAL M_OUT* out, GLOBAL const M_IN* x, Geometry g, i64 n, i64 per, i64 step0,
               i64 step1) {
  SHARED(ACC, shared);
  EACH_LINE {
    i64 at0 = line_at(&g, 0, line), at1 = line_at(&g, 1, line);
    ACC acc[LANES];
    for (int l = 0; l < LANES; l++) acc[l] = -(ACC)INFINITY;
    for (i64 j = LOCAL_ID; j < whole; j += GROUP * LANES)
      for (int l = 0; l < LANES; l++) {
        ACC v = (ACC)LOAD(x, at1 + TIMES(j + l * GROUP, step1));
        acc[l] = MOST_OF(v, acc[l]);
      }
    for (i64 j = whole + LOCAL_ID; j < n; j += GROUP) {
      ACC v = (ACC)LOAD(x, at1 + TIMES(j, step1));
      acc[0] = MOST_OF(v, acc[0]);
    }
    FOLD(acc, MOST_OF)
    ACC top = acc[0];
    for (int l = 0; l < LANES; l++) acc[l] = 0;
    for (i64 j = LOCAL_ID; j < whole; j += GROUP * LANES) {
      VECTORS
      for (int l = 0; l < LANES; l++) {
        ACC e = exp((ACC)LOAD(x, at1 + TIMES(j + l * GROUP, step1)) - top);
#ifdef KEEP
        out[at0 + TIMES(j + l * GROUP, step0)] = e;
#endif
        acc[l] += e;
      }
    }
    for (i64 j = whole + LOCAL_ID; j < n; j += GROUP) {
      ACC e = exp((ACC)LOAD(x, at1 + TIMES(j, step1)) - top);
#ifdef KEEP
      out[at0 + TIMES(j, step0)] = e;
#endif
      acc[0] += e;
    }
    FOLD(acc, ADD)
    ACC scale = LOG ? log(acc[0]) : 1 / acc[0];
    VECTORS
    for (i64 j = LOCAL_ID; j < n; j += GROUP) {
#ifdef KEEP
      out[at0 + TIMES(j, step0)] *= scale;
#else
      ACC v = (ACC)LOAD(x, at1 + TIMES(j, step1)) - top;
      v = LOG ? v - scale : exp(v) * scale;
      STORE(out, at0 + TIMES(j, step0), v);
#endif
    }
  }
}

KERNEL softmax_grad(GLOBAL M_OUT* out, GLOBAL const M_IN* grad, GLOBAL const M_Y* y, Geometry g,
                    i64 n, i64 per, i64 step0, i64 step1, i64 step2) {
  SHARED(ACC, shared);
  EACH_LINE {
    i64 at0 = line_at(&g, 0, line), at1 = line_at(&g, 1, line), at2 = line_at(&g, 2, line);
    ACC acc[LANES];
    for (int l = 0; l < LANES; l++) acc[l] = 0;
    for (i64 j = LOCAL_ID; j < whole; j += GROUP * LANES)
      for (int l = 0; l < LANES; l++) {
        ACC v = (ACC)LOAD(grad, at1 + TIMES(j + l * GROUP, step1));
        acc[l] += LOG ? v : v * (ACC)LOAD_Y(y, at2 + TIMES(j + l * GROUP, step2));
      }
    for (i64 j = whole + LOCAL_ID; j < n; j += GROUP) {
      ACC v = (ACC)LOAD(grad, at1 + TIMES(j, step1));
      acc[0] += LOG ? v : v * (ACC)LOAD_Y(y, at2 + TIMES(j, step2));
    }
    FOLD(acc, ADD)
    ACC sum = acc[0];
    VECTORS
    for (i64 j = LOCAL_ID; j < n; j += GROUP) {
      ACC v = (ACC)LOAD(grad, at1 + TIMES(j, step1)), w = (ACC)LOAD_Y(y, at2 + TIMES(j, step2));
      v = LOG ? v - exp(w) * sum : (v - sum) * w;
      STORE(out, at0 + TIMES(j, step0), v);
    }
  }
}
#else
// Lines `first` ... of dimension 0; the items of a group are side by side.
#define COLUMN_GROUP                                                                \
  i64 side = g.size[0], across = (side + GROUP * LANES - 1) / (GROUP * LANES);      \
  i64 first = GROUP_ID % across * (GROUP * LANES), rest = GROUP_ID / across * side; \
  int lanes = side - first < GROUP * LANES ? (int)(side - first) : GROUP * LANES;   \
  lanes = (lanes - LOCAL_ID + GROUP - 1) / GROUP;                                   \
  first += LOCAL_ID;

KERNEL softmax(GLOBAL M_OUT* out, GLOBAL const M_IN* x, Geometry g, i64 n, i64 per, i64 step0,
               i64 step1) {
  COLUMN_GROUP
  if (lanes <= 0) return;
  i64 at0 = line_at(&g, 0, rest + first), at1 = line_at(&g, 1, rest + first);
  i64 aside0 = g.stride[0][0] * GROUP, aside1 = g.stride[1][0] * GROUP;
  ACC top[LANES], sum[LANES];
  for (int l = 0; l < LANES; l++) {
    top[l] = -(ACC)INFINITY;
    sum[l] = 0;
  }
  for (i64 j = 0; j < n; j++)
    for (int l = 0; l < lanes; l++) {
      ACC v = (ACC)LOAD(x, at1 + j * step1 + TIMES(l, aside1));
      top[l] = MOST_OF(v, top[l]);
    }
  for (i64 j = 0; j < n; j++) {
    VECTORS
    for (int l = 0; l < lanes; l++) {
      ACC e = exp((ACC)LOAD(x, at1 + j * step1 + TIMES(l, aside1)) - top[l]);
#ifdef KEEP
      out[at0 + j * step0 + TIMES(l, aside0)] = e;
#endif
      sum[l] += e;
    }
  }
  for (int l = 0; l < lanes; l++) sum[l] = LOG ? log(sum[l]) : 1 / sum[l];
  for (i64 j = 0; j < n; j++) {
    VECTORS
    for (int l = 0; l < lanes; l++) {
#ifdef KEEP
      out[at0 + j * step0 + TIMES(l, aside0)] *= sum[l];
#else
      ACC v = (ACC)LOAD(x, at1 + j * step1 + TIMES(l, aside1)) - top[l];
      v = LOG ? v - sum[l] : exp(v) * sum[l];
      STORE(out, at0 + j * step0 + TIMES(l, aside0), v);
#endif
    }
  }
}

KERNEL softmax_grad(GLOBAL M_OUT* out, GLOBAL const M_IN* grad, GLOBAL const M_Y* y, Geometry g,
                    i64 n, i64 per, i64 step0, i64 step1, i64 step2) {
  COLUMN_GROUP
  if (lanes <= 0) return;
  i64 at0 = line_at(&g, 0, rest + first), at1 = line_at(&g, 1, rest + first);
  i64 at2 = line_at(&g, 2, rest + first), aside0 = g.stride[0][0] * GROUP;
  i64 aside1 = g.stride[1][0] * GROUP, aside2 = g.stride[2][0] * GROUP;
  ACC sum[LANES];
  for (int l = 0; l < LANES; l++) sum[l] = 0;
  for (i64 j = 0; j < n; j++)
    for (int l = 0; l < lanes; l++) {
      ACC v = (ACC)LOAD(grad, at1 + j * step1 + TIMES(l, aside1));
      sum[l] += LOG ? v : v * (ACC)LOAD_Y(y, at2 + j * step2 + TIMES(l, aside2));
    }
  for (i64 j = 0; j < n; j++) {
    VECTORS
    for (int l = 0; l < lanes; l++) {
      ACC v = (ACC)LOAD(grad, at1 + j * step1 + TIMES(l, aside1));
      ACC w = (ACC)LOAD_Y(y, at2 + j * step2 + TIMES(l, aside2));
      v = LOG ? v - exp(w) * sum[l] : (v - sum[l]) * w;
      STORE(out, at0 + j * step0 + TIMES(l, aside0), v);
    }
  }
}
#endif
