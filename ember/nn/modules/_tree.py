"""The part of Module that walks its tree: submodules, parameters and buffers, all of
them or by their dotted names.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ember._C import Tensor, _ModuleBase
from ember.nn.parameter import Parameter

if TYPE_CHECKING:
    from ember.nn.modules.module import Module


class TreeMethods:
    """Traversal and lookup, mixed into Module."""

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Every module of the tree with its dotted name, this one first."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, below, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator["Module"]:
        """Every module of the tree, this one first; each once, unless asked not to."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        """The direct submodules with their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator["Module"]:
        """The direct submodules."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self,
        members: Any,
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Any:
        seen = set()
        if recurse:
            tree: Iterable = self.named_modules(None, prefix, remove_duplicate)
        else:
            tree = [(prefix, self)]
        for path, module in tree:
            for name, value in members(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters of the tree with their dotted names."""
        return self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Parameters of the tree, as optimizers take them."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Buffers of the tree with their dotted names."""
        return self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Buffers of the tree."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> "Module":
        """The submodule of a dotted name; "" is the module itself."""
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, _ModuleBase):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(
        self, target: str, module: "Module", strict: bool = False
    ) -> None:
        """Replace (or, unless `strict`, add) the submodule of a dotted name."""
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, _ModuleBase):
            raise ValueError(
                f"`module` is not an nn.Module, got {type(module).__name__}"
            )
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), _ModuleBase):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target: str) -> tuple["Module", str, Any]:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return module, name, getattr(module, name)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted name."""
        _, name, found = self._get_member(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name."""
        module, name, found = self._get_member(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found
