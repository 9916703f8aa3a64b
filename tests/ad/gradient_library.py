"""All gradient cases: importing this module fills ``gradient_cases.CASES``."""

from __future__ import annotations

import kernels_arrays as kernels_arrays
import kernels_branches as kernels_branches
import kernels_composites as kernels_composites
import kernels_functions as kernels_functions
import kernels_integers as kernels_integers
import kernels_loops as kernels_loops
import kernels_math as kernels_math
import kernels_structs as kernels_structs
import kernels_while as kernels_while
from gradient_cases import CASES as CASES
