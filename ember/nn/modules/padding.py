"""Padding layers."""

from collections.abc import Iterable

from ember import Tensor, _lazy
from ember._types import Sizes
from ember.nn import functional as F
from ember.nn.modules.module import Layer


class _Pad(Layer):
    """Base: `padding` as F.pad takes it, or one number for all sides."""

    _dims: int
    _mode = "constant"

    def __init__(self, padding: Sizes) -> None:
        super().__init__()
        sides = 2 * self._dims
        each = isinstance(padding, Iterable)
        self.padding = tuple(padding) if each else (padding,) * sides

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: Sizes, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """`value` around the last axis.

    >>> import ember
    >>> ember.nn.ConstantPad1d((1, 2), 3.5)(ember.ones(1, 1))
    tensor([[3.5000, 1.0000, 3.5000, 3.5000]])
    """

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """`value` around the last two axes.

    Args:
        padding: left, right, top, bottom, or one number for all; negative ones cut
        value: what to write there

    Shape:
        [..., H, W]

    >>> nn.ConstantPad2d((1, 1, 0, 0), 7.0)(ember.zeros(1, 2, 2))
    tensor([[[7., 0., 0., 7.],
             [7., 0., 0., 7.]]])
    """

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """`value` around the last three axes.

    Args:
        padding: left, right, top, bottom, front, back, or one number for all
        value: what to write there

    Shape:
        [..., D, H, W]

    >>> nn.ConstantPad3d(1, 0.5)(ember.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Sizes) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad):
    """Zeros around the last axis.

    Args:
        padding: elements before and after, one number or two; negative ones cut

    >>> nn.ZeroPad1d((1, -1))(ember.tensor([[1.0, 2.0, 3.0]]))
    tensor([[0., 1., 2.]])
    """

    _dims = 1


class ZeroPad2d(_ZeroPad):
    """Zeros around the last two axes.

    Args:
        padding: left, right, top, bottom, or one number for all; negative ones cut

    >>> nn.ZeroPad2d((1, 0, 0, 1))(ember.ones(1, 1, 2))
    tensor([[[0., 1., 1.],
             [0., 0., 0.]]])
    """

    _dims = 2


class ZeroPad3d(_ZeroPad):
    """Zeros around the last three axes.

    Args:
        padding: left, right, top, bottom, front, back, or one number for all

    >>> nn.ZeroPad3d(1)(ember.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims = 3


class _ReflectionPad(_Pad):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPad):
    """[C, L] or [N, C, L] mirrored at its borders, which are not repeated.

    >>> import ember
    >>> ember.nn.ReflectionPad1d(2)(ember.arange(3.0).view(1, 3))
    tensor([[2., 1., 0., 1., 2., 1., 0.]])
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPad):
    """The last two axes mirrored at their borders.

    Args:
        padding: left, right, top, bottom, or one number for all, smaller than the axis

    Shape:
        [N, C, H, W] or [C, H, W]

    >>> nn.ReflectionPad2d((1, 1, 0, 0))(ember.tensor([[[1.0, 2.0, 3.0]]]))
    tensor([[[2., 1., 2., 3., 2.]]])
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPad):
    """The last three axes mirrored at their borders.

    Args:
        padding: left, right, top, bottom, front, back, or one number for all

    Shape:
        [N, C, D, H, W] or [C, D, H, W]

    >>> nn.ReflectionPad3d(1)(ember.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims = 3


class _ReplicationPad(_Pad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPad):
    """The last axis continued with its first and last elements.

    Args:
        padding: elements before and after, one number or two

    Shape:
        [N, C, L] or [C, L]

    >>> nn.ReplicationPad1d((2, 1))(ember.tensor([[1.0, 2.0]]))
    tensor([[1., 1., 1., 2., 2.]])
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPad):
    """The last two axes continued with their borders.

    Args:
        padding: left, right, top, bottom, or one number for all

    Shape:
        [N, C, H, W] or [C, H, W]

    >>> nn.ReplicationPad2d(1)(ember.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.],
             [1., 1., 2., 2.],
             [1., 1., 2., 2.]]])
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPad):
    """The last three axes continued with their borders.

    Args:
        padding: left, right, top, bottom, front, back, or one number for all

    Shape:
        [N, C, D, H, W] or [C, D, H, W]

    >>> nn.ReplicationPad3d(1)(ember.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims = 3


class _CircularPad(_Pad):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        dims = self._dims
        if input.dim() not in (dims + 1, dims + 2):
            raise ValueError(
                f"expected {dims + 1}D or {dims + 2}D input (got {input.dim()}D input)"
            )
        return super().forward(input)


class CircularPad1d(_CircularPad):
    """The last axis continued from its other end.

    Args:
        padding: elements before and after, one number or two

    Shape:
        [N, C, L] or [C, L], with the last axis longer

    >>> nn.CircularPad1d(1)(ember.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 1., 2., 3., 1.]])
    """

    _dims = 1


class CircularPad2d(_CircularPad):
    """The last two axes continued from their other ends.

    Args:
        padding: left, right, top, bottom, or one number for all

    Shape:
        [N, C, H, W] or [C, H, W]

    >>> nn.CircularPad2d((1, 0, 0, 1))(ember.arange(4.0).view(1, 2, 2))
    tensor([[[1., 0., 1.],
             [3., 2., 3.],
             [1., 0., 1.]]])
    """

    _dims = 2


class CircularPad3d(_CircularPad):
    """The last three axes continued from their other ends.

    Args:
        padding: left, right, top, bottom, front, back, or one number for all

    Shape:
        [N, C, D, H, W] or [C, D, H, W]

    >>> nn.CircularPad3d(1)(ember.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims = 3


__getattr__ = _lazy.missing(__name__)
