"""What a profile recorded: spans nested by time, their averages, and the table."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from ember._files import replacing

KINDS = ("cpu_op", "backward", "user_annotation")


@dataclass
class FunctionEvent:
    """One call of an op, one node of the backward pass or one named region.

    Times are in microseconds, memory in bytes; `self_...` leaves out the children.
    """

    name: str
    kind: str
    start: float
    end: float
    bytes_before: int
    bytes_after: int
    thread: int
    input_shapes: list[list[int]] = field(default_factory=list)
    stack: list[str] = field(default_factory=list)
    children: list[FunctionEvent] = field(default_factory=list, repr=False)
    parent: FunctionEvent | None = field(default=None, repr=False)

    @property
    def key(self) -> str:
        return self.name

    @property
    def cpu_time_total(self) -> float:
        return self.end - self.start

    @property
    def self_cpu_time_total(self) -> float:
        inner = sum(child.cpu_time_total for child in self.children)
        return self.cpu_time_total - inner

    @property
    def cpu_memory_usage(self) -> int:
        """Bytes taken and not given back; negative if more were given back."""
        return self.bytes_after - self.bytes_before

    @property
    def self_cpu_memory_usage(self) -> int:
        inner = sum(child.cpu_memory_usage for child in self.children)
        return self.cpu_memory_usage - inner


@dataclass
class EventAverage:
    """All events of one key together."""

    key: str
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    input_shapes: list[list[int]] = field(default_factory=list)
    stack: list[str] = field(default_factory=list)

    @property
    def cpu_time(self) -> float:
        """The mean time of a call."""
        return self.cpu_time_total / max(self.count, 1)

    def add(self, event: FunctionEvent) -> None:
        self.count += 1
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        self.cpu_memory_usage += event.cpu_memory_usage
        self.self_cpu_memory_usage += event.self_cpu_memory_usage


def from_core(rows: Iterable[tuple]) -> EventList:
    """Events from what the core recorded, nested by thread and time."""
    events = EventList()
    for name, kind, start, end, before, after, thread, shapes, stack in rows:
        events.append(
            FunctionEvent(
                name,
                KINDS[kind],
                start / 1000,
                end / 1000,
                before,
                after,
                thread,
                ast.literal_eval(shapes) if shapes else [],
                stack.splitlines(),
            )
        )
    events.sort(key=lambda e: (e.thread, e.start, -e.end))
    open_events: list[FunctionEvent] = []
    for event in events:
        while open_events and (
            open_events[-1].thread != event.thread or open_events[-1].end < event.end
        ):
            open_events.pop()
        if open_events:
            event.parent = open_events[-1]
            open_events[-1].children.append(event)
        open_events.append(event)
    return events


def format_time(microseconds: float) -> str:
    """'12.3us', '4.56ms' or '1.23s'."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    if microseconds >= 1e3:
        return f"{microseconds / 1e3:.3f}ms"
    return f"{microseconds:.3f}us"


def format_memory(count: int) -> str:
    """'12 B', '3.00 KB' ..."""
    value = float(count)
    for unit in ("B", "KB", "MB"):
        if abs(value) < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.2f} {unit}"
        value /= 1024
    return f"{value:.2f} GB"


class EventList(list):
    """Events, or averages of them, in a list that can print and export itself."""

    @property
    def self_cpu_time_total(self) -> float:
        return sum(event.self_cpu_time_total for event in self)

    def memory_in_use(self) -> list[tuple[float, int]]:
        """(time, bytes) at the beginning and end of each event, where bytes changed."""
        moments = [(e.start, e.bytes_before) for e in self]
        moments += [(e.end, e.bytes_after) for e in self]
        moments.sort(key=lambda moment: moment[0])
        return [
            moment
            for i, moment in enumerate(moments)
            if i == 0 or moment[1] != moments[i - 1][1]
        ]

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0
    ) -> EventList:
        """One entry per name (and shapes, and innermost `n` lines of the stack)."""
        averages: dict[tuple, EventAverage] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shape else []
            stack = event.stack[:group_by_stack_n]
            key = (event.name, str(shapes), *stack)
            if key not in averages:
                averages[key] = EventAverage(
                    event.name, input_shapes=shapes, stack=stack
                )
            averages[key].add(event)
        return EventList(averages.values())

    def total_average(self) -> EventAverage:
        """Everything as one entry."""
        total = EventAverage("Total")
        for event in self:
            total.count += getattr(event, "count", 1)
            total.self_cpu_time_total += event.self_cpu_time_total
            total.self_cpu_memory_usage += event.self_cpu_memory_usage
        total.cpu_time_total = total.self_cpu_time_total
        total.cpu_memory_usage = total.self_cpu_memory_usage
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """The events as text, the largest `sort_by` first.

        `sort_by` is one of cpu_time, cpu_time_total, self_cpu_time_total,
        cpu_memory_usage, self_cpu_memory_usage and count.
        """
        events = list(self)
        if top_level_events_only:
            events = [e for e in events if getattr(e, "parent", None) is None]
        if sort_by is not None:
            attribute = sort_by.replace("device", "cpu").replace("cuda", "cpu")
            if events and not hasattr(events[0], attribute):
                raise ValueError(
                    f"table(): cannot sort by '{sort_by}'; there are cpu_time, "
                    "cpu_time_total, self_cpu_time_total, cpu_memory_usage, "
                    "self_cpu_memory_usage and count"
                )
            events.sort(key=lambda e: getattr(e, attribute), reverse=True)
        if row_limit >= 0:
            events = events[:row_limit]
        total = self.self_cpu_time_total or 1.0
        with_memory = any(e.cpu_memory_usage for e in events)
        with_shapes = any(e.input_shapes for e in events)
        with_stack = any(e.stack for e in events)

        names = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total"]
        names += ["CPU time avg"]
        names += ["CPU Mem", "Self CPU Mem"] if with_memory else []
        names += ["# of Calls"]
        names += ["Input Shapes"] if with_shapes else []
        names += ["Source Location"] if with_stack else []
        rows = []
        for e in events:
            count = getattr(e, "count", 1)
            row = [
                shorten(e.key, max_name_column_width),
                f"{100 * e.self_cpu_time_total / total:.2f}%",
                format_time(e.self_cpu_time_total),
                f"{100 * e.cpu_time_total / total:.2f}%",
                format_time(e.cpu_time_total),
                format_time(e.cpu_time_total / count),
            ]
            if with_memory:
                row += [format_memory(e.cpu_memory_usage)]
                row += [format_memory(e.self_cpu_memory_usage)]
            row += [str(count)]
            if with_shapes:
                row += [shorten(str(e.input_shapes), max_shapes_column_width)]
            if with_stack:
                place = e.stack[0] if e.stack else ""
                row += [shorten(place, max_src_column_width)]
            rows.append(row)
        widths = [max(len(row[i]) for row in [names, *rows]) for i in range(len(names))]
        rule = "  ".join("-" * w for w in widths)

        def line(row: list[str]) -> str:
            return "  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True))

        parts = [] if header is None else [header]
        parts += [rule, line(names), rule, *map(line, rows), rule]
        parts += [f"Self CPU time total: {format_time(self.self_cpu_time_total)}"]
        return "\n".join(parts) + "\n"

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str | os.PathLike) -> None:
        """Write the events for chrome://tracing or ui.perfetto.dev."""
        first = min((e.start for e in self), default=0.0)
        process = os.getpid()
        trace = []
        for e in self:
            arguments: dict = {}
            if e.input_shapes:
                arguments["Input Dims"] = e.input_shapes
            if e.stack:
                arguments["Call stack"] = ";".join(e.stack)
            if e.cpu_memory_usage:
                arguments["Bytes"] = e.cpu_memory_usage
            trace.append(
                {
                    "ph": "X",
                    "cat": e.kind,
                    "name": e.name,
                    "pid": process,
                    "tid": e.thread,
                    "ts": e.start - first,
                    "dur": e.end - e.start,
                    "args": arguments,
                }
            )
        for when, used in self.memory_in_use():
            trace.append(
                {
                    "ph": "C",
                    "name": "memory",
                    "pid": process,
                    "ts": when - first,
                    "args": {"bytes": used},
                }
            )
        text = json.dumps({"traceEvents": trace, "displayTimeUnit": "ms"})
        if str(path).endswith(".gz"):
            import gzip

            with replacing(path) as file:
                file.write(gzip.compress(text.encode()))
            return
        with replacing(path, text=True) as file:
            file.write(text)


def shorten(text: str, width: int) -> str:
    """At most `width` characters, the last three being dots if some are missing."""
    return text if len(text) <= width else text[: width - 3] + "..."
