"""Runs the check of a program in a process of its own, so that a crash or a hang is an answer like others."""

from __future__ import annotations

import os
import pickle
import select
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.check import Fault, Outcome, check_source
from treadle import config
from treadle.passes import pipeline

LIMIT = 60.0
"""Seconds after which a program counts as hanging."""


@dataclass
class Verdict:
    """What became of a program. ``fault`` names the kind of fault, ``message`` says more; both empty if it is right."""

    outcome: Outcome
    fault: str = ""
    message: str = ""


def judge(source: str, limit: float = LIMIT) -> Verdict:
    """Check a program in a child process."""
    reader, writer = os.pipe()
    folder = tempfile.mkdtemp(prefix="fuzz")
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reader)
        status = 1
        try:
            os.write(writer, pickle.dumps(_verdict(source, Path(folder))))
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    try:
        return _await(child, reader, limit)
    finally:
        os.close(reader)
        shutil.rmtree(folder, ignore_errors=True)


def _await(child: int, reader: int, limit: float) -> Verdict:
    ready, _, _ = select.select([reader], [], [], limit)
    if not ready:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return Verdict(Outcome(), "hang", f"no answer after {limit} seconds")
    answer = b""
    while part := os.read(reader, 65536):
        answer += part
    _, status = os.waitpid(child, 0)
    if not answer:
        return Verdict(Outcome(), "crash", f"the process ended with status {status} (signal {os.WTERMSIG(status)})")
    return pickle.loads(answer)  # type: ignore[no-any-return]


def _verdict(source: str, folder: Path) -> Verdict:
    config.kernel_cache_dir = str(folder / "cache")
    pipeline.VERIFY = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Verdict(check_source(source, folder))
    except Fault as fault:
        return Verdict(Outcome(), fault.kind, fault.message)
    except Exception as error:  # noqa: BLE001  (whatever it raises is the finding)
        where = traceback.extract_tb(error.__traceback__)[-1].name
        text = traceback.format_exc(limit=-6)
        return Verdict(Outcome(), f"{type(error).__name__} in {where}", f"{error}\n{text}"[:4000])
