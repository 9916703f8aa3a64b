"""Cases with vectors, matrices, quaternions and transforms as local values: components, rows, slices, large ones."""

import treadle as wp
from tests.ad.gradient_cases import Input, Ints, Output, Plain, case, mat, quat, vec


@case(dim=3, x=Input(3), out=Output(3))
def component_rewritten(T):
    V = wp.types.vector(length=3, dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        v = V()
        v[0] = T(2.0) * x[i]
        v[1] = v[0] * v[0]
        v[0] = v[1] * x[i]
        v[2] = v[0]
        v[2] = T(3.0) * v[2]
        out[i] = v[0] + v[1] + v[2]

    return kernel


@case(dim=3, x=Input(3, 0.9, 1.2), n=Plain(3), out=Output(3, of=vec(3)))
def component_rewritten_in_loop(T):
    V = wp.types.vector(length=3, dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=V)):
        i = wp.tid()
        v = V(x[i], T(1.0), x[i] * x[i])
        for j in range(n):
            v[0] = v[0] * v[1] + v[2]
            v[1] = wp.sin(v[1] * v[0])
            v[0] = v[0] * T(1.5) - v[1] * x[i]
            v.z = v.x * v.y
        out[i] = v

    return kernel


@case(dim=4, x=Input((4, 6)), n=Plain(6), out=Output(4))
def components_at_run_time_indices(T):
    V = wp.types.vector(length=4, dtype=T)

    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        v = V(T(1.0), T(0.5), x[i, 0], x[i, 1])
        for j in range(n):
            k = (j * 3 + i) % 4
            v[k] = v[k] * x[i, j] + v[(k + 1) % 4]
            v[(k + 2) % 4] += x[i, j] * v[k]
            v[k] *= T(0.9)
        s = T(0.0)
        for k in range(4):
            s += v[k] * v[k]
        out[i] = s

    return kernel


@case(dim=3, x=Input(3, of=vec(3)), y=Input(3, of=vec(3)), out=Output(3, of=vec(3)))
def vector_arithmetic(T):
    V = wp.types.vector(length=3, dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=V), y: wp.array(dtype=V), out: wp.array(dtype=V)):
        i = wp.tid()
        a = x[i]
        b = y[i]
        c = T(2.0) * a - b / T(3.0) + a * b[0]
        c += wp.cross(a, b)
        c -= wp.normalize(b) * wp.length(a)
        c *= wp.dot(a, b)
        c /= T(1.5)
        out[i] = -c + wp.cw_mul(a, b) + wp.cw_div(a, b)

    return kernel


@case(dim=3, m=Input(3, -1.0, 1.0, of=mat(3, 3)), x=Input(3, of=vec(3)), out=Output(3, of=vec(3)))
def matrix_arithmetic(T):
    V = wp.types.vector(length=3, dtype=T)
    M = wp.types.matrix(shape=(3, 3), dtype=T)

    @wp.kernel
    def kernel(m: wp.array(dtype=M), x: wp.array(dtype=V), out: wp.array(dtype=V)):
        i = wp.tid()
        a = m[i]
        v = x[i]
        b = a * wp.transpose(a) + wp.outer(v, v) - a * T(0.5) + wp.diag(v)
        b[0, 1] = b[1, 0] * v[2]
        b[2, 2] += wp.trace(a)
        w = wp.inverse(b + wp.identity(n=3, dtype=T) * T(4.0)) * v
        out[i] = w * wp.determinant(a) + v * a + wp.get_diag(b) * wp.ddot(a, b)

    return kernel


@case(dim=3, m=Input(3, of=mat(2, 3)), k=Ints([0, 1, 1]), out=Output(3, of=mat(3, 2)), plain=False)
def rows_of_matrices(T):
    V = wp.types.vector(length=3, dtype=T)
    M = wp.types.matrix(shape=(2, 3), dtype=T)
    R = wp.types.matrix(shape=(3, 2), dtype=T)

    @wp.kernel
    def kernel(m: wp.array(dtype=M), k: wp.array(dtype=int), out: wp.array(dtype=R)):
        i = wp.tid()
        a = m[i]
        row = a[k[i]]
        a[0] = row * T(2.0)
        a[1 - k[i]] = wp.cross(row, a[1]) + V(T(1.0), row[1], T(0.0))
        a[k[i], 2] = a[0, 1] * row[0]
        a[1] += row
        out[i] = wp.transpose(a)

    return kernel


@case(dim=3, x=Input(3, of=vec(5)), out=Output(3, of=vec(5)))
def slices_of_vectors(T):
    V2 = wp.types.vector(length=2, dtype=T)
    V3 = wp.types.vector(length=3, dtype=T)
    V5 = wp.types.vector(length=5, dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=V5), out: wp.array(dtype=V5)):
        i = wp.tid()
        v = x[i]
        head = v[:2]
        tail = v[-3:]
        odd = v[1::2]
        v[1:3] = head * tail[0]
        v[3:] = V2(tail[1] * odd[0], tail[2] + odd[1])
        v[0:3] += wp.cross(tail, v[2:5])
        out[i] = v * wp.dot(v[::2], V3(T(1.0), T(2.0), T(3.0)))

    return kernel


@case(dim=3, x=Input(3, of=vec(4)), out=Output(3))
def loop_over_vector(T):
    V = wp.types.vector(length=4, dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=V), out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(1.0)
        for component in x[i]:
            s = s * component + wp.sin(component)
        out[i] = s

    return kernel


@case(dim=3, x=Input(3, of=vec(4)), out=Output((3, 6)))
def reductions_of_vectors(T):
    V = wp.types.vector(length=4, dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=V), out: wp.array2d(dtype=T)):
        i = wp.tid()
        v = x[i]
        out[i, 0] = wp.min(v) * wp.max(v)
        out[i, 1] = wp.length_sq(v)
        out[i, 2] = v[int(wp.argmax(v))] * v[int(wp.argmin(v))]
        w = wp.max(v, V(T(0.9), T(1.1), T(0.7), T(1.3)))
        w = wp.min(w, v * T(1.2))
        out[i, 3] = wp.dot(w, wp.abs(v - V(T(1.0), T(1.0), T(1.0), T(1.0))))
        out[i, 4] = wp.length(wp.lerp(v, w, v[0]))
        out[i, 5] = wp.dot(wp.sign(v), v)

    return kernel


@case(dim=2, x=Input(2, of=vec(64)), n=Plain(64), out=Output(2, of=vec(64)))
def vector_of_64(T):
    V = wp.types.vector(length=64, dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=V), n: int, out: wp.array(dtype=V)):
        i = wp.tid()
        v = x[i]
        w = V()
        for j in range(n):
            w[(j * 5 + 3) % 64] = v[j] * v[(j + 1) % 64]
            v[(j + 2) % 64] = w[j] + v[j] * T(0.5)
        out[i] = w * T(2.0) + v * wp.dot(v, w) * T(0.01)

    return kernel


@case(dim=1, x=Input(1, of=vec(256)), out=Output(1), plain=False)
def vector_of_256(T):
    V = wp.types.vector(length=256, dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=V), out: wp.array(dtype=T)):
        i = wp.tid()
        v = x[i]
        s = T(0.0)
        for j in range(1, 256):
            v[j] = v[j - 1] * T(0.5) + v[j] * v[j]
            s += v[j] * T(0.1)
        out[i] = s * wp.length(v) + wp.dot(v, v)

    return kernel


@case(dim=2, m=Input(2, -0.3, 0.3, of=mat(12, 12)), x=Input(2, of=vec(12)), out=Output(2, of=vec(12)))
def matrix_of_12_by_12(T):
    V = wp.types.vector(length=12, dtype=T)
    M = wp.types.matrix(shape=(12, 12), dtype=T)

    @wp.kernel
    def kernel(m: wp.array(dtype=M), x: wp.array(dtype=V), out: wp.array(dtype=V)):
        i = wp.tid()
        a = m[i]
        v = x[i]
        b = a * a + wp.outer(v, v) * T(0.1)
        b[3, 4] = b[4, 3] * v[0]
        b[5] = v * T(0.5)
        out[i] = b * v + wp.transpose(a) * v

    return kernel


@case(dim=1, m=Input(1, -0.3, 0.3, of=mat(8, 8)), x=Input(1, of=vec(8)), out=Output(1, of=vec(8)))
def elimination_of_8_by_8(T):
    V = wp.types.vector(length=8, dtype=T)
    M = wp.types.matrix(shape=(8, 8), dtype=T)

    @wp.kernel
    def kernel(m: wp.array(dtype=M), x: wp.array(dtype=V), out: wp.array(dtype=V)):
        i = wp.tid()
        n = 8
        a = m[i]
        v = x[i]
        for k in range(n):
            a[k, k] = a[k, k] + T(3.0)
        for k in range(n):
            for r in range(k + 1, n):
                factor = a[r, k] / a[k, k]
                for c in range(k, n):
                    a[r, c] = a[r, c] - factor * a[k, c]
                v[r] = v[r] - factor * v[k]
        for step in range(n):
            k = n - 1 - step
            s = v[k]
            for c in range(k + 1, n):
                s = s - a[k, c] * v[c]
            v[k] = s / a[k, k]
        out[i] = v

    return kernel


@case(dim=3, q=Input(3, -1.0, 1.0, of=quat), x=Input(3, of=vec(3)), out=Output(3, of=vec(3)))
def quaternions(T):
    V = wp.types.vector(length=3, dtype=T)
    Q = wp.types.quaternion(dtype=T)

    @wp.kernel
    def kernel(q: wp.array(dtype=Q), x: wp.array(dtype=V), out: wp.array(dtype=V)):
        i = wp.tid()
        p = wp.normalize(q[i])
        r = wp.quat_from_axis_angle(wp.normalize(x[i]), x[i][0])
        v = wp.quat_rotate(p * r, x[i])
        p[0] = p[1] * v[2]
        p.w = p.w + p.x
        v = v + wp.quat_rotate_inv(wp.normalize(p), x[i])
        m = wp.quat_to_matrix(wp.quat_inverse(r))
        out[i] = m * v + V(p[0], p[3], wp.dot(p, r))

    return kernel


@case(dim=2, q=Input(2, -1.0, 1.0, of=quat), x=Input(2, of=vec(3)), n=Plain(4), out=Output(2, of=quat))
def integrated_quaternion(T):
    V = wp.types.vector(length=3, dtype=T)
    Q = wp.types.quaternion(dtype=T)

    @wp.kernel
    def kernel(q: wp.array(dtype=Q), x: wp.array(dtype=V), n: int, out: wp.array(dtype=Q)):
        i = wp.tid()
        p = q[i]
        for j in range(n):
            spin = Q(x[i][0], x[i][1], x[i][2], T(0.0))
            p = wp.normalize(p + spin * p * T(0.05))
        out[i] = p

    return kernel


@case(dim=2, q=Input(2, -1.0, 1.0, of=quat), x=Input(2, of=vec(3)), out=Output(2, of=vec(3)))
def transforms(T):
    V = wp.types.vector(length=3, dtype=T)
    Q = wp.types.quaternion(dtype=T)

    @wp.kernel
    def kernel(q: wp.array(dtype=Q), x: wp.array(dtype=V), out: wp.array(dtype=V)):
        i = wp.tid()
        a = wp.transformation(x[i], wp.normalize(q[i]))
        b = wp.transform_multiply(a, wp.transform_inverse(wp.transformation(x[i] * T(2.0), wp.normalize(q[i]))))
        v = wp.transform_point(a * b, x[i]) + wp.transform_vector(b, x[i])
        out[i] = v + wp.transform_get_translation(b) * wp.transform_get_rotation(a)[3]

    return kernel


@case(dim=3, x=Input((3, 4)), out=Output(3), plain=False)
def vectors_from_scalars(T):
    V3 = wp.types.vector(length=3, dtype=T)
    M = wp.types.matrix(shape=(2, 2), dtype=T)

    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        filled = V3(x[i, 0])
        made = wp.vector(x[i, 1], x[i, 2], x[i, 3])
        m = M(x[i, 0], made[0], made[1], made[2])
        n = M(x[i, 3] * made[1])
        n[0, 1] = filled[1] * made[2]
        out[i] = wp.trace(m * n) + wp.dot(filled, made)

    return kernel


@case(dim=3, x=Input(3, of=vec(2)), n=Plain(4), out=Output(3, of=vec(2)))
def swapped_vectors(T):
    V = wp.types.vector(length=2, dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=V), n: int, out: wp.array(dtype=V)):
        i = wp.tid()
        a = x[i]
        b = V(a[1], a[0] * a[1])
        for j in range(n):
            a, b = b, a + b * T(0.5)
            a[0], a[1] = a[1], a[0] * a[0]
        u, v = a[0], b[1]
        out[i] = a * u + b * v

    return kernel


@case(dim=3, x=Input(3, of=vec(3)), out=Output(3, of=vec(3)))
def components_of_array_elements(T):
    V = wp.types.vector(length=3, dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=V), out: wp.array(dtype=V)):
        i = wp.tid()
        a = x[i][0] * x[i].y
        out[i] = V(a, x[i][2] * a, T(1.0))

    return kernel


@case(dim=3, x=Input(3, of=vec(3)), k=Ints([0, 1, 2]), out=Output(3, of=vec(3)), plain=False)
def components_stored_to_array_elements(T):
    V = wp.types.vector(length=3, dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=V), k: wp.array(dtype=int), out: wp.array(dtype=V)):
        i = wp.tid()
        out[i][0] = x[i][1] * x[i][2]
        out[i].y = x[i][0] * x[i][0]
        out[i][k[i]] = wp.sin(x[i][k[i]])

    return kernel


@case(dim=3, x=Input(3, of=vec(3)), out=Output(3, of=mat(2, 2)), plain=False)
def components_added_to_array_elements(T):
    V = wp.types.vector(length=3, dtype=T)
    M = wp.types.matrix(shape=(2, 2), dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=V), out: wp.array(dtype=M)):
        i = wp.tid()
        v = x[i]
        out[i][0, 1] = v[0] * v[1]
        out[i][1, 0] += v[2] * v[2]
        out[i][1, 0] += v[0]
        out[i][1, 1] -= v[1] * v[2]

    return kernel


@case(dim=2, x=Input((2, 4)), n=Plain(4), out=Output(2), plain=False)
def local_table(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        a = wp.zeros(shape=4, dtype=T)
        for k in range(n):
            a[k] = x[i, k] * x[i, k]
        s = T(1.0)
        for k in range(n):
            s = s * a[k] + a[(k + 1) % 4]
        out[i] = s

    return kernel


@case(dim=3, x=Input(3, -1.0, 1.0), out=Output(3), plain=False)
def length_of_the_zero_vector(T):
    V3 = wp.types.vector(length=3, dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        v = V3(x[i], T(0.0), T(0.0)) * T(i)
        n = wp.length(v)
        u = wp.normalize(v)
        out[i] = wp.where(i > 0, n, x[i]) + wp.where(i > 0, u[0] * x[i], x[i])

    return kernel


@case(dim=1, x=Input(9), b=Input(3), o=Output(3), plain=False)
def elimination_with_pivots(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), b: wp.array(dtype=T), o: wp.array(dtype=T)):
        A = wp.matrix(shape=(3, 3), dtype=T)
        for k in range(9):
            A[k / 3, k % 3] = x[k] + T(k) * T(0.3)
        y = wp.vector(b[0], b[1], b[2])
        for c in range(3):
            p = c
            for r in range(c + 1, 3):
                if wp.abs(A[r, c]) > wp.abs(A[p, c]):
                    p = r
            if p != c:
                t = A[c]
                A[c] = A[p]
                A[p] = t
                u = y[c]
                y[c] = y[p]
                y[p] = u
            for r in range(c + 1, 3):
                f = A[r, c] / A[c, c]
                A[r] = A[r] - A[c] * f
                y[r] -= y[c] * f
        for q in range(3):
            c = 2 - q
            s = y[c]
            for k in range(c + 1, 3):
                s -= A[c, k] * o[k]
            o[c] = s / A[c, c]

    return kernel


@case(dim=2, x=Input((2, 6)), o=Output(2), plain=False)
def transform_carried_by_loop(T):
    V3 = wp.types.vector(length=3, dtype=T)

    X = wp.types.transformation(dtype=T)

    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), o: wp.array(dtype=T)):
        i = wp.tid()
        t = X(V3(x[i, 0], x[i, 1], T(0.0)), wp.quat_from_axis_angle(V3(T(0.0), T(0.0), T(1.0)), x[i, 2]))
        r = wp.transform_identity(dtype=T)
        for k in range(3 + i):
            r = r * t
            t = wp.transformation(wp.transform_get_translation(t) * x[i, 3], wp.transform_get_rotation(t))
        p = wp.transform_point(r, V3(T(1.0), x[i, 4], T(0.0)))
        r.p = p
        r[0] = r[1] * x[i, 5]
        o[i] = wp.length(wp.transform_get_translation(r)) + p[0]

    return kernel
