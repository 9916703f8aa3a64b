"""The gradient of a rendered image."""

import treadle as wp


@wp.struct
class Cam:
    pos: wp.vec3
    fov: float


@wp.func
def sd(p: wp.vec3, c: wp.vec3, r: float):
    return wp.length(p - c) - r


@wp.kernel
def render(cam: Cam, c: wp.array(dtype=wp.vec3), r: wp.array(dtype=float), img: wp.array2d(dtype=float)):
    i, j = wp.tid()
    d = wp.normalize(wp.vec3((float(i) - 8.0) / 8.0 * cam.fov, (float(j) - 8.0) / 8.0 * cam.fov, -1.0))
    t = float(0.0)
    acc = float(0.0)
    for k in range(24):
        p = cam.pos + d * t
        s = sd(p, c[0], r[0])
        acc = acc + wp.exp(-s * s * 10.0) * 0.1
        t += wp.max(wp.abs(s) * 0.5, 0.05)
    img[i, j] = acc


cam = Cam()
cam.pos = wp.vec3(0.0, 0.0, 3.0)
cam.fov = 0.5
c = wp.array([[0.1, 0.0, 0.0]], dtype=wp.vec3, requires_grad=True)
r = wp.array([0.8], dtype=float, requires_grad=True)
img = wp.zeros((16, 16), dtype=float, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(render, (16, 16), [cam, c, r], [img])
tape.backward(grads={img: wp.ones_like(img)})
print(round(float(img.numpy().sum()), 3))
print(c.grad.numpy().shape)
