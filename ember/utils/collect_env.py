"""What a report should say of the machine: `python -m ember.utils.collect_env`."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from typing import NamedTuple


class SystemEnv(NamedTuple):
    """What is known of the machine."""

    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    opencl_devices: str
    cpu_info: str
    pip_packages: str


def get_env_info() -> SystemEnv:
    """All of it.

    >>> from ember.utils.collect_env import get_env_info
    >>> get_env_info().is_debug_build
    'False'
    """
    import ember

    own = ember.version.distribution
    names = (own, "numpy", "torch", "torchvision", "transformers", "pyopencl")
    found = []
    for name in names:
        try:
            found.append(f"{name}=={importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return SystemEnv(
        torch_version=f"ember {ember.__version__}",
        is_debug_build="False",
        cuda_compiled_version="None",
        os=platform.platform(),
        libc_version="-".join(platform.libc_ver()),
        python_version=sys.version.replace("\n", " "),
        python_platform=platform.platform(),
        is_cuda_available=str(ember.cuda.is_available()),
        opencl_devices=str(ember.opencl.device_count()),
        cpu_info=f"{platform.processor()} {ember.backends.cpu.get_cpu_capability()}",
        pip_packages="\n".join(found),
    )


def pretty_str(envinfo: SystemEnv) -> str:
    """As lines for people."""
    lines = []
    for name, value in envinfo._asdict().items():
        text = value.replace("\n", "\n    ")
        lines.append(f"{name.replace('_', ' ')}: {text}")
    return "\n".join(lines)


def get_pretty_env_info() -> str:
    """`pretty_str(get_env_info())`."""
    return pretty_str(get_env_info())


def main() -> None:
    """Print it."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
