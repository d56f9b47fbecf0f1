"""Extensions in C++: the names. They are compiled against libtorch's headers, which
ember does not have, so building one raises; `ember.library.custom_op` takes functions
written in Python, and `ctypes` those of a C library.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

from ember import _unavailable

_REASON = (
    "extensions are compiled against libtorch's headers, which are not part of ember; "
    "register Python functions with ember.library.custom_op, or call a C library "
    "through ctypes"
)
CUDA_HOME = ROCM_HOME = SYCL_HOME = None
IS_WINDOWS, IS_LINUX, IS_MACOS = False, True, False
IS_HIP_EXTENSION = False
_unavailable.fill(
    globals(),
    "utils.cpp_extension",
    _REASON,
    """CppExtension CUDAExtension SyclExtension load load_inline include_paths
    library_paths""",
)


class BuildExtension:
    """The command of setuptools that would build them: it raises when it is run."""

    @classmethod
    def with_options(cls, **options: Any) -> type:
        """A command with options."""
        return cls

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _unavailable.Unavailable(f"BuildExtension: {_REASON}")


def get_default_build_root() -> str:
    """Where extensions would be built."""
    import tempfile

    return os.path.realpath(os.path.join(tempfile.gettempdir(), "torch_extensions"))


def get_cxx_compiler() -> str:
    """The C++ compiler."""
    return os.environ.get("CXX", "c++")


def check_compiler_ok_for_platform(compiler: str) -> bool:
    """Whether a compiler is there."""
    return shutil.which(compiler) is not None


def get_compiler_abi_compatibility_and_version(compiler: str) -> tuple[bool, Any]:
    """Whether a compiler is there, and no version."""
    return check_compiler_ok_for_platform(compiler), None


def is_ninja_available() -> bool:
    """Whether ninja is there."""
    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """That ninja is there."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions")
