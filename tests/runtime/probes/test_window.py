"""The life of a profiler's window, with the real profiler over the host's own activity: no card is needed for it."""

import subprocess
import sys
import threading
import time
from math import exp
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from builders import ENVIRONMENT
from recording import Watched

torch = pytest.importorskip("torch")
from torch.autograd import profiler as autograd_profiler  # noqa: E402

from torchperf_lint.activities import CALL, KERNEL, MARK, Activity  # noqa: E402
from torchperf_lint.events import read  # noqa: E402
from torchperf_lint.runtime.probes import _cuda, _kineto, _rivals, window  # noqa: E402
from torchperf_lint.runtime.reading import evidence_of  # noqa: E402
from torchperf_lint.window import kernels_of  # noqa: E402

SCRIPT = Path(__file__).with_name("windowed.py")
OPENS, STEPS = 2 + window.MARGIN, 3
UNDER = STEPS + 2
"""Steps under the profiler: one before those that count, and one after."""


class Trained:
    """A session whose steps are closed by hand."""

    def __init__(self, path, **spec):
        self.session = Watched(path, **{"warmup": 2, "window": STEPS, "window_on_host": True, **spec})
        self.session.recorder.probe("window", "unavailable", window.install(self.session, torch))

    def steps(self, number):
        for _ in range(number):
            self.session.timeline.step_begins(None)
            self.wait()
            self.session.timeline.step_ends(None, 1)
        return self

    def wait(self):
        """As the probe of waits tells of one."""
        key = self.session.sites.key()
        if self.is_open:
            time.sleep(0.001)
            self.session.mark(f"sync:{self.session.recorder.site(key)}:stream")
        self.session.recorder.event("sync", "stream", key=key)

    @property
    def is_open(self):
        return self.session.mark is not None

    @property
    def probe(self):
        record = self.session.read().probes["window"]
        return record["state"], record["reason"]

    @property
    def evidence(self):
        return evidence_of([self.session.read()])


@pytest.fixture
def trained(tmp_path):
    made = Trained(tmp_path / "run.events.jsonl")
    yield made
    if torch.autograd._profiler_enabled():
        torch.autograd._disable_profiler()
    assert autograd_profiler._prepare_profiler is torch.autograd._prepare_profiler, "torch's own name is back"


def test_it_opens_once_after_the_warm_up_and_closes_by_itself(trained):
    assert not trained.steps(OPENS - 1).is_open
    assert trained.steps(1).is_open
    assert trained.steps(UNDER - 1).is_open
    assert not trained.steps(1).is_open
    assert not torch.autograd._profiler_enabled()
    assert not trained.steps(50).is_open
    assert trained.probe == ("watching", None)


def test_what_it_records(trained):
    trained.steps(40)
    seen = trained.session.read().window
    assert (seen["steps"], seen["left_out"], len(seen["boundaries"])) == (STEPS, UNDER, STEPS + 1)
    assert seen["boundaries"] == sorted(seen["boundaries"])
    assert seen["marks"] == UNDER, "one mark of a probe in each step that the profiler was on for"
    assert trained.evidence.window.own_ms == pytest.approx(seen["open_ms"] + seen["close_ms"])
    assert seen["open_ms"] > 0
    assert seen["close_ms"] > 0


def test_what_ran_on_the_device_is_joined_to_lines(trained, monkeypatch):
    """The marks are torch's own; a launch, a kernel and a wait for each stand in for what CUPTI would add."""
    end = _kineto.Kineto.end

    def with_device(kineto, *, detach):
        made = end(kineto, detach=detach)
        for number, mark in enumerate([a for a in made if a.kind == MARK], 1):
            at = mark.start
            made.append(Activity(CALL, "cudaLaunchKernel", at - 3, at - 2, mark.track, number))
            made.append(Activity(KERNEL, "k", at - 1, at + 4, 7, number))
            made.append(Activity(CALL, "cudaStreamSynchronize", mark.end, at + 10, mark.track))
        return made

    monkeypatch.setattr(_kineto.Kineto, "end", with_device)
    trained.steps(40)
    (sync,) = [event for event in trained.evidence.events if event.kind == "sync"]
    kernels = kernels_of(trained.evidence.state)
    assert (kernels.steps, kernels.count, kernels.median_us) == (STEPS, STEPS, pytest.approx(5, abs=0.1))
    assert 0 < sync.bubble_ms <= STEPS * 0.011
    assert sync.bubble_ms == pytest.approx(kernels.bubble_ms, abs=0.001)


def test_steps_are_put_off_again_once_it_is_over(trained):
    assert not trained.session.timeline.may_defer, "until then each step is heard of when it closes"
    trained.steps(OPENS + UNDER)
    assert trained.session.timeline.may_defer


@pytest.mark.parametrize("under", [1, 2, 3])
def test_at_the_end_of_the_run_the_steps_that_are_whole_are_taken(trained, under):
    trained.steps(OPENS + under)
    for ends in (1, 2):
        window_of(trained).run_ends()
        assert not trained.is_open, ends
    seen = trained.session.read().window
    assert (seen["steps"] if seen else None) == {1: None, 2: 1, 3: 2}[under]
    assert not torch.autograd._profiler_enabled()


def test_a_run_that_ends_before_it_says_so(trained):
    assert trained.steps(3).probe == ("unavailable", f"the run ended before step {OPENS}, at which it opens")
    window_of(trained)._release()


def window_of(trained):
    return next(restart.__self__ for restart in trained.session.restarts if restart.__qualname__ == "Window.restart")


def profiles():
    with torch.profiler.profile() as theirs:
        torch.ones(3) + 1
    return any(event.name == "aten::add" for event in theirs.events())


def test_the_scripts_profiler_ends_ours_and_records_as_ever(trained):
    trained.steps(OPENS + 2)
    assert trained.is_open
    assert profiles()
    assert not trained.is_open
    assert trained.steps(20).probe == ("unavailable", window.THEIRS)
    assert trained.session.read().window is None
    assert trained.evidence.left_out == 2


def test_it_never_opens_within_the_scripts_profiler(trained):
    with torch.profiler.profile() as theirs:
        trained.steps(20)
        torch.ones(3) + 1
    assert any(event.name == "aten::add" for event in theirs.events())
    assert trained.probe == ("unavailable", window.THEIRS)
    assert trained.evidence.left_out == 0


def test_nor_after_one_that_may_come_back(trained):
    assert profiles()
    assert trained.steps(20).probe == ("unavailable", window.THEIRS)


def test_it_gives_way_to_forks_three_times(trained):
    for attempt in range(3):
        trained.steps(OPENS if not attempt else window.MARGIN)
        assert trained.is_open
        window_of(trained).about_to_fork()
        assert not trained.is_open
    assert trained.steps(20).probe == ("unavailable", "each time that it was open, a process was forked")


def test_a_profiler_that_cannot_start_is_named_and_left_alone(trained, monkeypatch):
    monkeypatch.setattr(_kineto.Kineto, "begin", lambda self: 1 / 0)
    trained.steps(20)
    assert trained.probe[0] == "failed"
    assert trained.evidence.steady_steps == 18


def test_another_threads_steps_do_not_end_it(trained):
    trained.steps(OPENS)
    other = threading.Thread(target=window_of(trained).stepped, args=(99,))
    other.start()
    other.join()
    assert trained.is_open
    assert len(window_of(trained)._boundaries) == 1
    window_of(trained).run_ends()


NOT_OPENED = {
    "switched off": {"window": 0},
    "of a block": {"window": 0, "in_process": True},
}


@pytest.mark.parametrize("name", NOT_OPENED)
def test_where_none_is_opened(tmp_path, name):
    made = Trained(tmp_path / "run.events.jsonl", **NOT_OPENED[name])
    assert made.session.timeline.may_defer
    assert made.steps(20).probe[1] in ("switched off (--window 0)", "none is opened by watch()")


def test_it_leaves_the_device_to_who_profiles_already(tmp_path, monkeypatch):
    monkeypatch.setenv("NSYS_PROFILING_SESSION_ID", "1")
    assert Trained(tmp_path / "run.events.jsonl").probe == ("unavailable", "Nsight Systems profiles this run")


def test_cuda_graphs_are_left_alone(monkeypatch):
    assert _rivals.in_the_way(torch) is None
    monkeypatch.setattr(torch.cuda.graphs.graph, "default_capture_stream", object())
    assert "CUDA graphs" in _rivals.in_the_way(torch)


@pytest.mark.skipif(_cuda.is_built(torch), reason="this build of torch has CUDA")
def test_without_cuda_there_is_nothing_to_profile(tmp_path):
    made = Trained(tmp_path / "run.events.jsonl", window_on_host=False)
    assert made.probe == ("unavailable", _cuda.NO_CUDA)
    assert made.session.timeline.may_defer


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    path = tmp_path_factory.mktemp("windowed") / "run.events.jsonl"
    command = [sys.executable, str(SCRIPT), str(path)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done, read(str(path))


def test_a_script_notices_nothing(ran):
    """No word of Kineto's, no profiler left on, none in a child that was forked meanwhile, no variable set."""
    done, _ = ran
    assert (done.stdout.splitlines(), done.stderr) == (["child 0", "on False False"], "")


def test_of_a_script_it_comes_again_after_the_fork(ran):
    _, record = ran
    assert record.probes["window"]["state"] == "watching"
    assert (record.window["steps"], record.window["marks"]) == (3, 5)
    assert all(
        b - a > 200_000 for a, b in zip(record.window["boundaries"], record.window["boundaries"][1:], strict=False)
    )


def test_slow_steps_under_it_are_in_no_figure(ran):
    """One step before the fork and five after it slept for 200 ms each."""
    _, record = ran
    evidence = evidence_of([record])
    assert (evidence.left_out, evidence.steady_steps) == (6, 30 - 2 - 6)
    assert max(exp(index * 0.02) for index, _ in record.steps["histogram"]) < 200
    assert evidence.step_total_ms < 6 * 200
    (sync,) = [event for event in evidence.events if event.kind == "sync"]
    assert (sync.count, sync.steady) == (30, evidence.steady_steps - 1), "the wait before the fork was under it, too"
