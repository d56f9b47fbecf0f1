"""What the inputs and outputs of an exported graph are."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

__all__ = [
    "ExportGraphSignature",
    "InputKind",
    "InputSpec",
    "OutputKind",
    "OutputSpec",
    "TensorArgument",
]


class InputKind(Enum):
    """Where an input comes from."""

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()


class OutputKind(Enum):
    """What an output is."""

    USER_OUTPUT = auto()


@dataclass
class TensorArgument:
    """A node by its name."""

    name: str


@dataclass
class ConstantArgument:
    """An output that is a plain value."""

    name: str
    value: Any


@dataclass
class InputSpec:
    """One input; `target` is the name of the parameter, buffer or constant."""

    kind: InputKind
    arg: TensorArgument
    target: str | None
    persistent: bool | None = None


@dataclass
class OutputSpec:
    """One output."""

    kind: OutputKind
    arg: Any
    target: str | None = None


@dataclass
class ExportGraphSignature:
    """The inputs and outputs of an exported graph, in order."""

    input_specs: list[InputSpec] = field(default_factory=list)
    output_specs: list[OutputSpec] = field(default_factory=list)

    def _of(self, kind: InputKind) -> dict[str, str]:
        return {s.arg.name: s.target or "" for s in self.input_specs if s.kind is kind}

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(self._of(InputKind.PARAMETER).values())

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of the buffers."""
        return tuple(self._of(InputKind.BUFFER).values())

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """Placeholder -> parameter."""
        return self._of(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """Placeholder -> buffer."""
        return self._of(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        """Placeholder -> tensor that was made in the program."""
        return self._of(InputKind.CONSTANT_TENSOR)

    @property
    def user_inputs(self) -> tuple[str, ...]:
        """The placeholders of the arguments."""
        return tuple(self._of(InputKind.USER_INPUT))

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The nodes that are returned."""
        return tuple(
            getattr(s.arg, "value", s.arg.name) if isinstance(s.arg, ConstantArgument)
            else s.arg.name
            for s in self.output_specs
        )  # fmt: skip
