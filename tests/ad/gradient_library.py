"""All gradient cases: importing this module fills ``gradient_cases.CASES``."""

from __future__ import annotations

from tests.ad import kernels_arrays as kernels_arrays
from tests.ad import kernels_branches as kernels_branches
from tests.ad import kernels_composites as kernels_composites
from tests.ad import kernels_derivatives as kernels_derivatives
from tests.ad import kernels_functions as kernels_functions
from tests.ad import kernels_integers as kernels_integers
from tests.ad import kernels_loops as kernels_loops
from tests.ad import kernels_math as kernels_math
from tests.ad import kernels_memory as kernels_memory
from tests.ad import kernels_random as kernels_random
from tests.ad import kernels_structs as kernels_structs
from tests.ad import kernels_while as kernels_while
from tests.ad.gradient_cases import CASES as CASES
