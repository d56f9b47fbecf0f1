"""How many floating-point operations a program takes.

>>> import ember
>>> from ember.utils.flop_counter import FlopCounterMode
>>> with FlopCounterMode(display=False) as counter:
...     y = ember.ones(2, 3) @ ember.ones(3, 4)
>>> counter.get_total_flops()
48

Products, convolutions and attention are counted, a multiplication and an addition as
two. The backward pass is counted where it runs inside the block, too: one product for
each operand that requires a gradient.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from math import prod
from typing import Any

import ember
from ember import Tensor
from ember.nn.modules import module as _module
from ember.overrides import TorchFunctionMode

__all__ = ["FlopCounterMode", "register_flop_formula"]


def mm_flop(a: Any, b: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Of a product of two matrices, by their shapes."""
    return 2 * a[0] * a[1] * b[1]


def bmm_flop(a: Any, b: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Of products of several matrices."""
    return 2 * a[0] * a[1] * a[2] * b[2]


def addmm_flop(c: Any, a: Any, b: Any, *args: Any, **kwargs: Any) -> int:
    """Of a product that is added to something."""
    return mm_flop(a, b)


def baddbmm_flop(c: Any, a: Any, b: Any, *args: Any, **kwargs: Any) -> int:
    """Of several products that are added to something."""
    return bmm_flop(a, b)


def _matmul(a: Any, b: Any, *args: Any, out_shape: Any, **kwargs: Any) -> int:
    return 2 * prod(out_shape) * a[-1]


def _linear(x: Any, weight: Any, *args: Any, **kwargs: Any) -> int:
    return 2 * prod(x) * (weight[0] if len(weight) > 1 else 1)


def _conv(x: Any, weight: Any, *args: Any, out_shape: Any, **kwargs: Any) -> int:
    return 2 * prod(out_shape) * prod(weight[1:])


def _conv_transpose(x: Any, weight: Any, *args: Any, **kwargs: Any) -> int:
    return 2 * prod(x) * prod(weight[1:])


def _attention(query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> int:
    batch = prod(query[:-2])
    return 2 * batch * query[-2] * key[-2] * (query[-1] + value[-1])


# By the functions' names: the name in `ops.aten` that PyTorch counts them under, the
# formula, and how many operands have a gradient that costs as much.
_FORMULAS: dict[str, tuple[str, Callable[..., int]]] = {
    "mm": ("mm", mm_flop),
    "addmm": ("addmm", addmm_flop),
    "bmm": ("bmm", bmm_flop),
    "baddbmm": ("baddbmm", baddbmm_flop),
    "matmul": ("mm", _matmul),
    "__matmul__": ("mm", _matmul),
    "linear": ("addmm", _linear),
    "conv1d": ("convolution", _conv),
    "conv2d": ("convolution", _conv),
    "conv3d": ("convolution", _conv),
    "conv_transpose1d": ("convolution", _conv_transpose),
    "conv_transpose2d": ("convolution", _conv_transpose),
    "conv_transpose3d": ("convolution", _conv_transpose),
    "scaled_dot_product_attention": ("scaled_dot_product_attention", _attention),
}
flop_registry: dict[Any, Callable[..., int]] = {}


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable:
    """A decorator: the function computes the operations of ops, from shapes."""

    def register(formula: Callable) -> Callable:
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            flop_registry[target] = formula
        return formula

    return register


def _shape(value: Any) -> Any:
    return value.shape if isinstance(value, Tensor) else value


class FlopCounterMode(TorchFunctionMode):
    """A block whose operations are counted, by module."""

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        super().__init__()
        self.depth, self.display = depth, display
        self.custom = custom_mapping or {}
        self.flop_counts: dict[str, dict[Any, int]] = {}
        self._parents = ["Global"]
        self._names: dict[int, str] = {}
        self._hooks: list[Any] = []
        self._inside = 0

    # --- which module is running ------------------------------------------------------

    def _enter_module(self, module: Any, inputs: Any) -> None:
        name = self._names.get(id(module))
        if name is None:
            name = type(module).__name__
            for path, child in module.named_modules():
                self._names[id(child)] = f"{name}.{path}" if path else name
        self._parents.append(name)

    def _leave_module(self, module: Any, inputs: Any, output: Any) -> None:
        self._parents.pop()

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts = defaultdict(lambda: defaultdict(int))
        self._names.clear()
        self._hooks = [
            _module.register_module_forward_pre_hook(self._enter_module),
            _module.register_module_forward_hook(self._leave_module, always_call=True),
        ]
        self._inside += 1
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._inside -= 1
        for hook in self._hooks:
            hook.remove()
        if self.display:
            print(self.get_table(self.depth))

    # --- counting ---------------------------------------------------------------------

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        formula = self.custom.get(func) or flop_registry.get(func)
        key: Any = func
        if formula is None and name in _FORMULAS:
            aten, formula = _FORMULAS[name]
            key = getattr(ember.ops.aten, aten)
        if formula is None or not isinstance(out, Tensor):
            return out
        shapes = [_shape(a) for a in args]
        named = {k: _shape(v) for k, v in kwargs.items()}
        if name in ("matmul", "__matmul__") and out.dim() > 2:
            key = ember.ops.aten.bmm
        flops = formula(*shapes, **named, out_shape=out.shape)
        parents = list(dict.fromkeys(self._parents))
        self._add(parents, key, flops)
        if out.requires_grad and out.grad_fn is not None:
            operands = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
            bias = 1 if name in ("addmm", "baddbmm") else 0
            used = operands[bias : bias + (3 if "attention" in name else 2)]
            count = sum(a.requires_grad for a in used)
            out.register_hook(lambda g: self._add_backward(parents, key, flops, count))
        return out

    def _add(self, parents: list[str], key: Any, flops: int) -> None:
        for parent in parents:
            self.flop_counts[parent][key] += flops

    def _add_backward(
        self, parents: list[str], key: Any, flops: int, count: int
    ) -> None:
        if self._inside:
            # The scores of attention are computed once more, then four products.
            attention = "attention" in getattr(key, "__name__", "")
            self._add(parents, key, flops * 5 // 2 if attention else flops * count)

    # --- results ----------------------------------------------------------------------

    def get_total_flops(self) -> int:
        """All operations."""
        return sum(self.flop_counts.get("Global", {}).values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Module -> op -> operations."""
        return {k: dict(v) for k, v in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts in lines for people, down to a depth of modules."""
        depth = self.depth if depth is None else depth
        total = max(self.get_total_flops(), 1)
        lines = [f"{'Module':40} {'FLOP':>12} {'% Total':>9}"]
        for name, counts in sorted(self.flop_counts.items(), key=_global_first):
            level = 0 if name == "Global" else name.count(".") + 1
            if level > depth:
                continue
            mine = sum(counts.values())
            title = "  " * level + name
            lines.append(f"{title:40} {_short(mine):>12} {100 * mine / total:8.2f}%")
            for op, flops in counts.items():
                title = "  " * level + " - aten." + getattr(op, "__name__", str(op))
                share = 100 * flops / total
                lines.append(f"{title:40} {_short(flops):>12} {share:8.2f}%")
        return "\n".join(lines)


def _global_first(item: tuple[str, Any]) -> tuple[bool, str]:
    return item[0] != "Global", item[0]


def _short(number: float) -> str:
    for suffix in ("", "K", "M", "B", "T"):
        if number < 1000:
            return f"{number:.3f}{suffix}".replace(".000", "")
        number /= 1000
    return f"{number:.3f}P"
