"""A module whose forward is a graph, as Python text."""

from __future__ import annotations

import contextlib
import copy
import itertools
import linecache
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import ember
from ember.fx._codegen import PythonCode, _PyTreeCodeGen
from ember.fx._names import custom_builtins, package_name
from ember.fx.graph import Graph
from ember.nn import Module

__all__ = ["GraphModule", "reduce_graph_module"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_counter = itertools.count()


def _compile(source: str, space: dict[str, Any]) -> dict[str, Any]:
    """Run source text; tracebacks and `inspect` find its lines."""
    name = f"<eval_with_key>.{next(_counter)}"
    lines = source.splitlines(keepends=True)
    linecache.cache[name] = (len(source), None, lines, name)
    space = dict(space)
    space["__loader__"] = _Loader(source)
    space["__name__"] = name
    exec(compile(source, name, "exec"), space)
    return space


class _Loader:
    def __init__(self, source: str) -> None:
        self.source = source

    def get_source(self, name: str) -> str:
        return self.source


def _forward_from_src(src: str, globals: dict[str, Any], co_fields: Any = None) -> Any:
    return _compile(src, globals)["forward"]


def _format_import_block(globals: dict[str, Any]) -> str:
    """The lines that import the global names of a program."""
    from ember.fx._names import qualified_name

    known = custom_builtins()
    lines = []
    for name, obj in globals.items():
        if name in known:
            lines.append(known[name][0])
            continue
        module, _, attribute = qualified_name(obj).rpartition(".")
        if not module:
            module = "builtins"
        lines.append(f"from {module} import {attribute} as {name}")
    return "\n".join(sorted(set(lines)))


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Take over the attribute `target` ("a.b.weight"), with the modules on the way."""
    *path, field = target.split(".")
    for part in path:
        below = getattr(from_module, part)
        here = getattr(to_module, part, None)
        if below is here:
            return
        if here is None:
            here = Module()
            setattr(to_module, part, here)
        from_module, to_module = below, here
    value = getattr(from_module, field)
    if isinstance(value, ember.Tensor) and not isinstance(value, ember.nn.Parameter):
        to_module.register_buffer(field, value)
    else:
        setattr(to_module, field, value)


def _assign_attr(value: Any, to_module: Module, target: str) -> None:
    *path, field = target.split(".")
    for part in path:
        below = getattr(to_module, part, None)
        if below is None:
            below = Module()
            setattr(to_module, part, below)
        to_module = below
    if isinstance(value, ember.Tensor) and not isinstance(value, ember.nn.Parameter):
        to_module.register_buffer(field, value)
    else:
        setattr(to_module, field, value)


class GraphModule(Module):
    """A module made of a graph; its forward is the graph as Python text (`code`).

    `root` has the parameters and submodules that the graph names: a module, or a dict.
    After changes of `graph`, call `recompile`.

    >>> import ember
    >>> traced = ember.fx.symbolic_trace(ember.nn.Sequential(ember.nn.ReLU()))
    >>> print(traced.code.strip())
    def forward(self, input):
        input_1 = input
        _0 = getattr(self, "0")(input_1);  input_1 = None
        return _0
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # forward belongs to the object, but tools look for it in the class
        for base in cls.__mro__:
            if not getattr(base, "_is_impl", False):
                cls = base
                break
        impl = type("GraphModuleImpl", (cls,), {"_is_impl": True})
        return super().__new__(impl)

    def __init__(
        self,
        root: Module | dict[str, Any],
        graph: Graph,
        class_name: str = "GraphModule",
    ) -> None:
        super().__init__()
        self.__class__.__name__ = class_name
        targets = [n.target for n in graph.nodes if n.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = root.training
            for target in sorted(targets, key=lambda t: t.count(".")):
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for target in targets:
                if target not in root:
                    raise RuntimeError(
                        f"Node target {target} was referenced but not provided in "
                        "``root``!"
                    )
            for target in sorted(targets, key=lambda t: t.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.meta: dict[str, Any] = {}
        if isinstance(root, GraphModule):
            self.meta.update(root.meta)
        self._replace_hooks: list = []
        self._create_node_hooks: list = []
        self._erase_node_hooks: list = []
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The program; assigning one recompiles."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self.__dict__["_graph"] = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The text of forward."""
        if "_code" not in self.__dict__:
            raise RuntimeError("Code has not been generated! Please report a bug")
        return self._code

    def recompile(self) -> PythonCode:
        """Make forward anew, from the graph."""
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen) and codegen.pytree_info:
            self.__dict__["_in_spec"] = codegen.pytree_info.in_spec
            self.__dict__["_out_spec"] = codegen.pytree_info.out_spec
        made = self._graph.python_code(root_module="self")
        self.__dict__["_code"] = made.src
        cls: Any = type(self)
        cls.forward = _forward_from_src(made.src, made.globals)
        base = cls.__mro__[1]
        below = base.__call__

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return below(self, *args, **kwargs)
            except Exception as error:
                _point_at_line(error)
                raise

        cls.__call__ = call  # type: ignore[method-assign]
        return made

    # --- members ----------------------------------------------------------------------

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at "a.b.name", making modules on the way; False if it cannot."""
        *path, field = target.split(".")
        module: Module = self
        for part in path:
            below = getattr(module, part, None)
            if below is None:
                below = Module()
                setattr(module, part, below)
            if not isinstance(below, Module):
                return False
            module = below
        module.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take the module at "a.b.name" out; False if there is none."""
        *path, field = target.split(".")
        module: Any = self
        for part in path:
            module = getattr(module, part, None)
            if not isinstance(module, Module):
                return False
        if not isinstance(getattr(module, field, None), Module):
            return False
        delattr(module, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take out the modules that the graph does not use."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[: i + 1]) for i in range(len(parts)))
                if node.op == "call_module":
                    with contextlib.suppress(AttributeError):
                        module = self.get_submodule(node.target)
                        for name, _ in module.named_modules():
                            used.add(f"{node.target}.{name}" if name else node.target)
        for name, _ in list(self.named_modules()):
            if name and name not in used:
                self.delete_submodule(name)

    # --- copies and files -------------------------------------------------------------

    def __deepcopy__(self, memo: dict) -> GraphModule:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        skip = ("_graph", "_code")
        for key, value in self.__dict__.items():
            if key not in skip and not key.endswith("_hooks"):
                made.__dict__[key] = copy.deepcopy(value, memo)
            elif key not in skip:
                made.__dict__[key] = copy.copy(value)
        type(made).__name__ = type(self).__name__
        for key, value in type(self).__dict__.items():
            if key not in ("forward", "__call__", "_is_impl") and key[:2] != "__":
                setattr(type(made), key, value)
        made.graph = copy.deepcopy(self._graph, memo)
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, copy.copy(self.graph), type(self).__name__)
        made.meta = self.meta
        return made

    def __reduce__(self) -> tuple:
        state = self.__dict__.copy()
        graph = state.pop("_graph")
        code = graph.python_code(root_module="self")
        state["_code"] = code.src
        state["_graphmodule_cls_name"] = type(self).__name__
        return (
            reduce_graph_module,
            (state, _format_import_block(code.globals), graph._tracer_cls),
        )

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return self.__reduce__()

    def to_folder(
        self, folder: str | os.PathLike, module_name: str = "FxModule"
    ) -> None:
        """Write the module as a package: its code, and its parameters beside it."""
        where = Path(folder)
        where.mkdir(parents=True, exist_ok=True)
        ember.save(self.state_dict(), where / "state_dict.pt")
        p = package_name()
        code = self._graph.python_code(root_module="self")
        lines = [
            "from pathlib import Path",
            f"import {p}",
            f"from {p}.nn import *",
            _format_import_block(code.globals),
            "",
            f"class {module_name}({p}.nn.Module):",
            "    def __init__(self):",
            "        super().__init__()",
        ]
        here = "Path(__file__).parent"
        for name, module in self.named_children():
            ember.save(module, where / f"{name}.pt")
            load = f"{p}.load({here} / '{name}.pt', weights_only=False)"
            lines.append(f"        setattr(self, {name!r}, {load})")
        for name, buffer in self._buffers.items():
            if buffer is not None:
                made = f"{p}.empty({list(buffer.shape)}, dtype={p}.{_dtype(buffer)})"
                lines.append(f"        self.register_buffer({name!r}, {made})")
        for name, param in self._parameters.items():
            if param is not None:
                made = f"{p}.empty({list(param.shape)}, dtype={p}.{_dtype(param)})"
                lines.append(
                    f"        setattr(self, {name!r}, {p}.nn.Parameter({made}))"
                )
        load = f"{p}.load({here} / 'state_dict.pt')"
        lines.append(f"        self.load_state_dict({load})")
        body = "\n".join(
            "    " + line if line else line for line in code.src.split("\n")
        )
        (where / "module.py").write_text("\n".join(lines) + "\n" + body + "\n")
        (where / "__init__.py").write_text("from .module import *\n")

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        **options: Any,
    ) -> str:
        """Print the code, with submodules that are graphs; the text."""
        code = self._graph.python_code(root_module="self", verbose=True).src
        body = "\n".join("    " + line if line else line for line in code.split("\n"))
        head = f"class {type(self).__name__}({package_name()}.nn.Module):"
        text = head + "\n" + body.lstrip("\n")
        parts = [text.rstrip()]
        for _, child in self.named_children():
            if isinstance(child, GraphModule):
                inner = child.print_readable(print_output=False)
                parts.append(
                    "\n".join(
                        "    " + line if line else line for line in inner.split("\n")
                    )
                )
        text = "\n\n".join(parts) + "\n"
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        text = super().__str__()
        note = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([text, self._code, note])

    @contextlib.contextmanager
    def _set_replace_hook(self, f: Any) -> Any:
        """A block in which `f` hears of nodes that replace others."""
        self._replace_hooks.append(f)
        try:
            yield
        finally:
            self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f: Any) -> None:
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f: Any) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Any) -> None:
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f: Any) -> None:
        self._erase_node_hooks.remove(f)

    def _register_replace_node_hook(self, f: Any) -> None:
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f: Any) -> None:
        self._replace_hooks.remove(f)


def _dtype(tensor: Any) -> str:
    return repr(tensor.dtype).rpartition(".")[2]


def _point_at_line(error: Exception) -> None:
    """Say which line of generated code raised, unless an inner module has said so."""
    if getattr(error, "_fx_told", False):
        return
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    if last is None or "eval_with_key" not in last.filename:
        return
    error._fx_told = True  # type: ignore[attr-defined]
    lines = linecache.getlines(last.filename)
    at = last.lineno or 0
    before, here = lines[max(at - 3, 0) : at], lines[at : at + 2]
    print(
        f"Call using an FX-traced Module, line {at} of the traced Module's generated "
        "forward function:\n"
        + "".join(before)
        + "    ~~~~~~~~~~~~~~~~~~~~~~~~~~~  <--- HERE\n"
        + "".join(here),
        file=sys.stderr,
    )


class _CodeOnlyModule(Module):
    """The attributes of a pickled module, with its forward still to be followed."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__.update(body)


def reduce_graph_module(
    body: dict[str, Any], import_block: str, tracer_cls: Any = None
) -> Module:
    """A GraphModule from its attributes and code: the code is followed once more."""
    from ember.fx._symbolic_trace import Tracer

    source = body.pop("_code")
    name = body.pop("_graphmodule_cls_name", "GraphModule")
    space = _compile(import_block + "\n" + source, {})
    forward = space["forward"]
    holder = type(name, (_CodeOnlyModule,), {"forward": forward})(body)

    class KeepModules(tracer_cls or Tracer):  # type: ignore[misc]
        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return True

    try:
        tracer = KeepModules()
    except TypeError:  # a tracer whose constructor wants arguments
        tracer = type("KeepModules", (Tracer,), {"is_leaf_module": lambda *a: True})()
    in_spec = body.get("_in_spec")
    if in_spec is None:
        graph = tracer.trace(holder)
    else:
        graph = _with_tree(tracer, holder, body)
    graph._tracer_cls = tracer_cls
    made = GraphModule(holder, graph, name)
    for key, value in body.items():
        if key not in made.__dict__:
            made.__dict__[key] = value
    return made


def _with_tree(tracer: Any, holder: Any, body: dict[str, Any]) -> Graph:
    """Follow code that takes nested arguments apart."""
    import inspect

    from ember.fx._codegen import _PyTreeInfo
    from ember.fx._symbolic_trace import PH
    from ember.utils import _pytree

    spec = body["_in_spec"]
    names = list(inspect.signature(holder.forward).parameters)
    tree = _pytree.tree_unflatten([PH] * spec.num_leaves, spec)
    graph = tracer.trace(holder, dict(zip(names, tree, strict=True)))
    info = _PyTreeInfo(["self", *names], spec, body.get("_out_spec"))
    graph._codegen = _PyTreeCodeGen(info)
    return graph
