"""The standard library: built-in functions written in the kernel language.

Importing this package declares them all in ``treadle.language.builtins.BUILTINS``.
"""

from treadle.language.stdlib import checks as checks
from treadle.language.stdlib import componentwise as componentwise
from treadle.language.stdlib import decompositions as decompositions
from treadle.language.stdlib import error_functions as error_functions
from treadle.language.stdlib import geometry as geometry
from treadle.language.stdlib import matrices as matrices
from treadle.language.stdlib import noise as noise
from treadle.language.stdlib import norms as norms
from treadle.language.stdlib import products as products
from treadle.language.stdlib import quaternions as quaternions
from treadle.language.stdlib import random as random
from treadle.language.stdlib import rotations as rotations
from treadle.language.stdlib import sampling as sampling
from treadle.language.stdlib import scalars as scalars
from treadle.language.stdlib import search as search
from treadle.language.stdlib import transforms as transforms
from treadle.language.stdlib import vectors as vectors
