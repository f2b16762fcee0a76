"""Counts are exact, files stay small, and nothing that happens to the file reaches the script."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import tracemalloc
from pathlib import Path

import pytest
from builders import ENVIRONMENT, HEADER, Clock, Loop, recorder

from torchperf_lint.events import SUFFIX, read
from torchperf_lint.runtime import recorder as recorder_module
from torchperf_lint.runtime.recorder import Recorder
from torchperf_lint.runtime.sites import Key, Sites


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(recorder_module, "perf_counter", clock)
    return clock


def counts(run):
    return {run.events[n]["what"]: run.counts[n] for n in run.counts}


def test_the_header_is_there_at_once(tmp_path):
    made = recorder(tmp_path)
    assert read(made.path).header == {"record": "header", **HEADER, "pid": os.getpid()}


def test_figures_of_one_place_are_summed(tmp_path, clock):
    made = recorder(tmp_path)
    for index in range(10):
        made.scopes.steady = index >= 4
        made.event("copy", "h2d", ms=1.5, nbytes=100, attributes=(("pinned", False),))
    made.event("copy", "h2d", nbytes=7, attributes=(("pinned", True),))
    made.flush()
    run = read(made.path)
    pageable, pinned = run.counts[1], run.counts[2]
    assert (pageable["n"], pageable["steady"], pageable["bytes"]) == (10, 6, 1000)
    assert (pageable["ms"], pageable["steady_ms"]) == (15.0, 9.0)
    assert pinned["n"] == 1
    assert (pinned["ms"], pinned["steady_ms"]) == (None, None)
    assert [run.events[n]["pinned"] for n in (1, 2)] == [False, True]


def test_the_site_is_the_callers_line(tmp_path, clock):
    made = recorder(tmp_path)

    def probe():
        made.event("sync", "item")

    probe()
    made.flush()
    site = read(made.path).sites[1]
    assert Path(site["path"]).name == "test_recorder.py"
    assert site["function"].endswith("test_the_site_is_the_callers_line")


def test_eight_threads_lose_nothing(tmp_path):
    made = recorder(tmp_path)
    start = threading.Barrier(8)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    def work(number):
        start.wait()
        for _ in range(2000):
            made.event("sync", "shared", nbytes=1)
            made.event("sync", f"own {number}", ms=0.5)
            made.next_flush = 0.0 if _ % 100 == 0 else made.next_flush

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    made.flush()
    run = read(made.path)
    found = {}
    for number, count in run.counts.items():
        what = run.events[number]["what"]
        found[what] = found.get(what, 0) + count["n"]
    assert found == {"shared": 16000, **{f"own {n}": 2000 for n in range(8)}}
    assert sum(c.get("bytes", 0) for c in run.counts.values()) == 16000


def test_a_loop_and_events_of_other_threads_at_once(tmp_path, monkeypatch):
    """The flush of one thread must not trip over the marks of another."""
    loop = Loop(tmp_path, monkeypatch)
    stop, failed = threading.Event(), []

    def flood():
        try:
            while not stop.is_set():
                loop.event("sync")
                loop.recorder.flush()
        except RuntimeError as error:
            failed.append(error)

    thread = threading.Thread(target=flood)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        for _ in range(150):
            loop.train(loop.begin(), 2)
            loop.evaluate(2, before_stop=False)
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(before)
    assert failed == []
    run = loop.record()
    assert run.steps["steps"] == 300
    assert (run.steps["train_batches"], run.steps["eval_batches"]) == (300, 300)
    assert not [p for p in run.probes.values() if p["state"] == "failed"]


def test_flushes_about_once_a_second(tmp_path, clock):
    made = recorder(tmp_path)

    def seen():
        found = counts(read(made.path))
        return found["item"]["n"] if found else 0

    for _ in range(9):
        clock.now += 0.1
        made.event("sync", "item")
    assert seen() == 0
    clock.now += 0.2
    made.event("sync", "item")
    assert seen() == 10
    clock.now += 0.9
    made.event("sync", "item")
    assert seen() == 10
    clock.now += 0.2
    made.tick()
    assert seen() == 11


def simulate(tmp_path, monkeypatch, steps, step_s):
    """Size of the file of a run with ten places where something happens, a loader and twelve segments."""
    loop = Loop(tmp_path, monkeypatch, warmup=10)
    places = [Key(compile("0", f"module{n}.py", "exec"), 0, None, 0) for n in range(10)]
    loop.recorder.sources.append(lambda: [{"record": "loader", "id": 1, "batches": loop.timeline.batches} | FIGURES])
    iterator = loop.begin()
    timeline = loop.timeline
    for index in range(steps):
        for mark, args in (
            (timeline.fetch_begins, ()),
            (timeline.fetch_ends, (iterator, True)),
            (timeline.backward_begins, ()),
            (timeline.backward_ends, ()),
            (timeline.step_begins, ()),
            (timeline.step_ends, (1,)),
        ):
            loop.clock.now += step_s / 6 * (0.8 + (index % 17) / 40)
            mark(places[index % 2], *args)
        for place in places:
            loop.recorder.event("sync", "item", key=place, ms=0.1)
    loop.recorder.flush()
    assert len(read(loop.recorder.path).counts) == 10
    return Path(loop.recorder.path).stat().st_size


FIGURES = {f"figure_{n}_ms": 12345.678 for n in range(12)}


def test_ten_thousand_slow_steps_make_a_small_file(tmp_path, monkeypatch):
    size = simulate(tmp_path, monkeypatch, 10_000, 5.0)
    assert 10_000 < size < 1_000_000


def test_a_week_is_bounded(tmp_path, monkeypatch):
    size = simulate(tmp_path, monkeypatch, 20_000, 7 * 86400 / 20_000)
    assert size < 2_000_000


def test_memory_does_not_grow_with_events(tmp_path, clock):
    made = recorder(tmp_path)

    def work(times):
        for _ in range(times):
            made.event("sync", "item", ms=0.1, nbytes=4)
            clock.now += 0.01

    work(2000)
    tracemalloc.start()
    try:
        work(500)
        before = tracemalloc.get_traced_memory()[0]
        work(20_000)
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after - before < 20_000
    assert len(made._counters) == 3  # the three lines that call `work`


@pytest.mark.parametrize("refuses", ["full", "gone"])
def test_a_disk_that_refuses_ends_the_recording_only(tmp_path, clock, refuses):
    directory = tmp_path / "there"
    directory.mkdir()
    made = recorder(directory)
    made.event("sync", "item")
    if refuses == "full":
        made.path = "/dev/full"
        made._writer = None
    else:
        (directory / f"run{SUFFIX}").unlink()
        directory.rmdir()
    clock.now += 2
    made.event("sync", "item")
    assert made.muted
    made.event("sync", "item")
    made.note({"record": "state", "key": "a", "value": 1})
    made.flush()
    made.tick()


def test_a_disk_that_refuses_from_the_start(tmp_path):
    made = Recorder("/dev/full", HEADER, Sites(None, str(tmp_path)))
    assert made.muted
    made.event("sync", "item")


def test_what_cannot_be_written_as_json_never_reaches_the_script(tmp_path, clock):
    made = recorder(tmp_path)
    circular = []
    circular.append(circular)
    made.state("circular", circular)
    made.flush()
    made.event("sync", "item")
    made.flush()
    run = read(made.path)
    assert run.probes["recorder"]["state"] == "failed"
    assert "ValueError" in run.probes["recorder"]["reason"]


def test_a_source_that_raises_is_dropped_and_noted(tmp_path, clock):
    made = recorder(tmp_path)
    asked = []

    class Broken:
        def records(self):
            asked.append(1)
            yield {"record": "state", "key": "half", "value": 1}
            raise LookupError("no more")

    made.sources += [Broken().records, lambda: [{"record": "state", "key": "other", "value": 2}]]
    made.flush()
    made.flush()
    run = read(made.path)
    assert asked == [1]
    assert run.state == {"other": 2}
    assert run.probes["test_a_source_that_raises_is_dropped_and_noted"]["reason"] == "LookupError: no more"


def test_a_handler_that_records_while_the_lock_is_held(tmp_path):
    made = recorder(tmp_path)
    done = []

    def handler(*_):
        made.event("sync", "in handler")
        made.flush()
        done.append(1)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with made.lock:
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            end = time.monotonic() + 5
            while not done and time.monotonic() < end:
                pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert done
    assert counts(read(made.path))["in handler"]["n"] == 1


def test_a_handler_in_the_middle_of_a_flush_has_not_the_last_word(tmp_path, clock):
    made = recorder(tmp_path)
    made.event("sync", "item")
    places = list(made._counters)

    def interrupts():
        if len(seen) < 2:
            seen.append(1)
            made.event("sync", "item", key=places[0][3])
            made.flush()
        return []

    seen = []
    made.sources.append(interrupts)
    made.flush()
    made.flush()
    assert counts(read(made.path))["item"]["n"] == made._counters[places[0]].n == 3


FORKING = """
    import os, sys, time
    from builders import recorder
    made = recorder(sys.argv[1])
    os.register_at_fork(after_in_child=made.forked)
    made.event("sync", "parent")
    made.flush()
    def child(act):
        pid = os.fork()
        if not pid:
            act()
            made.flush()
            os._exit(0)
        os.waitpid(pid, 0)
        return pid
    def grandchild():
        child(lambda: made.event("sync", "grandchild"))
        made.event("sync", "middle")
    quiet = child(lambda: made.state("key", 1))
    loud = child(lambda: made.event("sync", "child"))
    above = child(grandchild)
    made.event("sync", "parent")
    made.flush()
    print(quiet, loud, above)
"""


def run_text(text, *arguments, cwd):
    script = Path(cwd) / "script.py"
    script.write_text(textwrap.dedent(text), encoding="utf-8")
    path = os.pathsep.join([ENVIRONMENT["PYTHONPATH"], str(Path(__file__).parent)])
    command = [sys.executable, str(script), *map(str, arguments)]
    return subprocess.run(
        command,
        cwd=cwd,
        env={**ENVIRONMENT, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_forked_child_writes_a_file_of_its_own_if_it_matters(tmp_path):
    done = run_text(FORKING, tmp_path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    quiet, loud, above = done.stdout.split()
    files = {path.name: read(str(path)) for path in tmp_path.glob(f"*{SUFFIX}")}
    whats = {name: sorted(counts(run)) for name, run in files.items()}
    assert whats.pop(f"run{SUFFIX}") == ["parent"]
    assert f"run.{quiet}{SUFFIX}" not in whats
    assert whats.pop(f"run.{loud}{SUFFIX}") == ["child"]
    assert whats.pop(f"run.{above}{SUFFIX}") == ["middle"]
    assert list(whats.values()) == [["grandchild"]]
    assert all(name.count(".") == 3 for name in whats), "run.<pid>.events.jsonl, also of a grandchild"
    assert files[f"run.{loud}{SUFFIX}"].header["primary"] is False
    assert sum(c["n"] for c in files[f"run{SUFFIX}"].counts.values()) == 2


def test_a_kill_loses_about_a_second(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys, time
            from builders import recorder
            made = recorder(sys.argv[1])
            started = time.monotonic()
            while True:
                made.event("sync", "item")
                print(time.monotonic() - started, flush=True)
                time.sleep(0.02)
            """
        ),
        encoding="utf-8",
    )
    path = os.pathsep.join([ENVIRONMENT["PYTHONPATH"], str(Path(__file__).parent)])
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**ENVIRONMENT, "PYTHONPATH": path},
        text=True,
    )
    said = []
    for line in process.stdout:
        said.append(float(line))
        if said[-1] > 2.5:
            break
    process.kill()
    said += [float(line) for line in process.stdout if line.endswith("\n")]
    process.wait()
    process.stdout.close()
    n = counts(read(str(tmp_path / f"run{SUFFIX}")))["item"]["n"]
    assert len([at for at in said if at < said[-1] - 1.5]) <= n <= len(said)


def test_every_line_is_whole_json(tmp_path, clock):
    made = recorder(tmp_path)
    for index in range(50):
        clock.now += 1.5
        made.event("sync", "item", attributes=(("n", index % 3),))
    lines = Path(made.path).read_text(encoding="utf-8").splitlines()
    assert all("record" in json.loads(line) for line in lines)
    assert len([line for line in lines if '"record":"event"' in line]) == 3


def test_calls_that_are_put_off_keep_their_order_and_are_made_before_a_flush(tmp_path, clock):
    made = recorder(tmp_path)
    called = []
    made.later(called.append, "at once")
    made.deferring = True
    for number in range(3):
        made.later(called.append, number)
    made.event("sync", "item")
    assert called == ["at once"]
    made.flush()
    assert called == ["at once", 0, 1, 2]
    assert [count["n"] for count in read(made.path).counts.values()] == [1]


def test_an_event_that_is_put_off_belongs_to_the_turn_it_happened_in(tmp_path, clock):
    made = recorder(tmp_path)
    made.deferring = True
    place = made.sites.key()
    for _ in range(4):
        made.later(made.scopes.trains)
        made.later(made.scopes.stepped, 1)
        made.event("sync", "item", key=place)
        made.event("sync", "item", key=place)
    made.flush()
    (count,) = read(made.path).counts.values()
    assert (count["n"], count["train_turns"]) == (8, 4)


def test_what_is_put_off_does_not_pile_up(tmp_path, clock):
    made = recorder(tmp_path)
    made.deferring = True
    longest = 0
    for _ in range(5000):
        made.event("sync", "item")
        longest = max(longest, len(made._log))
    assert longest <= 512


def test_a_forked_child_forgets_what_its_parent_put_off(tmp_path, clock):
    made = recorder(tmp_path)
    made.deferring = True
    called = []
    made.later(called.append, 1)
    made.forked()
    made.drain()
    assert called == []
    assert not made.deferring
