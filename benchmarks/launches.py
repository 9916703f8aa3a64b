"""What a small launch costs: plain, as a recorded command, on a tape of 10,000 launches, and played backwards."""

from __future__ import annotations

from benchmarks.measurement import measurement
from benchmarks.processes import run_script


@measurement("a launch of three arguments", "µs", 20)
def launch() -> float:
    return run_script("launching", "launch")


@measurement("a command's launch", "µs", 5)
def command() -> float:
    return run_script("launching", "command")


@measurement("a launch recorded on a tape of 10,000", "µs", 20)
def record() -> float:
    return run_script("launching", "record")


@measurement("the same, overwriting what is needed", "µs", 40)
def record_in_place() -> float:
    return run_script("launching", "record in place")


@measurement("a launch of that tape, played backwards", "µs", 20)
def backward() -> float:
    return run_script("launching", "backward")
