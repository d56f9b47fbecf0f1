// Indexing: positions become offsets in elements, checked; then elements move. Operands of the
// geometry: 0 written, 1 read, 2 the offsets.
#define NOWHERE (-((i64)1 << 62))
#ifdef OFFSETS
// offsets (+)= position * step, or NOWHERE if one position is out of bounds.
KERNEL offsets(GLOBAL i64* out, GLOBAL const i64* index, Geometry g, FAULTS, i64 dim, i64 size,
               i64 step, i32 wraps, i32 adds) {
  i64 i = GLOBAL_ID;
  if (i >= g.n) return;
  i64 rest = i, at = g.offset[1];
  for (int d = 0; d < g.ndim; d++) {
    i64 next = rest / g.size[d];
    at += (rest - next * g.size[d]) * g.stride[1][d];
    rest = next;
  }
  i64 v = index[at], w = wraps && v < 0 ? v + size : v;
  i64 before = adds ? out[i] : 0;
  if (w < 0 || w >= size) {
    FAULT(v, dim, size);
    before = NOWHERE;
  }
  out[i] = before == NOWHERE ? NOWHERE : before + w * step;
}
#endif

#define PLACES                                                 \
  i64 i = GLOBAL_ID;                                           \
  if (i >= g.n) return;                                        \
  i64 at0 = g.offset[0], at1 = g.offset[1], at2 = g.offset[2]; \
  for (int d = 0; d < g.ndim; d++) {                           \
    i64 next = i / g.size[d], j = i - next * g.size[d];        \
    i = next;                                                  \
    at0 += j * g.stride[0][d];                                 \
    at1 += j * g.stride[1][d];                                 \
    at2 += j * g.stride[2][d];                                 \
  }

#ifdef MOVE
KERNEL take(GLOBAL M* out, GLOBAL const M* x, GLOBAL const i64* offsets, Geometry g) {
  PLACES
  i64 to = offsets[at2];
  M none = {0};
  if (to == NOWHERE)
    out[at0] = none;
  else
    out[at0] = x[at1 + to];
}
KERNEL put(GLOBAL M* self, GLOBAL const M* values, GLOBAL const i64* offsets, Geometry g) {
  PLACES
  i64 to = offsets[at2];
  if (to != NOWHERE) self[at0 + to] = values[at1];
}
#ifdef COMBINE
// Several positions may be the same place: compare and swap until nobody came between.
KERNEL put_with(GLOBAL M* self, GLOBAL const M* values, GLOBAL const i64* offsets, Geometry g) {
  PLACES
  i64 to = offsets[at2];
  if (to == NOWHERE) return;
  volatile GLOBAL BITS* place = (volatile GLOBAL BITS*)(self + at0 + to);
  M v = values[at1];
  BITS old = *place, seen;
  do {
    seen = old;
    M a = FROM_BITS(seen);
    M b = COMBINE(a, v);
    old = CAS(place, seen, TO_BITS(b));
  } while (old != seen);
}
#endif
#endif

#ifdef RUNS
// In order instead: for each element the place it goes to and where it is; then, after sorting by
// these, one work-item for each place that is written.
KERNEL destinations(GLOBAL i64* to, GLOBAL i64* from, GLOBAL const i64* offsets, Geometry g) {
  i64 row = GLOBAL_ID;
  PLACES
  to[row] = offsets[at2] == NOWHERE ? NOWHERE : at0 + offsets[at2];
  from[row] = at1;
}
KERNEL put_runs(GLOBAL M_OUT* self, GLOBAL const M_IN* values, GLOBAL const i64* to,
                GLOBAL const i64* order, GLOBAL const i64* from, i64 n) {
  i64 i = GLOBAL_ID;
  if (i >= n || (i > 0 && to[i - 1] == to[i])) return;
  i64 place = to[i];
  if (place == NOWHERE) return;
  ACC a = READ(self, place);
  for (; i < n && to[i] == place; i++) {
    ACC b = READ(values, from[order[i]]);
    a = COMBINE(a, b);
  }
  STORE(self, place, a);
}
#endif

#ifdef COMPACT
// The coordinates of the set flags, in order; running[i] counts those up to i.
KERNEL compact(GLOBAL i64* out, GLOBAL const i64* flags, GLOBAL const i64* running, Geometry g) {
  i64 i = GLOBAL_ID;
  if (i >= g.n || !flags[i]) return;
  i64 row = (running[i] - 1) * g.ndim, rest = i;
  for (int d = 0; d < g.ndim; d++) {
    i64 next = rest / g.size[d];
    out[row + g.ndim - 1 - d] = rest - next * g.size[d];
    rest = next;
  }
}
#endif
