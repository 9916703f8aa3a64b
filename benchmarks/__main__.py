"""The command line: takes the measurements, prints a table, writes ``benchmarks/results/<time>.json``."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import (  # noqa: F401  (they fill the table)
    compilation,
    gradients,
    interop,
    interop_jax,
    launches,
    memory,
    startup,
    sums,
)
from benchmarks.measurement import MEASUREMENTS, Measurement
from treadle.version import VERSION

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Treadle on this machine.")
    parser.add_argument("--only", default="", metavar="TEXT", help="only measurements with TEXT in their name")
    options = parser.parse_args()
    chosen = [m for m in MEASUREMENTS if options.only in m.name]
    width = max((len(m.name) for m in chosen), default=0)
    print(f"{'measurement':{width}s}  {'measured':>12s}  {'limit':>12s}")
    rows = [_row(m, width) for m in chosen]
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{time.strftime('%Y-%m-%dT%H-%M-%S')}.json"
    path.write_text(json.dumps({"machine": _machine(), "measurements": rows}, indent=2, ensure_ascii=False))
    print(f"written to {os.path.relpath(path)}")


def _row(measurement: Measurement, width: int) -> dict[str, Any]:
    value = measurement.take()
    mark = "" if value <= measurement.limit else "  above the limit"
    numbers = "  ".join(f"{f'{number:.4g}':>9s} {measurement.unit:2s}" for number in (value, measurement.limit))
    print(f"{measurement.name:{width}s}  {numbers}{mark}", flush=True)
    return {"name": measurement.name, "value": value, "unit": measurement.unit, "limit": measurement.limit}


def _machine() -> dict[str, Any]:
    return {
        "treadle": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
    }


if __name__ == "__main__":
    main()
