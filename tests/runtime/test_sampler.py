"""The sampler: what it measures on the real machine, and what it says where it cannot."""

import importlib
import json
import math
import os
import random
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from watching import wait_until

from torchperf_lint.runtime import host, sampler
from torchperf_lint.runtime.devices import recorded_devices
from torchperf_lint.runtime.nvml import Gpu
from torchperf_lint.runtime.sampler import Sampler
from torchperf_lint.runtime.summaries import BUCKETS, Course, Histogram

psutil = pytest.importorskip("psutil")
BUSY = "import time\nend = time.monotonic() + 1.2\nwhile time.monotonic() < end: pass"
ASLEEP = "import time; time.sleep(1.2)"
BUSY_WORKER = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"


def sampled(*codes, **options):
    """What the sampler says of each piece of code, run side by side."""
    children = [subprocess.Popen([sys.executable, "-c", code]) for code in codes]
    samplers = [Sampler(child.pid, period_s=0.05, **options) for child in children]
    for child in children:
        assert child.wait(30) == 0
    return [one.stop() for one in samplers]


@pytest.fixture(scope="module")
def three():
    """A busy process, a sleeping one, and one that waits for a busy child."""
    return dict(zip(("busy", "asleep", "parent"), sampled(BUSY, ASLEEP, BUSY_WORKER), strict=True))


def mean(utilisation, series):
    return utilisation.series[series].mean


@pytest.mark.skipif(sys.platform != "linux", reason="what is measured differs between systems")
def test_a_busy_process_a_sleeping_one_and_a_busy_child_are_told_apart(three):
    # Both busy ones share the machine with whatever else runs on it.
    assert mean(three["busy"], "cpu.main_cores") > 0.2
    assert mean(three["asleep"], "cpu.main_cores") < 0.2
    assert mean(three["asleep"], "cpu.others_cores") == 0
    assert mean(three["parent"], "cpu.main_cores") < 0.2
    assert mean(three["parent"], "cpu.others_cores") > 0.2
    assert mean(three["busy"], "cpu.machine_share") > 0.2 / os.cpu_count()


def test_processes_are_listed_with_their_cpu_time(three):
    main, *others = three["parent"].processes
    assert (main.main, [process.main for process in others]) == (True, [False])
    assert others[0].cpu_s > 0.2 > main.cpu_s - 0.2
    assert others[0].samples > 3
    assert others[0].pid != main.pid


def test_everything_that_a_machine_tells_is_measured_or_has_a_reason(three):
    for utilisation in three.values():
        for name, state in utilisation.states.items():
            assert state == "measured" or len(state.partition(": ")[2]) > 5, name
        for name, summary in utilisation.series.items():
            assert all(math.isfinite(value) and value >= 0 for value in vars(summary).values())
            assert summary.p50 <= summary.p95 <= summary.max, name
            assert name.endswith("_share") <= (summary.max <= 1), name
    assert three["busy"].states["processes"] == "measured"
    assert three["busy"].states["gpu"] == "unavailable: the script named no GPU"


def test_it_can_be_written_as_json(three):
    told = json.loads(json.dumps(three["parent"].to_dict()))
    # The last sample may come after the process.
    assert 3 < told["series"]["cpu.others_cores"]["samples"] <= told["samples"]
    assert told["processes"][0]["main"] is True
    assert told["allowed_cores"]["cores"] <= os.cpu_count()
    times = [point["t"] for point in told["course"]]
    assert times == sorted(times)
    assert times[-1] <= told["wall_s"]


def test_sampling_costs_little(three):
    # 20 samples a second here, against 5; and importing psutil counts in.
    assert all(0 < utilisation.own_cpu_share < 0.5 for utilisation in three.values())


def test_a_process_that_is_gone_leaves_the_machine():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    one = Sampler(child.pid, period_s=0.01)
    assert wait_until(lambda: one._samples > 2)
    told = one.stop()
    assert told.states["processes"].startswith("unavailable: NoSuchProcess")
    assert told.states["machine cpu"] == "measured"
    assert told.allowed_cores is None
    assert not any(name.startswith(("cpu.main", "memory")) for name in told.series)


def without(*missing):
    """An import that fails for these modules."""

    def import_module(name):
        if name in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return importlib.import_module(name)

    return import_module


def test_missing_packages_are_named_and_never_a_zero():
    one = Sampler(os.getpid(), period_s=0.01, import_module=without("psutil", "pynvml"))
    one.watch_gpus([Gpu(0, "GPU-1")])
    assert wait_until(lambda: one._samples > 2)
    told = one.stop()
    for name in ("processes", "machine cpu", "disk", "network"):
        assert told.states[name] == "unavailable: psutil is not installed"
    assert told.states["gpu"] == told.states["gpu.0"] == "unavailable: nvidia-ml-py is not installed"
    assert not any(name.startswith(("cpu", "gpu", "disk", "memory", "network")) for name in told.series)


def test_a_source_that_fails_is_lost_alone_and_says_since_when():
    class Failing:
        def __init__(self, values):
            self.values = iter(values)

        def sample(self, _elapsed_s):
            return {"x.y_share": next(self.values)}

    one = Sampler(os.getpid(), period_s=0.01, import_module=without("psutil"))
    one._add("late", Failing([0.5, 0.7]).sample)
    one._add("early", Failing([]).sample)
    one._add("wrong", lambda _: {"z_share": float("nan")})
    one._add("silent", lambda _: {})
    assert wait_until(lambda: one._samples > 5)
    told = one.stop()
    assert told.states["late"].startswith("measured until 0.")
    assert told.states["late"].endswith(" s: StopIteration: ")
    assert told.states["early"] == "unavailable: StopIteration: "
    assert told.states["wrong"] == "unavailable: z_share was read as nan"
    assert told.states["silent"].startswith("unavailable: nothing was to be read")
    assert told.series["x.y_share"].mean == pytest.approx(0.6)
    assert "z_share" not in told.series


def test_a_source_that_hangs_does_not_hold_the_report(monkeypatch):
    monkeypatch.setattr(sampler, "_PATIENCE_S", 0.05)
    one = Sampler(os.getpid(), period_s=0.01, import_module=without("psutil"))
    one._add("hanging", lambda _: time.sleep(0.5) or {})
    time.sleep(0.05)
    since = time.monotonic()
    told = one.stop()
    assert time.monotonic() - since < 0.4
    assert "did not answer" in told.states["sampler"]
    one._thread.join()


def test_a_run_shorter_than_a_period_has_no_numbers():
    told = Sampler(os.getpid(), period_s=60).stop()
    assert (told.samples, told.series, told.course) == (0, {}, [])
    assert told.states["machine cpu"].startswith("unavailable: ")


def test_devices_are_asked_for_until_the_script_has_said(tmp_path):
    events = tmp_path / "run.events.jsonl"
    assert recorded_devices(str(events)) is None
    header = {"record": "header", "version": 1}
    events.write_text(json.dumps(header) + "\n", encoding="utf-8")
    assert recorded_devices(str(events)) is None
    with events.open("a", encoding="utf-8") as file:
        gpus = [{"index": 0, "name": "A", "uuid": "GPU-a"}, {"index": 1, "name": "B", "uuid": None}]
        file.write(json.dumps({"record": "state", "key": "gpus", "value": gpus}) + "\n")
    assert recorded_devices(str(events)) == [Gpu(0, "GPU-a", "A"), Gpu(1, None, "B")]

    answers = [None, None, []]
    one = Sampler(os.getpid(), period_s=0.6, devices=lambda: answers.pop(0), import_module=without("psutil"))
    for _ in range(3):
        one._look_for_gpus()
    assert wait_until(lambda: one._samples > 1)
    assert answers == []
    assert one.stop().states["gpu"] == "unavailable: the script named no GPU"


def test_a_failing_answer_about_devices_is_a_reason():
    one = Sampler(os.getpid(), period_s=0.01, devices=lambda: 1 / 0, import_module=without("psutil"))
    assert wait_until(lambda: one._samples > 2)
    assert one.stop().states["gpu"] == "unavailable: ZeroDivisionError: division by zero"


def test_percentiles_are_right_to_their_promise():
    numbers = random.Random(3)
    for draw in (numbers.random, lambda: numbers.lognormvariate(15, 2), lambda: float(numbers.randrange(3))):
        values = sorted(draw() for _ in range(5000))
        histogram = Histogram()
        for value in values:
            histogram.add(value)
        summary = histogram.summary()
        assert summary.mean == pytest.approx(sum(values) / len(values))
        assert (summary.max, summary.samples) == (values[-1], 5000)
        assert summary.p50 == pytest.approx(values[2499], rel=0.025)
        assert summary.p95 == pytest.approx(values[4749], rel=0.025)
    assert Histogram().summary() is None


def test_the_course_stays_small_and_keeps_its_averages():
    course = Course(0.25)
    for index in range(20 * BUCKETS):
        course.add(index * 0.25, {"ramp": index, "half": index % 2} | ({"late": 7} if index == 9000 else {}))
    points = course.points()
    assert BUCKETS / 2 < len(points) <= BUCKETS
    assert course.width_s == 0.25 * 32
    assert [point["t"] for point in points] == [index * course.width_s for index in range(len(points))]
    assert all(point["half"] == 0.5 for point in points)
    assert [point["ramp"] for point in points[:3]] == [15.5, 47.5, 79.5]
    assert [point["late"] for point in points if "late" in point] == [7]


def test_the_course_has_gaps_where_nothing_was_sampled():
    course = Course(1.0)
    course.add(0.5, {"a": 1})
    course.add(3.5, {"a": 2})
    assert course.points() == [{"t": 0.0, "a": 1}, {"t": 3.0, "a": 2}]


def test_a_machine_that_counts_nothing_is_not_a_machine_at_rest():
    with pytest.raises(OSError, match="counts none"):
        host.disk(SimpleNamespace(disk_io_counters=lambda: None))
