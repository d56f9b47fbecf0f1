"""Neural networks: modules, parameters, functions of them and initial values.

`modules/` has the layers, `functional/` what they compute, `init` how they start.
"""

from ember.nn.parameter import (
    Buffer,
    Parameter,
    UninitializedBuffer,
    UninitializedParameter,
)

from ember.nn import functional, init  # isort: skip
from ember.nn.modules import *

from ember.nn import modules, parameter, utils  # isort: skip
