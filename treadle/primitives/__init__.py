"""The table of primitives: each declared once, with type rule, lowering and derivative side by side.

Importing this package fills ``treadle.ir.definitions.TABLE``.
"""

from treadle.primitives import arithmetic as arithmetic
from treadle.primitives import comparison as comparison
from treadle.primitives import components as components
from treadle.primitives import functions as functions
