"""The tape: recording, versions of memory that is overwritten, and the backward pass."""

from treadle.tape.tape import Tape as Tape
