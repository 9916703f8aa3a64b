"""Matrices of several shapes."""

import numpy as np

import treadle as wp

mat23 = wp.types.matrix(shape=(2, 3), dtype=wp.float32)
vec5 = wp.types.vector(length=5, dtype=wp.float32)
mat32 = wp.mat((3, 2), float) if False else wp.types.matrix((3, 2), wp.float32)


@wp.kernel
def k(out: wp.array(dtype=float), m: wp.mat33, v: wp.vec3):
    A = mat23(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    B = wp.transpose(A)
    C = A * B
    D = A @ v
    out[0] = C[0, 0]
    out[1] = C[1, 1]
    out[2] = D[0]
    out[3] = wp.determinant(m)
    out[4] = wp.trace(m)
    inv = wp.inverse(m)
    out[5] = inv[0, 1]
    u, s, w = wp.svd3(m)
    out[6] = s[0]
    x = vec5(1.0, 2.0, 3.0, 4.0, 5.0)
    out[7] = wp.dot(x, x)
    r = m[1]
    out[8] = r[2]
    out[9] = wp.ddot(m, m)
    out[10] = wp.outer(v, v)[1, 2]
    out[11] = wp.cw_mul(v, v)[2]
    out[12] = wp.skew(v)[0, 1]
    out[13] = wp.max(v)
    out[14] = wp.diag(v)[1, 1]
    out[15] = wp.identity(n=3, dtype=float)[2, 2]
    M = wp.matrix_from_rows(v, v * 2.0, v * 3.0)
    out[16] = M[2, 1]
    M2 = wp.matrix_from_cols(v, v * 2.0, v * 3.0)
    out[17] = M2[2, 1]

    out[18] = wp.length(wp.normalize(v))
    z = wp.vec3(1.0)
    z[1] += 2.0
    z.x = 5.0
    out[19] = z.x + z.y + z.z


out = wp.zeros(20, dtype=float)
m = wp.mat33(2.0, 1.0, 0.0, 1.0, 3.0, 1.0, 0.0, 1.0, 4.0)
wp.launch(k, dim=1, inputs=[out, m, wp.vec3(1.0, 2.0, 3.0)])
print(np.round(out.numpy(), 4).tolist())
