"""Ways to cut a module, and how its inputs and outputs lie."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from ember import Tensor, nn
from ember.distributed.device_mesh import DeviceMesh
from ember.distributed.tensor._api import DTensor, distribute_tensor
from ember.distributed.tensor._create import distribute_module
from ember.distributed.tensor.placement_types import Placement, Replicate, Shard


class ParallelStyle(ABC):
    """How `parallelize_module` treats a module."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        """Make parameters DTensors and add hooks, in place."""


def placed(
    value: Any, mesh: DeviceMesh, given: Placement | None, wanted: Placement | None
) -> Any:
    """A tensor that lies as `given` says, in the placement that is wanted."""
    if given is None or not isinstance(value, Tensor):
        return value
    if not isinstance(value, DTensor):
        value = DTensor.from_local(value, mesh, [given], run_check=False)
    if wanted is None:
        return value
    return value.redistribute(placements=[wanted])


def _result(value: Any, layout: Placement, local: bool) -> Any:
    """What a module returns, in a placement, as a plain tensor if asked for."""
    if not isinstance(value, DTensor):
        return value
    value = value.redistribute(placements=[layout])
    return value.to_local() if local else value


class _Cut(ParallelStyle):
    """A Linear or Embedding whose weight is cut."""

    # By kind of module: the placement of each parameter, and of the input.
    _parameters: dict[type, dict[str, Placement]]
    _inputs: dict[type, Placement]
    _input: Placement
    _output: Placement

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self.input_layouts = (input_layouts or self._input,)
        self.output_layouts = (output_layouts or self._output,)
        self.use_local_output = use_local_output

    def _kind(self, module: nn.Module) -> type:
        for kind in self._parameters:
            if isinstance(module, kind):
                return kind
        raise NotImplementedError(
            f"{type(self).__name__} currently only supports nn.Linear and "
            f"nn.Embedding, not {type(module).__name__}!"
        )

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        kind = self._kind(module)
        wanted = self._inputs[kind]

        def partition(name: str, part: nn.Module, mesh: DeviceMesh) -> None:
            for key, param in part.named_parameters(recurse=False):
                how = self._parameters[kind].get(key, Replicate())
                made = distribute_tensor(
                    param, mesh, [how], src_data_rank=self.src_data_rank
                )
                part.register_parameter(key, made)  # type: ignore[arg-type]

        def enter(part: nn.Module, args: tuple, mesh: DeviceMesh) -> tuple:
            first = placed(args[0], mesh, self.input_layouts[0], wanted)
            return (first, *args[1:])

        def leave(part: nn.Module, out: Any, mesh: DeviceMesh) -> Any:
            return _result(out, self.output_layouts[0], self.use_local_output)

        return distribute_module(module, device_mesh, partition, enter, leave)


class ColwiseParallel(_Cut):
    """A Linear cut along its outputs, or an Embedding along its columns."""

    _parameters = {
        nn.Linear: {"weight": Shard(0), "bias": Shard(0)},
        nn.Embedding: {"weight": Shard(1)},
    }
    _inputs = {nn.Linear: Replicate(), nn.Embedding: Replicate()}
    _input, _output = Replicate(), Shard(-1)


class RowwiseParallel(_Cut):
    """A Linear cut along its inputs, or an Embedding along its rows."""

    _parameters = {
        nn.Linear: {"weight": Shard(1)},
        nn.Embedding: {"weight": Shard(0)},
    }
    _inputs = {nn.Linear: Shard(-1), nn.Embedding: Replicate()}
    _input, _output = Shard(-1), Replicate()


class SequenceParallel(ParallelStyle):
    """A module with copies of its parameters, on inputs cut along the sequence."""

    def __init__(
        self, *, sequence_dim: int = 1, use_local_output: bool = False
    ) -> None:
        self.sequence_sharding = (Shard(sequence_dim),)
        self.use_local_output = use_local_output

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        cut = self.sequence_sharding[0]

        def enter(part: nn.Module, args: tuple, mesh: DeviceMesh) -> tuple:
            if not isinstance(args[0], Tensor):
                raise ValueError(
                    f"expecting input of {part} to be a torch.Tensor or DTensor, but "
                    f"got {args[0]}"
                )
            return (placed(args[0], mesh, cut, cut), *args[1:])

        def leave(part: nn.Module, out: Any, mesh: DeviceMesh) -> Any:
            return out.to_local() if self.use_local_output else out

        return distribute_module(module, device_mesh, None, enter, leave)


def _layouts(value: Any) -> tuple:
    if value is None:
        return ()
    return (value,) if isinstance(value, Placement) else tuple(value)


class PrepareModuleInput(ParallelStyle):
    """Inputs of a module that lie in one way, brought into another."""

    def __init__(
        self,
        *,
        input_layouts: Placement | Sequence[Placement | None] | None = None,
        desired_input_layouts: Placement | Sequence[Placement | None] | None = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts = _layouts(input_layouts)
        self.desired_input_layouts = _layouts(desired_input_layouts)
        if len(self.input_layouts) != len(self.desired_input_layouts):
            raise AssertionError(
                "input_layouts and desired_input_layouts should have same length!"
            )
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.with_kwargs = input_kwarg_layouts is not None
        if set(self.input_kwarg_layouts) != set(self.desired_input_kwarg_layouts):
            raise AssertionError(
                "input_kwarg_layouts and desired_input_kwarg_layouts should have same "
                "keys!"
            )
        self.use_local_output = use_local_output

    def _one(self, value: Any, mesh: DeviceMesh, given: Any, wanted: Any) -> Any:
        made = placed(value, mesh, given, wanted)
        plain = self.use_local_output and isinstance(made, DTensor)
        return made.to_local() if plain and given is not None else made

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        def enter(part: nn.Module, args: tuple, kwargs: dict) -> tuple:
            if self.input_layouts:
                if len(args) != len(self.input_layouts):
                    raise ValueError(
                        "module inputs and input_layouts should have same length!"
                    )
                pairs = zip(args, self.input_layouts, self.desired_input_layouts)
                args = tuple(self._one(v, device_mesh, a, b) for v, a, b in pairs)
            kwargs = {
                name: self._one(
                    value,
                    device_mesh,
                    self.input_kwarg_layouts.get(name),
                    self.desired_input_kwarg_layouts.get(name),
                )
                for name, value in kwargs.items()
            }
            return args, kwargs

        module.register_forward_pre_hook(enter, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Outputs of a module that lie in one way, brought into another."""

    def __init__(
        self,
        *,
        output_layouts: Placement | Sequence[Placement | None],
        desired_output_layouts: Placement | Sequence[Placement | None],
        use_local_output: bool = True,
    ) -> None:
        self.output_layouts = _layouts(output_layouts)
        self.desired_output_layouts = _layouts(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError(
                "output_layouts and desired_output_layouts should have same length!"
            )

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        def one(value: Any, given: Any, wanted: Any) -> Any:
            made = placed(value, device_mesh, given, wanted)
            plain = self.use_local_output and isinstance(made, DTensor)
            return made.to_local() if plain and given is not None else made

        def leave(part: nn.Module, args: tuple, out: Any) -> Any:
            many = out if isinstance(out, (tuple, list)) else (out,)
            if len(many) != len(self.output_layouts):
                raise ValueError(
                    "module outputs and output_layouts should have same length!"
                )
            pairs = zip(many, self.output_layouts, self.desired_output_layouts)
            made = tuple(one(*pair) for pair in pairs)
            return made if isinstance(out, (tuple, list)) else made[0]

        module.register_forward_hook(leave)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """Both."""

    def __init__(
        self,
        *,
        use_local_input: bool = False,
        use_local_output: bool = True,
        output_layouts: Placement | Sequence[Placement | None],
        desired_output_layouts: Placement | Sequence[Placement | None],
        **inputs: Any,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            use_local_output=use_local_input, **inputs
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)
