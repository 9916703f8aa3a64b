"""Scalar functions."""

import numpy as np

import treadle as wp


@wp.kernel
def k(o: wp.array(dtype=float)):
    o[0] = wp.lerp(1.0, 3.0, 0.25)
    o[1] = wp.smoothstep(0.0, 2.0, 0.5)
    o[2] = wp.sign(-3.0)
    o[3] = wp.degrees(1.0)
    o[4] = wp.radians(90.0)
    o[5] = wp.cbrt(27.0)
    o[6] = wp.round(2.5)
    o[7] = wp.rint(2.5)
    o[8] = wp.trunc(-2.7)
    o[9] = wp.frac(2.75)
    o[10] = wp.ceil(2.1)
    o[11] = wp.nonzero(3.0)
    o[12] = wp.mod(7.5, 2.0)
    o[13] = wp.floordiv(7.0, 2.0)
    o[14] = wp.float32(wp.isnan(wp.sqrt(-1.0)))
    o[15] = wp.log2(8.0)
    o[16] = wp.tanh(0.5)
    o[17] = wp.erf(0.5)
    o[18] = wp.abs(-2.5)
    o[19] = wp.acos(0.5)
    o[20] = wp.length(wp.lerp(wp.vec3(0.0), wp.vec3(1.0), 0.5))
    o[21] = wp.float32(wp.argmax(wp.vec3(1.0, 5.0, 2.0)))
    o[22] = wp.max(wp.vec3(1.0, 5.0, 2.0))
    o[23] = wp.pow(2.0, 0.5)
    o[24] = wp.copysign(3.0, -1.0)
    o[25] = wp.float32(wp.bit_count(255))
    o[27] = wp.dot(wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), wp.spatial_vector(1.0, 0.0, 0.0, 0.0, 0.0, 1.0))
    o[29] = float(wp.min(3, 4))
    o[30] = float(max(3, 4))
    o[31] = abs(-3.0)
    o[33] = min(1.0, 2.0)


o = wp.zeros(34, dtype=float)
wp.launch(k, 1, [o])
print(np.round(o.numpy(), 4).tolist())
