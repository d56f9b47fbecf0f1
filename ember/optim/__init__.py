"""Optimizers and learning-rate schedulers.

`optimizer` has what all share; each family has a file with one plain implementation.
"""

from typing import TYPE_CHECKING

from ember import _lazy
from ember.optim import lr_scheduler
from ember.optim._swap import swap_in_optimizer_params_and_state
from ember.optim.adafactor import Adafactor
from ember.optim.adagrad import Adadelta, Adagrad, RMSprop, Rprop
from ember.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from ember.optim.asgd import ASGD
from ember.optim.lbfgs import LBFGS
from ember.optim.muon import Muon
from ember.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook as register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook as register_optimizer_step_pre_hook,
)
from ember.optim.sgd import SGD
from ember.optim.sparse_adam import SparseAdam

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swap_in_optimizer_params_and_state",
]


if not TYPE_CHECKING:  # a checker reports what is not here
    __getattr__ = _lazy.missing(__name__)
