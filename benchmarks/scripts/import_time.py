"""Prints the seconds that ``import treadle`` takes when NumPy is there already."""

import time

import numpy  # noqa: F401

start = time.perf_counter()
import treadle  # noqa: E402, F401

print(time.perf_counter() - start)
