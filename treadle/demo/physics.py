"""The thrown balls, in the kernel language: one step of flight, a whole throw, and the loss.

A ball flies with gravity and quadratic air drag and bounces off the ground until it comes to rest. The
moment of an impact is found within its time step: where a ball stops is then a smooth function of its
throw, up to what a bounce more or less changes, and gradients can be followed over many bounces.
"""

from __future__ import annotations

import treadle as wp

GRAVITY = wp.constant(wp.vec3d(0.0, 0.0, -9.81))  # m/s²
DRAG = wp.constant(wp.float64(0.015))  # 1/m: deceleration by the air is DRAG · speed²
BOUNCE = wp.constant(wp.vec3d(0.7, 0.7, -0.7))  # what a bounce makes of each component of the velocity
REST_SPEED = wp.constant(wp.float64(0.5))  # m/s: a ball that leaves the ground slower than this stays there
HAND = wp.constant(wp.vec3d(0.0, 0.0, 1.5))  # m: where all balls are thrown from


@wp.func
def advance(position: wp.vec3d, velocity: wp.vec3d, dt: wp.float64):
    """One time step. Returns the new position and velocity, and whether the ball has come to rest."""
    acceleration = GRAVITY - DRAG * wp.length(velocity) * velocity
    next_velocity = velocity + dt * acceleration
    next_position = position + dt * next_velocity
    resting = False
    if next_position[2] < 0.0:
        before = dt * position[2] / (position[2] - next_position[2])
        after = dt - before
        impact = position + before * next_velocity
        bounced = wp.cw_mul(BOUNCE, velocity + before * acceleration)
        next_velocity = bounced + after * GRAVITY
        next_position = impact + after * next_velocity
        next_position[2] = wp.max(next_position[2], 0.0)  # the last small bounces are shorter than a step
        resting = wp.length(bounced) < REST_SPEED
    return next_position, next_velocity, resting


@wp.kernel
def throw(
    throws: wp.array(dtype=wp.vec3d),
    targets: wp.array(dtype=wp.vec2d),
    steps: int,
    dt: wp.float64,
    misses: wp.array(dtype=wp.float64),
    loss: wp.array(dtype=wp.float64),
):
    """Throw ball i, write its squared distance from its target, and add that to the mean."""
    i = wp.tid()
    position = HAND
    velocity = throws[i]
    for _ in range(steps):
        position, velocity, resting = advance(position, velocity, dt)
        if resting:
            break
    miss = wp.length_sq(wp.vec2d(position[0], position[1]) - targets[i])
    misses[i] = miss
    wp.atomic_add(loss, 0, miss / wp.float64(throws.shape[0]))


@wp.kernel
def trace(
    throws: wp.array(dtype=wp.vec3d),
    dt: wp.float64,
    paths: wp.array2d(dtype=wp.vec3d),
    lengths: wp.array(dtype=int),
):
    """Write the path of ball i into row i, and the number of its points."""
    i = wp.tid()
    position = HAND
    velocity = throws[i]
    paths[i, 0] = position
    n = 1
    while n < paths.shape[1]:
        position, velocity, resting = advance(position, velocity, dt)
        paths[i, n] = position
        n += 1
        if resting:
            break
    lengths[i] = n


@wp.kernel
def adam_step(
    parameters: wp.array(dtype=wp.vec3d),
    gradient: wp.array(dtype=wp.vec3d),
    first: wp.array(dtype=wp.vec3d),
    second: wp.array(dtype=wp.vec3d),
    step: int,
    rate: wp.float64,
):
    """One step of the Adam optimiser; ``step`` counts from 1."""
    i = wp.tid()
    g = gradient[i]
    m = 0.9 * first[i] + 0.1 * g
    s = 0.95 * second[i] + 0.05 * wp.cw_mul(g, g)
    first[i] = m
    second[i] = s
    mean = m / (1.0 - wp.pow(wp.float64(0.9), wp.float64(step)))
    variance = s / (1.0 - wp.pow(wp.float64(0.95), wp.float64(step)))
    change = wp.vec3d()
    for k in range(3):
        change[k] = mean[k] / (wp.sqrt(variance[k]) + 1.0e-9)
    parameters[i] = parameters[i] - rate * change
