"""What the call fuzzer calls: every public callable of ember, found by looking.

`EXCLUDED` has what is left out and why. A target has recipes (right calls, from
tests/fuzz/recipes.py and tests/ops/samples) or, failing that, a list of parameters.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import ember
from tests.fuzz.recipes import recipes
from tests.ops.entry import S, T, load
from tools import schemas

# Besides the modules without an underscore, which are found by walking the package.
PRIVATE_MODULES = "ember._C", "ember._functions.aten", "ember.utils._pytree"
# Attributes and methods of these are called too, on an object made by the text.
OBJECTS = {
    "ember.Tensor": "t(2,3)",
    "ember.Generator": "ember.Generator()",
    "ember.UntypedStorage": "ember.UntypedStorage(8)",
    "ember.TypedStorage": "ember.FloatStorage(4)",
    "ember.Size": "ember.Size([2,3])",
    "ember.device": "ember.device('cpu')",
    "ember.dtype": "ember.float32",
    "ember.nn.Module": "net()",
    "ember.nn.Sequential": "net()",
    "ember.nn.ModuleList": "ember.nn.ModuleList([net()])",
    "ember.nn.ModuleDict": "ember.nn.ModuleDict({'a':net()})",
    "ember.nn.ParameterList": "ember.nn.ParameterList(params())",
    "ember.nn.ParameterDict": "ember.nn.ParameterDict({'a':par(t(3))})",
    "ember.nn.Parameter": "par(t(3))",
    "ember.nn.MultiheadAttention": "ember.nn.MultiheadAttention(4,2)",
    "ember.nn.utils.rnn.PackedSequence": (
        "ember.nn.utils.rnn.pack_sequence([t(3,2),t(1,2)])"
    ),
    "ember.optim.Optimizer": "ember.optim.SGD(params(),0.1,momentum=0.9)",
    "ember.optim.Adam": "ember.optim.Adam(params())",
    "ember.optim.lr_scheduler.LRScheduler": (
        "ember.optim.lr_scheduler.StepLR(ember.optim.SGD(params(),0.1),2)"
    ),
    "ember.optim.swa_utils.AveragedModel": "ember.optim.swa_utils.AveragedModel(net())",
    "ember.amp.GradScaler": "ember.amp.GradScaler('cpu')",
    "ember.distributions.Distribution": "ember.distributions.Normal(t(3),1.0)",
    "ember.distributions.Transform": "ember.distributions.ExpTransform()",
    "ember.utils.data.DataLoader": "ember.utils.data.DataLoader(Items(),2)",
    "ember.utils.data.Dataset": "Items()",
    "ember.utils.data.TensorDataset": "ember.utils.data.TensorDataset(t(5,2))",
    "ember.futures.Future": "ember.futures.Future()",
    "ember.autograd.graph.Node": "(leaf(3)*2).grad_fn",
    "ember.library.Library": "ember.library.Library('fuzz','FRAGMENT')",
    "ember.legacy.nn.Module": "ember.legacy.nn.Linear(3,4)",
}
# Patterns of names, with why they are not called.
EXCLUDED = {
    r"opencl|\._callgrind|_under_callgrind|benchmark": "needs a device or a program",
    r"\b(fork|wait|spawn|hub|compile|start_processes)$": "starts processes, or waits",
    r"\.(_die_with_parent|_send_message|_receive_message)$": "uses descriptors",
    r"_shared_storage|_storage_from_descriptor|reductions\.rebuild": "the same",
    r"share_memory_?$|from_file$": "its memory is that of files",
    r"^ember\.(distributed|multiprocessing\.spawn)\b": "waits for other processes",
    r"\.as_torch\b|^ember\.hub|collect_env": "changes the environment, starts programs",
    r"_memory_of$|\.from_address|_tensor_of_bytes": "is given addresses",
    r"_register_backend|\.backend\.": "registers devices for good",
    r"_keep_heap|set_num_threads|init_num_threads|set_num_interop": "sets up threads",
    r"Future\.(wait|value)|wait_all|collect_all|Barrier": "waits",
    r"(TensorBoard|SummaryWriter|Plot|viz|tensorboard)": "writes files",
    r"_switch_overrides|_(push|pop)_|^ember\._C\._saved_tensors": "unpaired by nature",
    r"register_(module|optimizer)_": "registers hooks on everything, for good",
    r"set_warn_always|set_printoptions": "changes what is printed",
    r"__init_subclass__|__class__|__subclasshook__|__getattribute__": "of object",
    r"__del__|__set_name__|__dir__|__weakref__|__dict__|__doc__|__new__": "of object",
    r"profiler\.(itt|emit|profile$|_KinetoProfile)|_profile_": "writes files",
}
EXCLUSION = re.compile("|".join(f"(?:{p})" for p in EXCLUDED))
# What changes the state of the library by nature: the state is put back after it.
STATEFUL = re.compile(
    r"(set_|_mode|enable|disable|grad$|seed|autocast|_push|_pop|rng|anomaly|enter|"
    r"exit|hooks|profile|deterministic|Mode|_C\._|fuzz|empty_cache|setattr|library|"
    r"dual_level)"
)
# What takes as long as it is told to, in any library: a hang there is no finding.
ENDLESS = {
    r"\bbig\(|np\.broadcast_to\(": "goes over 2**31 elements or more",
    r"(niter|n_power_iterations|max_iter|num_layers)=": "does so many iterations",
    r"lowrank|spectral_norm|lobpcg|Transformer|LBFGS": "the same",
    r"(split|chunk|unbind|iter|tolist)\w*\(": "gives so many parts",
    r"range\(|Sampler|__mul__|DataLoader|Long\(": "gives so many items",
    r"Pad\dd|\bpad\(": "makes a large result",
    r"(jac(rev|fwd|obian)|hessian).*2\*\*": "makes a pass for each of so many elements",
    r"while_loop": "may go on for ever",
}
LASTS = re.compile("|".join(f"(?:{p})" for p in ENDLESS))
BY_NAME = {
    "tensor": """input x tensor self other weight bias target value values mask source
        src index indices a b t grad_output grad query key y mat1 mat2 vec loc scale
        probs logits data tensors_ running_mean running_var sample log_probs anchor
        positive negative concentration covariance_matrix inputs output outputs grid
        theta""",
    "int": """dim axis n k dim0 dim1 diagonal num_layers in_features out_features
        steps count in_channels out_channels groups num_classes seed offset start end
        step length index_ num_samples embed_dim num_heads upscale_factor blank epoch
        rank level""",
    "ints": """size shape kernel_size stride padding dilation dims output_size sizes
        sample_shape normalized_shape batch_shape event_shape strides milestones
        split_size""",
    "float": """p eps alpha beta lr momentum gamma std mean low high min max
        lambd margin         gain rate factor tau rtol atol temperature df max_norm""",
    "str": "name mode reduction equation nonlinearity padding_mode prefix schema",
    "function": "fn func function hook closure lr_lambda callback f impl collate_fn",
    "module": "module model modules net base_model",
    "params": "params parameters",
    "optimizer": "optimizer",
    "tensors": "tensors args arrays operands matrices sequence sequences seq",
    "dtype": "dtype dtype1 dtype2",
    "device": "device device_type map_location",
    "generator": "generator",
}
KIND_OF_NAME = {name: k for k, names in BY_NAME.items() for name in names.split()}
KIND_OF_TYPE = {
    "Tensor": "tensor",
    "Tensor[]": "tensors",
    "Number": "tensor",
    "Scalar": "float",
    "int": "int",
    "float": "float",
    "float[]": "ints",
    "bool": "bool",
    "str": "str",
    "Dims": "ints",
    "Size": "ints",
    "Dtype": "dtype",
    "Device": "device",
    "Generator": "generator",
    "Any": "odd",
    "Format": "odd",
}
KIND_OF_HINT = {
    "Callable": "function",
    "list[Tensor": "tensors",
    "Module": "module",
    "Tensor": "tensor",
    "bool": "bool",
    "list[int": "ints",
    "int": "int",
    "float": "float",
    "str": "str",
}


@dataclass
class Param:
    name: str
    kind: str
    required: bool
    keyword_only: bool = False


@dataclass
class Target:
    name: str  # "ember.add", "ember.Tensor.add"
    call: str  # what stands before "(": "ember.add", "{}.add" for methods
    params: list[Param] | None = None  # None: unknown
    recipes: list[str] = field(default_factory=list)
    attribute: bool = False
    receiver: str = "t(2,3)"


def _literal(array: np.ndarray, dtype: str) -> str:
    if array.size == 0:
        return f"t({','.join(map(str, array.shape))},kind={dtype!r})"
    if array.size > 64:
        return f"t({','.join(map(str, array.shape))},kind={dtype!r})"
    if np.issubdtype(array.dtype, np.floating):
        array = np.round(array.astype(np.float64), 4)
    return f"of({array.tolist()!r},{dtype!r})"


def _text(value: Any, dtype: str, rng: np.random.Generator) -> str:
    """The text of one argument of a sample."""
    if isinstance(value, T):
        kind = value.dtype or dtype
        return _literal(value.array(kind, rng), kind)
    if isinstance(value, np.ndarray):
        return _literal(value, str(value.dtype))
    if isinstance(value, list):
        return f"[{','.join(_text(v, dtype, rng) for v in value)}]"
    if isinstance(value, tuple):
        return f"({','.join(_text(v, dtype, rng) for v in value)},)"
    if isinstance(value, ember.Tensor):
        return _literal(value.numpy(), str(value.dtype).rpartition(".")[2])
    if isinstance(value, (ember.dtype, ember.device)):
        return f"ember.{value}".replace("torch.", "").replace("ember.ember", "ember")
    if isinstance(value, ember.Generator):
        return "ember.Generator()"
    return repr(value)


def _readable(text: str) -> bool:
    if "<" in text and ">" in text:
        return False
    try:
        compile(text, "", "exec")
    except SyntaxError:
        return False
    return True


def _arguments(sample: S, dtype: str) -> list[str]:
    rng = np.random.default_rng(7)
    made = [_text(value, dtype, rng) for value in sample.args]
    return made + [f"{k}={_text(v, dtype, rng)}" for k, v in sample.kwargs.items()]


def _of_ops(found: dict[str, Target]) -> None:
    """Recipes and parameters from the schemas and their samples."""
    entries = load()
    for name, overloads in schemas.registered().items():
        functions = [f"ember.{name}", f"ember._C._ops[{name!r}]"]
        target = found.get(functions[0]) or Target(functions[1], functions[1])
        if name in ember._C._ops and not EXCLUSION.search(name):
            found[target.name] = target
        params = [
            Param(
                p.name,
                KIND_OF_TYPE.get(p.type, "odd"),
                p.default is None,
                p.keyword_only,
            )
            for p in max((o.params for o in overloads), key=len)
        ]
        target.params = params
        forms = overloads[0].forms
        short = name.rpartition(".")[2]
        entry = entries.get(name)
        methods = []
        if forms & schemas.METHOD:
            methods.append(short)
        if forms & schemas.IN_PLACE:
            methods.append(f"{short}_")
        for method in methods:
            if (on := found.get(f"ember.Tensor.{method}")) is not None:
                on.params = params[1:]
        if entry is None:
            continue
        for sample in [*entry.samples, *(error[0] for error in entry.errors)][:6]:
            for dtype in dict.fromkeys([entry.names[0], "float32", entry.names[-1]]):
                args = _arguments(sample, dtype)
                text = f"r = {target.call}({', '.join(args)})"
                if _readable(text):
                    target.recipes.append(text)
                    inplace = found.get(f"ember.{name}_")
                    if forms & schemas.FUNCTION_IN_PLACE and inplace is not None:
                        inplace.recipes.append(text.replace("(", "_(", 1))
                for method in methods:
                    on = found.get(f"ember.Tensor.{method}")
                    text = (
                        f"r = {args[0]}.{method}({', '.join(args[1:])})" if args else ""
                    )
                    named = not args or "=" in args[0].partition("(")[0]
                    if on is not None and not named and _readable(text):
                        on.recipes.append(text)


def _kind(param: inspect.Parameter) -> str:
    annotation = str(param.annotation)
    default = param.default
    for kind, types in (("bool", bool), ("int", int), ("float", float), ("str", str)):
        if isinstance(default, types):
            return kind
    if isinstance(default, (tuple, list)):
        return "ints"
    if param.name in KIND_OF_NAME:
        return KIND_OF_NAME[param.name]
    for word, kind in KIND_OF_HINT.items():
        if word in annotation:
            return kind
    return "any"


def _params(thing: Any, method: bool) -> list[Param] | None:
    try:
        signature = inspect.signature(thing)
    except (ValueError, TypeError):
        return None
    made = [
        Param(p.name, _kind(p), p.default is p.empty, p.kind is p.KEYWORD_ONLY)
        for p in signature.parameters.values()
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
    return made[1:] if method else made


def _public(module: Any) -> list[str]:
    names = {*getattr(module, "__all__", ()), *dir(module)}
    hidden = "__" if module.__name__ == "ember._C" else "_"
    return sorted(name for name in names if not name.startswith(hidden))


def _modules() -> list[str]:
    """Packages before what is in them, so that a callable has its shortest name."""
    walked = [
        "ember",
        *(m.name for m in pkgutil.walk_packages(ember.__path__, "ember.")),
    ]
    public = [
        name for name in walked if "._" not in name and not EXCLUSION.search(name)
    ]
    return [*sorted(public, key=lambda name: name.count(".")), *PRIVATE_MODULES]


def find() -> dict[str, Target]:
    """Every target by name."""
    found: dict[str, Target] = {}
    seen: set[int] = set()
    for path in _modules():
        module = importlib.import_module(path)
        for name in _public(module):
            thing = getattr(module, name, None)
            full = f"{path}.{name}"
            if not callable(thing) or id(thing) in seen or EXCLUSION.search(full):
                continue
            home = str(getattr(thing, "__module__", None) or "ember")
            if not home.startswith(("ember", "builtins", "<", "torch")):
                continue
            seen.add(id(thing))
            found[full] = Target(full, full, _params(thing, False))
    for full, receiver in OBJECTS.items():
        holder: Any = ember
        for part in full.split(".")[1:]:
            holder = getattr(holder, part)
        for name in dir(holder):
            member = f"{full}.{name}"
            if EXCLUSION.search(member) or id(getattr(holder, name, None)) in seen:
                continue
            thing = getattr(holder, name, None)
            target = Target(member, f"{{}}.{name}", receiver=receiver)
            if callable(thing) and not isinstance(thing, type):
                seen.add(id(thing))
                target.params = _params(thing, not inspect.ismethod(thing))
            else:
                target.attribute = True
            found[member] = target
    _of_ops(found)
    for name, text in recipes():
        compile(text, name, "exec")
        if name not in found and not EXCLUSION.search(name):
            found[name] = Target(name, name, [])
        if name in found:
            found[name].recipes.append(text)
    return found
