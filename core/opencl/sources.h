// The texts of kernels/*.cl, and of the shared function headers, put into the library by the build.
#pragma once

namespace ember::opencl::sources {

extern const char* const common;
extern const char* const complex;
extern const char* const functions;
extern const char* const recurrences;
extern const char* const special_functions;
extern const char* const pointwise;
extern const char* const fold;
extern const char* const reduce;
extern const char* const variance;
extern const char* const extremes;
extern const char* const softmax;
extern const char* const matmul;
extern const char* const index;
extern const char* const lines;
extern const char* const random;
extern const char* const scan;
extern const char* const sort;
extern const char* const linalg;
extern const char* const conv;
extern const char* const segment;
extern const char* const recurrent;
extern const char* const loss;
extern const char* const optim;
extern const char* const norm;
extern const char* const pool;
extern const char* const number;
extern const char* const lu;
extern const char* const ldl;
extern const char* const qr;
extern const char* const eigh;
extern const char* const eig;
extern const char* const hessenberg;
extern const char* const francis;
extern const char* const svd;
extern const char* const lstsq;
extern const char* const fft;

}  // namespace ember::opencl::sources
