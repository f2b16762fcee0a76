"""Runs a script with its lines watched, on any Python: `lines_drive.py EVENTS SCRIPT [PROBLEM]`."""

import os
import runpy
import sys
from pathlib import Path

from torchperf_lint.runtime import session
from torchperf_lint.runtime.probes import lines
from torchperf_lint.runtime.sites import Sites


def break_it():
    Sites.kind_of = lambda self, filename: 1 / 0


def take_every_tool():
    for number in range(6):
        if sys.monitoring.get_tool(number) is None:
            sys.monitoring.use_tool_id(number, "somebody else")


def debugger(*args):
    return None


def trace():
    sys.settrace(debugger)


PROBLEMS = {"broken": break_it, "taken": take_every_tool, "traced": trace}

if __name__ == "__main__":
    events, script, *problems = sys.argv[1:]
    for problem in problems:
        PROBLEMS[problem]()
    spec = {"events": events, "owner_pid": os.getppid(), "project_root": str(Path(script).parent), "warmup": 3}
    watched = session.prepare(spec)
    watched.installed(lines.NAME, lines.install(watched, None))
    runpy.run_path(script, run_name="__main__")
