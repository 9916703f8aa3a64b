"""Optimisers against PyTorch's, step by step."""

from __future__ import annotations

import numpy as np
import pytest

import treadle as wp
from treadle.optim import SGD, Adam

torch = pytest.importorskip("torch")

CASES = [
    (Adam, {"lr": 0.1}),
    (Adam, {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-3}),
    (SGD, {"lr": 0.1}),
    (SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.05}),
    (SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
]


@pytest.mark.parametrize("make, options", CASES)
@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.vec3])
def test_same_steps_as_pytorch(make, options, dtype):
    start = np.arange(12.0).reshape(4, 3)
    host = start if dtype is wp.vec3 else start.ravel()
    x = wp.array(host, dtype=dtype, requires_grad=True)
    t = torch.tensor(x.numpy().copy(), requires_grad=True)
    mine, theirs = make([x], **options), getattr(torch.optim, make.__name__)([t], **options)
    for k in range(6):
        x.grad.assign(np.cos(x.numpy() + k))
        t.grad = torch.cos(t.detach() + k)
        mine.step([x.grad] if k % 2 else None)
        theirs.step()
        np.testing.assert_allclose(x.numpy(), t.detach().numpy(), rtol=1e-5, atol=1e-5)


def test_training_loop_and_reset():
    @wp.kernel
    def distance(x: wp.array(dtype=wp.vec2), loss: wp.array(dtype=float)):
        d = x[wp.tid()] - wp.vec2(1.0, -2.0)
        wp.atomic_add(loss, 0, wp.dot(d, d))

    x = wp.zeros(3, dtype=wp.vec2, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    optimizer = Adam([x], lr=0.2)
    for _ in range(100):
        loss.zero_()
        with wp.Tape() as tape:
            wp.launch(distance, 3, [x], [loss])
        tape.backward(loss)
        optimizer.step([x.grad])
        tape.zero()
    np.testing.assert_allclose(x.numpy(), [[1.0, -2.0]] * 3, atol=1e-2)
    optimizer.reset_internal_state()
    assert optimizer.steps == 0


def test_half_precision_moves_by_small_steps():
    x = wp.array([1.0], dtype=wp.float16, requires_grad=True)
    x.grad.fill_(1e-4)
    Adam([x], lr=0.01).step()
    assert x.numpy()[0] == pytest.approx(0.99, abs=1e-3)


def test_what_does_not_fit():
    x = wp.zeros(3, dtype=float, requires_grad=True)
    for wrong in ([], [wp.zeros(2, dtype=float)], [wp.zeros(3, dtype=wp.float64)]):
        with pytest.raises(wp.ArrayError):
            SGD([x]).step(wrong)
    with pytest.raises(wp.ArrayError, match="floats"):
        Adam([wp.zeros(3, dtype=int)])
    with pytest.raises(wp.ArrayError, match="contiguous"):
        Adam([wp.zeros((3, 3), dtype=float)[:, 0]])
