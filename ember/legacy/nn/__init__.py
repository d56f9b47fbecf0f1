"""Torch7's nn: modules with forward, backward and updateParameters.

Dimensions and indices count from 0, as everywhere in Python.

>>> import ember
>>> from ember.legacy import nn
>>> model = nn.Sequential().add(nn.Linear(4, 3)).add(nn.LogSoftMax())
>>> criterion = nn.ClassNLLCriterion()
>>> x, target = ember.randn(8, 4), ember.zeros(8, dtype=ember.long)
>>> before = criterion.forward(model.forward(x), target)
>>> model.zeroGradParameters()
>>> dx = model.backward(x, criterion.backward(model.output, target))
>>> model.updateParameters(0.1)
>>> criterion.forward(model.forward(x), target) < before
True
"""

from ember.legacy.nn.containers import *
from ember.legacy.nn.criterions import *
from ember.legacy.nn.functions import *
from ember.legacy.nn.layers import *
from ember.legacy.nn.module import Criterion as Criterion, Module as Module
