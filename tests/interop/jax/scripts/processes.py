"""One of several processes under ``jax.distributed``: a kernel on this process's shard, and a sum over all.

Arguments: address of the coordinator, number of processes, number of this one; none of them under ``mpirun``.
"""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import treadle as wp


@wp.kernel
def square(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i] * x[i]


def main() -> None:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    if len(sys.argv) > 1:
        address, count, number = sys.argv[1:]
        jax.distributed.initialize(address, int(count), int(number))
    else:
        jax.distributed.initialize()
    count = jax.process_count()
    assert count == 2 and len(jax.devices()) == 2 and len(jax.local_devices()) == 1
    mesh = jax.make_mesh((count,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    f = wp.jax_kernel(square, enable_backward=True)

    def loss(x: jax.Array, s: jax.Array) -> jax.Array:
        return jax.lax.psum(f(x, s)[0].sum(), "i")

    whole = np.arange(8, dtype=np.float32)
    sharding = NamedSharding(mesh, P("i"))
    x = jax.make_array_from_callback(whole.shape, sharding, lambda index: whole[index])
    s = jnp.float32(3.0)
    total = jax.jit(jax.shard_map(loss, mesh=mesh, in_specs=(P("i"), P()), out_specs=P()))
    np.testing.assert_allclose(total(x, s), 3 * (whole**2).sum())
    gradient_x, gradient_s = jax.jit(jax.grad(total, (0, 1)))(x, s)
    (shard,) = gradient_x.addressable_shards
    np.testing.assert_allclose(shard.data, 6 * whole[shard.index])
    np.testing.assert_allclose(gradient_s, (whole**2).sum())
    print(f"process {jax.process_index()} of {count}: all right", flush=True)
    jax.distributed.shutdown()


main()
