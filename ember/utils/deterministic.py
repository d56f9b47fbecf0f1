"""What deterministic mode does besides: one switch, which is an attribute.

>>> import ember
>>> ember.utils.deterministic.fill_uninitialized_memory
True
"""

import sys
from types import ModuleType

from ember import _runtime


class _Module(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether `empty` and its like are filled with NaN, or the greatest integer,
        after `use_deterministic_algorithms(True)`."""
        return _runtime.get_fill_uninitialized_memory()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        _runtime.set_fill_uninitialized_memory(mode)


sys.modules[__name__].__class__ = _Module
