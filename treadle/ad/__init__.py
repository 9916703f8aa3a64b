"""The derivative: reverse mode as a transform from IR to IR. Nothing here knows LLVM."""

from treadle.ad.adjoint import adjoint_kernel as adjoint_kernel
from treadle.ad.errors import DerivativeError as DerivativeError
from treadle.ad.gradients import expand_gradients as expand_gradients
