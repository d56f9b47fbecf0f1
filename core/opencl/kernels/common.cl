// The subset that OpenCL C and CUDA C share, by macros, and loads and stores of every element type.
// Every program starts with this text.
#ifdef __OPENCL_VERSION__
#ifdef EMBER_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define KERNEL __kernel void
#define KERNEL_OF(items) __kernel __attribute__((reqd_work_group_size(items, 1, 1))) void
#define GLOBAL __global
#define LOCAL __local
#define DEVICE static
#define APART __attribute__((noinline))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define BARRIER_GLOBAL() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define LOCAL_ID ((int)get_local_id(0))
#define LOCAL_SIZE ((int)get_local_size(0))
#define GROUP_ID ((i64)get_group_id(0))
#define GLOBAL_ID ((i64)get_global_id(0))
#define LOAD_HALF(p, i) vload_half(i, (GLOBAL const half*)(p))
#define STORE_HALF(p, i, v) vstore_half_rte((float)(v), i, (GLOBAL half*)(p))
#define BITS_OF(f) as_uint(f)
#define FLOAT_OF(u) as_float(u)
#define BITS32(v) as_uint(v)
#define BITS64(v) as_ulong(v)
#define FROM_BITS_float(u) as_float(u)
#define FROM_BITS_double(u) as_double(u)
#define SWAP32 atomic_cmpxchg
#define SWAP64 atom_cmpxchg
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
#else
#include <cuda_fp16.h>
#define KERNEL extern "C" __global__ void
#define KERNEL_OF(items) KERNEL
#define GLOBAL
#define LOCAL __shared__
#define DEVICE static __device__ inline
#define APART
#define BARRIER() __syncthreads()
#define BARRIER_GLOBAL() __syncthreads()
#define LOCAL_ID ((int)threadIdx.x)
#define LOCAL_SIZE ((int)blockDim.x)
#define GROUP_ID ((i64)blockIdx.x)
#define GLOBAL_ID ((i64)blockIdx.x * blockDim.x + threadIdx.x)
#define LOAD_HALF(p, i) __half2float(((const __half*)(p))[i])
#define STORE_HALF(p, i, v) (((__half*)(p))[i] = __float2half_rn((float)(v)))
#define BITS_OF(f) __float_as_uint(f)
#define FLOAT_OF(u) __uint_as_float(u)
static __device__ inline unsigned BITS32(float v) { return __float_as_uint(v); }
static __device__ inline unsigned BITS32(int v) { return (unsigned)v; }
static __device__ inline unsigned BITS32(unsigned v) { return v; }
static __device__ inline unsigned long long BITS64(double v) { return __double_as_longlong(v); }
static __device__ inline unsigned long long BITS64(long long v) { return v; }
static __device__ inline unsigned long long BITS64(unsigned long long v) { return v; }
#define FROM_BITS_float(u) __uint_as_float(u)
#define FROM_BITS_double(u) __longlong_as_double(u)
#define SWAP32(p, seen, v) atomicCAS((unsigned*)(p), seen, v)
#define SWAP64(p, seen, v) atomicCAS((unsigned long long*)(p), seen, v)
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
#endif

#define FROM_BITS_i32(u) ((i32)(u))
#define FROM_BITS_u32(u) (u)
#define FROM_BITS_i64(u) ((i64)(u))
#define FROM_BITS_u64(u) (u)

typedef struct {
  u64 x, y;
} u128;  // to move
typedef struct {
  float x, y;
} c64;
DEVICE c64 make_c64(float x, float y) {
  c64 z;
  z.x = x;
  z.y = y;
  return z;
}
#if defined(EMBER_DOUBLE) || !defined(__OPENCL_VERSION__)
typedef struct {
  double x, y;
} c128;
DEVICE c128 make_c128(double x, double y) {
  c128 z;
  z.x = x;
  z.y = y;
  return z;
}
#endif

DEVICE u16 to_bfloat(float f) {
  u32 bits = BITS_OF(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (u16)((bits >> 16) | 0x40u);
  return (u16)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
#define LOAD_PLAIN(p, i) ((p)[i])
// Any byte but 0 is true.
#define LOAD_BOOL(p, i) ((u8)((p)[i] != 0))
#define STORE_PLAIN(p, i, v) ((p)[i] = (v))
#define LOAD_BFLOAT(p, i) FLOAT_OF((u32)(p)[i] << 16)
#define STORE_BFLOAT(p, i, v) ((p)[i] = to_bfloat((float)(v)))
#define STORE_BOOL(p, i, v) ((p)[i] = (u8)((v) != 0))

// A kernel that finds a position out of bounds says so in a cell, which the host reads later, and
// leaves the element alone. FAULTS are two of its arguments; only the first fault is kept.
#define FAULTS GLOBAL u32 *fault_cell, u32 fault_place
#define FAULT(position, dim, size)                                         \
  do {                                                                     \
    if (SWAP32((volatile GLOBAL u32*)fault_cell, 0u, fault_place) == 0u) { \
      ((GLOBAL i64*)fault_cell)[1] = (position);                           \
      ((GLOBAL i64*)fault_cell)[2] = (dim);                                \
      ((GLOBAL i64*)fault_cell)[3] = (size);                               \
    }                                                                      \
  } while (0)

// Where the elements of up to four operands are; dimensions from the inside out. The same struct
// as in launch.h.
#define MAX_DIMS 12
typedef struct {
  i64 n, ndim;
  i64 offset[4];
  i64 size[MAX_DIMS];
  i64 stride[4][MAX_DIMS];
} Geometry;

// The offset of element i of an operand, counted in the order of the geometry. Not a part of the
// kernels that call it, and so of every piece that PoCL cuts them into at barriers: it took up to
// eight times as long to compile them.
DEVICE APART i64 line_at(const Geometry* g, int operand, i64 i) {
  i64 at = g->offset[operand];
  for (int d = 0; d < g->ndim; d++) {
    i64 next = d + 1 < g->ndim ? i / g->size[d] : 0;
    at += (i - next * g->size[d]) * g->stride[operand][d];
    i = next;
  }
  return at;
}
