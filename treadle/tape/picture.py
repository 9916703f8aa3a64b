"""``Tape.visualize``: what a tape holds, as GraphViz DOT text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from treadle.runtime.array import array
from treadle.tape.records import LaunchRecord, Record
from treadle.tape.steps import CopyRecord, FillRecord, WriteRecord

_MOST_PERIOD = 64
"""Runs of more than this many different launches are not recognised as repeated."""


@dataclass(frozen=True)
class PictureOptions:
    """The arguments of ``Tape.visualize``; see there."""

    simplify_graph: bool = True
    hide_readonly_arrays: bool = False
    array_labels: Mapping[array, str] = field(default_factory=dict)
    choose_longest_node_name: bool = True
    ignore_graph_scopes: bool = False
    graph_direction: str = "LR"
    tracked: Mapping[int, tuple[Optional[str], str]] = field(default_factory=dict)
    """By identity of an array: the name it is to have, and the colour of its outline."""


@dataclass
class _Node:
    """One record, or one round of a repeated run. ``ports``: name of an argument, the array, read, written."""

    name: str
    position: int
    ports: list[tuple[str, Optional[array], bool, bool]]
    key: Any
    count: int = 1


def to_dot(records: Sequence[Record], scopes: Sequence[Any], options: PictureOptions) -> str:
    """DOT text. ``scopes`` have ``name``, ``begin`` and ``end`` (positions of records, None: open)."""
    nodes = [_node(k, record) for k, record in enumerate(records)]
    if options.simplify_graph:
        nodes = _without_repetition(nodes, {s.begin for s in scopes} | {s.end for s in scopes})
    picture = _Picture(options)
    lines = ["digraph {", f"    rankdir={options.graph_direction};", "    node [fontname=Helvetica, fontsize=11];"]
    drawn = {} if options.ignore_graph_scopes else {s.begin: [t for t in scopes if t.begin == s.begin] for s in scopes}
    open_ends: list[int] = []
    for node in nodes:
        while open_ends and open_ends[-1] <= node.position:
            open_ends.pop()
            lines.append("    }")
        for number, scope in enumerate(drawn.pop(node.position, ())):
            lines.append(
                f'    subgraph cluster_{node.position}_{number} {{ label="{_escaped(scope.name)}"; color=gray50;'
            )
            open_ends.append(len(records) if scope.end is None else scope.end)
        lines.append("    " + picture.box(node))
    lines += ["    }"] * len(open_ends)
    lines += ["    " + line for line in (*picture.ellipses(), *picture.edges)]
    return "\n".join([*lines, "}", ""])


def _node(position: int, record: Record) -> _Node:
    if isinstance(record, LaunchRecord):
        compiled, arrays = record.binding.compiled, record.binding.arrays
        ports: list[tuple[str, Optional[array], bool, bool]] = []
        for name in compiled.kernel.parameter_names:
            labels = [label for label in arrays if label == name or label.startswith(name + ".")]
            ports += [
                (k, arrays[k], compiled.access[k].read, k in compiled.written or compiled.changes_members(k))
                for k in labels
            ] or [(name, None, False, False)]
        key = (compiled.kernel, record.extents, tuple(id(a) for _, a, _, _ in ports))
        return _Node(compiled.kernel.name, position, ports, key)
    if isinstance(record, CopyRecord):
        ports = [("src", record.src, True, False), ("dest", record.dest, False, True)]
        return _Node("copy", position, ports, ("copy", id(record.src), id(record.dest)))
    if isinstance(record, (FillRecord, WriteRecord)):
        name = "fill" if isinstance(record, FillRecord) else "write"
        return _Node(name, position, [("dest", record.dest, False, True)], (name, id(record.dest)))
    ports = [(f"array {k}", a, True, False) for k, a in enumerate(record.arrays)]
    return _Node("function", position, ports, object())


def _without_repetition(nodes: list[_Node], borders: set[Any]) -> list[_Node]:
    """Of a repeated run of records, the first round with its count. Runs do not cross ``borders``."""
    kept: list[_Node] = []
    begin = 0
    while begin < len(nodes):
        period, count = _best_run(nodes, begin, borders)
        for node in nodes[begin : begin + period]:
            node.count = count
            kept.append(node)
        begin += period * count
    return kept


def _best_run(nodes: list[_Node], begin: int, borders: set[Any]) -> tuple[int, int]:
    """The period and count of the run at ``begin`` that covers most."""
    end = min((b for b in borders if b is not None and b > begin), default=len(nodes))
    best = (1, 1)
    for period in range(1, min(_MOST_PERIOD, (end - begin) // 2) + 1):
        count = 1
        while begin + (count + 1) * period <= end and all(
            nodes[begin + k].key == nodes[begin + count * period + k].key for k in range(period)
        ):
            count += 1
        if count > 1 and count * period > best[0] * best[1]:
            best = (period, count)
    return best


class _Picture:
    """Collects the arrays and edges that the boxes need."""

    def __init__(self, options: PictureOptions) -> None:
        self.options = options
        self.edges: list[str] = []
        self._arrays: dict[int, array] = {}
        self._names: dict[int, list[str]] = {}
        self._written: set[int] = set()
        self._pending: list[tuple[int, str]] = []

    def box(self, node: _Node) -> str:
        """The box of a record, with a port for each argument."""
        cells = []
        for number, (name, a, read, written) in enumerate(node.ports):
            cells.append(f"<p{number}> {_escaped(name)}")
            if a is not None:
                self._connect(node.position, number, name, a, read, written)
        title = node.name if node.count == 1 else f"{node.name} ×{node.count}"
        label = f"{{{_escaped(title)}|{{{'|'.join(cells)}}}}}" if cells else _escaped(title)
        return f'l{node.position} [shape=record, style=filled, fillcolor=gray85, label="{label}"];'

    def _connect(self, position: int, number: int, name: str, a: array, read: bool, written: bool) -> None:
        self._arrays[id(a)] = a
        self._names.setdefault(id(a), []).append(name)
        if read or not written:
            self._pending.append((id(a), f"a{id(a)} -> l{position}:p{number};"))
        if written:
            self._written.add(id(a))
            self.edges.append(f"l{position}:p{number} -> a{id(a)};")

    def ellipses(self) -> list[str]:
        """The arrays; the edges from those that are shown are complete afterwards."""
        shown = [k for k in self._arrays if k in self._written or not self.options.hide_readonly_arrays]
        numbers = {k: f"a{n}" for n, k in enumerate(self._arrays)}
        self.edges += [edge for k, edge in self._pending if k in shown]
        self.edges = [_renamed(edge, numbers) for edge in self.edges]
        return [self._ellipse(k, numbers[k]) for k in shown]

    def _ellipse(self, key: int, node: str) -> str:
        a, names = self._arrays[key], self._names[key]
        given, outline = self.options.tracked.get(key, (None, "black"))
        name = given or self.options.array_labels.get(a)
        if name is None:
            name = max(names, key=len) if self.options.choose_longest_node_name else names[0]
        colour = "palegreen" if a.requires_grad else "gray90"
        width = 1 if outline == "black" else 3
        return (
            f"{node} [shape=ellipse, style=filled, fillcolor={colour}, color={outline}, penwidth={width}, "
            f'label="{_escaped(name)}"];'
        )


def _renamed(edge: str, numbers: Mapping[int, str]) -> str:
    words = edge.rstrip(";").split(" ")
    return " ".join(numbers[int(w[1:])] if w.startswith("a") else w for w in words) + ";"


def _escaped(text: str) -> str:
    """Text for a label of DOT, in which braces, bars and angles are special."""
    return "".join("\\" + c if c in '"\\{}|<>' else c for c in text)
