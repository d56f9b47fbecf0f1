"""Weights of convolutions in another memory format."""

from typing import TypeVar

from ember._C import memory_format as _Format
from ember.nn.modules import conv
from ember.nn.modules.module import Module

M = TypeVar("M", bound=Module)


def convert_conv2d_weight_memory_format(module: M, memory_format: _Format) -> M:
    """Lay out the weights of all Conv2d and ConvTranspose2d in `memory_format`.

    Args:
        module: with all modules inside it
        memory_format: such as `ember.channels_last`

    >>> model = nn.Sequential(nn.Conv2d(3, 8, 3))
    >>> last = ember.channels_last
    >>> model = nn.utils.convert_conv2d_weight_memory_format(model, last)
    >>> model[0].weight.is_contiguous(memory_format=last)
    True
    """
    return _convert(module, memory_format, (conv.Conv2d, conv.ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: M, memory_format: _Format) -> M:
    """Lay out the weights of all Conv3d and ConvTranspose3d in `memory_format`.

    Args:
        module: with all modules inside it
        memory_format: such as `ember.channels_last_3d`

    >>> layer = nn.Conv3d(3, 8, 3)
    >>> last = ember.channels_last_3d
    >>> layer = nn.utils.convert_conv3d_weight_memory_format(layer, last)
    >>> layer.weight.is_contiguous(memory_format=last)
    True
    """
    return _convert(module, memory_format, (conv.Conv3d, conv.ConvTranspose3d))


def _convert(module: M, memory_format, kinds: tuple[type, ...]) -> M:
    for part in module.modules():
        if isinstance(part, kinds):
            part.weight.data = part.weight.detach().clone(memory_format=memory_format)
    return module
