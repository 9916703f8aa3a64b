"""Optimisers of arrays: each ``step`` moves the parameters against their gradients."""

from __future__ import annotations

from treadle.optim.adam import Adam as Adam
from treadle.optim.sgd import SGD as SGD
