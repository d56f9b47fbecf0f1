"""Context managers that also decorate functions, generators and classes."""

import sys
from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ember._types import F

_GENERATOR = 0x20  # inspect.CO_GENERATOR, without importing inspect


class DecoratorContextManager:
    """Base of managers whose `clone()` gives a fresh one for every decorated call."""

    def __call__(self, orig_func: "F") -> "F":
        if isinstance(orig_func, type):
            import warnings

            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future "
                "versions. You should only decorate functions or methods. To preserve "
                "the current behavior of class decoration, you can directly decorate "
                "the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
            orig_func.__init__ = self(orig_func.__init__)  # type: ignore[misc]
            return orig_func
        code = getattr(orig_func, "__code__", None)
        if code is not None and code.co_flags & _GENERATOR:
            return self._wrap_generator(orig_func)  # type: ignore[return-value]
        clone = self.clone

        @wraps(orig_func)
        def decorated(*args, **kwargs):
            with clone():
                return orig_func(*args, **kwargs)

        return decorated  # type: ignore[return-value]

    def _wrap_generator(self, func):
        """The body runs inside the manager; what consumes the values does not."""
        clone = self.clone

        @wraps(func)
        def decorated(*args, **kwargs):
            with clone():
                gen = func(*args, **kwargs)
            resume, value = gen.send, None
            try:
                while True:
                    with clone():
                        item = resume(value)
                    try:
                        value = yield item
                        resume = gen.send
                    except GeneratorExit:
                        with clone():
                            gen.close()
                        raise
                    except BaseException:
                        resume, value = gen.throw, sys.exc_info()[1]
            except StopIteration as stop:
                return stop.value

        return decorated

    def clone(self) -> Any:
        raise NotImplementedError
