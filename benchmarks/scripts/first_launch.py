"""Prints the seconds of a first kernel's first launch. Argument: the folder of the kernel cache."""

import sys
import time

import numpy as np

import treadle as wp


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


wp.config.kernel_cache_dir = sys.argv[1]
x = wp.array(np.arange(1000.0), dtype=float)
y = wp.zeros(1000, dtype=float)
start = time.perf_counter()
wp.launch(saxpy, dim=1000, inputs=[2.0, x, y])
print(time.perf_counter() - start)
assert y.numpy()[999] == 1998.0
