"""Submodules of PyTorch's extension: accelerate, lightning, kornia and torch_geometric
reach into them."""

from __future__ import annotations

from types import SimpleNamespace

from ember import _C
from ember._compat import small

_nn = SimpleNamespace(
    _parse_to=small.parse_to,
    **{
        name.removeprefix("nn.functional."): op
        for name, op in _C._ops.items()
        if name.startswith("nn.functional.")
    },
)
_functorch = SimpleNamespace(
    is_batchedtensor=small.false,
    is_gradtrackingtensor=small.false,
    is_functorch_wrapped_tensor=small.false,
    maybe_get_level=lambda tensor: -1,
    get_unwrapped=small.itself,
    peek_interpreter_stack=small.none,
)
_distributed_rpc = SimpleNamespace(_is_current_rpc_agent_set=small.false)
