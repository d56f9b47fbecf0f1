"""Random inputs for benchmarks: sizes, layouts and values drawn to a description."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import ember

if TYPE_CHECKING:
    import numpy as np

__all__ = ["FuzzedParameter", "FuzzedTensor", "Fuzzer", "ParameterAlias"]

_ATTEMPTS = 1000  # draws of parameters before a description is called unsatisfiable


class ParameterAlias:
    """As a value of a parameter: whatever the parameter `alias_to` was given.

    >>> from ember.utils.benchmark import FuzzedParameter, ParameterAlias
    >>> same_or_one = {1: 0.5, ParameterAlias("n"): 0.5}
    >>> FuzzedParameter("m", distribution=same_or_one).name
    'm'
    """

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedParameter:
    """A number to be drawn, for sizes and steps of tensors to refer to by `name`.

    `distribution` is "uniform" or "loguniform" (integers as likely to have one number
    of digits as another) between `minval` and `maxval`, both included, or a dict from
    values to their probabilities. "uniform" draws integers if both bounds are. What a
    `strict` parameter drew is kept while others are drawn again to meet constraints.

    >>> import numpy as np
    >>> from ember.utils.benchmark import FuzzedParameter
    >>> parameter = FuzzedParameter("n", 1, 8, distribution="loguniform")
    >>> 1 <= parameter.sample(np.random.RandomState(0)) <= 8
    True
    """

    def __init__(
        self,
        name: str,
        minval: float | None = None,
        maxval: float | None = None,
        distribution: str | dict[Any, float] | None = None,
        strict: bool = False,
    ) -> None:
        where = f"FuzzedParameter({name!r}): "
        if isinstance(distribution, dict):
            if any(p < 0 for p in distribution.values()):
                raise AssertionError(where + "probabilities cannot be negative")
            if abs(sum(distribution.values()) - 1) > 1e-5:
                total = sum(distribution.values())
                raise AssertionError(where + f"probabilities add up to {total}, not 1")
            if minval is not None or maxval is not None:
                raise AssertionError(where + "a dict of values has no minval or maxval")
        elif distribution not in ("uniform", "loguniform"):
            raise AssertionError(
                where + "distribution must be 'uniform', 'loguniform' or a dict, "
                f"got {distribution!r}"
            )
        elif minval is None or maxval is None:
            raise AssertionError(where + f"{distribution} needs minval and maxval")
        self._name = name
        self._bounds = (minval, maxval)
        self._distribution = distribution
        self.strict = strict

    @property
    def name(self) -> str:
        return self._name

    def sample(self, state: np.random.RandomState) -> Any:
        """A value drawn with NumPy's `state`."""
        if isinstance(self._distribution, dict):
            # An index, as NumPy would turn the values themselves into its own types.
            chances = tuple(self._distribution.values())
            return list(self._distribution)[state.choice(len(chances), p=chances)]
        low, high = self._bounds
        assert low is not None and high is not None
        if self._distribution == "loguniform":
            drawn = int(2 ** state.uniform(low=math.log2(low), high=math.log2(high)))
            return min(max(drawn, low), high)
        if isinstance(low, int) and isinstance(high, int):
            return int(state.randint(low=low, high=high + 1))
        return state.uniform(low=low, high=high)


class FuzzedTensor:
    """A tensor to be made of drawn parameters.

    `size` and `steps` hold numbers or names of parameters. With steps, a larger tensor
    is made and sliced with them. Both are cut, or filled up with ones, to the number
    of dimensions that `dim_parameter` names. With a chance of
    1 - `probability_contiguous` the dimensions lie in memory in another order. Sizes
    that do not meet `min_elements`, `max_elements` and `max_allocation_bytes` (before
    slicing) are drawn again. `tensor_constructor(size=, dtype=, **parameters)` makes
    the values, by default random ones.

    >>> from ember.utils.benchmark import FuzzedTensor
    >>> FuzzedTensor("x", ("n", 2), max_elements=10).satisfies_constraints({"n": 6})
    False
    """

    def __init__(
        self,
        name: str,
        size: tuple[str | int, ...],
        steps: tuple[str | int, ...] | None = None,
        probability_contiguous: float = 0.5,
        min_elements: int | None = None,
        max_elements: int | None = None,
        max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None,
        roll_parameter: str | None = None,
        dtype: ember.dtype = ember.float32,
        cuda: bool = False,
        tensor_constructor: Callable[..., ember.Tensor] | None = None,
    ) -> None:
        self._name = name
        self._size = size
        self._steps = steps or ()
        self._probability_contiguous = probability_contiguous
        self._min_elements = min_elements
        self._max_elements = max_elements
        self._max_allocation_bytes = max_allocation_bytes
        self._dim_parameter = dim_parameter
        self._dtype = dtype
        self._cuda = cuda
        self._constructor = tensor_constructor or self.default_tensor_constructor

    @property
    def name(self) -> str:
        return self._name

    @staticmethod
    def default_tensor_constructor(
        size: tuple[int, ...], dtype: ember.dtype, **kwargs: Any
    ) -> ember.Tensor:
        """Values in [0, 1), or integers in [1, 127)."""
        if dtype.is_floating_point or dtype.is_complex:
            return ember.rand(size, dtype=dtype, device="cpu")
        return ember.randint(1, 127, size=size, dtype=dtype, device="cpu")

    def satisfies_constraints(self, params: dict[str, Any]) -> bool:
        """Whether a tensor of these parameters has an allowed size."""
        size, _, allocated = self._get_size_and_steps(params)
        count, item = math.prod(size), self._dtype.itemsize
        return (
            (self._min_elements is None or count >= self._min_elements)
            and (self._max_elements is None or count <= self._max_elements)
            and (
                self._max_allocation_bytes is None
                or math.prod(allocated) * item <= self._max_allocation_bytes
            )
        )

    def _get_size_and_steps(
        self, params: dict[str, Any]
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """The size, the steps, and the size before slicing with them."""
        dim = len(self._size)
        if self._dim_parameter is not None:
            dim = params[self._dim_parameter]

        def resolve(values: tuple[str | int, ...]) -> tuple[int, ...]:
            given = tuple(
                int(params[value]) if isinstance(value, str) else value
                for value in values[:dim]
            )
            return given + (1,) * (dim - len(given))

        size, steps = resolve(self._size), resolve(self._steps)
        return size, steps, tuple(n * step for n, step in zip(size, steps, strict=True))

    def _make_tensor(
        self, params: dict[str, Any], state: np.random.RandomState
    ) -> tuple[ember.Tensor, dict[str, Any]]:
        import numpy

        size, steps, allocated = self._get_size_and_steps(params)
        tensor = self._constructor(size=allocated, dtype=self._dtype, **params)
        if self._cuda:
            tensor = tensor.cuda()
        order = straight = numpy.arange(len(size))
        if state.rand() > self._probability_contiguous:
            while len(size) > 1 and (order == straight).all():
                order = state.permutation(len(size))
            back = numpy.argsort(order).tolist()
            tensor = tensor.permute(order.tolist()).contiguous().permute(back)
        tensor = tensor[
            tuple(slice(0, n * s, s) for n, s in zip(size, steps, strict=True))
        ]
        properties = {
            "numel": tensor.numel(),
            "order": order,
            "steps": steps,
            "is_contiguous": tensor.is_contiguous(),
            "dtype": str(self._dtype),
        }
        return tensor, properties


class Fuzzer:
    """Draws parameters and makes tensors of them; the same ones for the same `seed`.

    Lists of parameters or tensors among `parameters` and `tensors` are taken apart.
    `constraints` are called with a dict of the drawn parameters; where one returns
    False they are drawn again.

    >>> from ember.utils.benchmark import FuzzedParameter, FuzzedTensor, Fuzzer
    >>> fuzzer = Fuzzer(
    ...     [FuzzedParameter("n", 2, 4, distribution="uniform")],
    ...     [FuzzedTensor("x", ("n", 3))],
    ...     seed=0,
    ... )
    >>> for tensors, properties, parameters in fuzzer.take(2):
    ...     assert tensors["x"].shape == (parameters["n"], 3)
    """

    def __init__(
        self,
        parameters: Iterable[FuzzedParameter | Iterable[FuzzedParameter]],
        tensors: Iterable[FuzzedTensor | Iterable[FuzzedTensor]],
        constraints: Iterable[Callable[[dict[str, Any]], bool]] | None = None,
        seed: int | None = None,
    ) -> None:
        if seed is None:
            seed = random.SystemRandom().randrange(2**32 - 1)
        self._seed = seed
        self._parameters: tuple[FuzzedParameter, ...] = _flat(parameters)
        self._tensors: tuple[FuzzedTensor, ...] = _flat(tensors)
        self._constraints = tuple(constraints or ())
        names = {p.name for p in self._parameters} & {t.name for t in self._tensors}
        if names:
            raise ValueError(
                f"Fuzzer: {', '.join(sorted(names))}: both a parameter and a tensor"
            )
        self._rejected = self._drawn = 0

    def take(
        self, n: int
    ) -> Iterator[
        tuple[dict[str, ember.Tensor], dict[str, dict[str, Any]], dict[str, Any]]
    ]:
        """Yields `n` times: tensors by name, their properties, the parameters."""
        from numpy.random import RandomState

        state = RandomState(self._seed)
        ember.manual_seed(int(state.randint(low=0, high=2**63, dtype="int64")))
        for _ in range(n):
            params = self._generate(state)
            made = {t.name: t._make_tensor(params, state) for t in self._tensors}
            tensors = {name: tensor for name, (tensor, _) in made.items()}
            properties = {name: facts for name, (_, facts) in made.items()}
            yield tensors, properties, params

    @property
    def rejection_rate(self) -> float:
        """How many of the draws so far did not meet the constraints, from 0 to 1."""
        return self._rejected / self._drawn if self._drawn else 0.0

    def _generate(self, state: np.random.RandomState) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for _ in range(_ATTEMPTS):
            drawn = {
                p.name: kept[p.name] if p.name in kept else p.sample(state)
                for p in self._parameters
            }
            kept = {p.name: drawn[p.name] for p in self._parameters if p.strict}
            params = _resolved(drawn)
            self._drawn += 1
            if all(allows(params) for allows in self._constraints) and all(
                t.satisfies_constraints(params) for t in self._tensors
            ):
                return params
            self._rejected += 1
        raise ValueError(
            f"Fuzzer: none of {_ATTEMPTS} draws of parameters met the constraints"
        )


def _flat(values: Iterable[Any]) -> tuple[Any, ...]:
    single = (FuzzedParameter, FuzzedTensor)
    return tuple(
        item
        for value in values
        for item in ([value] if isinstance(value, single) else value)
    )


def _resolved(drawn: dict[str, Any]) -> dict[str, Any]:
    """The parameters with each alias replaced by what it stands for."""
    params = {}
    for name, value in drawn.items():
        passed = {name}
        while isinstance(value, ParameterAlias):
            if value.alias_to in passed:
                raise ValueError(f"Fuzzer: aliases go round in a circle: {drawn}")
            passed.add(value.alias_to)
            value = drawn[value.alias_to]
        params[name] = value
    return params
