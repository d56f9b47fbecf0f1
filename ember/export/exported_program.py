"""A program that was exported: its graph, what goes in, and its tensors."""

from __future__ import annotations

import copy
from typing import Any

import ember
from ember import fx
from ember.export.graph_signature import ExportGraphSignature, InputKind
from ember.fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from ember.utils import _pytree

__all__ = ["ExportedProgram"]


class ExportedProgram:
    """A program as a graph of aten's ops, made by `ember.export.export`.

    Parameters, buffers and constants are inputs of the graph, before those of the
    program; `module()` puts them back into a module that is called as the original.
    """

    def __init__(
        self,
        graph_module: fx.GraphModule,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Any],
        constants: dict[str, Any],
        range_constraints: dict[str, tuple[int, float]],
        in_spec: Any,
        out_spec: Any,
        arg_names: list[str],
        example_inputs: Any = None,
    ) -> None:
        self._graph_module, self._graph_signature = graph_module, graph_signature
        self._state_dict, self._constants = state_dict, constants
        self._range_constraints = range_constraints
        self._in_spec, self._out_spec, self._arg_names = in_spec, out_spec, arg_names
        self._example_inputs = example_inputs

    @property
    def graph_module(self) -> fx.GraphModule:
        """The graph as a module of flat inputs."""
        return self._graph_module

    @property
    def graph(self) -> fx.Graph:
        """The graph."""
        return self._graph_module.graph

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """What the inputs and outputs of the graph are."""
        return self._graph_signature

    @property
    def state_dict(self) -> dict[str, Any]:
        """Parameters and buffers."""
        return self._state_dict

    @property
    def constants(self) -> dict[str, Any]:
        """Tensors that were made in the program."""
        return self._constants

    @property
    def range_constraints(self) -> dict[str, tuple[int, float]]:
        """The bounds of the sizes that may vary, by their names."""
        return self._range_constraints

    @property
    def example_inputs(self) -> Any:
        """The inputs that it was exported with."""
        return self._example_inputs

    def parameters(self) -> Any:
        """The parameters."""
        return (p for _, p in self.named_parameters())

    def named_parameters(self) -> Any:
        """The parameters and their names."""
        return ((n, self.state_dict[n]) for n in self.graph_signature.parameters)

    def buffers(self) -> Any:
        """The buffers."""
        return (b for _, b in self.named_buffers())

    def named_buffers(self) -> Any:
        """The buffers and their names."""
        found = {**self.constants, **self.state_dict}
        return ((n, found[n]) for n in self.graph_signature.buffers)

    def module(self, check_guards: bool = True) -> fx.GraphModule:
        """A module of the original's arguments, with parameters and buffers in it."""
        graph = fx.Graph()
        root: dict[str, Any] = {}
        values: dict[Any, Any] = {}
        found = {**self.constants, **self.state_dict}
        specs = self.graph_signature.input_specs
        nodes = [n for n in self.graph.nodes if n.op == "placeholder"]
        for node, spec in zip(nodes, specs, strict=True):
            if spec.kind is InputKind.USER_INPUT:
                values[node] = graph.placeholder(node.name)
            else:
                assert spec.target is not None
                root[spec.target] = found[spec.target]
                values[node] = graph.get_attr(spec.target)
        graph.output(graph.graph_copy(self.graph, values))
        graph.set_codegen(
            _PyTreeCodeGen(
                _PyTreeInfo(["self", *self._arg_names], self._in_spec, self._out_spec)
            )
        )
        made = fx.GraphModule(root, graph, "ExportedModule")
        made.train = made.eval = _no_modes  # type: ignore[method-assign]
        if check_guards:
            made.register_forward_pre_hook(self._check_inputs, with_kwargs=True)
        return made

    def _check_inputs(self, module: Any, args: tuple, kwargs: dict) -> None:
        leaves = _pytree.tree_leaves((args, kwargs))
        nodes = [n for n in self.graph.nodes if n.meta.get("user")]
        sizes: dict[str, int] = {}
        for node, value in zip(nodes, leaves, strict=False):
            shape = node.meta.get("shape")
            if shape is None or not isinstance(value, ember.Tensor):
                continue
            if len(shape) != value.dim():
                raise RuntimeError(
                    f"Guard failed: input {node.name} has {value.dim()} dimensions, "
                    f"exported with {len(shape)}"
                )
            for i, (wanted, got) in enumerate(zip(shape, value.shape, strict=True)):
                self._check_size(node.name, i, wanted, got, sizes)

    def _check_size(
        self, name: str, dim: int, wanted: Any, got: int, sizes: dict[str, int]
    ) -> None:
        if isinstance(wanted, str):
            low, high = self.range_constraints[wanted]
            if not low <= got <= high:
                raise RuntimeError(
                    f"Guard failed: size {got} of input {name} at dim {dim} is not in "
                    f"the range [{low}, {high}] of {wanted}"
                )
            if sizes.setdefault(wanted, got) != got:
                raise RuntimeError(
                    f"Guard failed: {wanted} is {sizes[wanted]} and {got}, at dim "
                    f"{dim} of input {name}"
                )
        elif wanted != got:
            raise RuntimeError(
                f"Guard failed: size of input {name} at dim {dim} is {got}, and was "
                f"exported as {wanted}"
            )

    def run_decompositions(
        self, decomp_table: dict[Any, Any] | None = None, **options: Any
    ) -> ExportedProgram:
        """The program with the ops of `decomp_table` replaced by what its functions do.

        Without a table nothing is replaced.
        """
        if not decomp_table:
            return copy.copy(self)
        from ember.export import export

        table = {getattr(k, "__name__", k): v for k, v in decomp_table.items()}
        module = self.module()

        class Decomposed(ember.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = module

            def forward(self, *args: Any) -> Any:
                return _Decomposer(module, table).run(*args)

        args, kwargs = self._example_inputs
        return export(Decomposed(), tuple(args) + tuple(kwargs.values()))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program."
            "module()` instead."
        )

    def __str__(self) -> str:
        code = self.graph_module.print_readable(print_output=False)
        body = "\n".join("    " + line if line else line for line in code.split("\n"))
        lines = [
            f"  {s.arg.name}: {s.kind.name}"
            + (f" target={s.target!r}" if s.target else "")
            for s in self.graph_signature.input_specs
        ]
        return (
            f"ExportedProgram:\n{body}\nGraph signature:\n"
            + "\n".join(lines)
            + f"\nRange constraints: {self.range_constraints}\n"
        )


class _Decomposer(fx.Interpreter):
    def __init__(self, module: Any, table: dict[str, Any]) -> None:
        super().__init__(module)
        self.table = table

    def call_function(self, target: Any, args: tuple, kwargs: dict) -> Any:
        target = self.table.get(getattr(target, "__name__", ""), target)
        return super().call_function(target, args, kwargs)


def _no_modes(mode: bool = True) -> Any:
    raise NotImplementedError(
        "Calling train() or eval() is not supported for exported modules: the mode is "
        "that in which it was exported"
    )
