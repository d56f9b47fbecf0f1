"""The style of Torch7: modules that keep their outputs and gradients, and optimizers
that are functions of a closure and a vector.

>>> import ember
>>> from ember.legacy import nn
>>> model = nn.Sequential().add(nn.Linear(3, 2)).add(nn.Tanh())
>>> y = model.forward(ember.randn(4, 3))
>>> model.backward(ember.randn(4, 3), ember.ones(4, 2)).shape
torch.Size([4, 3])
"""

from typing import Any


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("nn", "optim"):
        return import_module(f"ember.legacy.{name}")
    if name == "load":
        return import_module("ember.legacy.t7").load
    raise AttributeError(f"module 'ember.legacy' has no attribute '{name}'")
