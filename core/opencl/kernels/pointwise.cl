// One pointwise kernel. The program defines the arguments (BUFFERS, SCALARS), how operands are read
// (READ, in terms of at0 ... at3), the value, and how it is written.
KERNEL pointwise(BUFFERS Geometry geometry SCALARS) {
  i64 i = GLOBAL_ID;
  if (i >= geometry.n) return;
#ifdef CONTIGUOUS
  i64 at0 = geometry.offset[0] + i, at1 = geometry.offset[1] + i, at2 = geometry.offset[2] + i,
      at3 = geometry.offset[3] + i;
#else
  i64 at0 = geometry.offset[0], at1 = geometry.offset[1], at2 = geometry.offset[2],
      at3 = geometry.offset[3];
  for (int d = 0; d < geometry.ndim; d++) {
    i64 next = d + 1 < geometry.ndim ? i / geometry.size[d] : 0, j = i - next * geometry.size[d];
    i = next;
    at0 += j * geometry.stride[0][d];
    at1 += j * geometry.stride[1][d];
    at2 += j * geometry.stride[2][d];
    at3 += j * geometry.stride[3][d];
  }
#endif
  READ WRITE
}
