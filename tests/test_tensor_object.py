"""The Tensor object: identity, life and death, copies, subclasses, attributes."""

import copy
import gc
import io
import pickle
import subprocess
import sys
import threading
import weakref

import pytest

import ember


class Named(ember.Tensor):
    """A subclass with an attribute of its own."""

    name = "none"


# --- identity -------------------------------------------------------------------------


def test_the_same_tensor_is_the_same_object():
    x = ember.ones(2, requires_grad=True)
    y = x * 2
    y.sum().backward()
    assert x.grad is x.grad
    assert y.grad_fn is y.grad_fn
    assert y.grad_fn.next_functions[0][0].variable is x


def test_attributes_survive_while_only_the_graph_holds_the_tensor():
    x = ember.ones(2, requires_grad=True)
    x.note = "kept"
    y = x * 2
    number = id(x)
    del x
    gc.collect()
    again = y.grad_fn.next_functions[0][0].variable
    assert again.note == "kept" and id(again) == number


def test_subclass_survives_while_only_the_graph_holds_it():
    x = ember.Tensor._make_subclass(Named, ember.ones(2), True)
    x.name = "kept"
    y = x.as_subclass(ember.Tensor)
    del x
    gc.collect()
    again = y.grad_fn.next_functions[0][0].variable
    assert type(again) is Named and again.name == "kept"
    assert again.requires_grad


def test_gradient_keeps_its_attributes():
    x = ember.ones(2, requires_grad=True)
    x.grad = ember.zeros(2)
    x.grad.note = 1
    gc.collect()
    assert x.grad.note == 1


# --- life and death -------------------------------------------------------------------


@pytest.mark.at_once
def test_memory_is_freed_at_once():
    before = ember.cpu.memory_allocated()
    x = ember.zeros(1_000_000)
    y = x[:10]
    del x
    assert ember.cpu.memory_allocated() - before >= 4_000_000  # the view holds it
    del y
    assert ember.cpu.memory_allocated() - before < 1_000_000


@pytest.mark.at_once
def test_a_training_step_leaves_no_cycles():
    gc.collect()
    gc.disable()
    try:
        before = ember.cpu.memory_allocated()
        w = ember.ones(1000, 100, requires_grad=True)
        for _ in range(3):
            loss = ((w * 2)[10:20] * w[:10]).exp().sum()
            loss.backward()
            w.grad = None
        del loss, w
        assert ember.cpu.memory_allocated() - before < 100_000
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_cycles_through_attributes_are_collected():
    x = ember.ones(2)
    x.me = x
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is None


def test_weak_references():
    x = ember.ones(2)
    told = []
    alive = weakref.ref(x, told.append)
    assert alive() is x
    del x
    assert alive() is None and len(told) == 1


def with_grad(kind=ember.Tensor):
    p = ember.nn.Parameter(ember.ones(2))
    p.grad = ember.ones(2).as_subclass(kind)
    return p


# An owner, and a part of it whose object only C++ holds.
KEPT_BY_CPP = [
    (with_grad, lambda p: p.grad),
    (lambda: with_grad(Named), lambda p: p.grad),
    (lambda: ember.ones(4).view(2, 2), lambda v: v._base),
    (lambda: ember.ones(2, requires_grad=True) * 2, lambda y: y.grad_fn),
    (
        lambda: (ember.ones(2, requires_grad=True) * 2).sin(),
        lambda z: z.grad_fn.next_functions[0][0],
    ),
]


@pytest.mark.parametrize(("make", "part"), KEPT_BY_CPP)
def test_an_object_reached_by_a_weak_reference_outlives_its_owner(make, part):
    owner = make()
    alive = weakref.ref(part(owner))
    gc.collect()
    held = alive()
    del owner
    gc.collect()
    assert held is not None and alive() is held
    if isinstance(held, ember.Tensor):
        assert (held + held).sum().item() > 0 and held.tolist()
    else:
        assert held.name().endswith("Backward0") and held.next_functions
    del held
    gc.collect()
    assert alive() is None


def test_finalizers_see_a_whole_tensor_whoever_owned_it():
    seen = []

    class Loud(ember.Tensor):
        def __del__(self):
            seen.append(self.tolist())

    p = ember.nn.Parameter(ember.ones(2))
    p.grad = ember.ones(2).as_subclass(Loud)
    del p
    gc.collect()
    assert seen == [[1, 1]]


def test_finalizer_of_a_subclass_runs_once():
    calls = []

    class Loud(ember.Tensor):
        def __del__(self):
            calls.append(1)

    x = ember.ones(2).as_subclass(Loud)
    del x
    gc.collect()
    assert calls == [1]


def test_tensors_die_on_other_threads():
    made = [ember.ones(100) * 2 for _ in range(100)]
    thread = threading.Thread(target=made.clear)
    thread.start()
    thread.join()
    assert ember.ones(3).sum().item() == 3


def test_exit_with_live_tensors():
    code = (
        "import ember, numpy as np, builtins\n"
        "x = ember.ones(3, requires_grad=True); x.me = x\n"
        "builtins.kept = [x * 2, ember.from_numpy(np.ones(3)), "
        "np.from_dlpack(ember.ones(2))]"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert run.returncode == 0, run.stderr.decode()


# --- copies and pickles ---------------------------------------------------------------


def pickled(obj):
    return pickle.loads(pickle.dumps(obj))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled])
def test_copies_keep_what_they_should(duplicate):
    x = ember.arange(12, dtype=ember.float64).reshape(3, 4).transpose(0, 1)
    x.requires_grad_()
    y = duplicate(x)
    assert y.tolist() == x.tolist()
    assert y.dtype == x.dtype and y.stride() == x.stride() and y.requires_grad
    assert y.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled])
def test_copies_share_what_was_shared(duplicate):
    x = ember.arange(4)
    a, b, same = duplicate([x, x[1:], x])
    assert same is a
    a[1] = 100
    assert b.tolist() == [100, 2, 3]
    assert a.untyped_storage() is b.untyped_storage()
    assert x[1].item() == 1


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled])
def test_copies_of_subclasses(duplicate):
    x = ember.ones(2).as_subclass(Named)
    x.name = "n"
    y = duplicate(x)
    assert type(y) is Named and y.name == "n" and y.tolist() == [1, 1]


def test_deepcopy_copies_the_gradient_and_refuses_history():
    x = ember.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    y = copy.deepcopy(x)
    assert y.grad.tolist() == [3, 3] and y.grad is not x.grad
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x * 2)


@pytest.mark.parametrize(
    "value",
    [
        ember.float32,
        ember.bool,
        ember.device("cpu"),
        ember.Size([2, 3]),
        ember.channels_last,
        ember.strided,
    ],
    ids=repr,
)
def test_values_are_pickled(value):
    assert pickled(value) == value
    assert copy.deepcopy(value) == value


def test_every_dtype_is_pickled():
    for dtype in (ember.bfloat16, ember.uint16, ember.complex64, ember.bool):
        x = ember.ones(3, dtype=dtype)
        assert pickled(x).tolist() == x.tolist()
    assert pickled(ember.empty(0, 3)).shape == (0, 3)
    meta = pickled(ember.empty(2, 3, device="meta"))
    assert meta.is_meta and meta.shape == (2, 3)


def test_pickle_protocols():
    x = ember.arange(3)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        file = io.BytesIO()
        pickle.dump(x, file, protocol)
        assert pickle.loads(file.getvalue()).tolist() == [0, 1, 2]


def test_shallow_copy():
    x = ember.ones(2)
    y = copy.copy(x)
    assert y.tolist() == [1, 1]


# --- storages -------------------------------------------------------------------------


def test_storage():
    x = ember.arange(4, dtype=ember.int16)
    s = x.untyped_storage()
    assert s is x[1:].untyped_storage()
    assert s is x.data.untyped_storage()
    assert s.nbytes() == len(s) == 8 and s.data_ptr() == x.data_ptr()
    assert bytes(s) == b"\0\0\1\0\2\0\3\0"
    assert s[2] == 1 and s.device == ember.device("cpu")
    s[2] = 9
    assert x[1].item() == 9
    s.resize_(16)
    assert x.tolist() == [0, 9, 2, 3]
    assert x.set_(s, 0, (8,), (1,)).shape == (8,)
    assert ember.UntypedStorage(4).nbytes() == 4
    assert x.storage().dtype == ember.int16
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.set_(s, 4, (8,), (1,))


def test_set_():
    x, y = ember.zeros(2), ember.arange(3.0)
    assert x.set_(y) is x
    assert x.is_set_to(y) and x.data_ptr() == y.data_ptr()
    assert x.set_().shape == (0,)
    with pytest.raises(RuntimeError, match="int64"):
        x.set_(ember.arange(3))


# --- subclasses -----------------------------------------------------------------------


def test_subclass_with_slots_and_constructor():
    class Slotted(ember.Tensor):
        __slots__ = ("extra",)

        def __new__(cls, data, extra):
            made = ember.Tensor._make_subclass(cls, ember.tensor(data))
            made.extra = extra
            return made

    tracked = ember.ones(1)
    x = Slotted([1.0, 2.0], tracked)
    assert isinstance(x, ember.Tensor) and x.extra is tracked
    assert (x + 1).tolist() == [2, 3]
    count = sys.getrefcount(tracked)
    del x
    assert sys.getrefcount(tracked) == count - 1


def test_class_can_change():
    x = ember.ones(2).as_subclass(Named)
    x.__class__ = type("Other", (ember.Tensor,), {})
    assert type(x).__name__ == "Other"


# --- attributes and conversions -------------------------------------------------------


def test_geometry():
    x = ember.zeros(2, 3, dtype=ember.float64)[:, 1:]
    assert x.shape == x.size() == (2, 2)
    assert x.size(0) == x.size(dim=-1) == 2
    assert x.stride() == (3, 1) and x.stride(0) == 3
    assert x.dim() == x.ndim == x.ndimension() == 2
    assert x.numel() == x.nelement() == 4
    assert x.element_size() == x.itemsize == 8
    assert x.nbytes == 32 and x.storage_offset() == 1
    assert x.data_ptr() == x._base.data_ptr() + 8
    assert not x.is_contiguous() and x.is_floating_point() and not x.is_complex()
    assert len(x) == 2 and x.get_device() == -1
    for bad in (lambda: x.size(2), lambda: x.stride(-3)):
        with pytest.raises(IndexError, match="Dimension out of range"):
            bad()


def test_legacy_type_names():
    x = ember.ones(2)
    assert x.type() == "torch.FloatTensor"
    assert x.type("torch.LongTensor").dtype == ember.int64
    assert x.type(ember.DoubleTensor).dtype == ember.float64
    assert x.type(ember.int8).dtype == ember.int8
    assert ember.typename(x) == "torch.FloatTensor"
    with pytest.raises(ValueError, match="invalid type"):
        x.type("torch.FooTensor")


def test_conversions_by_name():
    x = ember.tensor([0.0, 1.5])
    expected = {
        "float": ember.float32,
        "double": ember.float64,
        "half": ember.float16,
        "bfloat16": ember.bfloat16,
        "int": ember.int32,
        "long": ember.int64,
        "short": ember.int16,
        "char": ember.int8,
        "byte": ember.uint8,
        "bool": ember.bool,
        "cfloat": ember.complex64,
        "cdouble": ember.complex128,
    }
    for name, dtype in expected.items():
        assert getattr(x, name)().dtype == dtype
    assert x.float() is x and x.cpu() is x
    assert x.type_as(ember.tensor(1)).dtype == ember.int64


def test_numbers():
    assert float(ember.tensor(1.5)) == 1.5
    assert int(ember.tensor(-1.5)) == -1
    assert complex(ember.tensor(1 + 2j)) == 1 + 2j
    assert [1, 2, 3][ember.tensor(1)] == 2
    assert f"{ember.tensor(1.5):.3f}" == "1.500"
    assert bool(ember.tensor([2]))
    assert 2 in ember.tensor([1, 2]) and 5 not in ember.tensor([1, 2])
    for convert in (float, int, complex):
        with pytest.raises((ValueError, RuntimeError)):
            convert(ember.ones(2))
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(ember.ones(2))
    with pytest.raises(TypeError):
        len(ember.tensor(1))
    with pytest.raises(TypeError, match="unsupported format"):
        f"{ember.ones(2):.3f}"
    with pytest.raises(RuntimeError, match="__contains__"):
        "a" in ember.ones(2)


def test_equality_with_other_things():
    x = ember.ones(2)
    assert (x == None) is False  # noqa: E711
    assert (x != "a") is True
    assert x is not None and hash(x) == hash(x)
    assert {x: 1}[x] == 1
    with pytest.raises(TypeError):
        x < None
    with pytest.raises(TypeError):
        x + None


def test_requires_grad():
    x = ember.ones(2)
    assert x.requires_grad_() is x and x.requires_grad
    assert not x.requires_grad_(False).requires_grad
    with pytest.raises(RuntimeError, match="floating point"):
        ember.arange(2).requires_grad_()


def test_apply_and_map():
    x = ember.tensor([1.0, 2.0])
    assert x.apply_(lambda v: v + 1) is x
    assert x.tolist() == [2, 3]


def test_lazy_names():
    code = (
        "import sys, ember\n"
        "assert 'numpy' not in sys.modules\n"
        "assert 'ember.nn' not in sys.modules\n"
        "ember.no_grad, ember.finfo, ember.save, ember.manual_seed\n"
        "assert not hasattr(ember, 'no_such_name')\n"
        "assert 'nn' in dir(ember) and ember.pi > 3\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert run.returncode == 0, run.stderr.decode()


def test_parts_of_a_complex_tensor_cannot_be_deleted():
    x = ember.zeros(2, dtype=ember.complex64)
    for name in ("real", "imag"):
        with pytest.raises(RuntimeError, match="can't be deleted"):
            delattr(x, name)
    x.real = ember.tensor([1.0, 2.0])
    assert x.tolist() == [1, 2]
    with pytest.raises(TypeError):
        x.real = (ember.ones(2), True)  # one value, not the arguments of copy_()


@pytest.mark.parametrize(
    "grow",
    [
        lambda x: x.unsqueeze(0),
        lambda x: x[..., None],
        lambda x: x.expand(2, *x.shape),
        lambda x: ember.stack([x, x]),
        lambda x: x.unfold(0, 1, 1),
        lambda x: ember.diag_embed(x),
        lambda x: ember.linalg.pinv(ember.ones(2, 3), atol=x),
    ],
)
def test_there_are_64_dimensions_at_most(grow):
    x = ember.ones((1,) * 63 + (2,))
    assert (x + x).sum() == 4
    with pytest.raises(RuntimeError, match="at most 64 dimensions"):
        grow(x)
