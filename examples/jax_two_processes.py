"""Two processes, as on two machines, fit one line to data of which each has a half.

Started without arguments, the program starts both processes on this machine; each joins ``jax.distributed``, computes
its part of the loss with a Treadle kernel, and JAX adds up the gradients over both. On a cluster, start one process a
machine, for example with ``mpirun -n 2 python jax_two_processes.py --join``.
"""

import socket
import subprocess
import sys

import numpy as np

import treadle as wp

POINTS, STEPS = 1000, 100
SLOPE, OFFSET = 1.7, -0.4


@wp.kernel
def squared_error(
    x: wp.array(dtype=float), y: wp.array(dtype=float), slope: float, offset: float, loss: wp.array(dtype=float)
):
    i = wp.tid()
    difference = slope * x[i] + offset - y[i]
    wp.atomic_add(loss, 0, difference * difference)


def fit() -> None:
    """What each process does."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import AxisType, NamedSharding, PartitionSpec

    mesh = jax.make_mesh((jax.device_count(),), ("i",), axis_types=(AxisType.Auto,))
    kernel = wp.jax_kernel(squared_error, output_dims=1, enable_backward=True)

    def mean_error(x, y, slope, offset):
        (loss,) = kernel(x, y, slope, offset)
        return jax.lax.psum(loss[0], "i") / POINTS

    split, whole = PartitionSpec("i"), PartitionSpec()
    loss = jax.shard_map(mean_error, mesh=mesh, in_specs=(split, split, whole, whole), out_specs=whole)

    @jax.jit
    def step(x, y, slope, offset):
        by_slope, by_offset = jax.grad(loss, (2, 3))(x, y, slope, offset)
        return slope - 0.5 * by_slope, offset - 0.5 * by_offset

    def shared(values):
        return jax.make_array_from_callback(values.shape, NamedSharding(mesh, split), lambda index: values[index])

    points = np.random.default_rng(0).uniform(-1, 1, POINTS).astype(np.float32)
    x, y = shared(points), shared(np.float32(SLOPE) * points + np.float32(OFFSET))
    slope, offset = jnp.float32(0.0), jnp.float32(0.0)
    for _ in range(STEPS):
        slope, offset = step(x, y, slope, offset)
    own = sum(shard.data.size for shard in x.addressable_shards)
    line = f"{float(slope):.4f} x + {float(offset):.4f}"
    print(f"process {jax.process_index()} of {jax.process_count()}, with {own} points: {line}", flush=True)
    if abs(float(slope) - SLOPE) > 1e-3 or abs(float(offset) - OFFSET) > 1e-3:
        sys.exit("the line is wrong")


def join(arguments: list[str]) -> None:
    import jax

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    if arguments:
        address, number = arguments
        jax.distributed.initialize(address, 2, int(number))
    else:
        jax.distributed.initialize()
    fit()
    jax.distributed.shutdown()


def main() -> None:
    try:
        import jax
    except ImportError:
        print("JAX is not installed: nothing to show")
        return
    if not hasattr(jax, "shard_map"):
        print("this version of JAX has no jax.shard_map: nothing to show")
        return
    if "--join" in sys.argv:
        join(sys.argv[sys.argv.index("--join") + 1 :])
        return
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    command = [sys.executable, __file__, "--join", address]
    processes = [subprocess.Popen([*command, str(number)]) for number in range(2)]
    codes = [process.wait() for process in processes]
    if any(codes):
        sys.exit("a process failed")


if __name__ == "__main__":
    main()
