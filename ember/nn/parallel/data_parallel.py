"""`DataParallel` and the steps it consists of: scatter, replicate, apply, gather."""

from collections.abc import Sequence
from typing import Any

import ember
from ember import Tensor
from ember.nn.modules.module import Module


class DataParallel(Module):
    """A module that splits its batch over devices; here over one, or none.

    State is kept under "module.", as PyTorch does, so checkpoints move both ways.

    >>> import ember
    >>> m = ember.nn.DataParallel(ember.nn.Linear(2, 3))
    >>> m(ember.ones(4, 2)).shape
    torch.Size([4, 3])
    >>> list(m.state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.module = module
        self.device_ids = list(device_ids or [])[:1]
        if output_device is None and self.device_ids:
            output_device = self.device_ids[0]
        self.output_device = output_device

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if self.device_ids:
            inputs = scatter(inputs, self.device_ids, self.dim)[0]
            kwargs = scatter(kwargs, self.device_ids, self.dim)[0]
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict | None = None,
) -> Any:
    """`DataParallel(module)(*inputs)`, without keeping it.

    >>> nn.parallel.data_parallel(nn.Linear(2, 3), ember.ones(4, 2)).shape
    torch.Size([4, 3])
    """
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    wrapped = DataParallel(module, device_ids, output_device, dim)
    return wrapped(*inputs, **(module_kwargs or {}))


def scatter(inputs: Any, target_gpus: Sequence, dim: int = 0) -> tuple:
    """Tensors, also in lists, tuples and dicts, cut along `dim`: a part per device.

    >>> import ember
    >>> ember.nn.parallel.scatter(ember.arange(4), ["cpu", "cpu"])
    (tensor([0, 1]), tensor([2, 3]))
    """
    count = len(target_gpus)
    if isinstance(inputs, Tensor):
        pieces = inputs.chunk(count, dim)
        return tuple(p.to(device) for p, device in zip(pieces, target_gpus))
    if isinstance(inputs, (tuple, list)) and inputs:
        kind = type(inputs)
        make = kind._make if hasattr(kind, "_make") else kind
        return tuple(map(make, zip(*(scatter(i, target_gpus, dim) for i in inputs))))
    if isinstance(inputs, dict) and inputs:
        columns = (scatter(item, target_gpus, dim) for item in inputs.items())
        return tuple(type(inputs)(items) for items in zip(*columns))
    return tuple(inputs for _ in target_gpus)


def gather(outputs: Sequence, target_device: Any, dim: int = 0) -> Any:
    """The opposite of `scatter`: parts joined along `dim`, on one device.

    >>> nn.parallel.gather([ember.ones(2), ember.zeros(1)], "cpu")
    tensor([1., 1., 0.])
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        if all(t.dim() == 0 for t in outputs):
            return ember.stack([t.to(target_device) for t in outputs])
        return ember.cat([t.to(target_device) for t in outputs], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if not all(len(first) == len(part) for part in outputs):
            raise ValueError("All dicts must have the same number of keys")
        keys = {k: gather([part[k] for part in outputs], target_device) for k in first}
        return type(first)(keys)
    kind = type(first)
    make = kind._make if hasattr(kind, "_make") else kind
    return make(gather(part, target_device, dim) for part in zip(*outputs))


def replicate(network: Module, devices: Sequence, detach: bool = False) -> list:
    """The module once for each device. They share memory: it is one device.

    >>> len(nn.parallel.replicate(nn.Linear(2, 3), ["cpu", "cpu"]))
    2
    """
    if not isinstance(network, Module):
        raise TypeError(f"replicate(): {type(network).__name__} is no Module")
    return [network for _ in devices]


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence,
    kwargs_tup: Any = None,
    devices: Any = None,
) -> list:
    """Each module on its own inputs.

    >>> x = -ember.ones(1)
    >>> nn.parallel.parallel_apply([nn.Identity(), nn.ReLU()], [x, x])
    [tensor([-1.]), tensor([0.])]
    """
    if len(modules) != len(inputs):
        raise AssertionError(
            f"The number of modules {len(modules)} is not equal to the number of "
            f"inputs {len(inputs)}"
        )
    keywords: Any = kwargs_tup or ({},) * len(modules)
    return [
        module(*(given if isinstance(given, (list, tuple)) else (given,)), **kwargs)
        for module, given, kwargs in zip(modules, inputs, keywords)
    ]
