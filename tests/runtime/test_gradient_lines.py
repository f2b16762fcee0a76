"""A wait of a gradient belongs to the line of the forward pass that it is the gradient of, and to the finding there."""

from dataclasses import replace

import pytest
from builders import watch
from runs import copy, finding, run, sync

from torchperf_lint.recorded import Origin
from torchperf_lint.runtime.reading import evidence_of
from torchperf_lint.verdict import judged, unfound
from torchperf_lint.waits import GRADIENT, OF_INDEX

SCRIPT = """
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def lost(z, mask):
    fixed = z.detach()[mask]
    return z[mask].sum() + fixed.sum()


def spread(z, mask):
    z = z.clone()
    z[mask] = 2 * z[mask]
    return z.sum()


def plain(z, rows):
    return z[rows].sum()


model = nn.Linear(4, 4).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(6):
    optimizer.zero_grad()
    z = model(torch.randn(3, 4, device="cuda"))
    mask = torch.ones(3, dtype=torch.bool, device="cuda")
    rows = torch.zeros(2, dtype=torch.long, device="cuda")
    loss = lost(z, mask) + plain(z, rows) + spread(z, mask) + checkpoint(lost, z, mask, use_reentrant=False)
    loss.backward()
    optimizer.step()
"""
KEPT, STORED, BACKWARD = 9, 14, 30


def test_each_wait_of_a_backward_pass_knows_its_line(tmp_path):
    ran = watch(tmp_path, SCRIPT, options=("--simulate",), name="masks")
    events = [e for e in evidence_of([ran.record]).events if e.attributes.get(GRADIENT)]
    assert {event.line for event in events} == {BACKWARD}
    lines = {}
    for event in events:
        line = event.origin.line if event.origin is not None else None
        lines[line] = lines.get(line, 0) + event.count
    assert set(lines) == {KEPT, STORED}, "no detached tensor, and no index that has a size, has a wait"
    assert lines[KEPT] == 2 * 6, "as it is, and where it is computed again"
    assert f"`index_put` (masks.py:{STORED})" in " ".join(ran.err.split()), "no finding stands there"


BESIDE = """
import torch
from torch import nn

model = nn.Linear(4, 4).cuda()
for step in range(6):
    z = model(torch.randn(3, 4, device="cuda"))
    mask = torch.ones(3, dtype=torch.bool, device="cuda")
    kept = z[mask]
    {beside}
    (kept.sum() + z.sum()).backward()
"""


@pytest.mark.parametrize("beside", ["z = z + torch.randn(3, 4).to('cuda')", "z = z[[0, 2]]", "pass"])
def test_what_has_no_gradient_hides_no_line(tmp_path, beside):
    """A copy of what needs none makes no node: the last that was made is that of the line before."""
    ran = watch(tmp_path, BESIDE.format(beside=beside), options=("--simulate",), name="masks")
    events = [e for e in evidence_of([ran.record]).events if e.what == "mask-index" and e.attributes.get(GRADIENT)]
    assert [(e.origin and e.origin.line, e.count) for e in events] == [(9, 6)]


ORIGIN = Origin("train.py", 25, 9, 25, 20, None)


def evidence(*events):
    return run(events=events, device="simulated", simulated=True)


def waits(origin=ORIGIN, **more):
    return sync(40, "mask-index", origin=origin, attributes={GRADIENT: "index"}, **more)


def verdict(code, *events):
    (one,) = judged([replace(finding(25), code=code)], evidence(*events))
    return one.verdict


def test_a_confirmed_selection_counts_the_waits_of_its_gradient():
    told = verdict("TPL109", sync(25), waits(per_step=2))
    assert told.reason.endswith("; its gradient waits again, 2 a step")
    assert told.times == 3
    assert "gradient" not in verdict("TPL109", waits()).reason, "which alone confirm nothing"
    assert "gradient" not in verdict("TPL101", sync(25), waits()).reason, "nobody reads there"


@pytest.mark.parametrize(
    ("code", "event", "is_named"),
    [
        ("TPL109", waits(), True),
        ("TPL109", waits(replace(ORIGIN, line=26, end_line=26)), False),
        ("TPL109", waits(None), False),
        ("TPL109", waits(replace(ORIGIN, path="site-packages/losses.py", via=("train.py", 25))), True),
        ("TPL109", copy(40, origin=ORIGIN, attributes={OF_INDEX: True, "blocking": False}), False),
        ("TPL111", copy(40, origin=ORIGIN, attributes={OF_INDEX: True, "blocking": True}), True),
        ("TPL101", waits(), False),
    ],
)
def test_what_happens_in_a_gradient_is_named_by_the_finding_of_its_line(code, event, is_named):
    found = replace(finding(25), code=code)
    assert unfound([found], evidence(event), ("sync", "copy")) == (() if is_named else (event,))
