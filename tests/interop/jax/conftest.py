"""Forgets what JAX has compiled after each file of tests: it adds up to gigabytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def no_compiled_programs_left() -> Iterator[None]:
    yield
    import jax

    jax.clear_caches()
