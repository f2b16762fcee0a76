"""Signals reach the script once, end it as they would have, and do not keep the parent from its report."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from watching import ENVIRONMENT, Watched, finish, lives, plain, started, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

# Signals 32 and 33 are glibc's own, which its posix_spawn sets to "ignored"; it handles them with the first thread.
MASKS = """\
import re
status = open("/proc/self/status").read()
for name, mask in re.findall(r"(SigPnd|ShdPnd|SigBlk|SigIgn|SigCgt):\\s*(\\w+)", status):
    print(name, hex(int(mask, 16) & ~(3 << 31)))
"""
COUNTING = """\
import os, signal, sys, time
seen = []
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), lambda number, frame: seen.append(signal.Signals(number).name))
print("ready", os.getpid(), flush=True)
while len(seen) < len(sys.argv) - 1:
    time.sleep(0.01)
time.sleep(0.1)
print(*seen, flush=True)
"""
WAITING = """\
import os, time
try:
    print("ready", os.getpid(), flush=True)
    time.sleep(60)
finally:
    print("cleaned up", flush=True)
"""


@pytest.fixture
def watched(tmp_path):
    (tmp_path / "record").mkdir()
    (tmp_path / "masks.py").write_text(MASKS, encoding="utf-8")
    (tmp_path / "counting.py").write_text(COUNTING, encoding="utf-8")
    (tmp_path / "waiting.py").write_text(WAITING, encoding="utf-8")
    return Watched(tmp_path / "record")


def ready(process):
    """The script's pid, once it has said that it runs."""
    line = process.stdout.readline().split()
    assert line[:1] == ["ready"]
    return int(line[1])


PLATFORMS = [{}, {"DRIVE_WITHOUT": "sigtimedwait"}]


@pytest.mark.parametrize("env", PLATFORMS, ids=["linux", "without-si-code"])
@pytest.mark.parametrize("ignored", ["", "trap '' HUP INT USR1;"], ids=["", "ignored"])
def test_the_script_inherits_the_dispositions_of_plain_python(env, ignored, tmp_path, watched):
    def under_shell(command):
        return finish(["bash", "-c", f'{ignored} exec "$@"', "-", *command], tmp_path, env)

    expected = under_shell(plain("masks.py"))
    assert b"SigBlk" in expected[1]
    assert under_shell(watched.command("masks.py")) == expected


@pytest.mark.parametrize("env", PLATFORMS, ids=["linux", "without-si-code"])
def test_signals_sent_to_the_parent_reach_the_script_once(env, tmp_path, watched):
    names = ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGCONT"]
    with started(watched.command("counting.py", *names), tmp_path, env) as process:
        ready(process)
        for name in names:
            process.send_signal(getattr(signal, name))
            time.sleep(0.03)
        output, errors = process.communicate(timeout=20)
    assert (output.split(), errors, process.returncode) == (names, "", 0)
    assert watched.ended["interrupted"] is True


@pytest.mark.parametrize("env", PLATFORMS, ids=["linux", "without-si-code"])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
def test_the_parent_ends_by_the_signal_that_ended_the_script(name, env, tmp_path, watched):
    number = getattr(signal, name)

    def ended(command):
        with started(command, tmp_path, env) as process:
            ready(process)
            time.sleep(0.1)  # until it sleeps: the traceback shows where the signal came
            process.send_signal(number)
            output, errors = process.communicate(timeout=20)
        return process.returncode, output, errors

    expected = ended(plain("waiting.py"))
    assert expected[0] == -number
    assert ended(watched.command("waiting.py")) == expected
    assert watched.ended["returncode"] == -number


def test_signals_sent_to_the_whole_group_reach_the_script_once(tmp_path, watched):
    """torchrun, `timeout` and SLURM do so; the script has it already, and is not to get another from us."""
    names = ["SIGTERM", "SIGINT", "SIGINT", "SIGUSR1", "SIGTERM", "SIGTERM"]
    with started(watched.command("counting.py", *names), tmp_path) as process:
        ready(process)
        for name, to_group in zip(names, [True, True, False, False, True, False], strict=True):
            (os.killpg if to_group else os.kill)(process.pid, getattr(signal, name))
            time.sleep(0.1)
        output, errors = process.communicate(timeout=20)
    assert (output.split(), errors, process.returncode) == (names, "", 0)


def test_without_a_witness_signals_are_passed_on_all_the_same(tmp_path, watched):
    with started(watched.command("counting.py", "SIGTERM"), tmp_path, {"DRIVE_WITHOUT_CAT": "1"}) as process:
        ready(process)
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=20)[0].split() == ["SIGTERM"]


def test_the_witness_ends_with_us_however_that_is(tmp_path, watched):
    with started(watched.command("waiting.py"), tmp_path) as process:
        script = ready(process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        (witness,) = {int(child) for child in children} - {script}
        process.kill()
        process.wait()
        assert wait_until(lambda: not lives(witness))


class Terminal:
    """A command in a session of its own, with a terminal as its standard streams and controlling terminal."""

    def __init__(self, command, cwd, env=None):
        self.master, slave = pty.openpty()
        takes_terminal = (
            "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", takes_terminal, *command],
            cwd=cwd,
            env={**ENVIRONMENT, **(env or {})},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.shown = b""

    def read_until(self, text):
        while text not in self.shown:
            try:
                self.shown += os.read(self.master, 4096)
            except OSError:
                break
        assert text in self.shown

    def type(self, text):
        os.write(self.master, text)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 9)
        self.process.wait()
        os.close(self.master)


@pytest.mark.parametrize("env", PLATFORMS, ids=["linux", "without-si-code"])
def test_ctrl_c_reaches_the_script_once_and_the_parent_goes_on_to_its_report(env, tmp_path, watched):
    with Terminal(watched.command("counting.py", "SIGINT"), tmp_path, env) as terminal:
        terminal.read_until(b"ready")
        terminal.type(b"\x03")
        assert terminal.process.wait(20) == 0
        terminal.read_until(b"SIGINT\r\n")
    assert b"SIGINT SIGINT" not in terminal.shown
    assert watched.ended["interrupted"] is True


def test_after_a_ctrl_c_a_signal_to_the_parent_alone_is_still_passed_on(tmp_path, watched):
    with Terminal(watched.command("counting.py", "SIGINT", "SIGINT"), tmp_path) as terminal:
        terminal.read_until(b"ready")
        terminal.type(b"\x03")
        time.sleep(0.2)
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.process.wait(20) == 0
        terminal.read_until(b"SIGINT SIGINT\r\n")
    assert b"SIGINT SIGINT SIGINT" not in terminal.shown


def test_ctrl_backslash_ends_the_script_and_not_the_report(tmp_path, watched):
    with Terminal(watched.command("waiting.py"), tmp_path) as terminal:
        terminal.read_until(b"ready")
        terminal.type(b"\x1c")
        assert terminal.process.wait(20) == -signal.SIGQUIT
    assert watched.ended["returncode"] == -signal.SIGQUIT
    assert watched.ended["interrupted"] is False


def test_a_terminal_stays_one(tmp_path, watched):
    (tmp_path / "tty.py").write_text(
        "import os\n"
        "print([os.isatty(number) for number in range(3)], os.getpgrp() == os.tcgetpgrp(0))\n"
        "print('got', input('? '))\n",
        encoding="utf-8",
    )
    with Terminal(watched.command("tty.py"), tmp_path) as terminal:
        terminal.read_until(b"[True, True, True] True\r\n? ")
        terminal.type(b"yes\n")
        terminal.read_until(b"got yes")
        assert terminal.process.wait(20) == 0


def test_a_second_ctrl_c_ends_the_report(tmp_path, watched):
    with started(watched.command("waiting.py"), tmp_path, {"DRIVE_REPORT_S": "30"}) as process:
        ready(process)
        process.send_signal(signal.SIGINT)
        assert wait_until(watched.result.exists)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=10)
    assert process.returncode == -signal.SIGINT


@pytest.mark.parametrize(("env", "survives"), [({"RANK": "0"}, False), ({}, True)], ids=["rank", "alone"])
def test_a_rank_does_not_outlive_a_killed_parent(env, survives, tmp_path, watched):
    with started(watched.command("waiting.py"), tmp_path, env) as process:
        pid = ready(process)
        process.kill()
        process.wait()
        assert wait_until(lambda: not lives(pid), 0.5 if survives else 10) is not survives


def test_what_the_script_leaves_running_does_not_hold_us(tmp_path, watched):
    (tmp_path / "server.py").write_text(
        "import subprocess, sys\n"
        "server = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True,\n"
        "    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "print(server.pid)\n",
        encoding="utf-8",
    )
    since = time.monotonic()
    status, output, _ = finish(watched.command("server.py"), tmp_path)
    server = int(output)
    try:
        assert (status, lives(server)) == (0, True)
        assert time.monotonic() - since < 30
    finally:
        os.kill(server, signal.SIGKILL)


def test_a_child_that_dies_while_its_status_would_be_thrown_away_is_still_seen(tmp_path, watched):
    ignoring = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    )
    (tmp_path / "three.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    assert finish(plain("-c", ignoring, *watched.command("three.py")), tmp_path)[0] == 3


def test_a_killed_scripts_core_file_is_not_followed_by_ours(tmp_path, watched):
    (tmp_path / "abort.py").write_text("import os; os.abort()\n", encoding="utf-8")
    Path(tmp_path / "driver.py").write_text(
        "import resource, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from torchperf_lint.runtime import signals\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)\n"
        "signals.os.kill = lambda pid, number: print(number, resource.getrlimit(resource.RLIMIT_CORE)[0], flush=True)\n"
        "signals.end_like(-6)\n",
        encoding="utf-8",
    )
    assert finish(plain("driver.py"), tmp_path) == (128 + 6, b"6 0\n", b"")
