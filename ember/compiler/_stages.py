"""Which sweep over the elements of a reduction computes what: what depends on a result
is left to the sweep after it.
"""

from __future__ import annotations

from ember.compiler._layout import is_dear
from ember.compiler._program import Program


class Stages:
    """What is known of the nodes of a program, by position."""

    def __init__(self, program: Program, patterns: str) -> None:
        self.program = program
        nodes = program.nodes
        self.stage = [0] * len(nodes)  # the sweep that computes it
        self.per_row = [False] * len(nodes)  # one value for all that is reduced
        self.dear = [False] * len(nodes)  # cheaper to read again than to compute again
        for i, node in enumerate(nodes):
            stages = [self.stage[a] for a in node.args]
            self.stage[i] = max(stages, default=0) + (node.op == "reduce")
            if node.op in ("number", "constant", "reduce"):
                self.per_row[i] = True
            elif node.op == "load":
                self.per_row[i] = patterns[node.slot].isupper()
            else:
                self.per_row[i] = all(self.per_row[a] for a in node.args)
            if not self.per_row[i] and node.op != "load":
                self.dear[i] = is_dear(node) or any(self.dear[a] for a in node.args)

    def narrow(self, k: int) -> bool:
        """Whether an output has one element for all that is reduced."""
        return bool(self.program.rows and self.program.rows[k])

    def written(self) -> list[list[int]]:
        """The outputs with the whole space, by the sweep that writes them."""
        outputs = self.program.outputs
        wide = [k for k in range(len(outputs)) if not self.narrow(k)]
        last = max(
            [self.stage[n.args[0]] for n in self.program.nodes if n.op == "reduce"]
            + [self.stage[outputs[k]] for k in wide]
        )
        return [
            [k for k in wide if self.stage[outputs[k]] == stage]
            for stage in range(last + 1)
        ]

    def reduces(self, stage: int) -> list[int]:
        """The reductions of a sweep."""
        return [
            at
            for at, node in enumerate(self.program.nodes)
            if node.op == "reduce" and self.stage[at] == stage + 1
        ]

    def roots(self, stage: int, outputs: list[int]) -> list[int]:
        """What a sweep is for: the operands of its reductions, and its outputs."""
        nodes, written = self.program.nodes, self.program.outputs
        operands = [nodes[at].args[0] for at in self.reduces(stage)]
        return operands + [written[k] for k in outputs]

    def kept(self, written: list[list[int]]) -> list[int]:
        """What a sweep had better keep for later ones: the last of what is dear."""
        found: list[int] = []
        for stage in range(1, len(written)):
            stack = self.roots(stage, written[stage])
            while stack:
                at = stack.pop()
                node = self.program.nodes[at]
                if self.per_row[at] or node.op == "load" or at in found:
                    continue
                if self.stage[at] < stage and self.dear[at]:
                    found.append(at)
                else:
                    stack.extend(node.args)
        return found
