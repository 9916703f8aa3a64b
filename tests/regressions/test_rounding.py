"""Each operation is rounded by itself, as in NumPy: no product is contracted with a sum unless fast_math allows it."""

from __future__ import annotations

import numpy as np

import treadle as wp


@wp.kernel
def differences_of_products(v: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=float)):
    i = wp.tid()
    x, y = v[i][0], v[i][1]
    out[i, 0] = wp.length(wp.cross(v[i], v[i]))
    out[i, 1] = wp.sqrt(x * x - x * x * 1.0)
    out[i, 2] = wp.determinant(wp.matrix_from_rows(wp.vec2(x, y), wp.vec2(x, y)))
    out[i, 3] = x * y + y


def test_equal_products_cancel() -> None:
    v = np.random.default_rng(0).random((1000, 3), np.float32)
    out = wp.zeros((1000, 4), dtype=float)
    wp.launch(differences_of_products, dim=1000, inputs=[wp.array(v, dtype=wp.vec3), out])
    assert not out.numpy()[:, :3].any()
    np.testing.assert_array_equal(out.numpy()[:, 3], v[:, 0] * v[:, 1] + v[:, 1])
