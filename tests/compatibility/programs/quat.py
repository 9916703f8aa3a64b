"""Quaternions, Euler angles, transforms, norms, spatial vectors."""

import numpy as np

import treadle as wp


@wp.kernel
def k(o: wp.array(dtype=float)):
    q = wp.quat_from_axis_angle(wp.normalize(wp.vec3(1.0, 2.0, 3.0)), 0.7)
    m = wp.quat_to_matrix(q)
    q2 = wp.quat_from_matrix(m)
    axis, angle = wp.quat_to_axis_angle(q)
    o[0] = q2[0]
    o[1] = q2[3]
    o[2] = axis[1]
    o[3] = angle
    e = wp.quat_to_euler(q, 0, 1, 2)
    o[4] = e[0]
    o[5] = e[1]
    o[6] = e[2]
    q3 = wp.quat_from_euler(e, 0, 1, 2)
    o[7] = q3[1]
    r = wp.quat_to_rpy(q)
    o[8] = r[0]
    o[9] = r[2]
    b = wp.quat_between_vectors(wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0))
    o[10] = b[2]
    o[11] = b[3]
    t = wp.transform(wp.vec3(1.0, 2.0, 3.0), q)
    M = wp.transform_to_matrix(t)
    o[12] = M[0, 3]
    o[13] = M[1, 2]
    t2 = wp.transform_from_matrix(M)
    o[14] = t2[2]
    o[15] = t2[5]
    C = wp.transform_compose(wp.vec3(1.0, 2.0, 3.0), q, wp.vec3(1.0, 2.0, 3.0))
    o[16] = C[1, 1]
    p, rr, s = wp.transform_decompose(C)
    o[17] = s[1]
    o[18] = rr[2]
    o[19] = p[0]
    tw = wp.quat_twist(wp.vec3(0.0, 0.0, 1.0), q)
    o[20] = tw[2]
    o[21] = wp.quat_twist_angle(wp.vec3(0.0, 0.0, 1.0), q)
    o[22] = wp.smooth_normalize(wp.vec3(1.0, 2.0, 3.0), 0.1)[0]
    o[23] = wp.norm_l1(wp.vec3(1.0, -2.0, 3.0))
    o[24] = wp.norm_l2(wp.vec3(1.0, 2.0, 2.0))
    o[25] = wp.norm_huber(wp.vec3(1.0, 2.0, 2.0), 1.0)
    o[26] = wp.norm_pseudo_huber(wp.vec3(1.0, 2.0, 2.0), 1.0)
    o[27] = wp.norm_huber(wp.vec3(0.1, 0.2, 0.2), 1.0)
    sv = wp.transform_twist(t, wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    o[28] = sv[4]
    o[29] = sv[0]
    sw = wp.transform_wrench(t, wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    o[30] = sw[0]
    o[31] = sw[4]
    va = wp.velocity_at_point(wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), wp.vec3(1.0, 0.0, 2.0))
    o[32] = va[0]
    o[33] = va[1]
    ms = C
    o[34] = ms[2, 2]
    o[35] = wp.transform_point(C, wp.vec3(1.0, 1.0, 1.0))[0]
    o[36] = wp.transform_vector(C, wp.vec3(1.0, 1.0, 1.0))[0]


o = wp.zeros(40, dtype=float)
wp.launch(k, 1, [o])
print(np.round(o.numpy(), 4).tolist())
