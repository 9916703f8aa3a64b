"""Prints, as JSON, the microseconds of ten launches on fresh tensors, for each way to pass them.

Arguments: ``treadle`` or ``warp``, and ``torch`` or ``paddle``. The time is that of the processor, so that other
programs on the machine disturb it less.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

LAUNCHES = 10
SIZE = 64
ROUNDS = 300


def make_kernel(wp: Any) -> Any:
    @wp.kernel
    def add(x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32), z: wp.array(dtype=wp.float32)):  # type: ignore[valid-type]
        i = wp.tid()
        z[i] = x[i] + y[i]

    return add


def microseconds(run: Callable[[list[Any]], None], make: Callable[[], list[Any]]) -> float:
    """The least time of ten launches; the tensors are made outside of it."""
    best = float("inf")
    for _ in range(ROUNDS):
        tensors = [make() for _ in range(LAUNCHES)]
        begin = time.thread_time()
        for arguments in tensors:
            run(arguments)
        best = min(best, time.thread_time() - begin)
    return best * 1e6


def main(system: str, framework: str) -> None:
    wp = importlib.import_module(system)
    if system == "warp":
        wp.config.quiet = True
        wp.init()
    add = make_kernel(wp)
    own = [wp.zeros(SIZE, dtype=wp.float32) for _ in range(3)]
    wp.launch(add, dim=SIZE, inputs=own[:2], outputs=own[2:])  # compiles it before other native libraries are loaded
    tensors = importlib.import_module(framework)
    convert = getattr(wp, f"from_{framework}")

    def fresh() -> list[Any]:
        return [tensors.ones([SIZE], dtype=tensors.float32) for _ in range(3)]

    def launch(arguments: list[Any]) -> None:
        wp.launch(add, dim=SIZE, inputs=arguments[:2], outputs=arguments[2:])

    arrays = [convert(t) for t in fresh()]
    launch(arrays)
    ways: dict[str, Callable[[list[Any]], None]] = {
        "reused arrays": lambda given: launch(arrays),
        f"from_{framework}": lambda given: launch([convert(t) for t in given]),
        "return_ctype=True": lambda given: launch([convert(t, return_ctype=True) for t in given]),
        "the tensor itself": launch,
    }
    if (system, framework) == ("warp", "paddle"):
        del ways["the tensor itself"]  # Warp does not know Paddle's tensors, and hangs
    found = {}
    for name, way in ways.items():
        try:
            found[name] = microseconds(way, fresh)
        except (AttributeError, RuntimeError, TypeError):  # the peer does not have it
            continue
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
