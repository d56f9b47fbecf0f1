"""Ready-made parametrizations: orthogonal matrices, weight and spectral norm."""

from enum import Enum, auto

import ember
from ember import Tensor
from ember._functions.aten import norm_except_dim
from ember.nn.functional import normalize
from ember.nn.modules.module import Module
from ember.nn.utils import parametrize
from ember.nn.utils.spectral_norm import as_matrix, default_dim
from ember.nn.utils.weight_norm import scale_to


class _Maps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _from_householder(packed: Tensor, tau: Tensor) -> Tensor:
    """The orthogonal factor of `geqrf`'s result, its columns' signs as R's diagonal."""
    signs = packed.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    return ember.linalg.householder_product(packed, tau) * signs


def _is_orthogonal(q: Tensor, eps: float | None = None) -> bool:
    n, k = q.shape[-2:]
    identity = ember.eye(k, dtype=q.dtype, device=q.device)
    eps = 10.0 * n * ember.finfo(q.dtype).eps if eps is None else eps
    return ember.allclose(q.mH @ q, identity, atol=eps)


class _Orthogonal(Module):
    base: Tensor

    def __init__(
        self, weight: Tensor, orthogonal_map: _Maps, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        # Householder reflections of complex matrices would need signs of their own.
        if weight.is_complex() and orthogonal_map == _Maps.householder:
            raise ValueError(
                "The householder parametrization does not support complex tensors."
            )
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.size(-2) < x.size(-1)
        if wide:
            x = x.mT
        n, k = x.shape[-2:]
        if self.orthogonal_map == _Maps.householder:
            below = x.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (below * below).sum(dim=-2))
            q = ember.linalg.householder_product(below, tau)
            # The diagonal is +-1: it keeps the signs of the columns.
            q = q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            x = x.tril()
            if n != k:
                rest = x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)
                x = ember.cat([x, rest], dim=-1)
            skew = x - x.mH
            if self.orthogonal_map == _Maps.matrix_exp:
                q = ember.linalg.matrix_exp(skew)
            else:
                eye = ember.eye(n, dtype=skew.dtype, device=skew.device)
                q = ember.linalg.solve(eye - 0.5 * skew, eye + 0.5 * skew)
            q = q[..., :k]
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    @ember.no_grad()
    def right_inverse(self, q: Tensor) -> Tensor:
        if q.shape != self.shape:
            raise ValueError(
                "Expected a matrix or batch of matrices of shape "
                f"{self.shape}. Got a tensor of shape {q.shape}."
            )
        given = q
        wide = q.size(-2) < q.size(-1)
        if wide:
            q = q.mT
        n, k = q.shape[-2:]
        if not hasattr(self, "base"):
            if self.orthogonal_map != _Maps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the "
                    "Cayley parametrizations when use_trivialization=False."
                )
            packed, tau = ember.geqrf(q)
            diagonal = packed.diagonal(dim1=-2, dim2=-1)
            # A reflection that is the identity (tau = 0) leaves the sign to us.
            signs = diagonal.sign()
            diagonal.copy_(ember.where(tau == 0, -signs, signs))
            return packed.mT if wide else packed
        if n != k or not _is_orthogonal(q):
            if n != k:
                rest = ember.randn(
                    *q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device
                )
                q = ember.cat([q, rest], dim=-1)
            q = _from_householder(*ember.geqrf(q))
        self.base = q
        # With this base, minus the identity gives `given` back.
        start = ember.zeros_like(given)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a matrix, or a batch of them, orthogonal (unitary, if complex).

    `orthogonal_map` is "matrix_exp", "cayley" or "householder"; by default the first
    for square and complex matrices, else the last.

    >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
    >>> w = layer.weight
    >>> ember.allclose(w @ w.T, ember.eye(3), atol=1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(
            f"Module '{module}' has no parameter or buffer with name '{name}'"
        )
    if weight.ndim < 2:
        raise ValueError(
            "Expected a matrix or batch of matrices. Got a tensor of "
            f"{weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = (
            "matrix_exp" if square or weight.is_complex() else "householder"
        )
    if orthogonal_map not in _Maps.__members__:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    chain = _Orthogonal(weight, _Maps[orthogonal_map], use_trivialization)
    return parametrize.register_parametrization(module, name, chain, unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return scale_to(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train the length and the direction of a weight separately (arXiv:1602.07868).

    >>> import ember
    >>> m = ember.nn.utils.parametrizations.weight_norm(ember.nn.Linear(2, 3))
    >>> for key in m.state_dict():
    ...     print(key)
    bias
    parametrizations.weight.original0
    parametrizations.weight.original1
    """
    chain = _WeightNorm(dim)
    parametrize.register_parametrization(module, name, chain, unsafe=True)

    def take_old_keys(state_dict, prefix: str, *rest) -> None:
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                new = f"{prefix}parametrizations.{name}.original{i}"
                state_dict[new] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(take_old_keys)
    return module


class _SpectralNorm(Module):
    def __init__(
        self,
        weight: Tensor,
        n_power_iterations: int = 1,
        dim: int = 0,
        eps: float = 1e-12,
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(
                "Dimension out of range (expected to be in range of "
                f"[-{ndim}, {ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            rows, columns = matrix.shape
            u = matrix.new_empty(rows).normal_()
            v = matrix.new_empty(columns).normal_()
            self.register_buffer("_u", normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)  # start near the singular vectors

    @ember.no_grad()
    def _power_method(self, matrix: Tensor, steps: int) -> None:
        for _ in range(steps):
            self._u.copy_(normalize(matrix.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(normalize(matrix.mH.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the buffers change in place
        return weight / ember.vdot(u, matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value  # its own spectral norm decides


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value (arXiv:1802.05957).

    >>> import ember
    >>> m = ember.nn.utils.parametrizations.spectral_norm(ember.nn.Linear(4, 4))
    >>> m.weight.shape
    torch.Size([4, 4])
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(
            f"Module '{module}' has no parameter or buffer with name '{name}'"
        )
    dim = default_dim(module) if dim is None else dim
    chain = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return parametrize.register_parametrization(module, name, chain)
