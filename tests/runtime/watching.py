"""Runs the same words under plain Python and under the launcher, for tests that hold one against the other."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from torchperf_lint.runtime import request

DRIVE = Path(__file__).with_name("drive.py")
FIXTURES = Path(__file__).parents[2] / "fixtures" / "launch"
_OURS = ("PYTHONPATH", "RANK", "WORLD_SIZE", request.VARIABLE)
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in _OURS}


class Watched:
    """The launcher as a command, and what it left in `directory`."""

    def __init__(self, directory):
        self.events = directory / "run.events.jsonl"
        self.result = directory / "result.json"

    def command(self, *words, flags=()):
        return [sys.executable, *flags, str(DRIVE), str(self.events), str(self.result), *words]

    @property
    def ended(self):
        return json.loads(self.result.read_text(encoding="utf-8"))


def plain(*words, flags=()):
    return [sys.executable, *flags, *words]


def finish(command, cwd, env=None, stdin=b""):
    """(exit status, standard output, standard error) of a command."""
    done = subprocess.run(
        command, cwd=cwd, env={**ENVIRONMENT, **(env or {})}, input=stdin, capture_output=True, timeout=60, check=False
    )
    return done.returncode, done.stdout, done.stderr


@contextlib.contextmanager
def started(command, cwd, env=None):
    """A running command; its group is killed at the end."""
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env={**ENVIRONMENT, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.communicate()


def lives(pid):
    """Whether a process runs; one that ended and waits to be reaped does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_until(condition, patience_s=10.0):
    """Whether `condition()` came true within the patience."""
    end = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
