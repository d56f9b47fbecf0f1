"""`functorch`, which programs know beside `torch`."""

import subprocess
import sys

import pytest

import ember
from ember._compat import functorch_package as functorch


@pytest.mark.parametrize("name", functorch.__all__)
def test_every_function_says_where_it_is_now(name):
    if name == "make_fx":
        return
    arguments = {
        "make_functional": (ember.nn.Linear(1, 1),),
        "make_functional_with_buffers": (ember.nn.BatchNorm1d(1),),
        "combine_state_for_ensemble": ([ember.nn.Linear(1, 1)],),
        "vjp": (ember.sin, ember.ones(1)),
        "jvp": (ember.sin, (ember.ones(1),), (ember.ones(1),)),
    }.get(name, (ember.sin,))
    with pytest.warns(FutureWarning, match="Please use `torch."):
        getattr(functorch, name)(*arguments)


def test_programs_find_it_beside_torch():
    program = """
import warnings
warnings.simplefilter("ignore")
import functorch, torch
from functorch import make_functional, vmap
from functorch.experimental import replace_all_batch_norm_modules_
x = torch.ones(2, 3)
graph = functorch.make_fx(torch.sin)(x)
print(torch.equal(vmap(torch.sum)(x), x.sum(1)), graph(x).shape)
"""
    command = [sys.executable, "-m", "ember.as_torch", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "True torch.Size([2, 3])\n", done.stderr
