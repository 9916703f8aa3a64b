"""The demo: 2,000 thrown balls, and gradient descent that finds the throws that hit given targets.

``python -m treadle demo`` runs it. It needs NumPy and llvmlite alone, and matplotlib for the picture.
"""

from __future__ import annotations

from treadle.demo.main import Settings as Settings
from treadle.demo.main import run as run
