"""The standard library: built-in functions written in the kernel language.

Importing this package declares them all in ``treadle.language.builtins.BUILTINS``.
"""

from treadle.language.stdlib import products as products
