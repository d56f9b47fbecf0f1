"""Submodules of PyTorch's extension: accelerate, lightning, kornia and torch_geometric
reach into them."""

from __future__ import annotations

from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ember import _C
from ember._compat import autograd, functorch, private_ops, small
from ember.distributed import rpc


def _module(name: str, **contents: Any) -> ModuleType:
    """A submodule of `_C`, which has no file."""
    made = ModuleType(f"ember._C.{name}")
    made.__spec__ = ModuleSpec(made.__name__, None)  # `find_spec` asks what is loaded
    vars(made).update(contents)
    return made


_nn = _module(
    "_nn",
    _parse_to=small.parse_to,
    slow_conv3d=private_ops.slow_conv3d,
    thnn_conv2d=private_ops.thnn_conv2d,
    **private_ops.PADDINGS,
    **{
        name.removeprefix("nn.functional."): op
        for name, op in _C._ops.items()
        if name.startswith("nn.functional.")
    },
)
_functorch = _module(
    "_functorch",
    is_batchedtensor=functorch.is_batchedtensor,
    is_functorch_wrapped_tensor=functorch.is_batchedtensor,
    is_gradtrackingtensor=small.false,
    maybe_get_level=functorch.maybe_get_level,
    maybe_get_bdim=functorch.maybe_get_bdim,
    get_unwrapped=functorch.get_unwrapped,
    peek_interpreter_stack=small.none,
    _add_batch_dim=functorch.add_batch_dim,
    _remove_batch_dim=functorch.remove_batch_dim,
)
_functions = _module(
    "_functions",
    UndefinedGrad=autograd.UndefinedGrad,
    DelayedError=autograd.DelayedError,
    AccumulateGrad=type(_C._gradient_edge(_C.ones(1, requires_grad=True))[0]),
)
_autograd = _module(
    "_autograd",
    SavedTensor=autograd.SavedTensor,
    _saved_tensors_hooks_is_enabled=autograd.saved_tensors_hooks_is_enabled,
    **{name: getattr(_C, name) for name in dir(_C) if "_saved_tensors_hooks_" in name},
)
_distributed_rpc = _module(
    "_distributed_rpc", _is_current_rpc_agent_set=small.false, PyRRef=rpc.PyRRef
)
