"""The long run: ``python -m tests.fuzz --programs 10000 --seed 0``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.hunt import Report, hunt, numbered, shrunk, warm_up
from tests.fuzz.isolate import judge
from tests.fuzz.script import from_script, to_script


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until that many programs were compared; print and keep those at fault. Returns how many were."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=1000, help="how many programs to compare")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first program")
    parser.add_argument("--keep", type=Path, default=Path("fuzz_faults"), help="folder for programs at fault")
    parser.add_argument("--most-faults", type=int, default=20, help="stop after that many faults")
    parser.add_argument("--check", type=Path, help="check one kept program again")
    parser.add_argument("--show", type=int, help="print the program with that number")
    options = parser.parse_args(arguments)
    if options.show is not None:
        print(numbered(options.show)[0].source)
        return 0
    warm_up()
    if options.check:
        verdict = judge(from_script(options.check.read_text()))
        print(verdict)
        return int(bool(verdict.fault))
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    report = Report()
    number = options.seed
    while report.programs < options.programs and len(report.faults) < options.most_faults:
        known = len(report.faults)
        hunt([number], report)
        if len(report.faults) > known:
            verdict = report.faults[number]
            _keep(options.keep, number, shrunk(number, verdict.fault), f"{verdict.fault}: {verdict.message[:1500]}")
        number += 1
        if number % 100 == 0 or report.programs == options.programs:
            print(f"numbers {options.seed} to {number - 1}: {report}", flush=True)
    return len(report.faults)


def _keep(folder: Path, number: int, source: str, message: str) -> None:
    """Write a program at fault to a script, and print it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number:06}_{message.split(':')[0].replace(' ', '_')}.py"
    path.write_text(to_script(source, f"program {number}: {message}"))
    print(f"--- {path}\n{path.read_text().split('def floats', 1)[0]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
