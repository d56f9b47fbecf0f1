"""The CUDA branch of the kernels runs, on the CPU, and gives what OpenCL gives.

`cuda_shim.cpp` is an OpenCL loader that compiles kernels as CUDA C. The tests named
here run on it in another process.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# One test of every kernel; each program takes the compiler about a second.
CHOSEN = {
    "test_primitives.py": (
        "test_matmul or test_nan_wins or test_reduced_floats or test_pointwise_layouts "
        "or test_long_pointwise or test_softmax or test_shapes_of_products "
        "or test_reductions_of_several_dimensions or test_the_first_of_equals"
    ),
    "test_complex.py": "test_functions[acosh] or test_matmul or test_scans_and_moves",
    "test_lines.py": (
        "test_scans[1025] or test_sort_is_stable[True-513] or test_topk[10-600] "
        "or test_scatters[sum-torch.float32] or test_scatters_in_order "
        "or test_what_follows"
    ),
    "test_random.py": (
        "test_the_device_draws[7] or test_bounds or test_integers "
        "or (test_continuous and (normal or cauchy))"
    ),
    "test_runtime.py": "test_positions_out_of_bounds",
    "test_nn.py": (
        "test_convolution[strided-channels_last] or test_convolution[groups-plain] "
        "or test_convolution[depthwise-plain] or test_convolution[long_depth-plain] "
        "or (test_convolution_dtypes and float16) or test_fold_and_unfold "
        "or (test_pooling and (max or mean or bilinear)) or test_channel_norms "
        "or test_row_norms[33] or test_class_losses "
        "or (test_optimizer_steps_are_fused and bfloat16) "
        "or (test_recurrent_layers and float64 and 5) "
        "or (test_sparse_products and 21-torch.float32)"
    ),
    "test_linalg.py": (
        "(complex128 and (2x5x5 or (2x3x6 and (gels- or gelsd-)))) "
        "or (float32 and (test_lu[70x66- or test_eig[2x5x5-))"
    ),
    "test_fft.py": "test_lengths[False-60] or test_lengths[True-67]",
}


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """The environment of a process whose OpenCL is the shim."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("shim")
    shutil.copy(HERE / "cuda_shim.h", folder / "cuda_fp16.h")
    header = folder / "cuda_fp16.h"
    # Compiled once, with the options of cuda_shim.cpp; a compiler that cannot reads it.
    options = ["-std=c++17", "-O1", "-w", "-fpermissive", "-fPIC", "-x", "c++-header"]
    subprocess.run([compiler, *options, header, "-o", f"{header}.gch"], check=False)
    library = folder / "libshim.so"
    command = [compiler, "-std=c++17", "-O1", "-shared", "-fPIC", "-o", library]
    subprocess.run([*command, HERE / "cuda_shim.cpp", "-ldl"], check=True)
    return {
        **os.environ,
        "EMBER_OPENCL_CACHE": "",
        "EMBER_OPENCL_LIBRARY": str(library),
        "EMBER_OPENCL_STAGED": "1",
        "SHIM_DIRECTORY": str(folder),
        "SHIM_COMPILER": compiler,
    }


@pytest.mark.parametrize("file", CHOSEN)
def test_kernels_run_as_cuda(file, shim, request):
    if "SHIM_DIRECTORY" in os.environ:
        pytest.skip("this is the run on the shim")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            str(HERE / file),
            "-k",
            CHOSEN[file],
        ],
        env=shim,
        cwd=request.config.rootpath,
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout, done.stdout
