"""How ember was built."""

from ember import _C


def show() -> str:
    """What ember is made of, in lines for people.

    >>> import ember
    >>> ember.__config__.show().splitlines()[0].startswith("ember built with")
    True
    """
    import ember

    onednn = _C._has_onednn()
    lines = [
        "ember built with:",
        f"  - ember {ember.__version__}",
        "  - C++ Version: 202002",
        f"  - CPU capability usage: {_C._cpu_level().upper()}",
        f"  - OpenMP, {'oneDNN, ' if onednn else ''}OpenBLAS (LAPACK)",
        f"  - USE_CUDA=0, USE_OPENCL=1, USE_MKLDNN={int(onednn)}, USE_OPENMP=1",
    ]
    return "\n".join(lines) + "\n"


def parallel_info() -> str:
    """How many threads are used, in lines for people."""
    import ember

    return (
        "ATen/Parallel:\n"
        f"\tat::get_num_threads() : {ember.get_num_threads()}\n"
        f"\tat::get_num_interop_threads() : {ember.get_num_interop_threads()}\n"
        "ATen parallel backend: OpenMP\n"
    )


def _cxx_flags() -> str:
    return ""
