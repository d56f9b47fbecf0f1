"""OpenCL devices: ``ember.device("opencl")``.

The OpenCL loader is opened on first use, never before: the system's, or the one of the
pyopencl package together with PoCL's CPU device; ``pip install "embergrad[opencl]"``
brings both. Devices are ``opencl:0``, ``opencl:1`` ..., GPUs first.

============================  =======================================================
`EMBER_OPENCL_DEVICE`         the devices to use, by place or a part of the names of
                              device or driver, with commas between them; all of them
                              if it is not set
`EMBER_OPENCL_LIBRARY`        another loader
`EMBER_OPENCL_CACHE`          the directory of compiled kernels (empty for none)
`EMBER_OPENCL_CACHE_SIZE`     how many megabytes of them to keep, 512 if it is not set;
                              those that were not used for longest are removed
`EMBER_OPENCL_BUILD_SECONDS`  of CPU that compiling a kernel may take, 60 if it is not
                              set; its plain variant is compiled if it takes longer
`EMBER_OPENCL_BUILD_MEMORY`   megabytes that compiling a kernel may take
`EMBER_OPENCL_BUILD_HELPER`   0: compile in this process, not in one of its own
`EMBER_OPENCL_BUILD_LOG`      a file to which each kernel adds a line: see `build_log`
`EMBER_OPENCL_BLOCKING`       1: wait for every kernel, so that errors come at their op
`EMBER_OPENCL_FALLBACK`       1: what has no kernel runs on the host
============================  =======================================================

Work is enqueued and Python runs ahead; printing, `item()` and copies to the host wait
for it. A position out of bounds that only the device can see (an index tensor that
lives there) touches no memory, and raises at the next such wait.

>>> import ember
>>> if ember.opencl.is_available():
...     x = ember.ones(2, 3, device="opencl")
...     assert (x + x).sum().item() == 12
"""

from ember.opencl.builds import BuildRecord, build_log
from ember.opencl.devices import (
    current_device,
    device,
    device_count,
    device_of,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_initialized,
    set_device,
    synchronize,
)
from ember.opencl.memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_max_memory_allocated,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from ember.opencl.random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from ember.opencl.streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)

__all__ = [
    "BuildRecord",
    "Event",
    "Stream",
    "StreamContext",
    "build_log",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]
