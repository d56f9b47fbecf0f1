"""Neural networks: modules, parameters, functions of them and initial values.

`modules/` has the layers, `functional/` what they compute, `init` how they start.
"""

from typing import TYPE_CHECKING

from ember import _lazy
from ember.nn.parameter import (
    Buffer as Buffer,
    Parameter as Parameter,
    UninitializedBuffer as UninitializedBuffer,
    UninitializedParameter as UninitializedParameter,
)

from ember.nn import functional as functional, init as init  # isort: skip
from ember.nn.modules import *

from ember.nn import (  # isort: skip
    modules as modules,
    parameter as parameter,
    utils as utils,
)


def factory_kwargs(kwargs: dict | None) -> dict:
    """The arguments of a module that go to functions such as `ember.empty`.

    >>> import ember
    >>> ember.nn.factory_kwargs({"dtype": ember.float64})
    {'dtype': torch.float64}
    """
    if kwargs is None:
        return {}
    known = {"device", "dtype", "memory_format"}
    unexpected = kwargs.keys() - known - {"factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    given = dict(kwargs.get("factory_kwargs", {}))
    for key in known & kwargs.keys():
        if key in given:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        given[key] = kwargs[key]
    return given


if not TYPE_CHECKING:  # a checker reports what is not here
    __getattr__ = _lazy.missing(__name__)
