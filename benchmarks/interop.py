"""What it costs to launch on the tensors of other frameworks: ``python -m benchmarks.interop`` compares with Warp."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from functools import cache

from benchmarks.measurement import measurement
from benchmarks.processes import ROOT

FRAMEWORKS = ("torch", "paddle")
# Microseconds of ten launches with three tensors each.
LIMITS = {"reused arrays": 100.0, "from_torch": 250.0, "return_ctype=True": 250.0, "the tensor itself": 300.0}


@cache
def times(system: str, framework: str) -> dict[str, float]:
    """The microseconds of ten launches, by the way in which the tensors are passed."""
    command = [sys.executable, "-m", "benchmarks.scripts.interop", system, framework]
    done = subprocess.run(
        command, cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=300
    )
    return {str(way): float(value) for way, value in json.loads(done.stdout.splitlines()[-1]).items()}


def _register(way: str, limit: float) -> None:
    measurement(f"ten launches on PyTorch tensors: {way}", "µs", limit)(lambda: times("treadle", "torch")[way])


if importlib.util.find_spec("torch") is not None:
    for _way, _limit in LIMITS.items():
        _register(_way, _limit)


def main() -> None:
    has_warp = importlib.util.find_spec("warp") is not None
    print(f"{'ten launches, three tensors each':34s}  {'Treadle':>9s}  {'Warp':>9s}  ratio")
    for framework in FRAMEWORKS:
        if importlib.util.find_spec(framework) is None:
            print(f"{framework} is not installed")
            continue
        peer = times("warp", framework) if has_warp else {}
        for way, own in times("treadle", framework).items():
            other = f"{peer[way]:6.1f} µs  {own / peer[way]:5.2f}" if way in peer else f"{'–':>9s}"
            print(f"{framework}: {way:{32 - len(framework)}s}  {own:6.1f} µs  {other}")


if __name__ == "__main__":
    main()
