"""Random sparse inputs for benchmarks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import ember
from ember.utils.benchmark.fuzzer import FuzzedTensor

if TYPE_CHECKING:
    import numpy as np

__all__ = ["FuzzedSparseTensor"]


class FuzzedSparseTensor(FuzzedTensor):
    """A sparse COO tensor to be made of drawn parameters.

    Parameters named "density", "coalesced" and, if `sparse_dim` is given, "sparse_dim"
    say how many entries it has (as a share of the sum of its sizes), whether places
    are unique, and how many dimensions are sparse.

    >>> from ember.utils.benchmark import FuzzedParameter, FuzzedSparseTensor, Fuzzer
    >>> fuzzer = Fuzzer(
    ...     [
    ...         FuzzedParameter("density", 0.1, 0.5, distribution="uniform"),
    ...         FuzzedParameter("coalesced", distribution={True: 0.5, False: 0.5}),
    ...     ],
    ...     [FuzzedSparseTensor("x", (8, 4))],
    ...     seed=0,
    ... )
    >>> [tensors["x"].is_sparse for tensors, _, _ in fuzzer.take(2)]
    [True, True]
    """

    def __init__(
        self,
        name: str,
        size: tuple[str | int, ...],
        min_elements: int | None = None,
        max_elements: int | None = None,
        dim_parameter: str | None = None,
        sparse_dim: str | None = None,
        nnz: str | None = None,
        density: str | None = None,
        coalesced: str | None = None,
        dtype: ember.dtype = ember.float32,
        cuda: bool = False,
    ) -> None:
        super().__init__(
            name,
            size,
            min_elements=min_elements,
            max_elements=max_elements,
            dim_parameter=dim_parameter,
            dtype=dtype,
            cuda=cuda,
        )
        self._sparse_dim = sparse_dim

    @staticmethod
    def sparse_tensor_constructor(
        size: int | tuple[int, ...],
        dtype: ember.dtype,
        sparse_dim: int,
        nnz: int,
        is_coalesced: bool,
    ) -> ember.Tensor:
        """A tensor of `nnz` places drawn at random, the first `sparse_dim` sparse.

        If it is not to be coalesced, every place has two entries.
        """
        shape = (size,) * sparse_dim if isinstance(size, int) else tuple(size)
        if nnz and all(n <= 0 for n in shape[:sparse_dim]):
            raise AssertionError(f"{nnz} entries do not fit a tensor of shape {shape}")
        values = FuzzedTensor.default_tensor_constructor(
            (nnz, *shape[sparse_dim:]), dtype
        )
        places = ember.rand(sparse_dim, nnz)
        places = (places * ember.tensor(shape[:sparse_dim]).unsqueeze(1)).long()
        if not is_coalesced:
            values = ember.cat([values, ember.randn_like(values)])
            places = ember.cat([places, places], 1)
        tensor = ember.sparse_coo_tensor(places, values, shape)
        return tensor.coalesce() if is_coalesced else tensor

    def _make_tensor(
        self, params: dict[str, Any], state: np.random.RandomState
    ) -> tuple[ember.Tensor, dict[str, Any]]:
        size, _, _ = self._get_size_and_steps(params)
        density = params["density"]
        nnz = math.ceil(sum(size) * density)
        if nnz > sum(size):
            raise AssertionError(f"density must be at most 1, got {density}")
        sparse_dim = params["sparse_dim"] if self._sparse_dim else len(size)
        tensor = self.sparse_tensor_constructor(
            size, self._dtype, min(sparse_dim, len(size)), nnz, params["coalesced"]
        )
        if self._cuda:
            tensor = tensor.cuda()
        properties = {
            "numel": tensor.numel(),
            "shape": tensor.size(),
            "is_coalesced": tensor.is_coalesced(),
            "density": density,
            "sparsity": 1.0 - density,
            "sparse_dim": tensor.sparse_dim(),
            "dense_dim": tensor.dense_dim(),
            "is_hybrid": tensor.dense_dim() > 0,
            "dtype": str(self._dtype),
        }
        return tensor, properties
