"""The tables of `ember._compat`: every entry leads somewhere and says who needs it."""

import importlib
import subprocess
import sys

import pytest

import ember
from ember import _compat, _unavailable


@pytest.mark.parametrize("file", ["names.txt", "files.txt"])
def test_every_row_has_four_columns(file):
    for row in _compat._rows(file):
        assert len(row) == 4 and row[3], row


def test_every_name_is_found_in_its_module():
    for module, names in _compat.names().items():
        home = importlib.import_module(_compat._outer(module))
        for name in names:
            assert getattr(home, name) is not None or name.startswith("_"), name


def test_every_file_can_be_imported_and_its_names_are_there():
    for file, parts in list(_compat.files().items()):
        module = importlib.import_module(f"ember.{file}")
        for _, names in parts:
            for name in names:
                assert hasattr(module, name.partition("=")[0]), (file, name)


def test_modules_of_the_package_can_be_imported():
    root = _compat._HERE / "modules"
    for path in root.rglob("*.py"):
        inner = path.relative_to(root).with_suffix("")
        parts = inner.parts[:-1] if inner.name == "__init__" else inner.parts
        importlib.import_module(".".join(["ember", *parts]))


def test_layers_are_the_same_by_the_names_of_their_files():
    from ember.nn.modules.instancenorm import InstanceNorm2d
    from ember.nn.modules.pixelshuffle import PixelShuffle
    from ember.nn.modules.utils import _pair

    assert PixelShuffle is ember.nn.PixelShuffle
    assert InstanceNorm2d is ember.nn.InstanceNorm2d
    assert _pair(3) == (3, 3) and _pair([1, 2]) == (1, 2)


def test_names_that_are_nowhere_are_attribute_errors():
    for module in (ember, ember.nn, ember._C, ember.utils, ember.cuda, ember.nn.init):
        with pytest.raises(AttributeError, match="no_such_name"):
            module.no_such_name
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("ember.no_such_module")


def test_what_is_unavailable_says_so_when_used():
    with pytest.raises(_unavailable.Unavailable, match="TorchScript"):
        ember.jit.save(ember.nn.Linear(1, 1), "x")
    with pytest.raises(NotImplementedError, match="does not have this yet"):
        ember.distributed.shrink_group([0])
    with pytest.raises(ValueError, match="init_process_group"):
        ember.distributed.get_rank()


def test_import_of_ember_loads_none_of_it():
    code = (
        "import sys, ember; "
        "print([m for m in sys.modules if m in ('ember._compat', 'ember.jit')])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[]"


def test_decorators_give_back_their_functions():
    def function(x):
        return x

    for decorate in (
        ember.jit.script,
        ember.jit.ignore,
        ember.jit.unused,
        ember.jit.ignore(drop=True),
        ember.compiler.allow_in_graph,
        ember.compiler.assume_constant_result,
        ember.compiler.nested_compile_region,
        ember.compiler.disable(recursive=False),
        ember._dynamo.disallow_in_graph,
    ):
        assert decorate(function) is function
    assert not ember.jit.is_scripting() and not ember.compiler.is_compiling()


@pytest.mark.parametrize(
    "value,kind,expected",
    [
        ([1], list[int], True),
        (["a"], list[int], False),
        ({"a": 1}, dict[str, int], True),
        ((1, "a"), tuple[int, str], True),
        (None, int | None, True),
        (3, (str, int), True),
    ],
)
def test_jit_isinstance_looks_into_containers(value, kind, expected):
    assert ember.jit.isinstance(value, kind) is expected
