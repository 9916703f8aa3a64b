"""The settings of ``jax_kernel`` and ``jax_callable`` that are a choice of a few."""

from __future__ import annotations

from enum import IntEnum

VMAP_METHODS = ("broadcast_all", "expand_dims", "sequential")
"""How a call is batched by ``jax.vmap``: see ``jax.ffi.ffi_call``."""


class JaxCallableGraphMode(IntEnum):
    """Who captures the launches of a ``jax_callable`` as a graph.

    ``NONE`` and ``JAX``: on the CPU, nobody; the function runs at every call. ``WARP``: the function runs once for
    each set of buffers, later calls replay its launches natively. ``WARP_STAGED``: it runs once, on buffers of its
    own; a replay copies inputs in and outputs out as part of the graph. ``WARP_STAGED_EX``: the same, with the
    copies outside of the graph.
    """

    NONE = 0
    JAX = 1
    WARP = 2
    WARP_STAGED = 3
    WARP_STAGED_EX = 4


class JaxModulePreloadMode(IntEnum):
    """For which devices a kernel is compiled ahead of its first call. On the CPU this is done while JAX traces."""

    NONE = 0
    CURRENT_DEVICE = 1
    ALL_DEVICES = 2
