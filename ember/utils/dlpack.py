"""Exchange of tensors with other libraries without a copy.

>>> import ember, numpy
>>> ember.utils.dlpack.from_dlpack(numpy.arange(3))
tensor([0, 1, 2])
"""

from enum import IntEnum

from ember._C import _to_dlpack as to_dlpack, from_dlpack


class DLDeviceType(IntEnum):
    """Where the memory of a capsule is: the numbers of the DLPack standard."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
