"""Jacobians of kernels and of functions that launch kernels, and checks of their gradients."""

from treadle.autograd.checking import GradientCheckError as GradientCheckError
from treadle.autograd.checking import gradcheck as gradcheck
from treadle.autograd.checking import gradcheck_tape as gradcheck_tape
from treadle.autograd.jacobians import jacobian as jacobian
from treadle.autograd.jacobians import jacobian_fd as jacobian_fd
from treadle.autograd.plotting import jacobian_plot as jacobian_plot
