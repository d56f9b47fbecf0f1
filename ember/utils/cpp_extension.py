"""Extensions in C++, compiled when they are needed or by setuptools.

They are written as for PyTorch, with `#include <torch/extension.h>`;
docs/cpp_extensions.md says what the headers in `ember/include` have. A compiler and
the package pybind11 are needed; there is no CUDA.

    module = load_inline(
        "double", "torch::Tensor twice(torch::Tensor x) { return x * 2; }",
        functions=["twice"])
    module.twice(ember.ones(2))
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import ember
from ember import _lazy, _unavailable

CUDA_HOME = ROCM_HOME = SYCL_HOME = None
IS_WINDOWS, IS_LINUX, IS_MACOS = False, True, False
IS_HIP_EXTENSION = False
INCLUDE = Path(ember.__file__).parent / "include"
_NO_CUDA = "ember compiles C++ only; write the kernel with ember.opencl, or in C++"
_unavailable.fill(
    globals(), "utils.cpp_extension", _NO_CUDA, "CUDAExtension SyclExtension"
)
_FLAGS = ["-fPIC", "-O2", "-fvisibility=hidden", "-w"]

Paths = str | Sequence[str]
Flags = Sequence[str] | None


def include_paths(
    device_type: str = "cpu", torch_include_dirs: bool = True
) -> list[str]:
    """Where `torch/extension.h` and pybind11's headers are."""
    if device_type != "cpu":
        raise _unavailable.Unavailable(f"include_paths({device_type!r}): {_NO_CUDA}")
    return [*([str(INCLUDE)] if torch_include_dirs else []), _pybind11()]


def library_paths(
    device_type: str = "cpu",
    torch_include_dirs: bool = True,
    cross_target_platform: str | None = None,
) -> list[str]:
    """None: an extension links with nothing of ember."""
    return []


def _pybind11() -> str:
    try:
        pybind11 = importlib.import_module("pybind11")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "C++ extensions need the package pybind11: pip install pybind11",
            name="pybind11",
        ) from None
    return pybind11.get_include()


# --- compiled when they are needed ----------------------------------------------------


def load(
    name: str,
    sources: Paths,
    extra_cflags: Flags = None,
    extra_cuda_cflags: Flags = None,
    extra_sycl_cflags: Flags = None,
    extra_ldflags: Flags = None,
    extra_include_paths: Flags = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    is_standalone: bool = False,
    keep_intermediates: bool = True,
) -> Any:
    """Compile an extension, unless that has been done before, and load it.

    The module; or the path of the library, whose operators are then in `ember.ops`, if
    it is no Python module.
    """
    files = [sources] if isinstance(sources, str) else list(sources)
    cuda = [file for file in files if file.endswith((".cu", ".cuh", ".sycl"))]
    if with_cuda or with_sycl or cuda:
        raise _unavailable.Unavailable(f"load({name!r}): {_NO_CUDA}")
    if is_standalone:
        raise _unavailable.Unavailable(
            f"load({name!r}, is_standalone=True): extensions run inside of Python"
        )
    root = Path(build_directory or _build_directory(name))
    root.mkdir(parents=True, exist_ok=True)
    flags = [*_compile_flags(extra_include_paths), *(extra_cflags or [])]
    link = list(extra_ldflags or [])
    key = _key(files, [*flags, *link])
    name = _module_name(name, key)
    flags.append(f"-DTORCH_EXTENSION_NAME={name}")
    library = _built(root / key, name, files, flags, link, verbose)
    return _loaded(name, library, is_python_module)


def load_inline(
    name: str,
    cpp_sources: Paths,
    cuda_sources: Paths | None = None,
    sycl_sources: Paths | None = None,
    functions: Any = None,
    extra_cflags: Flags = None,
    extra_cuda_cflags: Flags = None,
    extra_sycl_cflags: Flags = None,
    extra_ldflags: Flags = None,
    extra_include_paths: Flags = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,
    keep_intermediates: bool = True,
    use_pch: bool = False,
    no_implicit_headers: bool = False,
) -> Any:
    """`load` of sources in strings; `functions` names those that Python can call."""
    if cuda_sources or sycl_sources:
        raise _unavailable.Unavailable(f"load_inline({name!r}): {_NO_CUDA}")
    texts = [cpp_sources] if isinstance(cpp_sources, str) else list(cpp_sources)
    if not no_implicit_headers:
        texts.insert(0, "#include <torch/extension.h>")
    if functions is not None:
        texts.append(_bindings(functions))
    root = Path(build_directory or _build_directory(name))
    root.mkdir(parents=True, exist_ok=True)
    source = root / "main.cpp"
    text = "\n".join(texts) + "\n"
    if not source.exists() or source.read_text() != text:
        source.write_text(text)
    return load(
        name,
        [str(source)],
        extra_cflags,
        extra_ldflags=extra_ldflags,
        extra_include_paths=extra_include_paths,
        build_directory=str(root),
        verbose=verbose,
        with_cuda=with_cuda,
        is_python_module=is_python_module,
    )


def _bindings(functions: Any) -> str:
    """A module of functions: a name, names, or names with docstrings."""
    if isinstance(functions, str):
        functions = [functions]
    docs = functions if isinstance(functions, dict) else {f: f for f in functions}
    lines = [f'm.def("{f}", &{f}, R"ember({doc})ember");' for f, doc in docs.items()]
    return "\n".join(["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *lines, "}"])


def get_default_build_root() -> str:
    """Where extensions are built, unless TORCH_EXTENSIONS_DIR says otherwise."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.realpath(os.path.join(cache, "torch_extensions"))


def _build_directory(name: str) -> str:
    root = os.environ.get("TORCH_EXTENSIONS_DIR") or get_default_build_root()
    version = f"py{sys.version_info[0]}{sys.version_info[1]}_ember"
    return os.path.join(root, version, name)


_loaded_keys: dict[str, list[str]] = {}


def _module_name(name: str, key: str) -> str:
    """Another name for every other version of an extension in this process: Python
    knows compiled modules by their names."""
    keys = _loaded_keys.setdefault(name, [])
    if key not in keys:
        keys.append(key)
    version = keys.index(key)
    return f"{name}_v{version}" if version else name


def _compile_flags(include: Flags) -> list[str]:
    python = sysconfig.get_path("include")
    paths = [*(include or []), *include_paths(), python]
    return [
        *_FLAGS,
        "-std=c++20",
        *(f"-I{path}" for path in paths),
    ]


def _key(files: list[str], flags: list[str]) -> str:
    """Changes with the sources, what they are compiled with, and the headers."""
    digest = hashlib.sha256("\0".join([get_cxx_compiler(), *flags]).encode())
    for path in [*map(Path, files), *sorted(INCLUDE.rglob("*.h"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _built(
    folder: Path,
    name: str,
    files: list[str],
    flags: list[str],
    link: list[str],
    show: bool,
) -> Path:
    """The library, compiled now if it is not there."""
    folder.mkdir(exist_ok=True)
    library = folder / f"{name}.so"
    with _locked(folder / "lock"):
        if library.exists():
            return library
        objects = [folder / f"{i}_{Path(file).stem}.o" for i, file in enumerate(files)]
        compiler = shlex.split(get_cxx_compiler())
        commands = [
            [*compiler, *flags, "-c", file, "-o", str(made)]
            for file, made in zip(files, objects)
        ]
        with ThreadPoolExecutor(int(os.environ.get("MAX_JOBS") or 2)) as pool:
            list(pool.map(lambda command: _run(name, command, show), commands))
        unfinished = library.with_suffix(".tmp")
        made = [str(file) for file in objects]
        _run(name, [*compiler, "-shared", *made, *link, "-o", str(unfinished)], show)
        unfinished.rename(library)
        for file in objects:
            file.unlink()
    return library


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time compiles an extension."""
    import fcntl

    with open(path, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(name: str, command: list[str], show: bool) -> None:
    if show:
        print(shlex.join(command), flush=True)
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise RuntimeError(
            f"Error building extension '{name}': there is no compiler {command[0]!r}; "
            "install one, or set CXX"
        ) from None
    if done.returncode:
        raise RuntimeError(f"Error building extension '{name}': {done.stderr}")


def _loaded(name: str, library: Path, is_python_module: bool) -> Any:
    from ember.utils import _cpp_calls

    if not is_python_module:
        ember.ops.load_library(str(library))
        return str(library)
    spec = importlib.util.spec_from_file_location(name, library)
    assert spec is not None and spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    _cpp_calls.raise_failures()
    return module


# --- compiled by setuptools -----------------------------------------------------------


def CppExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:
    """A `setuptools.Extension` with the paths that `torch/extension.h` needs."""
    setuptools = importlib.import_module("setuptools")
    kwargs["include_dirs"] = [*kwargs.get("include_dirs", []), *include_paths()]
    kwargs["language"] = "c++"
    return setuptools.Extension(name, list(sources), *args, **kwargs)


def _build_command() -> type:
    base: Any = importlib.import_module("setuptools.command.build_ext").build_ext

    class BuildExtension(base):
        """The command `build_ext` of setuptools, for `CppExtension`."""

        @classmethod
        def with_options(cls, **options: Any) -> type:
            """A command with options; those of PyTorch's for ninja change nothing."""

            class Command(cls):  # type: ignore[valid-type, misc]
                def __init__(self, *args: Any, **kwargs: Any) -> None:
                    super().__init__(*args, **kwargs, **options)

            return Command

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            for option in ("use_ninja", "no_python_abi_suffix"):
                kwargs.pop(option, None)
            super().__init__(*args, **kwargs)

        def build_extension(self, ext: Any) -> None:
            given = ext.extra_compile_args
            flags = given.get("cxx", []) if isinstance(given, dict) else list(given)
            if not any(flag.startswith("-std=") for flag in flags):
                flags = ["-std=c++20", *flags]
            module = ext.name.rpartition(".")[2]
            define = f"-DTORCH_EXTENSION_NAME={module}"
            ext.extra_compile_args = ["-fvisibility=hidden", define, *flags]
            super().build_extension(ext)

    return BuildExtension


def __getattr__(name: str) -> Any:
    if name != "BuildExtension":  # which needs setuptools
        return _lazy.missing(__name__)(name)
    globals()[name] = made = _build_command()
    return made


# --- tools ----------------------------------------------------------------------------


def get_cxx_compiler() -> str:
    """The C++ compiler: CXX, or c++."""
    return os.environ.get("CXX", "c++")


def check_compiler_ok_for_platform(compiler: str) -> bool:
    """Whether a compiler is there."""
    return shutil.which(compiler) is not None


def get_compiler_abi_compatibility_and_version(compiler: str) -> tuple[bool, Any]:
    """Whether a compiler is there, and no version."""
    return check_compiler_ok_for_platform(compiler), None


def is_ninja_available() -> bool:
    """Whether ninja is there; it is not needed."""
    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """That ninja is there."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions")
