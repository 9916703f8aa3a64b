"""The derivative: reverse mode as a transform from IR to IR. Nothing here knows LLVM."""

from treadle.ad.adjoint import DerivativeError as DerivativeError
from treadle.ad.adjoint import adjoint_kernel as adjoint_kernel
