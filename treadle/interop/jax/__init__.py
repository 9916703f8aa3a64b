"""JAX: arrays shared without a copy, and kernels as functions that JAX compiles, batches and differentiates.

``jax`` is imported when a function here is first called, not before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from treadle.interop.jax.arrays import device_from_jax as device_from_jax
from treadle.interop.jax.arrays import device_to_jax as device_to_jax
from treadle.interop.jax.arrays import dtype_from_jax as dtype_from_jax
from treadle.interop.jax.arrays import dtype_to_jax as dtype_to_jax
from treadle.interop.jax.arrays import from_jax as from_jax
from treadle.interop.jax.arrays import to_jax as to_jax
from treadle.interop.jax.modes import JaxCallableGraphMode as JaxCallableGraphMode
from treadle.interop.jax.modes import JaxModulePreloadMode as JaxModulePreloadMode

if TYPE_CHECKING:
    from treadle.interop.jax.callables import JaxCallable
    from treadle.interop.jax.kernels import JaxKernel


def jax_kernel(
    kernel: Any,
    num_outputs: int = 1,
    vmap_method: str = "broadcast_all",
    launch_dims: Any = None,
    output_dims: Any = None,
    in_out_argnames: Sequence[str] | None = None,
    enable_backward: bool = False,
    block_dim: int | None = None,
    module_preload_mode: JaxModulePreloadMode = JaxModulePreloadMode.CURRENT_DEVICE,
    has_side_effect: bool = False,
) -> JaxKernel:
    """A kernel as a function of JAX arrays, for use as it is or within ``jax.jit``, ``jax.vmap``, ``jax.grad``, ….

    The first parameters of the kernel are the inputs, the last ``num_outputs`` the outputs; of these, the ones named
    in ``in_out_argnames`` are among the inputs instead, and count. The result of a call is a tuple of the outputs,
    those of ``in_out_argnames`` first. Outputs start as zeros. Arrays have their components in the trailing
    dimensions, as everywhere.

    Args:
        kernel: the kernel. Types that it leaves open follow from the inputs; those of outputs must be known.
        num_outputs: how many outputs there are, in-outs included.
        vmap_method: ``"broadcast_all"``, ``"expand_dims"`` or ``"sequential"``.
        launch_dims: the number of threads, or up to four extents, without batch dimensions. None: the shape of the
            first array among the inputs, else that of the first output.
        output_dims: the shape of the outputs: an int, a tuple, or a dict of these by name; with or without
            components. None: the launch dimensions.
        in_out_argnames: array parameters that the kernel updates. JAX's own arrays never change.
        enable_backward: whether ``jax.grad`` works, to any order that the kernel allows. Arrays and scalars that are
            values of JAX get gradients.
        block_dim: accepted for programs written for CUDA.
        module_preload_mode: accepted for programs written for CUDA.
        has_side_effect: whether the kernel must run even if nobody uses its outputs.

    A call takes the inputs, and ``launch_dims``, ``output_dims`` and ``vmap_method`` by name. A scalar, vector or
    matrix parameter takes a Python value, which is part of the compiled program, or a value of JAX, which may be
    traced.

    Raises:
        TypeError, ValueError: at construction or at a call, for what does not fit the kernel.
        DerivativeError: when a gradient is asked for that the kernel does not have.
    """
    from treadle.interop.jax.kernels import JaxKernel

    return JaxKernel(
        kernel, num_outputs, vmap_method, launch_dims, output_dims, in_out_argnames or (), enable_backward,
        has_side_effect,
    )  # fmt: skip


def jax_callable(
    func: Callable[..., None],
    num_outputs: int = 1,
    graph_mode: JaxCallableGraphMode = JaxCallableGraphMode.JAX,
    vmap_method: str = "broadcast_all",
    output_dims: Any = None,
    in_out_argnames: Sequence[str] | None = None,
    stage_in_argnames: Sequence[str] | None = None,
    stage_out_argnames: Sequence[str] | None = None,
    graph_cache_max: int | None = 32,
    module_preload_mode: JaxModulePreloadMode = JaxModulePreloadMode.CURRENT_DEVICE,
    has_side_effect: bool = False,
) -> JaxCallable:
    """A Python function that launches kernels, as a function of JAX arrays.

    ``func`` has annotated parameters like a kernel, inputs first, and returns nothing: it gets arrays and fills its
    outputs. It is called while the compiled program runs, see ``graph_mode``. Arguments as for ``jax_kernel``, and:

    Args:
        graph_mode: whether the launches are captured, see ``JaxCallableGraphMode``. A captured function must do the
            same launches every time, whatever its arrays hold.
        output_dims: as for ``jax_kernel``; None: the shape of the first array among the inputs.
        stage_in_argnames, stage_out_argnames: for the staged modes: which inputs are copied in, and which outputs are
            copied out, at each call. None: all. An input that is not copied keeps what it held at the capture.
        graph_cache_max: how many graphs are kept for each shape of the arguments; None: any number.

    Raises:
        TypeError, ValueError: as for ``jax_kernel``.
    """
    from treadle.interop.jax.callables import JaxCallable

    return JaxCallable(
        func, num_outputs, graph_mode, vmap_method, output_dims, in_out_argnames or (),
        stage_in_argnames, stage_out_argnames, graph_cache_max, has_side_effect,
        sys._getframe(1).f_locals,
    )  # fmt: skip


def clear_jax_callable_graph_cache(callable: JaxCallable | None = None) -> None:
    """Forget the graphs captured for a ``jax_callable``, or for all of them."""
    from treadle.interop.jax.callables import clear_graphs

    clear_graphs(callable)
