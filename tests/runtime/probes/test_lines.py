"""Which lines ran, in scripts that say on each line how often it does. Each Python that is found runs them."""

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from torchperf_lint import events

ROOT = Path(__file__).parents[3]
DRIVE = Path(__file__).with_name("lines_drive.py")
MONITORED, TRACED = ("3.12", "3.13"), ("3.10", "3.11")

WHOLE_RUN = """\
import multiprocessing  # ran: 1
from torchperf_lint.runtime import session  # ran: 1

def add(values):  # ran: 1
    total = 0  # ran: 2
    for value in values:  # ran: 3
        total += value  # ran: 3
        if value > 100:  # ran: 3
            total = 0  # ran: 0
    return total  # ran: 2

def never():  # ran: 1
    return 1  # ran: 0

# Each worker counts for itself, from when it is one: a line that ran once in both ran once.
def in_worker(times):  # ran: 1
    session.running[0].recorder.muted = True
    for _ in range(times):  # ran: 3
        pass  # ran: 3
    if times > 100:  # ran: 1
        raise ValueError  # ran: 0
    session.running[0].recorder.flush()  # ran: 1

class Thing:  # ran: 1
    size = 3  # ran: 1

    @property  # ran: 2
    def twice(self):
        return self.size * 2  # ran: 1

def batches():  # ran: 1
    for number in range(5):  # ran: 3
        yield number  # ran: 3

if __name__ == "__main__":  # ran: 1
    context = multiprocessing.get_context("fork")  # ran: 1
    for _ in range(2):  # ran: 3
        child = context.Process(target=in_worker, args=(4,))  # ran: 2
        child.start()  # ran: 2
        child.join()  # ran: 2
    print(add([1, 2, 3]), add([4]), Thing().twice, list(batches()))  # ran: 1
"""

SPAWNS = """\
import multiprocessing
if __name__ == "__main__":
    child = multiprocessing.get_context("spawn").Process(target=int)
    child.start()
    child.join()
"""

WARM_UP = """\
import sys
from torchperf_lint.runtime import session

timeline = session.running[0].timeline

def step(number):
    timeline.step_begins(None)
    late = number * 2  # ran: 3
    if number == 1:  # ran: 3
        late += 1  # ran: 1
    if number > 5:  # ran: 3
        late += 2
    timeline.step_ends(None, 1)  # ran: 3
    return late

def traced_frames():
    frame = sys._getframe()
    while frame is not None:
        yield frame.f_trace
        frame = frame.f_back

for number in range(10):  # ran: 2
    step(number)  # ran: 2
print(sys.gettrace(), set(traced_frames()))
"""


@functools.cache
def interpreter(version):
    """A Python of this version, or None; a version manager's stand-in is told which one is meant."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    found = shutil.which(f"python{version}")
    if found is None:
        return None
    asked = [found, "-c", "import sys; print(sys.executable)"]
    done = subprocess.run(
        asked, env={**os.environ, "PYENV_VERSION": version}, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or None


@pytest.fixture
def run(tmp_path):
    """Runs a script under the drive: (what was recorded, what the script printed)."""

    def run(version, text, *problem):
        python = interpreter(version)
        if python is None:
            pytest.skip(f"needs Python {version}")
        script, path = tmp_path / "script.py", tmp_path / "run.events.jsonl"
        script.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [python, str(DRIVE), str(path), str(script), *problem],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return events.read(str(path)), done.stdout

    return run


def said(text):
    """Line -> how often it says it runs."""
    marks = {number: re.search(r"# ran: (\d)", line) for number, line in enumerate(text.splitlines(), 1)}
    return {number: int(mark[1]) for number, mark in marks.items() if mark}


def seen(recorded, path="script.py"):
    return {number: recorded.lines[path]["ran"].get(number, 0) for number in said(WHOLE_RUN)}


@pytest.mark.parametrize("version", MONITORED)
def test_every_line_of_the_run_is_known(run, version):
    recorded, printed = run(version, WHOLE_RUN)
    assert printed == "6 4 6 [0, 1, 2, 3, 4]\n"
    assert seen(recorded) == said(WHOLE_RUN)
    assert recorded.lines["script.py"]["complete"] is True
    assert recorded.lines["script.py"]["cap"] == 3
    assert list(recorded.lines) == ["script.py"]


@pytest.mark.parametrize("version", MONITORED)
def test_processes_that_cannot_tell_leave_the_rest_unknown(run, version):
    recorded, _ = run(version, SPAWNS)
    assert recorded.lines["script.py"] == {"complete": False, "cap": 3, "ran": {1: 1, 2: 1, 3: 1, 4: 1, 5: 1}}


@pytest.mark.parametrize("version", MONITORED)
def test_where_every_tool_number_is_taken_it_says_so(run, version):
    recorded, printed = run(version, WHOLE_RUN, "taken")
    assert recorded.probes["lines"]["reason"] == "every tool number of sys.monitoring is taken"
    assert recorded.lines == {}
    assert printed == "6 4 6 [0, 1, 2, 3, 4]\n"


@pytest.mark.parametrize("version", MONITORED)
def test_a_failure_while_monitoring_stays_with_us(run, version):
    recorded, printed = run(version, WHOLE_RUN, "broken")
    assert printed == "6 4 6 [0, 1, 2, 3, 4]\n"
    assert recorded.probes["lines"]["state"] == "failed"
    assert recorded.lines == {}


@pytest.mark.parametrize("version", TRACED)
def test_the_warm_up_is_traced_and_nothing_after_it(run, version):
    recorded, printed = run(version, WARM_UP)
    assert printed == "None {None}\n"
    expected = said(WARM_UP)
    ran = recorded.lines["script.py"]["ran"]
    assert {number: times for number, times in ran.items() if number in expected} == expected
    assert recorded.lines["script.py"]["complete"] is False
    assert max(ran.values()) == 3


@pytest.mark.parametrize("version", TRACED)
def test_a_debugger_or_coverage_tool_wins(run, version):
    recorded, printed = run(version, WARM_UP, "traced")
    assert printed.startswith("<function debugger")
    assert recorded.lines == {}
    assert "a debugger or a coverage tool" in recorded.probes["lines"]["reason"]


@pytest.mark.parametrize("version", TRACED)
def test_a_failure_while_tracing_stays_with_us(run, version):
    recorded, printed = run(version, WARM_UP, "broken")
    assert printed == "None {None}\n"
    assert recorded.probes["lines"]["state"] == "failed"
    assert "ZeroDivisionError" in recorded.probes["lines"]["reason"]
