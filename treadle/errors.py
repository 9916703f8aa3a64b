"""The exceptions that users may want to catch. Every room may raise them."""

from __future__ import annotations


class TreadleError(Exception):
    """The base of all errors that Treadle raises on purpose."""


class LaunchError(TreadleError, ValueError, TypeError, RuntimeError):
    """A kernel was launched with arguments that do not fit it. Nothing has run.

    It is a ValueError, TypeError and RuntimeError at once, since programs brought along from
    other frameworks catch one or the other.
    """


class ArrayError(TreadleError, ValueError, TypeError, RuntimeError):
    """An array cannot be made, viewed, copied or written as asked. Nothing has changed.

    Several exceptions at once, for the same reason as ``LaunchError``.
    """


class ExportError(TreadleError, BufferError, RuntimeError):
    """An array cannot be shared through DLPack as asked. The protocol wants a BufferError."""


class KernelError(TreadleError, RuntimeError):
    """A kernel stopped: an assertion failed, or in debug mode an index was out of range."""


class OverwriteError(TreadleError, RuntimeError):
    """Memory that the gradient needs was overwritten."""
