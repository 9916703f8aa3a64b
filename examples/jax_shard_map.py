"""Heat spreads along a rod that is cut in two: each device of JAX has one half, and a Treadle kernel makes the step.

``jax.shard_map`` runs the kernel on each half; the halves exchange the temperatures at the cut. On a machine without
accelerators JAX is told to take the CPU for two devices. The whole simulation is differentiated: which temperature at
the start would have made the middle of the rod warmer at the end?
"""

import os
import sys

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    print("JAX is not installed: nothing to show")
    sys.exit()
import numpy as np

import treadle as wp

CELLS, STEPS = 64, 200


@wp.kernel
def spread(
    t: wp.array(dtype=float),
    left: wp.array(dtype=float),
    right: wp.array(dtype=float),
    rate: float,
    new: wp.array(dtype=float),
):
    i = wp.tid()
    n = t.shape[0]
    before = left[0]
    if i > 0:
        before = t[i - 1]
    after = right[0]
    if i < n - 1:
        after = t[i + 1]
    new[i] = t[i] + rate * (before - 2.0 * t[i] + after)


step = wp.jax_kernel(spread, enable_backward=True)


def simulate_shard(t, rate):
    """All steps, on one half of the rod. The ends of the rod are insulated."""
    count, index = jax.lax.axis_size("rod"), jax.lax.axis_index("rod")

    def body(t, _):
        from_left = jax.lax.ppermute(t[-1:], "rod", [(k, k + 1) for k in range(count - 1)])
        from_right = jax.lax.ppermute(t[:1], "rod", [(k + 1, k) for k in range(count - 1)])
        left = jnp.where(index == 0, t[:1], from_left)
        right = jnp.where(index == count - 1, t[-1:], from_right)
        return step(t, left, right, rate)[0], None

    return jax.lax.scan(body, t, None, length=STEPS)[0]


def simulate_in_numpy(t: np.ndarray, rate: float) -> np.ndarray:
    for _ in range(STEPS):
        padded = np.concatenate([t[:1], t, t[-1:]])
        t = t + rate * (padded[:-2] - 2 * t + padded[2:])
    return t


def main() -> None:
    if not hasattr(jax, "shard_map"):
        print("this version of JAX has no jax.shard_map: nothing to show")
        return
    mesh = jax.make_mesh((2,), ("rod",), axis_types=(jax.sharding.AxisType.Auto,))
    rod, everywhere = jax.sharding.PartitionSpec("rod"), jax.sharding.PartitionSpec()
    simulate = jax.jit(jax.shard_map(simulate_shard, mesh=mesh, in_specs=(rod, everywhere), out_specs=rod))

    start = np.zeros(CELLS, np.float32)
    start[:8] = 1.0
    end = simulate(jnp.asarray(start), jnp.float32(0.4))
    print(f"{len(end.addressable_shards)} devices; temperature in the middle {float(end[CELLS // 2]):.4f}")
    expected = simulate_in_numpy(start.astype(np.float64), 0.4)
    error = np.max(np.abs(np.asarray(end) - expected))
    print(f"largest difference to NumPy: {error:.1e}")

    def middle(t, rate):
        return simulate(t, rate)[CELLS // 2]

    gradient, by_rate = jax.grad(middle, (0, 1))(jnp.asarray(start), jnp.float32(0.4))
    width = 1e-3
    difference = simulate_in_numpy(start.astype(np.float64), 0.4 + width) - simulate_in_numpy(
        start.astype(np.float64), 0.4 - width
    )
    slope = difference[CELLS // 2] / (2 * width)
    print(f"it depends most on cell {int(jnp.argmax(gradient))}, and on the rate by {float(by_rate):.4f} ({slope:.4f})")
    if error > 1e-4 or abs(float(gradient.sum()) - 1.0) > 1e-3 or abs(float(by_rate) - slope) > 1e-3:
        sys.exit("the results are not what they should be")


if __name__ == "__main__":
    main()
