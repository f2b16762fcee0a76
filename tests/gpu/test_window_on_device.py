"""A profiler's window on a card: the device idles behind the line that reads the loss."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from card import has_device

from torchperf_lint.events import read
from torchperf_lint.runtime.reading import evidence_of
from torchperf_lint.window import kernels_of

SCRIPT = Path(__file__).with_name("sync_bound.py")
LINES = SCRIPT.read_text(encoding="utf-8").splitlines()


def line_of(text):
    return next(number for number, line in enumerate(LINES, 1) if text in line)


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    if not has_device():
        pytest.skip("needs a CUDA device")
    path = tmp_path_factory.mktemp("window") / "run.events.jsonl"
    ours = ["-m", "torchperf_lint", "--runtime", "--isolated", "--events", str(path)]
    plain, watched = (
        subprocess.run([sys.executable, *words, str(SCRIPT)], capture_output=True, text=True, timeout=120, check=True)
        for words in ([], ours)
    )
    assert watched.stdout == plain.stdout
    record = read(str(path))
    assert record.probes["window"] == {"record": "probe", "name": "window", "state": "watching", "reason": None}
    return record, evidence_of([record])


@pytest.mark.gpu
def test_the_bubble_is_at_the_line_that_reads(seen):
    _, run = seen
    bubbles = {event.line: event.bubble_ms for event in run.events if event.kind == "sync" and event.bubble_ms}
    assert max(bubbles, key=bubbles.get) == line_of(".item()")
    assert bubbles[line_of(".item()")] / run.window.steps > 2, (
        "the host sleeps 4 ms after it, and was blocked for longer"
    )


@pytest.mark.gpu
def test_the_windows_figures_fit_together(seen):
    record, run = seen
    kernels = kernels_of(run.state)
    assert (run.window.steps, run.left_out, kernels.steps) == (8, 10, 8)
    assert kernels.per_step > 50
    assert 0 < kernels.busy < 1
    assert kernels.busy + kernels.idle + kernels.copying == pytest.approx(1, abs=0.05)
    assert 0 < kernels.bubble_ms <= kernels.idle * kernels.ms * 1.001
    assert kernels.pageable >= 8
    assert kernels.ms == pytest.approx(8 * run.step_ms.median, rel=0.3)
    assert len(record.window["intervals"]) > 400
    assert run.window.own_ms > 0


@pytest.mark.gpu
def test_the_copy_of_the_batch_is_found_at_its_line(seen):
    _, run = seen
    (copy,) = [event for event in run.events if event.kind == "copy" and event.line == line_of('batch.to("cuda")')]
    assert copy.copy_ms > 0
