// The CPU's Fourier transforms (families/fft.h).
#pragma once

namespace ember {
class FftKernels;
}

namespace ember::cpu {

FftKernels& fft_kernels();

}  // namespace ember::cpu
