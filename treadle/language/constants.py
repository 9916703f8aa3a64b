"""Mathematical constants, under the names that programs use: ``pi`` and ``PI``, ``inf`` and ``INF``, …"""

from __future__ import annotations

import math

CONSTANTS: dict[str, float] = {
    "pi": math.pi,
    "half_pi": math.pi / 2,
    "tau": math.tau,
    "e": math.e,
    "log2e": 1.0 / math.log(2.0),
    "log10e": 1.0 / math.log(10.0),
    "ln2": math.log(2.0),
    "ln10": math.log(10.0),
    "phi": (1.0 + math.sqrt(5.0)) / 2,
    "inf": math.inf,
    "nan": math.nan,
}
"""By name, for the package to export, in capitals too."""
CONSTANTS.update({name.upper(): value for name, value in CONSTANTS.items()})
