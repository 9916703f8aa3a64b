"""Cases with structs: local values, arguments, elements of arrays, members that are structs, vectors or arrays."""

from functools import cache

import treadle as wp
from tests.ad.gradient_cases import InOut, Input, Ints, Members, Output, Plain, case


@cache
def particle(T):
    @wp.struct
    class Particle:
        position: wp.types.vector(length=3, dtype=T)
        mass: T
        kind: int

    return Particle


@cache
def pair(T):
    Particle = particle(T)

    @wp.struct
    class Pair:
        first: Particle
        second: Particle
        stiffness: T

    return Pair


@cache
def state(T):
    @wp.struct
    class State:
        x: wp.array(dtype=T)
        y: wp.array2d(dtype=T)
        scale: T
        count: int

    return State


@cache
def body(T):
    @wp.struct
    class Body:
        k: int
        v: wp.types.vector(length=3, dtype=T)
        m: wp.types.matrix(shape=(2, 2), dtype=T)
        q: wp.types.quaternion(dtype=T)

    return Body


@cache
def two_bodies(T):
    Body = body(T)

    @wp.struct
    class TwoBodies:
        a: Body
        s: T
        b: Body

    return TwoBodies


def _state(T):
    return state(T)(scale=1.5, count=3)


@case(dim=3, x=Input(3), out=Output(3), plain=False)
def struct_as_local(T):
    Particle = particle(T)
    V = wp.types.vector(length=3, dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        p = Particle()
        p.position = V(x[i], x[i] * x[i], T(1.0))
        p.mass = wp.exp(x[i])
        p.position[2] = p.mass * p.position[0]
        q = p
        q.mass = q.mass + T(1.0)
        out[i] = wp.dot(p.position, q.position) * p.mass * q.mass

    return kernel


@case(dim=3, x=Input(3), n=Plain(4), out=Output(3))
def struct_carried_by_loop(T):
    Particle = particle(T)

    @wp.func
    def step(p: Particle, h: T) -> Particle:
        p.position = p.position * (T(1.0) + h * p.mass)
        p.mass = p.mass * T(0.9) + p.position[0] * T(0.1)
        p.kind = p.kind + 1
        return p

    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        p = Particle()
        p.mass = x[i]
        p.position[0] = x[i] * x[i]
        for j in range(n):
            p = step(p, x[i])
            if p.kind == 3:
                p.position[1] = p.mass
        out[i] = wp.length(p.position) * p.mass * T(p.kind)

    return kernel


@case(dim=3, x=Input(3), k=Ints([0, 2, 4]), out=Output(3))
def struct_in_branches(T):
    Particle = particle(T)

    @wp.kernel
    def kernel(x: wp.array(dtype=T), k: wp.array(dtype=int), out: wp.array(dtype=T)):
        i = wp.tid()
        p = Particle()
        p.mass = x[i]
        if k[i] == 0:
            p.position[0] = x[i] * x[i]
        elif k[i] == 2:
            p = Particle(mass=x[i] * T(3.0))
            p.position.x = wp.sin(x[i])
        out[i] = p.mass * (p.position[0] + T(1.0))

    return kernel


@case(dim=3, p=Input(3, of=particle), out=Output(3, of=particle), plain=False)
def array_of_structs(T):
    Particle = particle(T)

    @wp.kernel
    def kernel(p: wp.array(dtype=Particle), out: wp.array(dtype=Particle)):
        i = wp.tid()
        a = p[i]
        a.mass = a.mass * a.position[1]
        out[i] = a
        out[i].position[2] = a.mass * p[(i + 1) % 3].mass

    return kernel


@case(dim=3, p=InOut(3, of=particle), x=Input(3), plain=False)
def members_stored_and_added(T):
    Particle = particle(T)
    V = wp.types.vector(length=3, dtype=T)

    @wp.kernel
    def kernel(p: wp.array(dtype=Particle), x: wp.array(dtype=T)):
        i = wp.tid()
        p[i].mass += x[i] * x[i]
        p[i].position = V(x[i], x[i] * T(2.0), T(0.5))
        p[(i + 1) % 3].kind = 2

    return kernel


@case(dim=2, p=Input(2, of=pair), out=Output(2, of=pair), plain=False)
def nested_structs(T):
    Pair = pair(T)

    @wp.func
    def energy(p: Pair) -> T:
        d = p.first.position - p.second.position
        return p.stiffness * wp.dot(d, d) + p.first.mass * p.second.mass

    @wp.kernel
    def kernel(p: wp.array(dtype=Pair), out: wp.array(dtype=Pair)):
        i = wp.tid()
        a = p[i]
        e = energy(a)
        a.first.position[1] = e * a.second.mass
        a.second = a.first
        a.second.mass = e * e
        a.stiffness = p[1 - i].first.position[2] * e
        out[i] = a

    return kernel


@case(
    dim=3,
    s=Members(_state, {"x": Input(3), "y": Input((3, 3))}),
    out=Output(3),
)
def struct_of_arrays(T):
    State = state(T)

    @wp.kernel
    def kernel(s: State, out: wp.array(dtype=T)):
        i = wp.tid()
        total = s.x[i] * s.scale
        for j in range(s.count):
            total = total * s.y[i, j] + s.x[j]
        out[i] = total

    return kernel


@case(
    dim=3,
    s=Members(_state, {"x": Input(3), "y": Output((3, 3))}),
    out=Output(3),
)
def struct_of_arrays_passed_on(T):
    State = state(T)

    @wp.func
    def fill(s: State, i: int) -> T:
        for j in range(s.y.shape[1]):
            s.y[i, j] = s.x[i] * s.x[j] * s.scale
        return s.x[i] * T(s.count)

    @wp.kernel
    def kernel(s: State, out: wp.array(dtype=T)):
        i = wp.tid()
        out[i] = fill(s, i) * s.x[(i + 1) % 3]

    return kernel


@case(dim=3, p=InOut(3, of=body), x=Input(3), plain=False)
def members_stored_at_run_time_indices(T):
    V3 = wp.types.vector(length=3, dtype=T)
    P = body(T)

    @wp.kernel
    def kernel(p: wp.array(dtype=P), x: wp.array(dtype=T)):
        i = wp.tid()
        p[i].v[(i + 1) % 3] = x[i] * p[i].v[i]
        p[i].m[i % 2, 1] = p[i].v[0] * x[i]
        p[i].m[1] = p[i].m[0] * x[i]
        p[i].q.w = p[i].q.x * p[i].m[0, 0]
        p[i].v.x *= x[i]
        p[i].v += V3(x[i], T(0.0), x[i] * x[i])

    return kernel


@case(dim=3, p=Input(3, of=two_bodies), o=Output(3, of=two_bodies), x=Input(3), plain=False)
def nested_structs_in_loop(T):
    PP = two_bodies(T)

    @wp.func
    def mk(p: PP, x: T) -> PP:
        r = PP()
        r.b = p.a
        r.a.m = p.b.m * p.a.m
        r.s = x
        r.b.v[1] = x * p.b.v[2]
        r.b.q = wp.normalize(p.a.q * p.b.q)
        return r

    @wp.kernel
    def kernel(p: wp.array(dtype=PP), o: wp.array(dtype=PP), x: wp.array(dtype=T)):
        i = wp.tid()
        r = mk(p[i], x[i])
        for k in range(i + 1):
            r = mk(r, x[k] * r.s)
            r.a.v[k] = r.b.v[1] * x[i]
            r.b.m[k % 2][0] = r.a.v[k]
            if k == 1:
                r.a = p[k].b
        o[i] = r
        o[i].a.v[2] += x[i] * x[i]
        o[i].b.m[0, 1] -= x[i]

    return kernel


@case(dim=3, x=Input(3), o=Output(3), n=Plain(5), plain=False)
def struct_with_a_flag(T):
    @wp.struct
    class St:
        go: bool
        s: T
        k: int

    @wp.func
    def upd(st: St, x: T) -> St:
        st.s = st.s * x + T(0.3)
        st.k = st.k + 1
        st.go = st.s < T(1.4) and st.k < 6
        return st

    @wp.kernel
    def kernel(x: wp.array(dtype=T), o: wp.array(dtype=T), n: int):
        i = wp.tid()
        st = St()
        st.go = True
        st.s = x[i]
        while st.go:
            st = upd(st, x[(i + st.k) % 3])
        o[i] = st.s * T(st.k)

    return kernel
