// One pointwise kernel. The program defines the arguments (BUFFERS, SCALARS), how operands are read
// (READ, in terms of at0 ... at3), the value, and how it is written. Three forms by layout:
// FLAT: every operand lies in one piece; an item makes ITEMS elements, a group's width apart.
// ROWS: a group makes up to `part` elements of each of `per` rows, so that places within other
//   dimensions are found once for all of them; STEP0(j) ... STEP3(j) are the distances along the
//   row. READ_ROW reads what is one for the whole row.
// Neither: an item finds its element by divisions, of 32 bits if the program says so by INDEX.
// NDIM is the number of dimensions, if few.
#ifdef FLAT
KERNEL pointwise(BUFFERS i64 n, i64 offset0, i64 offset1, i64 offset2, i64 offset3 SCALARS) {
#if ITEMS == 1
  i64 i = GLOBAL_ID;
  {
#else
  i64 i = GROUP_ID * (LOCAL_SIZE * ITEMS) + LOCAL_ID;
#pragma unroll
  for (int u = 0; u < ITEMS; u++, i += LOCAL_SIZE) {
#endif
    if (i >= n) return;
    i64 at0 = offset0 + i, at1 = offset1 + i, at2 = offset2 + i, at3 = offset3 + i;
    READ WRITE
  }
}
#else
#ifndef NDIM
#define NDIM geometry.ndim
#endif
// The places of element i of the dimensions from FIRST on.
#define PLACES(FIRST)                                                        \
  i64 at0 = geometry.offset[0], at1 = geometry.offset[1],                    \
      at2 = geometry.offset[2], at3 = geometry.offset[3];                    \
  for (int d = FIRST; d < NDIM; d++) {                                       \
    INDEX next = d + 1 < NDIM ? i / (INDEX)geometry.size[d] : 0;             \
    i64 j = (i64)(i - next * (INDEX)geometry.size[d]);                       \
    i = next;                                                                \
    at0 += j * geometry.stride[0][d];                                        \
    at1 += j * geometry.stride[1][d];                                        \
    at2 += j * geometry.stride[2][d];                                        \
    at3 += j * geometry.stride[3][d];                                        \
  }
#ifdef ROWS
KERNEL pointwise(BUFFERS Geometry geometry, i64 part, i64 per SCALARS) {
  INDEX size = (INDEX)geometry.size[0], rows = (INDEX)(geometry.n / geometry.size[0]);
  INDEX parts = (INDEX)((size + part - 1) / part), group = (INDEX)GROUP_ID;
  INDEX row = group / parts * (INDEX)per, begin = group % parts * (INDEX)part;
  INDEX last = (INDEX)per < rows - row ? row + (INDEX)per : rows;
  i64 end = (INDEX)part < size - begin ? begin + part : size;
  for (; row < last; row++) {
    INDEX i = row;
    PLACES(1)
    i64 from0 = at0, from1 = at1, from2 = at2, from3 = at3;
    i64 step0 = geometry.stride[0][0], step1 = geometry.stride[1][0];
    i64 step2 = geometry.stride[2][0], step3 = geometry.stride[3][0];
    READ_ROW
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#endif
    for (i64 j = begin + LOCAL_ID; j < end; j += LOCAL_SIZE) {
      at0 = from0 + STEP0(j);
      at1 = from1 + STEP1(j);
      at2 = from2 + STEP2(j);
      at3 = from3 + STEP3(j);
      READ WRITE
    }
  }
}
#else
KERNEL pointwise(BUFFERS Geometry geometry SCALARS) {
  INDEX i = (INDEX)GLOBAL_ID;
  if (i >= (INDEX)geometry.n) return;
  PLACES(0)
  READ WRITE
}
#endif
#endif
