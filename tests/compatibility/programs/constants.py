"""Constants, enumerations, class attributes, static expressions."""

import enum

import numpy as np

import treadle as wp


class Mode(enum.IntEnum):
    LINEAR = 0
    QUAD = 1


class Flags(enum.IntFlag):
    A = 1
    B = 4


C1 = wp.constant(17)
C2 = wp.constant(2.5)
UP = wp.constant(wp.vec3(0.0, 1.0, 0.0))
N = 5


class Config:
    K = wp.constant(3)
    scale = 1.5


@wp.kernel
def k(mode: int, out: wp.array(dtype=float)):
    i = wp.tid()
    if mode == Mode.LINEAR:
        out[i] = float(i) * C2
    elif mode == int(Mode.QUAD):
        out[i] = float(i * i + C1)
    for j in range(N):
        out[i] += wp.static(float(N) * 0.1)
    out[i] += UP[1] + float(Config.K) + Config.scale + float(Flags.B) + wp.TAU + wp.HALF_PI + wp.E
    if out[i] > wp.INF:
        out[i] = wp.NAN


for m in (Mode.LINEAR, Mode.QUAD):
    out = wp.zeros(3, dtype=float)
    wp.launch(k, 3, [m, out])
    print(np.round(out.numpy(), 4))
print(
    wp.pi,
    wp.inf,
    wp.nan,
    wp.e,
    wp.tau,
    wp.half_pi,
    wp.INF,
    wp.LOG2E if hasattr(wp, "LOG2E") else "",
    wp.PHI,
    wp.phi,
    wp.LN2,
    wp.LN10,
    wp.log2e,
    wp.log10e,
)
