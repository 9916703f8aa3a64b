"""The types of the kernel language: scalars, composites, structs and array annotations.

``vector``, ``matrix``, ``quaternion`` and ``transformation`` make types; ``NAMES`` has those with a
name. This room imports nothing from the rest of the package.
"""

from __future__ import annotations

from typing import Any as Any

from treadle.types.arrays import MAX_NDIM as MAX_NDIM
from treadle.types.arrays import ArrayType as ArrayType
from treadle.types.arrays import array_type as array_type
from treadle.types.brainfloat import BFloat16 as BFloat16
from treadle.types.brainfloat import bfloat16_bits as bfloat16_bits
from treadle.types.brainfloat import bfloat16_values as bfloat16_values
from treadle.types.composites import Composite as Composite
from treadle.types.composites import CompositeMeta as CompositeMeta
from treadle.types.convert import converter as converter
from treadle.types.convert import is_number as is_number
from treadle.types.convert import is_sequence as is_sequence
from treadle.types.generics import AnyScalar as AnyScalar
from treadle.types.generics import Float as Float
from treadle.types.generics import GenericType as GenericType
from treadle.types.generics import Int as Int
from treadle.types.generics import Marker as Marker
from treadle.types.generics import is_generic as is_generic
from treadle.types.generics import matches as matches
from treadle.types.indexed import indexed_elements as indexed_elements
from treadle.types.indexed import indexed_type as indexed_type
from treadle.types.layout import Leaf as Leaf
from treadle.types.layout import leaf_values as leaf_values
from treadle.types.layout import leaves as leaves
from treadle.types.layout import size_of as size_of
from treadle.types.matrices import Matrix as Matrix
from treadle.types.matrices import mat as mat
from treadle.types.matrices import matrix as matrix
from treadle.types.names import NAMES as NAMES
from treadle.types.quaternions import Quaternion as Quaternion
from treadle.types.quaternions import Transformation as Transformation
from treadle.types.quaternions import quaternion as quaternion
from treadle.types.quaternions import transformation as transformation
from treadle.types.queries import is_array as is_array
from treadle.types.queries import is_composite as is_composite
from treadle.types.queries import is_float as is_float
from treadle.types.queries import is_int as is_int
from treadle.types.queries import is_matrix as is_matrix
from treadle.types.queries import is_quaternion as is_quaternion
from treadle.types.queries import is_struct as is_struct
from treadle.types.queries import is_transformation as is_transformation
from treadle.types.queries import is_value as is_value
from treadle.types.queries import is_vector as is_vector
from treadle.types.queries import type_is_array as type_is_array
from treadle.types.queries import type_is_composite as type_is_composite
from treadle.types.queries import type_is_float as type_is_float
from treadle.types.queries import type_is_int as type_is_int
from treadle.types.queries import type_is_matrix as type_is_matrix
from treadle.types.queries import type_is_quaternion as type_is_quaternion
from treadle.types.queries import type_is_scalar as type_is_scalar
from treadle.types.queries import type_is_struct as type_is_struct
from treadle.types.queries import type_is_transformation as type_is_transformation
from treadle.types.queries import type_is_value as type_is_value
from treadle.types.queries import type_is_vector as type_is_vector
from treadle.types.queries import type_length as type_length
from treadle.types.queries import type_repr as type_repr
from treadle.types.queries import type_scalar_type as type_scalar_type
from treadle.types.queries import type_size as type_size
from treadle.types.queries import type_size_in_bytes as type_size_in_bytes
from treadle.types.queries import types_equal as types_equal
from treadle.types.scalars import FLOATS as FLOATS
from treadle.types.scalars import SCALARS as SCALARS
from treadle.types.scalars import SIGNED as SIGNED
from treadle.types.scalars import UNSIGNED as UNSIGNED
from treadle.types.scalars import ScalarMeta as ScalarMeta
from treadle.types.scalars import bfloat16 as bfloat16
from treadle.types.scalars import bool_ as bool_
from treadle.types.scalars import float16 as float16
from treadle.types.scalars import float32 as float32
from treadle.types.scalars import float64 as float64
from treadle.types.scalars import from_annotation as from_annotation
from treadle.types.scalars import int8 as int8
from treadle.types.scalars import int16 as int16
from treadle.types.scalars import int32 as int32
from treadle.types.scalars import int64 as int64
from treadle.types.scalars import is_scalar as is_scalar
from treadle.types.scalars import uint8 as uint8
from treadle.types.scalars import uint16 as uint16
from treadle.types.scalars import uint32 as uint32
from treadle.types.scalars import uint64 as uint64
from treadle.types.storage import ARRAY_DESCRIPTOR_SIZE as ARRAY_DESCRIPTOR_SIZE
from treadle.types.storage import LARGE as LARGE
from treadle.types.storage import Aggregate as Aggregate
from treadle.types.storage import ArrayRef as ArrayRef
from treadle.types.storage import StorageType as StorageType
from treadle.types.structs import Struct as Struct
from treadle.types.structs import StructMeta as StructMeta
from treadle.types.structs import struct as struct
from treadle.types.values import to_python as to_python
from treadle.types.values import type_of as type_of
from treadle.types.vectors import Vector as Vector
from treadle.types.vectors import vec as vec
from treadle.types.vectors import vector as vector

Scalar = AnyScalar
"""The generic annotation; the base class of the scalar types is ``scalars.Scalar``."""

globals().update(NAMES)  # vec3, mat44d, quat, …
