"""A program at fault as a script of its own, which needs nothing but Treadle and NumPy."""

from __future__ import annotations

_HEAD = "import numpy as np\n"
_TAIL = '''

def floats(host):
    """The floats of an array, as NumPy arrays that share its memory."""
    if host.dtype.names is not None:
        return [view for name in host.dtype.names for view in floats(host[name])]
    return [host] if host.dtype.kind == "f" else []


def loss(held):
    """A weighted sum of all floats of all arrays with gradient."""
    views = [view for a in held.values() if a.requires_grad for view in floats(a.numpy())]
    return sum(float((np.cos(np.arange(view.size) + k) * view.ravel()).sum()) for k, view in enumerate(views))


def reset(held, start):
    for name, a in held.items():
        a.numpy()[...] = start[name]


if __name__ == "__main__":
    held = arrays()
    for name, values in VALUES.items():
        position = 0
        for view in floats(held[name].numpy()):
            view[...] = np.array(values[position : position + view.size]).reshape(view.shape)
            position += view.size
    start = {name: a.numpy().copy() for name, a in held.items()}
    with wp.Tape() as tape:
        run(**held)
    print("final values:", {name: a.numpy().tolist() for name, a in held.items()})
    seeds, k = {}, 0
    for a in held.values():
        if a.requires_grad:
            seeds[a] = wp.zeros_like(a, requires_grad=False)
            for view in floats(seeds[a].numpy()):
                view[...] = np.cos(np.arange(view.size) + k).reshape(view.shape)
                k += 1
    tape.backward(grads=seeds)
    worst = 0.0
    for name, a in held.items():
        if not a.requires_grad:
            continue
        for number, gradient in enumerate(floats(a.grad.numpy())):
            for index in np.ndindex(gradient.shape):
                found = []
                for step in (1e-4, -1e-4):
                    reset(held, start)
                    floats(a.numpy())[number][index] += step
                    run(**held)
                    found.append(loss(held))
                difference = (found[0] - found[1]) / 2e-4
                error = abs(gradient[index] - difference)
                worst = max(worst, error)
                mark = "  <---" if error > 1e-5 * max(1.0, abs(difference)) else ""
                print(f"{name}{list(index)}: gradient {gradient[index]:.8f}, difference {difference:.8f}{mark}")
    print("largest difference:", worst)
'''


def to_script(source: str, message: str) -> str:
    """The text of the script; ``message`` says in its first lines what is wrong."""
    comment = "\n".join(f"# {line}" for line in message.splitlines())
    return f"{comment}\n{_HEAD}{source}{_TAIL}"


def from_script(text: str) -> str:
    """The program in such a script."""
    return text.split(_HEAD, 1)[1].split(_TAIL[:40], 1)[0]
