"""The command line: ``python -m treadle demo``."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from treadle.version import VERSION


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m treadle", description="Differentiable kernels in Python.")
    parser.add_argument("--version", action="version", version=f"Treadle {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="learn to throw balls at targets")
    demo.add_argument("--balls", type=int, default=2000, metavar="N", help="how many balls (default: 2000)")
    demo.add_argument("--iterations", type=int, default=120, metavar="N", help="steps of descent (default: 120)")
    demo.add_argument("--seed", type=int, default=0, help="of the random first throws (default: 0)")
    demo.add_argument("--picture", type=Path, default=Path("balls.png"), help="a PNG file (default: balls.png)")
    demo.add_argument("--no-picture", dest="picture", action="store_const", const=None, help="draw nothing")
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without block characters shows something else

    from treadle.demo import Settings, run

    settings = Settings(options.balls, options.iterations, options.seed, options.picture)
    return 0 if run(settings).passed else 1


if __name__ == "__main__":
    sys.exit(main())
