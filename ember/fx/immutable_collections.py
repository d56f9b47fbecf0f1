"""Lists and dicts that are arguments of a node: they are not changed in place, since a
node must know of every change; assign new ones to `node.args` or `node.kwargs`.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"'{type(self).__name__}' object does not support mutation. If you are "
        "attempting to modify the kwargs or args of a torch.fx.Node object,\n"
        "instead create a new copy of it and assign the copy to the node:\n"
        "    new_args = ...  # copy and mutate args\n"
        "    node.args = new_args\n"
    )


class immutable_list(list):
    """A list that cannot be changed."""

    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple:
        return (immutable_list, (tuple(self),))


class immutable_dict(dict):
    """A dict that cannot be changed."""

    clear = pop = popitem = setdefault = update = _refuse
    __setitem__ = __delitem__ = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple:
        return (immutable_dict, (list(self.items()),))


def _register() -> None:
    """Trees (`utils._pytree`) see them as lists and dicts."""
    from ember.utils import _pytree

    _pytree.register_pytree_node(
        immutable_list, lambda x: (list(x), None), lambda v, _: immutable_list(v)
    )
    _pytree.register_pytree_node(
        immutable_dict,
        lambda x: (list(x.values()), list(x)),
        lambda v, keys: immutable_dict(zip(keys, v, strict=True)),
    )


_register()
