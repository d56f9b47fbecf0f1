"""The words that fuzzed calls are written in: tensors of every kind, and bad values.

A fuzzed call is Python text, so that it can be pasted, and run on torch too. `words`
gives the names that the text may use, for one library; `VALUES` has expressions by
kind, `WRAPPERS` what can be done to a tensor before it is passed.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np

DTYPES = """float32 float64 int64 float16 bfloat16 int32 int16 int8 uint8 bool complex64
    complex128""".split()
_LARGE = 1 << 16  # elements; results above are not read


class Evil:
    """Says it is a number, a sequence and a tensor, and raises when it is asked."""

    def __init__(self, *fine: str) -> None:
        self._fine = fine

    def _answer(self, name: str, value: Any) -> Any:
        if name in self._fine:
            return value
        raise ZeroDivisionError(f"{name} of Evil")

    def __index__(self) -> int:
        return self._answer("index", 2)

    def __int__(self) -> int:
        return self._answer("int", 2)

    def __float__(self) -> float:
        return self._answer("float", 2.0)

    def __len__(self) -> int:
        return self._answer("len", 2)

    def __iter__(self) -> Any:
        return self._answer("iter", iter((1, Evil())))

    def __getitem__(self, item: Any) -> Any:
        return self._answer("getitem", 1)

    def __bool__(self) -> bool:
        return self._answer("bool", True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._answer("call", None)


class Changing:
    """A number that empties a list, or frees a tensor, when it is read."""

    def __init__(self, victim: Any) -> None:
        self._victim = victim

    def __index__(self) -> int:
        if isinstance(self._victim, list):
            self._victim.clear()
        else:
            self._victim.data = self._victim.data.new_empty(0)
        return 1

    def __float__(self) -> float:
        return float(self.__index__())


def _changing() -> list:
    made: list = [1, 2, 3]
    made.insert(1, Changing(made))
    return made


class Long:
    """A sequence that claims a length which it does not have."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, item: int) -> int:
        if item > 3:
            raise IndexError(item)
        return 1


def _raise(*args: Any, **kwargs: Any) -> Any:
    raise ZeroDivisionError("raised by a callback")


def _nested(depth: int) -> list:
    made: list = []
    for _ in range(depth):
        made = [made]
    return made


def _own() -> list:
    made: list = [1]
    made.append(made)
    return made


def _array(shape: tuple, kind: str) -> np.ndarray:
    """Numbers between -1.9 and 2.1, the same in every run."""
    count = math.prod(shape)
    if kind in ("float16", "bfloat16"):
        kind = "float32"
    values = (np.arange(count) * 7 % 11 - 4.75) * 0.4
    if kind.startswith(("int", "uint")):
        values = abs(np.round(values))
    if kind == "bool":
        values = values > 0
    return np.asarray(values).reshape(shape).astype(kind)


def words(lib: Any) -> dict[str, Any]:
    """The names that the text of a call may use; `lib` is ember or torch."""
    cache: dict[tuple, np.ndarray] = {}

    def t(*shape: int, kind: str = "float32") -> Any:
        array = cache.get((shape, kind))
        if array is None:
            array = cache[shape, kind] = _array(shape, kind)
        made = lib.from_numpy(array.copy())
        return made if kind == str(array.dtype) else made.to(getattr(lib, kind))

    def leaf(*shape: int, kind: str = "float32") -> Any:
        return t(*shape, kind=kind).requires_grad_()

    def of(values: Any, kind: str) -> Any:
        return lib.tensor(values, dtype=getattr(lib, kind))

    # What follows changes a tensor where it can and gives it back where it cannot.
    def tr(x: Any) -> Any:
        return x.transpose(0, -1) if x.ndim > 1 else x

    def steps(x: Any) -> Any:
        wide = x.new_zeros((*x.shape, 2))
        return wide.copy_(x.unsqueeze(-1))[..., 1] if x.numel() < 999 else x

    def grads(x: Any) -> Any:
        return x.detach().clone().requires_grad_()

    def node(x: Any) -> Any:
        return x.detach().clone().requires_grad_() * 1

    def none(x: Any) -> Any:
        return x[..., :0] if x.ndim else x.new_zeros(0)

    def middle(x: Any) -> Any:
        return x.unsqueeze(x.ndim // 2).narrow(x.ndim // 2, 0, 0)

    def front(x: Any) -> Any:
        return x.unsqueeze(0)

    def back(x: Any) -> Any:
        return x.unsqueeze(-1)

    def less(x: Any) -> Any:
        return x[0] if x.ndim and x.shape[0] else x

    def one(x: Any) -> Any:
        return x.reshape(-1)[:1]

    def zero_d(x: Any) -> Any:
        return x.reshape(-1)[0] if x.numel() else x.new_zeros(())

    def flat(x: Any) -> Any:
        return x.reshape(-1)

    def part(x: Any) -> Any:
        return x[1:] if x.ndim else x

    def big(x: Any, count: int = 2**40) -> Any:
        return zero_d(x).expand(count)

    def wide(x: Any) -> Any:
        return x.expand(3, *x.shape)

    def deep(x: Any, rank: int = 64) -> Any:
        return x.reshape((1,) * max(rank - x.ndim, 0) + tuple(x.shape))

    def window(x: Any) -> Any:
        return x.reshape(-1).unfold(0, 2, 1) if x.numel() > 2 else x

    def freed(x: Any) -> Any:
        x = x.detach().clone()
        x.untyped_storage().resize_(0)
        return x

    def cut(x: Any) -> Any:
        x = x.detach().clone()
        x.untyped_storage().resize_(x.untyped_storage().nbytes() // 2)
        return x

    def lent(x: Any) -> Any:
        lent.last = x.detach().numpy()  # type: ignore[attr-defined]
        return x

    def still(x: Any) -> Any:
        with lib.inference_mode():
            return x.clone()

    def sub(x: Any) -> Any:
        return x.detach().clone().as_subclass(Sub)

    def par(x: Any) -> Any:
        return lib.nn.Parameter(x.detach().clone(), x.is_floating_point())

    def hooked(x: Any) -> Any:
        x = x.detach().clone().requires_grad_()
        x.register_hook(_raise)
        return x * 1

    def filled(x: Any, value: Any) -> Any:
        return lib.full_like(x, value)

    def meta(*shape: int) -> Any:
        return lib.empty(shape, device="meta")

    class Sub(lib.Tensor):  # type: ignore[misc, name-defined]
        pass

    class Twice(lib.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 + 0 * ctx.saved_tensors[0]

    class Items(lib.utils.data.Dataset):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return 7

        def __getitem__(self, item: int) -> Any:
            return t(3), item

    class Draws(lib.utils.data.IterableDataset):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Any:
            return iter([1, 2, 3])

    def net() -> Any:
        nn = lib.nn
        return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))

    def params() -> list:
        made = [par(t(2, 3)), par(t(3))]
        for p in made:
            p.grad = t(*p.shape)
        return made

    def saved() -> io.BytesIO:
        file = io.BytesIO()
        lib.save({"a": t(3), "b": [1, 2.5]}, file)
        file.seek(0)
        return file

    def grad_of(function: Callable) -> Any:
        return function(leaf(3))

    def repeat(step: Callable, value: Any) -> Any:
        return [step() if value is None else step(value) for _ in range(5)]

    def closure() -> Any:
        return t(1).requires_grad_().sum()

    return {
        name: value
        for name, value in {**locals(), **_PLAIN}.items()
        if name not in ("lib", "cache")
    } | {"ember": lib}


_PLAIN = {
    "Evil": Evil,
    "Changing": Changing,
    "changing": _changing,
    "Long": Long,
    "fails": _raise,
    "nested": _nested,
    "own": _own,
    "np": np,
    "io": io,
    "nan": math.nan,
    "inf": math.inf,
}

INTS = """0 1 -1 2 3 -2 5 64 65 99 -99 2**15 2**31-1 2**31 2**32 -2**31-1 2**53+1
    2**62 2**63-1 -2**63 2**63 2**64 -2**64 10**30 -10**30 True np.int64(2)
    np.uint64(2**63) Evil('index') ember.tensor(2) np.array(3)""".split()
FLOATS = """0.0 -0.0 0.5 1.0 -1.0 1.5 1e-320 1e-45 1e308 -1e308 3.5e38 nan inf -inf
    1e-8 2 10**400 2**63 True np.float32(0.5) np.float16(inf) 1j complex(nan,inf)
    Evil('float') ember.tensor(0.5) ember.tensor(nan)""".split()
STRINGS = """'' 'mean' 'sum' 'none' 'x' 'cpu' 'meta' 'constant' 'reflect' 'circular'
    'bilinear' 'nearest' 'same' 'valid' 'fan_in' 'floor' 'ortho' 'fro' 'nuc' 'amax'
    'prod' 'ij,jk->ik' 'float32' 'weight' 'relu' 'tanh' 'r' 'w' 'U' 'L' 'a'*9999 '\\0'
    '\\ud800' 'é' b'' b'abc' b'\\x80'""".split()
SHAPES = """() [] (0,) (1,) (3,) (2,3) (3,0,2) [2,0] (2,3,4) (2,3,4,5,6) (1,)*64
    (1,)*65 [1]*5000 [2]*63 [2]*65 (-1,) (-2,) (2,-1) (-1,-1) (2**31,) (2**32,)
    (2**40,) (2**62,4) (2**63-1,) (2**63,) (2**33,2**33) (2**63-1,0)
    (0,2**63-1,2**63-1) (-2**63,) (2**31,2**31) (10**30,) [1.5] [None] [True] ['a']
    (nan,) [2,None] changing() own() nested(3) nested(2000) (Evil(),)
    (Evil('index'),3) range(3) iter([1]) {} {1:2} set() Long(-1) Long(2**62) Long(2)
    ember.Size([2,3]) np.array([2,3]) [ember.tensor(2)] [[1,2],[3,4]]""".split()
TENSORS = """t() t(0) t(1) t(3) t(2,3) t(3,3) t(4,4) t(3,0,2) t(0,3) t(1,1) t(2,3,4)
    t(2,3,4,5) t(1,2,3,4,2) t(2,3,8,8) leaf() leaf(3) leaf(2,3) leaf(3,3) leaf(2,3,4)
    leaf(2,3,4,4) node(t(3)) node(t(2,3)) meta(2,3) meta(2**40) meta(2**60) meta(0,3)
    big(t()) big(t(),2**62) deep(t(2)) wide(t(3)) window(t(5)) tr(t(2,3)) steps(t(3))
    freed(t(2,3)) cut(t(2,3)) lent(t(3)) still(t(2,3)) still(leaf(2)) sub(t(2,3))
    par(t(2,3)) hooked(t(3)) filled(t(3),nan) filled(t(2,3),inf) filled(t(2,3),-inf)
    filled(t(3),1e-45) ember.as_strided(t(6),(3,3),(1,1))
    ember.as_strided(t(6),(2,2),(0,3)) t(2,3).to_sparse() t(3,3).to_sparse_csr()
    t(3,3).to_sparse_csc() t(3).to_sparse() t(2,2,2).to_sparse(1)
    ember.zeros(2,3).to_sparse() leaf(2,3).to_sparse()
    filled(t(3,kind='int64'),2**63-1) filled(t(2,3,kind='int64'),-2**63)
    filled(t(3,kind='int64'),99999) filled(t(2,3,kind='int64'),-1)
    filled(t(3,kind='int32'),-7) ember.tensor([3,2,1,0]) ember.tensor([0,1])
    ember.tensor([[0,1],[1,0]]) ember.tensor(True) ember.tensor(1)
    ember.empty(0,dtype=ember.int64) ember.eye(3) ember.zeros(3,3) ember.ones(2,3)
    ember.rand(2,3) leaf(2,3).t() leaf(2,3)[0] leaf(3,kind='complex64')
    t(2,3,kind='complex64').conj() t(2,3)._base t(2,3).grad
    ember.empty(3,device='meta',dtype=ember.int64)""".split()
TENSORS += [f"t({s},kind={d!r})" for d in DTYPES for s in ("3", "2,3", "2,3,4")]
ODD = """None ... slice(None) slice(2**63,-2**63,0) slice(None,None,-1) slice(nan,'a')
    slice(Evil(),None) NotImplemented object() type int ember.Tensor ember.float32
    Evil() Evil('len','iter') Evil('len','getitem') lambda*a:None lambda*a:a lambda:1
    fails dict() {'a':1} {1} frozenset() bytearray(b'abc') memoryview(b'abc')
    range(999) iter([]) (i_for_i_in_[1]) np.zeros(3) np.zeros((2,0)) np.array(['a'])
    np.array([None]) np.float64(nan) np.zeros(3)[::-1] np.zeros(3,'>f4')
    np.array([1],'M8[s]') np.broadcast_to(np.zeros(1),(2**40,))
    np.zeros(2,[('a','i4')]) np.bool_(True) ember.Generator() ember.device('meta')
    ember.Size([2]) ember.strided net() params() [t(2),None] [None] [t(2),1]
    (t(2),t(3)) [meta(2),t(2)] [t(2)]*3 [[t(2)],t(2)] {'x':t(2)}
    t(3).untyped_storage() ember.nn.Linear(3,2) ember.nn.ReLU ember.UntypedStorage(4)
    ember.ones(3).storage() complex(1,nan) 'cpu' __builtins__ [t(1)]*999""".replace(
    "i_for_i_in_[1]", "i\0for\0i\0in\0[1]"
).split()
ODD = [value.replace("\0", " ") for value in ODD]
VALUES: dict[str, list[str]] = {
    "int": INTS,
    "float": FLOATS,
    "bool": ["True", "False", "None", "2", "Evil('bool')", "ember.tensor(True)"],
    "str": STRINGS,
    "ints": SHAPES,
    "tensor": TENSORS,
    "tensors": """[] () [t(2),t(2)] (t(2,3),t(2,3)) [t(2,3)]*3 [t()] [t(0),t(2)]
        [None] [t(2),None] [leaf(3),t(3)] [t(2,2),t(2,2),t(2,2)] [meta(2),t(2)]
        [t(3),t(3,kind='bool')] [t(2,3),t(3,2)] t(2,3) iter([t(2)]) (t(2),) [1,2]
        ['a'] [t(2,3).to_sparse()] own() [big(t())]*2 [freed(t(2))] [freed(t(2))]*2
        [t(3),ember.tensor([0,1,2])] nested(9) [t(2)]*999 params()
        [par(t(3))]""".split(),
    "dtype": [f"ember.{d}" for d in DTYPES]
    + "None 'float32' float int bool complex np.float32 np.dtype('i4') 3".split(),
    "device": """'cpu' 'meta' 'cpu:0' 'cpu:1' 'meta:3' 'cuda' 'opencl:99' '' 'x'
        -1 0 2**40
        'cpu:-1' 'cpu:99999999999999999999' None ember.device('cpu')
        ember.device('meta')""".split(),
    "function": """fails (lambda*a:None) (lambda*a:a[0]) (lambda*a:a[0]*2) (lambda:1)
        (lambda*a:a[0].sum()) (lambda*a:t(7)) ember.sin ember.nn.ReLU() ember.add None
        Evil() Evil('call') print (lambda*a:a[0].resize_(0)) (lambda*a:big(t()))
        (lambda*a:a[0].detach()) (lambda*a:a[0].mul_(2)) (lambda*a:[a[0],a[0]])
        (lambda*a:{'x':a[0]}) Twice.apply closure""".split(),
    "module": """net() ember.nn.Linear(3,3) ember.nn.ReLU() ember.nn.Module()
        ember.nn.Sequential() ember.nn.Conv2d(3,4,3) ember.nn.LSTM(3,4)
        ember.nn.LazyLinear(3) ember.nn.BatchNorm2d(3)
        ember.nn.ModuleList([net()])""".split(),
    "params": """params() [] [par(t(2,3))] net().parameters() [t(3)] [leaf(3)] [None]
        net().named_parameters() [{'params':params()}] [{'params':params(),'lr':nan}]
        [{}] params()*2 par(t(3)) [par(t(3,kind='complex64'))] [par(t(0))] [leaf(2)*1]
        [meta(3).requires_grad_()] [freed(t(3)).requires_grad_()]""".split(),
    "optimizer": """ember.optim.SGD(params(),0.1) ember.optim.Adam(params())
        ember.optim.SGD(params(),0.1,momentum=0.9)
        ember.optim.LBFGS(params()[:1])""".split(),
    "generator": """None ember.Generator() ember.Generator().manual_seed(3)
        ember.default_generator""".split(),
    "odd": ODD,
    "none": ["None"],
}
WRAPPERS = """tr steps grads node none middle front back less one zero_d flat part wide
    window freed cut lent still sub par hooked""".split()
WRAPPERS = [f"{name}({{}})" for name in WRAPPERS] + [
    *(f"{{}}.to(ember.{dtype})" for dtype in DTYPES),
    "{}.to('meta')",
    "{}.to_sparse()",
    "{}.numpy()",
    "{}.tolist()",
    "{}.detach()",
    "deep({})",
    "deep({},5)",
    "filled({},nan)",
    "filled({},inf)",
    "filled({},-1)",
    "filled({},0)",
    "filled({},99)",
    "filled({},-2.0**40)",
    "filled({},1e-42)",
]
# These make reductions endless in any library, so they are drawn rarely.
HUGE = ["big({})", "big({},2**62)", "big({},2**31)"]
VIEWS = """{0} {0} {0}.detach() tr({0}) part({0}) flat({0}) less({0}) back({0})
    wide({0}) {0}.view_as({0}) one({0}) none({0}) zero_d({0}) {0}.data {0}.conj()
    window({0})""".split()
OUTS = """t(0) t(0) ember.empty(0) t(2,3) t() None leaf(0) node(t(0)) meta(0)
    t(0,kind='int64') t(0,kind='bool') t(0,kind='complex128') t(0,kind='float64')
    big(t()) wide(t(3)) freed(t(3)) lent(t(3)) lent(t(0)) part(t(4)) still(t(3))
    t(2,3).to_sparse() (t(0),t(0)) (t(0),t(0,kind='int64')) [t(0)] () 1 sub(t(0))
    tr(t(2,3)) window(t(5)) ember.empty(3,3).t() a a a part(a) tr(a)
    flat(a) (a,a)""".split()
KEYWORDS = {
    "out": OUTS,
    "dtype": VALUES["dtype"],
    "device": VALUES["device"],
    "dim": [*INTS, "None", "()", "(0,1)", "(0,0)", "[2**40]"],
    "keepdim": VALUES["bool"],
    "generator": VALUES["generator"],
    "requires_grad": VALUES["bool"],
    "no_such_argument": ["1"],
    "input": TENSORS,
    "self": TENSORS,
    "inplace": VALUES["bool"],
}


def leaves(result: Any, lib: Any, depth: int = 0) -> list:
    """The tensors in a result."""
    if isinstance(result, lib.Tensor):
        return [result]
    if depth < 3 and isinstance(result, (tuple, list)):
        return [x for part in result[:9] for x in leaves(part, lib, depth + 1)]
    if depth < 3 and isinstance(result, dict):
        return leaves(list(result.values()), lib, depth)
    return []


def use(result: Any, lib: Any) -> None:
    """Read what a call gave: a bad pointer shows only then."""
    for x in leaves(result, lib):
        if x.numel() <= _LARGE:
            x.detach().clone()
            if x.numel() < 9:
                repr(x)
    if not isinstance(result, (lib.Tensor, tuple, list, dict)):
        repr(result)


def backward(result: Any, lib: Any) -> None:
    for x in leaves(result, lib):
        if x.requires_grad and x.numel() <= _LARGE:
            x.sum().abs().backward(retain_graph=True)


Words = dict[str, Any]
Action = Callable[[Any, Any], None]
