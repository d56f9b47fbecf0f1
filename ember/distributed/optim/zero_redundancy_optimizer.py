"""`ZeroRedundancyOptimizer`: every rank keeps the optimizer's state of some parameters,
changes those, and sends them to the others (Rajbhandari et al., 2019, stage 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import ember
import ember.distributed as dist
from ember import Tensor
from ember.distributed.algorithms.join import Join, Joinable, JoinHook
from ember.optim import Optimizer
from ember.utils import _pytree

# Not options: each rank has its own.
_OF_PARAMETERS = ("params", "param_names")


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of class `optimizer_class` whose state lies in parts on the ranks of
    `process_group`. Gradients have to be the same on all of them, as
    `DistributedDataParallel` makes them.

    With `parameters_as_bucket_view` the parameters of a rank lie in one piece of memory
    and travel as one. `defaults` are the options of the optimizer.

    >>> import ember, ember.distributed as dist
    >>> from ember.distributed.optim import ZeroRedundancyOptimizer
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> p = ember.nn.Parameter(ember.ones(1))
    >>> optimizer = ZeroRedundancyOptimizer([p], ember.optim.SGD, lr=0.5)
    >>> (p * 3).backward()
    >>> optimizer.step()
    >>> p.data
    tensor([-0.5000])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer(): overlap_with_ddp is not supported; the "
                "step begins after the backward pass, leave it out"
            )
        self.initialized = False
        Optimizer.__init__(self, _checked(params), defaults)
        Joinable.__init__(self)
        self.process_group = process_group or dist._get_default_group()
        self.world_size = self.process_group.size()
        self.rank = self.process_group.rank()
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self._overlap_with_ddp = False
        self._optim_constructor = optimizer_class
        self._consolidated: list[dict] | None = None
        mine = [
            {**_options(group), "params": parts[self.rank]}
            for group, parts in zip(self.param_groups, self._shares())
        ]
        self.optim = optimizer_class(mine, **defaults)
        _copy_options(self.optim.param_groups, self.param_groups)
        self._make_buckets()
        self.initialized = True

    # --- who has what ---

    def _shares(self) -> list[list[list[Tensor]]]:
        """By group and rank, parameters: the largest first, each to the rank that has
        least. A group that is added changes nothing for those before."""
        sizes = [0] * self.world_size
        shares = []
        for group in self.param_groups:
            parts: list[list[Tensor]] = [[] for _ in sizes]
            for p in sorted(group["params"], key=lambda p: p.numel(), reverse=True):
                rank = sizes.index(min(sizes))
                parts[rank].append(p)
                sizes[rank] += p.numel() if p.requires_grad else 0
            shares.append(parts)
        return shares

    def _by_rank(self) -> list[list[Tensor]]:
        """Of each rank, all parameters."""
        shares = self._shares()
        return [
            [p for parts in shares for p in parts[rank]]
            for rank in range(self.world_size)
        ]

    def _make_buckets(self) -> None:
        """What each rank sends after a step."""
        self._sent = self._by_rank()
        if self.parameters_as_bucket_view:
            self._sent = [[_joined(params)] for params in self._sent if params]
            owners = [r for r, params in enumerate(self._by_rank()) if params]
        else:
            owners = list(range(self.world_size))
        self._owners = owners

    def add_param_group(self, param_group: dict) -> None:
        """Add parameters with options of their own; every rank gets some of them."""
        super().add_param_group(param_group)
        if not self.initialized:
            return
        _one_kind([p for group in self.param_groups for p in group["params"]])
        options = _options(self.param_groups[-1])
        mine = self._shares()[-1][self.rank]
        self.optim.add_param_group({**options, "params": mine})
        _copy_options(self.optim.param_groups, self.param_groups)
        self._make_buckets()

    # --- a step ---

    def step(self, closure: Callable | None = None, **kwargs: Any) -> Any:
        """Change the parameters of this rank, and take those of the others."""
        Join.notify_join_context(self)
        _copy_options(self.param_groups, self.optim.param_groups)
        if closure is None:
            loss = self.optim.step(**kwargs)
        else:
            loss = self.optim.step(closure=closure, **kwargs)  # type: ignore[call-arg]
        _copy_options(self.optim.param_groups, self.param_groups)
        self._share_parameters()
        return loss

    def _share_parameters(self) -> None:
        works = [
            self.process_group.broadcast([t.detach()], root=owner)
            for owner, tensors in zip(self._owners, self._sent)
            for t in tensors
        ]
        for work in works:
            work.wait()

    # --- checkpoints ---

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collect the state of all ranks on rank `to`, where `state_dict` then gives
        it; all ranks have to call this."""
        _copy_options(self.param_groups, self.optim.param_groups)
        state = _pytree.tree_map(_on_host, self.optim.state_dict()["state"])
        receives = dist.get_rank() == to
        found: list[Any] | None = [None] * self.world_size if receives else None
        dist.gather_object(state, found, dst=to, group=self.process_group)
        self._consolidated = found

    def state_dict(self) -> dict:
        """The state of all ranks, as the optimizer's class would have it alone."""
        if self._consolidated is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={dist.get_rank()})` on all ranks "
                "beforehand if you meant to save the global state."
            )
        result = super().state_dict()
        numbers = self._numbers()
        for params, state in zip(self._by_rank(), self._consolidated):
            for place, values in state.items():
                result["state"][numbers[id(params[place])]] = values
        result["state"] = dict(sorted(result["state"].items()))
        return result

    def load_state_dict(self, state_dict: dict) -> None:
        """Take over a state, of which this rank keeps its part."""
        super().load_state_dict({**state_dict, "state": {}})
        _copy_options(self.param_groups, self.optim.param_groups)
        numbers = self._numbers()
        mine = self.optim.state_dict()
        mine["state"] = {
            place: state_dict["state"][numbers[id(p)]]
            for place, p in enumerate(self._by_rank()[self.rank])
            if numbers[id(p)] in state_dict["state"]
        }
        self.optim.load_state_dict(mine)

    def _numbers(self) -> dict[int, int]:
        """Identity of a parameter -> its number in checkpoints."""
        params = (p for group in self.param_groups for p in group["params"])
        numbers: dict[int, int] = {}
        for p in params:
            numbers.setdefault(id(p), len(numbers))
        return numbers

    # --- ranks that have fewer batches ---

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """A rank that is through goes on changing its parameters."""
        return _Steps(self)

    @property
    def join_device(self) -> Any:
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        return self.process_group


class _Steps(JoinHook):
    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self.optimizer = optimizer

    def main_hook(self) -> None:
        self.optimizer.step()


def _checked(params: Any) -> list[Any]:
    """The parameters, or groups of them, as a list."""
    if isinstance(params, Tensor):
        raise TypeError(
            "`params` argument should be an iterable of Tensors, but got torch.Tensor"
        )
    try:
        given = list(params)
    except TypeError:
        raise TypeError(
            "`params` argument should be an iterable of Tensors or dicts, but got "
            f"{type(params).__name__}"
        ) from None
    if not given:
        raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
    if isinstance(given[0], dict):
        for group in given:
            if not isinstance(group["params"], Tensor):
                group["params"] = list(group["params"])  # may be a generator
    flat: list[Any] = []
    for each in given:
        inside = each["params"] if isinstance(each, dict) else each
        flat += inside if isinstance(inside, list) else [inside]
    tensors = [p[1] if isinstance(p, tuple) else p for p in flat]
    for p in tensors:
        if not isinstance(p, Tensor):
            raise TypeError(
                "`params` argument should be an iterable of Tensors, but got an "
                f"iterable containing {type(p).__name__}"
            )
    _one_kind(tensors)
    return given


def _one_kind(params: list[Tensor]) -> None:
    for p in params:
        if p.is_sparse:
            raise ValueError(
                "ZeroRedundancyOptimizer only supports using the same dense type for "
                "all parameters but got a sparse one"
            )
        if p.dtype != params[0].dtype:
            raise ValueError(
                "ZeroRedundancyOptimizer only supports using the same dense type for "
                f"all parameters but got both {params[0].dtype} and {p.dtype}"
            )


def _options(group: dict) -> dict:
    return {k: v for k, v in group.items() if k not in _OF_PARAMETERS}


def _copy_options(source: list[dict], target: list[dict]) -> None:
    for group, other in zip(source, target):
        other.update(_options(group))


def _joined(params: list[Tensor]) -> Tensor:
    """One flat tensor that the parameters become views of."""
    with ember.no_grad():
        flat = ember.cat([p.detach().reshape(-1) for p in params])
        parts = flat.split([p.numel() for p in params])
        for p, part in zip(params, parts):
            p.data = part.view(p.shape)
    return flat


def _on_host(value: Any) -> Any:
    return value.detach().cpu() if isinstance(value, Tensor) else value
