"""Graphs as Python text."""

from __future__ import annotations

import builtins
import enum
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import ember
from ember import _C
from ember.fx._names import (
    INPLACE,
    MAGIC,
    REFLECTABLE,
    Namespace,
    custom_builtins,
    package_name,
    qualified_name,
    type_name,
)
from ember.fx.node import Node, map_arg

if TYPE_CHECKING:
    pass

TransformCodeFunc = Callable[[list[str]], list[str]]


class PythonCode:
    """Python text, and the objects that its global names stand for."""

    def __init__(self, src: str, globals: dict[str, Any]) -> None:
        self.src, self.globals = src, globals
        self._lineno_map: dict[int, int | None] = {}


class _PyTreeInfo(NamedTuple):
    orig_args: list[str]
    in_spec: Any
    out_spec: Any


def _format_target(base: str, target: str) -> str:
    """`base.a.b`; parts that are no identifiers by `getattr`."""
    text = base
    for part in target.split("."):
        text = f"{text}.{part}" if part.isidentifier() else f'getattr({text}, "{part}")'
    return text


def _from_package(obj: Any) -> bool:
    """Whether generated code reaches an object through the package's own name."""
    if isinstance(obj, _C.Op) or hasattr(obj, "_fx_name"):
        return True
    module = getattr(obj, "__module__", None) or ""
    return module.split(".")[0] == "ember" and obj is not ember.device


class _Globals:
    """The global names of generated code."""

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace
        self.objects: dict[str, Any] = {}
        self.wrapped: dict[str, None] = {}

    def add(self, name_hint: str, obj: Any) -> str:
        if _from_package(obj) and _resolves(name_hint, obj):
            package = package_name()
            self.objects.setdefault(package, custom_builtins()[package][1])
            return name_hint
        name = self.namespace.create_name(name_hint.replace(".", "_"), obj)
        if self.objects.setdefault(name, obj) is not obj:
            raise AssertionError(f"two objects are called {name} in generated code")
        return name

    def hint(self, kind: Any) -> str:
        if kind in ((), None):
            return "()" if kind == () else "None"
        origin = getattr(kind, "__origin__", None)
        name = type_name(kind)
        if origin is not None and hasattr(kind, "__args__"):
            import typing

            base = getattr(kind, "_name", None)
            if isinstance(base, str) and hasattr(typing, base):
                outer = self.add(f"typing.{base}", getattr(typing, base))
            elif origin is typing.Union:
                outer = self.add("typing.Union", typing.Union)
            else:
                outer = self.hint(origin)
            inner = [self.hint(a) if a is not ... else "..." for a in kind.__args__]
            return f"{outer}[{','.join(inner)}]" if inner else outer
        if getattr(builtins, name, None) is kind:
            return name
        return self.add(name, kind)


def _resolves(name: str, obj: Any) -> bool:
    head, *rest = name.split(".")
    found: Any = ember if head == package_name() else None
    for part in rest:
        found = getattr(found, part, None)
    return found is obj


class CodeGen:
    """Writes graphs as text. Subclasses change the signature and the result."""

    def __init__(self) -> None:
        self._body_transformer: TransformCodeFunc | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The head of the function."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return (
            f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"
        )

    def generate_output(self, output_args: Any, **options: Any) -> str:
        """The line that returns."""
        return f"return {_arg_text(output_args, None)}"

    def process_inputs(self, *args: Any) -> Any:
        """The graph's inputs, from the arguments of the function."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What the function returns, from the graph's output."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """More global names of the text."""
        return []

    def _gen_python_code(
        self,
        nodes: Any,
        root_module: str,
        namespace: Namespace,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        **options: Any,
    ) -> PythonCode:
        nodes = list(nodes)
        names = _Globals(namespace)
        for name, value in self.additional_globals():
            names.objects[name] = value
        free_vars: list[str] = []
        returns = [""]
        drops = _last_uses(nodes)
        body: list[str] = []
        for node in nodes:
            if verbose:
                body += _verbose_lines(node)
            text = self._line(node, root_module, names, free_vars, returns)
            if text is None:
                continue
            if node.op not in ("placeholder", "output") and drops.get(node):
                text += ";  " + " = ".join([*map(repr, drops[node]), "None"])
            if verbose and node.op not in ("placeholder", "output"):
                text = _annotate(text, node)
            body.append(text + "\n")
        if not body:
            body.append("pass\n")
        if self._body_transformer:
            body = self._body_transformer(body)
        package = package_name()
        wraps = "\n".join(
            f'{package}.fx._symbolic_trace.wrap("{name}")' for name in names.wrapped
        )
        if wraps:
            names.objects.setdefault(package, custom_builtins()[package][1])
        head = self.gen_fn_def(free_vars, returns[0])
        code = "".join(body).lstrip("\n")
        code = "\n".join("    " + line if line else line for line in code.split("\n"))
        return PythonCode(f"\n{wraps}\n\n{head}\n{code.rstrip(' ')}", names.objects)

    def _line(
        self,
        node: Node,
        root: str,
        names: _Globals,
        free_vars: list[str],
        returns: list[str],
    ) -> str | None:
        hint = f" : {names.hint(node.type)}" if node.type is not None else ""
        target: Any = node.target
        if node.op == "placeholder":
            default = f" = {_arg_text(node.args[0], names)}" if node.args else ""
            free_vars.append(f"{target}{hint}{default}")
            own = target.replace("*", "")
            return f"{node!r} = {own}" if own != repr(node) else None
        if node.op == "get_attr":
            return f"{node!r}{hint} = {_format_target(root, target)}"
        if node.op == "output":
            if node.type is not None:
                returns[0] = f" -> {names.hint(node.type)}"
            if type(self).generate_output is CodeGen.generate_output:
                return f"return {_arg_text(node.args[0], names)}"
            return self.generate_output(node.args[0])
        if node.op == "call_method":
            owner = _arg_text(node.args[0], names)
            call = _args_text(node.args[1:], node.kwargs, names)
            return f"{node!r}{hint} = {_format_target(owner, target)}({call})"
        if node.op == "call_module":
            call = _args_text(node.args, node.kwargs, names)
            return f"{node!r}{hint} = {_format_target(root, target)}({call})"
        return _function_line(node, hint, names)


def _function_line(node: Node, hint: str, names: _Globals) -> str:
    target: Any = node.target
    name = getattr(target, "__name__", "")
    if getattr(target, "__module__", None) == "_operator" and not node.kwargs:
        args = [_arg_text(a, names) for a in node.args]
        form = MAGIC.get(name) or REFLECTABLE.get(name)
        if form is not None and form.count("{}") == len(args):
            return f"{node!r}{hint} = {form.format(*args)}"
        form = INPLACE.get(name)
        if form is not None and form.count("{}") == len(args):
            return f"{form.format(*args)};  {node!r}{hint} = {args[0]}"
    if (
        target is getattr
        and len(node.args) == 2
        and isinstance(node.args[1], str)
        and node.args[1].isidentifier()
    ):
        owner = _arg_text(node.args[0], names)
        return f"{node!r}{hint} = {_format_target(owner, node.args[1])}"
    called = names.add(qualified_name(target), target)
    if hasattr(target, "_fx_wrapped") or _is_wrapped(target):
        names.wrapped[called] = None
    call = _args_text(node.args, node.kwargs, names)
    return f"{node!r}{hint} = {called}({call})"


def _is_wrapped(function: Any) -> bool:
    from ember.fx._symbolic_trace import _wrapped_functions

    try:
        return function in _wrapped_functions
    except TypeError:
        return False


def _arg_text(arg: Any, names: _Globals | None) -> str:
    if isinstance(arg, tuple):
        if hasattr(arg, "_fields"):
            called = type(arg).__name__
            if names is not None:
                called = names.add(type_name(type(arg)), type(arg))
            return f"{called}({', '.join(_arg_text(a, names) for a in arg)})"
        inner = ", ".join(_arg_text(a, names) for a in arg)
        return f"({inner},)" if len(arg) == 1 else f"({inner})"
    if isinstance(arg, list):
        return f"[{', '.join(_arg_text(a, names) for a in arg)}]"
    if isinstance(arg, dict):
        items = (f"{k!r}: {_arg_text(v, names)}" for k, v in arg.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(arg, slice):
        parts = (arg.start, arg.stop, arg.step)
        return f"slice({', '.join(_arg_text(p, names) for p in parts)})"
    if isinstance(arg, enum.Enum) and names is not None:
        kind = type(arg)
        return f"{names.add(type_name(kind), kind)}.{arg.name}"
    if isinstance(arg, ember.dtype | ember.layout | ember.memory_format):
        own = repr(arg).rpartition(".")[2]
        if names is not None:
            package = package_name()
            names.objects.setdefault(package, custom_builtins()[package][1])
        return f"{package_name()}.{own}"
    if isinstance(arg, ember.device) and names is not None:
        names.objects.setdefault("device", ember.device)
    elif isinstance(arg, ember.Size):
        if names is not None:
            package = package_name()
            names.objects.setdefault(package, custom_builtins()[package][1])
        return f"{package_name()}.Size([{', '.join(map(str, arg))}])"
    elif (
        isinstance(arg, float)
        and names is not None
        and repr(arg).strip("-")
        in (
            "inf",
            "nan",
        )
    ):
        name = repr(arg).strip("-")
        names.objects.setdefault(name, float(name))
    elif callable(arg) and not isinstance(arg, Node) and names is not None:
        return names.add(qualified_name(arg), arg)
    return repr(arg)


def _args_text(args: Any, kwargs: Any, names: _Globals) -> str:
    parts = [_arg_text(a, names) for a in args]
    parts += [f"{k} = {_arg_text(v, names)}" for k, v in kwargs.items()]
    return ", ".join(parts)


def _last_uses(nodes: list[Node]) -> dict[Node, list[Node]]:
    """Which values each step is the last to use; they are dropped behind it."""
    seen: set[Node] = set()
    drops: dict[Node, list[Node]] = {}
    for node in reversed(nodes):

        def note(used: Node, user: Node = node) -> Node:
            if used not in seen:
                seen.add(used)
                drops.setdefault(user, []).append(used)
            return used

        map_arg(node.args, note)
        map_arg(node.kwargs, note)
        if not node.users:
            drops.setdefault(node, []).append(node)
    return drops


def _verbose_lines(node: Node) -> list[str]:
    """The line of the program that a node came from, as a comment."""
    if node.op in ("placeholder", "output") or not node.stack_trace:
        return []
    lines = [line.strip() for line in node.stack_trace.strip().split("\n")]
    found = [i for i, line in enumerate(lines) if line.startswith("File ")]
    if not found:
        return []
    match = re.match(r'File "(.+)", line (\d+), in (.+)', lines[found[-1]])
    if match is None:
        return []
    where = match.group(1).replace("\\", "/").rpartition("/")[2]
    code = lines[found[-1] + 1] if found[-1] + 1 < len(lines) else ""
    return [f"\n# File: {where}:{match.group(2)} in {match.group(3)}, code: {code}\n"]


_SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}


def _short_dtype(dtype: Any) -> str:
    name = repr(dtype).rpartition(".")[2]
    match = re.match(r"([a-z]+)(\d+)$", name)
    if match is None:
        return "b8" if name == "bool" else name
    return _SHORT.get(match.group(1), match.group(1)) + match.group(2)


def _annotate(text: str, node: Node) -> str:
    """The text with dtype and shape of the value, where they are known."""
    value: Any = node.meta.get("val", node.meta.get("tensor_meta"))
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        shape = ", ".join(map(str, value.shape))
        hint = f'{node!r}: "{_short_dtype(value.dtype)}[{shape}]" ='
        return text.replace(f"{node!r} =", hint, 1)
    return text


class _PyTreeCodeGen(CodeGen):
    """A function of nested arguments, which are taken apart into the graph's inputs."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        from ember.utils import _pytree

        return _pytree.tree_leaves(inputs)

    def process_outputs(self, out: Any) -> Any:
        from ember.utils import _pytree

        if self.pytree_info is None or self.pytree_info.out_spec is None:
            return out
        out = out if isinstance(out, list | tuple) else [out]
        return _pytree.tree_unflatten(out, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        if not self.pytree_info:
            return super().gen_fn_def(free_vars, maybe_return_annotation)
        fn_args = list(self.pytree_info.orig_args)
        has_self = bool(fn_args) and fn_args[0] == "self"
        if has_self:
            free_vars.insert(0, "self")
        head = super().gen_fn_def(fn_args[:], maybe_return_annotation)
        if not free_vars:
            return head
        hints = [v + "\n" for v in free_vars if ":" in v and "=" not in v]
        names = [re.split(r"[:=]", v)[0].strip() for v in free_vars if v != "self"]
        given = ", ".join(a for a in fn_args if a != "self")
        spec = f"fx_pytree.tree_flatten_spec([{given}], self._in_spec)"
        lines = [head, f"    {', '.join(names)}, = {spec}"]
        return "\n".join(lines) + ("\n    " + "    ".join(hints) if hints else "")

    def generate_output(self, output_args: Any, **options: Any) -> str:
        if self.pytree_info and self.pytree_info.out_spec is not None:
            args = _arg_text(output_args, None)
            return f"return pytree.tree_unflatten({args}, self._out_spec)"
        return super().generate_output(output_args)

    def additional_globals(self) -> list[tuple[str, Any]]:
        names = custom_builtins()
        return [(name, names[name][1]) for name in ("fx_pytree", "pytree")]
