"""``Tape.visualize``: the graph of a tape, read by GraphViz where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import treadle as wp


@wp.struct
class State:
    x: wp.array(dtype=float)


@wp.kernel
def scale(position: wp.array(dtype=float), s: float, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = s * position[i]


@wp.kernel
def add_state(state: State, total: wp.array(dtype=float)):
    wp.atomic_add(total, 0, state.x[wp.tid()])


def recorded() -> tuple[wp.Tape, dict[str, wp.array]]:
    arrays = {name: wp.ones(2, dtype=float, requires_grad=name != "fixed") for name in ("a", "b", "fixed", "total")}
    state = State()
    state.x = arrays["b"]
    with wp.Tape() as tape:
        wp.launch(scale, 2, [arrays["fixed"], 2.0, arrays["a"]])
        tape.record_scope_begin("steps")
        for _ in range(10):
            wp.launch(scale, 2, [arrays["a"], 0.5, arrays["b"]])
            wp.launch(scale, 2, [arrays["b"], 0.5, arrays["a"]])
        tape.record_scope_end()
        wp.launch(add_state, 2, [state, arrays["total"]])
        wp.copy(arrays["a"], arrays["b"])
        tape.record_func(lambda: None, [arrays["a"]])
    return tape, arrays


def test_launches_arrays_and_scopes(tmp_path: Path) -> None:
    tape, arrays = recorded()
    path = tmp_path / "tape.dot"
    text = tape.visualize(str(path), array_labels={arrays["a"]: "speed {1}"})
    assert path.read_text() == text
    assert len(re.findall(r"shape=record", text)) == 1 + 2 + 1 + 1 + 1
    assert "scale ×10" in text and '"steps"' in text and "speed \\{1\\}" in text
    ellipses = [line for line in text.splitlines() if "shape=ellipse" in line]
    assert len(ellipses) == 4
    assert sum("palegreen" in line for line in ellipses) == 3
    assert "<p0> state.x" in text and "<p1> total" in text


def test_writes_that_are_no_launches() -> None:
    a, b = wp.zeros(2, dtype=float), wp.zeros(2, dtype=float)
    with wp.Tape() as tape:
        a.zero_()
        a[[0]] = 1.0
        b.mark_write()
    text = tape.visualize()
    assert text.count("{fill|{<p0> dest}}") == 1 and text.count("{write|{<p0> dest}}") == 2
    assert text.count("->") == 3 and text.count("shape=ellipse") == 2


def test_options() -> None:
    tape, arrays = recorded()
    assert len(re.findall("shape=record", tape.visualize(simplify_graph=False))) == 1 + 20 + 3
    assert tape.visualize(hide_readonly_arrays=True).count("shape=ellipse") == 3
    assert "cluster" not in tape.visualize(ignore_graph_scopes=True)
    assert "rankdir=TB" in tape.visualize(graph_direction="TB")
    text = tape.visualize(track_inputs=[arrays["fixed"]], track_input_names=["start"], track_outputs=[arrays["total"]])
    assert re.search(r'color=blue, penwidth=3, label="start"', text) and "color=red" in text


@pytest.mark.skipif(shutil.which("dot") is None, reason="GraphViz is not installed")
def test_graphviz_reads_it() -> None:
    tape, _ = recorded()
    subprocess.run(["dot", "-Tsvg"], input=tape.visualize(), text=True, capture_output=True, check=True)
