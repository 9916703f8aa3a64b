"""How long large kernels and their adjoints take to compile, from source and with an empty cache."""

from __future__ import annotations

from benchmarks.measurement import measurement
from benchmarks.processes import median_with_empty_caches


@measurement("12×12 matrix product with adjoint, compiling", "s", 1.0)
def matrix_product() -> float:
    return median_with_empty_caches("compile_matrix_product", repeats=3)


@measurement("vec(256) sum of squares with adjoint, compiling", "s", 1.0)
def long_vector() -> float:
    return median_with_empty_caches("compile_long_vector", repeats=3)


@measurement("1,000-line kernel with adjoint, compiling", "s", 4.0)
def long_kernel() -> float:
    return median_with_empty_caches("compile_long_kernel", repeats=3)
