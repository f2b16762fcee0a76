"""`watch()` in processes of its own: what a block, and the next one, leaves to be read."""

import re

import pytest
from in_processes import python

from torchperf_lint.errors import UsageError
from torchperf_lint.evidence import Evidence
from torchperf_lint.recorded import Event
from torchperf_lint.reporters import run_table
from torchperf_lint.runtime.watching import watch

pytest.importorskip("torch")

START = """
import torch
from torch.utils.data import DataLoader, TensorDataset
from torchperf_lint import watch

device = "cuda" if torch.cuda.is_available() else "cpu"
loader = DataLoader(TensorDataset(torch.ones(160, 4)), batch_size=4)

def train(steps):
    model = torch.nn.Linear(4, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, (x,) in enumerate(loader):
        if step == steps:
            break
        loss = model(x.to(device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item(), file=log)

class log:
    @staticmethod
    def write(text):
        pass

def told(seen):
    return [(s.path, s.line, s.kind, s.what, s.count) for s in seen.sites if s.line > 13]

"""
"""After the two lines that simulate a device; the batch is copied at line 17 and the loss read at line 21."""


def run(tmp_path, code, **how):
    (tmp_path / "torchperf-lint.toml").write_text("", encoding="utf-8")
    return python(tmp_path, START + code, **how)


def sites(times):
    whats = ((17, "copy", "h2d"), (17, "sync", "copy"), (21, "sync", "item"))
    return [("code.py", line, kind, what, times) for line, kind, what in whats]


def test_sites_and_steps_are_there_within_the_block_and_after_it(tmp_path):
    code = """
with watch() as seen:
    train(5)
    print(seen.steps, told(seen))
    train(2)
train(40)
print(seen.steps, told(seen))
print(seen.evidence.in_process, seen.evidence.simulated, seen.evidence.utilisation, seen.evidence.wall_s is not None)
"""
    assert run(tmp_path, code) == [f"5 {sites(5)}", f"7 {sites(7)}", "True True None True"]


def test_an_optimizer_that_was_there_before_the_block_is_seen(tmp_path):
    code = """
model = torch.nn.Linear(4, 1)
early = torch.optim.SGD(model.parameters(), lr=0.1)
with watch() as seen:
    for _ in range(4):
        model(torch.ones(2, 4)).sum().backward()
        early.step()
print(seen.steps)
"""
    assert run(tmp_path, code) == ["4"]


def test_watches_follow_each_other_and_each_sees_its_own(tmp_path):
    code = """
from torchperf_lint.runtime import in_process
with watch() as first:
    train(40)
train(40)
with watch() as empty:
    pass
with watch(warmup=2) as second:
    train(3)
original = torch.autograd.backward.__wrapped__
print(first.steps, empty.steps, second.steps, told(first) == told(second))
print(told(second), empty.sites, second.evidence.warmup)
print(hasattr(original, "__wrapped__"), len(in_process._ours), in_process._ours[0].recorder._log)
"""
    assert run(tmp_path, code) == ["40 0 3 False", f"{sites(3)} () 2", "False 1 deque([])"]


def test_one_within_another_is_refused_and_the_outer_one_goes_on(tmp_path):
    code = """
with watch() as seen:
    try:
        with watch():
            print("not reached")
    except torchperf_lint.AlreadyWatchedError as error:
        print(error)
    train(3)
print(seen.steps)
"""
    said = "this process is being watched already: one watch() must end before the next"
    assert run(tmp_path, code) == [said, "3"]


def test_the_report_judges_the_findings_of_the_script(tmp_path):
    code = """
try:
    with watch() as seen:
        train(12)
        raise KeyError("own")
except KeyError as error:
    print(error)
print(seen.report(width=100))
"""
    own, *report = run(tmp_path, code)
    assert own == "'own'"
    assert report[0].startswith("a block of code.py | simulated device: counts are exact, times are not measured")
    assert "12 steps | ended by KeyError" in " ".join(report[:2])
    assert any(re.match(r" *TPL201 .* code\.py:17$", line) for line in report)
    assert not any("--report" in line for line in report)


def test_without_a_device_nothing_is_made_up(tmp_path):
    code = """
torch.cuda.is_available = lambda: False
with watch(warmup=2) as seen:
    train(20)
print(seen.steps, seen.sites, seen.evidence.device)
print(seen.report(width=100))
print(seen._repr_html_())
"""
    first, *lines = run(tmp_path, code, simulate=False)
    assert first == "20 () None"
    text = "\n".join(lines)
    assert "not measured: only `torchperf-lint --runtime` samples GPU, CPU and disk" in text
    assert "no CUDA device | torch" in text
    assert "Where the step goes" in text
    assert "<p>not measured: there was no device to wait for</p>" in text


def test_a_device_may_come_between_two_watches(tmp_path):
    code = """
with watch() as before:
    next(iter(loader))
torchperf_lint.simulate()
device = "cuda"
with watch() as after:
    train(3)
print(before.steps, before.sites, after.steps, told(after))
"""
    # One line less is before the code: the one that simulates.
    expected = [(path, line - 1, *rest) for path, line, *rest in sites(3)]
    assert run(tmp_path, code, simulate=False) == [f"0 () 3 {expected}"]


def test_the_record_is_kept_where_one_asks_for_it_and_nothing_else_is(tmp_path):
    code = """
import os, tempfile
tempfile.tempdir = os.path.abspath("temporary")
os.mkdir("temporary")
for _ in range(2):
    with watch(events="kept.events.jsonl") as seen:
        train(3)
with watch():
    train(3)
print([n for n in os.listdir("temporary") if n.startswith("torchperf")], "kept.events.jsonl" in seen.report(width=200))
"""
    assert run(tmp_path, code) == ["[] True"]
    text = (tmp_path / "kept.events.jsonl").read_text(encoding="utf-8")
    assert text.count('"record":"header"') == 1
    assert text.count('"record":"ended"') == 1


def test_no_syncs_within_a_watch(tmp_path):
    code = """
from torchperf_lint import no_syncs
with watch() as seen, no_syncs(at_most=20) as block:
    train(3)
print(told(seen), block.count)
"""
    assert run(tmp_path, code) == [f"{sites(3)} 8"]


def test_workers_and_forked_children_leave_the_watch_alone(tmp_path):
    code = """
import os
with watch() as seen:
    if os.fork() == 0:
        list(loader)
        os._exit(0)
    os.wait()
    loader = DataLoader(TensorDataset(torch.ones(16, 4)), batch_size=4, num_workers=1)
    train(4)
print(seen.steps, told(seen))
"""
    assert run(tmp_path, code) == [f"4 {sites(4)}"]


def test_the_table_escapes_what_comes_from_the_run():
    event = Event("sync", "<b>item</b>", "<script>.py", 3, 4, train_turns=4, blocked_ms=2.0)
    lacking = Event("unsupported", "<i>graphs</i>", "a.py", 1, 1)
    html = run_table(Evidence((event, lacking), steps=4, device="<H200>", in_process=True, unwatched={"a": "<u>"}))
    for text in ("&lt;script&gt;.py:3", "&lt;b&gt;item&lt;/b&gt;", "&lt;i&gt;graphs", "&lt;H200&gt;", "&lt;u&gt;"):
        assert text in html
    assert "<script>" not in html
    assert "<td>4</td><td>1</td><td>2.00</td>" in html
    assert "not measured: GPU, CPU and disk" in html


def test_before_its_block_a_watch_says_so():
    seen = watch()
    assert "not watched yet" in repr(seen)
    assert "not watched yet" in seen._repr_html_()
    with pytest.raises(RuntimeError, match="nothing was watched"):
        _ = seen.evidence


@pytest.mark.parametrize("wrong", [{"warmup": -1}, {"warmup": True}, {"events": "run.json"}])
def test_wrong_arguments_are_named(wrong):
    with pytest.raises(UsageError):
        watch(**wrong)


def test_an_unwritable_place_is_told_and_does_not_block_the_next(tmp_path):
    with pytest.raises(UsageError, match="cannot be written"), watch(events=tmp_path / "missing" / "a.events.jsonl"):
        pass
