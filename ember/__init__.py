"""ember: PyTorch's programming model in a library that one person can read."""

from ember._C import *
from ember._C import (
    _dirichlet_grad,
    _sample_dirichlet,
    _standard_gamma,
    _standard_gamma_grad,
)
from ember.random import (
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
