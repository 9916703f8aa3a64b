"""C++ text for ``func_native``: types, and a function that takes a block of memory apart and calls the snippet.

The block holds the leaves of the arguments and then room for those of the results, each at the next
multiple of 8 bytes, array handles as data pointer, extents and strides; see ``codegen/native.py``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from treadle.types import scalars
from treadle.types.layout import leaves
from treadle.types.storage import ArrayRef, StorageType

_SCALARS = {
    scalars.bool_: "bool", scalars.int8: "int8_t", scalars.int16: "int16_t", scalars.int32: "int32_t",
    scalars.int64: "int64_t", scalars.uint8: "uint8_t", scalars.uint16: "uint16_t", scalars.uint32: "uint32_t",
    scalars.uint64: "uint64_t", scalars.float16: "_Float16", scalars.float32: "float", scalars.float64: "double",
}  # fmt: skip

PRELUDE = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
using std::abs; using std::fabs; using std::sqrt; using std::cbrt; using std::exp; using std::log; using std::pow;
using std::sin; using std::cos; using std::tan; using std::asin; using std::acos; using std::atan; using std::atan2;
using std::sinh; using std::cosh; using std::tanh; using std::floor; using std::ceil;
using std::isnan; using std::isinf;
template <class T> inline T min(T a, T b) { return b < a ? b : a; }
template <class T> inline T max(T a, T b) { return a < b ? b : a; }

// Vectors, quaternions and transforms: N components. Matrices: R rows of C components.
template <int N, class T> struct Vector {
    T c[N];
    T& operator[](int64_t i) { return c[i]; }
    const T& operator[](int64_t i) const { return c[i]; }
};
template <int R, int C, class T> struct Matrix {
    T c[R * C];
    T& operator()(int64_t i, int64_t j) { return c[i * C + j]; }
    const T& operator()(int64_t i, int64_t j) const { return c[i * C + j]; }
    T* operator[](int64_t i) { return c + i * C; }
    const T* operator[](int64_t i) const { return c + i * C; }
};
template <int N, class T> inline Vector<N, T> operator+(Vector<N, T> a, Vector<N, T> b) {
    for (int i = 0; i < N; ++i) a[i] += b[i];
    return a;
}
template <int N, class T> inline Vector<N, T> operator-(Vector<N, T> a, Vector<N, T> b) {
    for (int i = 0; i < N; ++i) a[i] -= b[i];
    return a;
}
template <int N, class T> inline Vector<N, T> operator*(Vector<N, T> a, T s) {
    for (int i = 0; i < N; ++i) a[i] *= s;
    return a;
}
template <int N, class T> inline Vector<N, T> operator*(T s, Vector<N, T> a) { return a * s; }
template <int N, class T> inline Vector<N, T>& operator+=(Vector<N, T>& a, Vector<N, T> b) { return a = a + b; }

// Arrays of up to four dimensions, with strides in bytes.
template <class T, int N> struct Array {
    char* data;
    int64_t shape[N], strides[N];
    Array<T, N - 1> operator[](int64_t i) const {
        Array<T, N - 1> row;
        row.data = data + i * strides[0];
        for (int k = 1; k < N; ++k) { row.shape[k - 1] = shape[k]; row.strides[k - 1] = strides[k]; }
        return row;
    }
    template <class... I> auto& operator()(int64_t i, I... rest) const { return (*this)[i](rest...); }
};
template <class T> struct Array<T, 1> {
    char* data;
    int64_t shape[1], strides[1];
    T& operator[](int64_t i) const { return *reinterpret_cast<T*>(data + i * strides[0]); }
    T& operator()(int64_t i) const { return (*this)[i]; }
};

template <class T> inline T atomicAdd(T* address, T value) {
    T old, sum;
    __atomic_load(address, &old, __ATOMIC_RELAXED);
    do {
        sum = old + value;
    } while (!__atomic_compare_exchange(address, &old, &sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}
"""


def type_name(type_: Any, structs: dict[Any, str]) -> str:
    """The C++ type of a language type; definitions of structs are entered into ``structs``.

    Raises:
        TypeError: bfloat16, which C++ does not have.
    """
    if scalars.is_scalar(type_):
        if type_ not in _SCALARS:
            raise TypeError(f"{type_!r} cannot be used in native code")
        return _SCALARS[type_]
    if type_.kind == "array":
        return f"Array<{type_name(type_.dtype, structs)}, {type_.ndim}>"
    if type_.kind == "struct":
        if any(t.kind == "array" for t in type_.fields.values()):
            raise TypeError(f"the struct {type_.__name__} has arrays as members, which native code cannot have")
        if type_ not in structs:
            members = "".join(f"{type_name(t, structs)} {name}; " for name, t in type_.fields.items())
            structs[type_] = f"struct {type_.__name__} {{ {members}}};"
        return str(type_.__name__)
    scalar = type_name(type_.dtype, structs)
    if type_.kind == "mat":
        return f"Matrix<{type_.shape[0]}, {type_.shape[1]}, {scalar}>"
    return f"Vector<{type_.length}, {scalar}>"


def leaf_size(type_: StorageType) -> int:
    """The bytes that a leaf takes in the block."""
    return 8 * (1 + 2 * type_.ndim) if isinstance(type_, ArrayRef) else -(-type_.size // 8) * 8


def block_size(types: Sequence[StorageType]) -> int:
    """The bytes of a block of these leaves."""
    return sum(map(leaf_size, types))


def native_function(
    name: str,
    snippet: str,
    inputs: Sequence[tuple[str, Any]],
    accumulated: Sequence[tuple[str, Any]],
    result: Any,
) -> tuple[str, str]:
    """The C++ text of one function, and its symbol, which tells the text.

    ``inputs``: names and types of what the snippet finds. ``accumulated``: of what it adds to, which
    starts as zero and is given back. ``result``: the type that it returns, or None.
    """
    structs: dict[Any, str] = {}
    typed = [(n, type_name(t, structs), t) for n, t in inputs]
    sums = [(n, type_name(t, structs), t) for n, t in accumulated]
    returned = "void" if result is None else type_name(result, structs)
    parameters = ", ".join([*(f"{t} {n}" for n, t, _ in typed), *(f"{t}& {n}" for n, t, _ in sums)])
    body = f"static inline {returned} body({parameters}) {{\n{snippet}\n}}\n"
    lines, position = [], 0
    for n, t, type_ in typed:
        lines.append(f"    {t} {n};")
        position = _copy(lines, n, type_, position, store=False)
    lines += [f"    {t} {n}; std::memset(&{n}, 0, sizeof {n});" for n, t, _ in sums]
    call = f"body({', '.join(n for n, _, _ in (*typed, *sums))});"
    lines.append(f"    {call}" if result is None else f"    {returned} treadle_result = {call}")
    if result is not None:
        position = _copy(lines, "treadle_result", result, position, store=True)
    for n, _, type_ in sums:
        position = _copy(lines, n, type_, position, store=True, floats_only=True)
    text = PRELUDE + "\n".join(structs.values()) + "\nnamespace {\n" + body + "}\n"
    steps = "\n".join(lines)
    symbol = f"treadle_{name}_{hashlib.sha256((text + steps).encode()).hexdigest()[:24]}"
    return f'{text}extern "C" void {symbol}(char* block) {{\n{steps}\n}}\n', symbol


def _copy(lines: list[str], name: str, type_: Any, position: int, store: bool, floats_only: bool = False) -> int:
    """Copy the leaves of a variable from the block, or to it; returns the position after them."""
    for leaf in leaves(type_):
        place = f"reinterpret_cast<char*>(&{name}) + {_offset_of(type_, leaf)}"
        if isinstance(leaf.type, ArrayRef):
            if not store:
                lines.append(f"    std::memcpy({place}, block + {position}, {leaf_size(leaf.type)});")
                position += leaf_size(leaf.type)
            continue
        scalar: Any = getattr(leaf.type, "scalar", leaf.type)
        if floats_only and not scalar.is_float:
            continue
        source, target = (place, f"block + {position}") if store else (f"block + {position}", place)
        lines.append(f"    std::memcpy({target}, {source}, {leaf.type.size});")
        position += leaf_size(leaf.type)
    return position


def _offset_of(type_: Any, leaf: Any) -> int:
    return 0 if isinstance(leaf.type, ArrayRef) else int(leaf.offset)
