"""Kernels by hand that the OpenCL device is compared with: a copy, three products."""

COPY = """
__kernel void copy(__global VECTOR* to, __global const VECTOR* from) {
  to[get_global_id(0)] = from[get_global_id(0)];
}"""

# One item a tile of ROWS x VECTORS vectors, from packed panels.
PANELS = """
__kernel void product(__global float* c, __global const float* a,
                      __global const float* b, int n) {
  int down = (n + ROWS - 1) / ROWS, row = get_group_id(0) % down;
  int column = get_group_id(0) / down, across = (n + 16 * VECTORS - 1) / (16 * VECTORS);
  a += (long)row * n * ROWS;
  b += (long)column * n * VECTORS * 16;
  float16 sum[ROWS][VECTORS];
#pragma unroll
  for (int i = 0; i < ROWS; i++)
#pragma unroll
    for (int j = 0; j < VECTORS; j++) sum[i][j] = 0;
  for (int k = 0; k < n; k++, a += ROWS, b += VECTORS * 16) {
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
      for (int j = 0; j < VECTORS; j++) sum[i][j] += a[i] * vload16(j, b);
  }
#pragma unroll
  for (int i = 0; i < ROWS; i++)
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
      vstore16(sum[i][j], ((long)(row * ROWS + i) * across + column) * VECTORS + j, c);
}"""

# The textbook's: squares of 16 x 16 in local memory, an item for each element.
SQUARES = """
__kernel void product(__global float* c, __global const float* a,
                      __global const float* b, int n) {
  __local float left[16][17], right[16][17];
  int x = get_local_id(0), y = get_local_id(1);
  int i = get_global_id(1), j = get_global_id(0);
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    left[y][x] = a[i * n + k + x];
    right[y][x] = b[(k + y) * n + j];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int q = 0; q < 16; q++) sum += left[y][q] * right[q][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[i * n + j] = sum;
}"""

# 4 rows of one vector each for an item, straight from memory.
STRIPS = """
__kernel void product(__global float* c, __global const float* a,
                      __global const float* b, int n) {
  int j = get_global_id(0), i = get_global_id(1) * 4;
  float8 sum[4];
#pragma unroll
  for (int r = 0; r < 4; r++) sum[r] = 0;
  for (int k = 0; k < n; k++) {
    float8 w = vload8(j, b + (long)k * n);
#pragma unroll
    for (int r = 0; r < 4; r++) sum[r] += a[(long)(i + r) * n + k] * w;
  }
#pragma unroll
  for (int r = 0; r < 4; r++) vstore8(sum[r], j, c + (long)(i + r) * n);
}"""
