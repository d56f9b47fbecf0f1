"""The processor."""


def get_cpu_capability() -> str:
    """The set of instructions that kernels use, such as "AVX2"."""
    from ember import _C

    return _C._cpu_level().upper()
