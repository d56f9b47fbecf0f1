#!/bin/bash
# Builds the stand-alone driver of random/ as $1 (a shared object), without the rest of ember.
# BASELINE=1 leaves out the AVX2 kernels.
set -e
out=${1:-/tmp/libember_random.so}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
flags="-std=c++20 -fPIC -fvisibility=hidden -fopenmp -I$root/core -Wall -Wextra -Wno-psabi
  -fno-math-errno -fno-trapping-math -ffp-contract=fast $EXTRA"
kernels=$root/core/cpu/kernels/random.cpp
g++ $flags -O3 -march=x86-64 -DEMBER_ISA=baseline -c "$kernels" -o "$work/baseline.o"
if [ -z "$BASELINE" ]; then
  g++ $flags -O3 -march=x86-64-v3 -DEMBER_ISA=avx2 -c "$kernels" -o "$work/avx2.o"
  flags="$flags -DEMBER_HAVE_AVX2=1"
fi
g++ $flags -O2 -shared -o "$out" "$root"/core/random/{distributions,generator,samplers}.cpp "$root/core/cpu/parallel.cpp" \
  "$root/tests/core/random_driver.cpp" "$work"/*.o
rm -r "$work"
