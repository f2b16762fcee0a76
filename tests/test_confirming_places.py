"""A finding of several places: seen at any of them, counted at all, and the report says where."""

from dataclasses import replace

import pytest

from torchperf_lint.confirming import by_events, waits_of_loop
from torchperf_lint.evidence import Evidence
from torchperf_lint.lint import Target, lint
from torchperf_lint.merging import merged
from torchperf_lint.model import Confidence, Finding, Location, Related, Severity
from torchperf_lint.rates import STEP, times_of
from torchperf_lint.recorded import Event
from torchperf_lint.runtime.stored import restored, stored
from torchperf_lint.settings import Settings
from torchperf_lint.verdict import judged, unfound

STEPS = 500


def place(line, column=9):
    return Location("train.py", line, column, line, column + 8)


def finding(line, *related, code="TPL101", **more):
    words = (Severity.WARNING, Confidence.LIKELY, "m", None, None, "i", "u")
    return Finding(code, "item-in-hot-loop", place(line), *words, related=related, **more)


def event(line, kind="sync", what="item", count=STEPS, **more):
    where = {"path": "train.py", "line": line, "column": 9, "end_line": line, "end_column": 17}
    turns = {"count": count, "train_turns": count, "trained": count}
    return Event(**{"kind": kind, "what": what, **turns, **where, **more})


def evidence(*events, **more):
    return Evidence(events=events, **{"steps": STEPS, "train_batches": STEPS, "device": "H100", **more})


def verdict_of(found, run):
    return judged([found], run)[0].verdict


def again(line):
    return Related(place(line), "m", same=True)


def test_what_is_merged_is_the_same_there_and_what_only_explains_is_not():
    made = Related(place(3), "is made here")
    (one,) = merged([finding(20, made, root_cause="x"), finding(30, root_cause="x")])
    assert one.places == (place(20), place(30))
    assert restored(stored(one)).places == one.places


@pytest.mark.parametrize(("seen", "leads"), [((20, 30), 20), ((30,), 30), ((), 20)])
def test_of_merged_findings_that_leads_which_is_seen(seen, leads):
    first, second = finding(20, root_cause="x"), replace(finding(30, root_cause="x"), instead="of line 30")
    (one,) = merged([first, second])
    run = evidence(*map(event, seen))
    for told in (one, restored(stored(one))):
        (led,) = judged([told], run)
        assert (led.location.line, led.instead) == (leads, "of line 30" if leads == 30 else "i")
        assert {at.line for at in led.places} == {20, 30}
        assert "at line" not in led.verdict.reason or len(seen) == 2


def test_another_rules_finding_that_is_covered_is_not_the_same():
    (one,) = merged([finding(20, code="TPL119", root_cause="x", covers=("y",)), finding(30, root_cause="y")])
    assert (one.places, len(one.related)) == ((place(20),), 1)


@pytest.mark.parametrize(("code", "noun"), [("TPL101", "synchronisation"), ("TPL111", "upload")])
def test_a_finding_whose_own_line_did_not_run_is_confirmed_by_the_other_that_did(code, noun):
    run = evidence(event(30))
    (one,) = judged([finding(20, again(30), code=code)], run)
    assert one.verdict.reason == f"500 {noun}s at line 30 in 500 of 500 steps"
    assert times_of(one, run) == (1.0, STEP)


def test_a_place_that_only_explains_confirms_nothing():
    verdict = verdict_of(finding(20, Related(place(30), "is made here")), evidence(event(30)))
    assert (verdict.outcome.value, verdict.times) == ("unobservable", None)


@pytest.mark.parametrize(
    ("lines", "said"),
    [((20,), ""), ((20, 30), " at lines 20 and 30"), ((30, 31, 32, 33, 34), " at lines 30, 31, 32 and 2 more")],
)
def test_where_it_was_seen_is_said_unless_the_report_shows_it(lines, said):
    run = evidence(*map(event, lines))
    verdict = verdict_of(finding(20, *map(again, range(30, 35))), run)
    assert verdict.reason == f"{STEPS * len(lines)} synchronisations{said} in 500 of 500 steps"


def test_how_often_is_of_the_events_that_the_reason_counts():
    """Another copy on the line, which is not what was found, counts in neither."""
    beside = [event(20, "copy", "h2d", 3 * STEPS)]
    run = evidence(event(20), event(30), *beside)
    (one,) = judged([finding(20, again(30))], run)
    assert one.verdict.reason.startswith("1000 synchronisations")
    assert times_of(one, run) == (2.0, STEP)


@pytest.mark.parametrize(
    ("ran", "reason"),
    [
        ({20: 3, 30: 3}, "the line ran at least 3 times without a synchronisation"),
        ({1: 1, 30: 3}, "line 30 ran at least 3 times without a synchronisation"),
        ({1: 1}, "the line did not run"),
    ],
)
def test_a_line_that_ran_without_refutes_for_one_that_did_not_run(ran, reason):
    run = evidence(lines={"train.py": ran}, complete=frozenset({"train.py"}))
    assert verdict_of(finding(20, again(30)), run).reason == reason


def test_where_a_package_was_called_from_is_where_it_was_seen():
    inside = replace(event(7), path="pack.py", via=("train.py", 30))
    found = finding(20, again(30))
    run = evidence(inside)
    verdict = by_events(found, run, run.at(found, "sync"), "synchronisation")
    assert verdict.reason == "500 synchronisations at line 30 in 500 of 500 steps"


BODY = Location("train.py", 20, 5, 24, 30)


def test_the_loop_that_a_finding_is_about_is_confirmed_by_what_its_turns_wait_for():
    found = finding(20, code="TPL607", loop=BODY)
    (one,) = judged([found], evidence(event(22, count=2 * STEPS, train_steps=STEPS)))
    assert one.verdict.reason == "1000 synchronisations at line 22 in 500 of 500 steps"
    assert times_of(one, evidence()) == (2.0, STEP)


def test_waits_that_are_not_of_every_step_behind_the_loop_or_of_no_loop_say_nothing():
    found, rare = finding(20, code="TPL607", loop=BODY), event(22, count=3)
    assert waits_of_loop(found, evidence(rare)) is None
    assert waits_of_loop(found, evidence(event(25))) is None
    assert waits_of_loop(replace(found, loop=None), evidence(event(22))) is None
    assert verdict_of(found, evidence(event(25))).reason == "no probe looks into torch's functions"


def test_what_a_loop_does_that_is_no_optimizers_is_told_with_what_it_waits_for():
    verdict = verdict_of(finding(20, code="TPL604", loop=BODY), evidence(event(22)))
    told = "its turns wait: 500 synchronisations at line 22 in 500 of 500 steps"
    assert (verdict.outcome.value, verdict.reason.partition("; ")[2]) == ("unobservable", told)


def test_lines_of_the_loop_that_a_finding_is_about_are_named():
    run = evidence(event(22), event(25))
    assert unfound([finding(20, loop=BODY)], run, ("sync",)) == run.events[1:]
    assert restored(stored(finding(20, loop=BODY))).loop == BODY


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        ([event(22, count=3 * STEPS, train_steps=STEPS)], "1500 synchronisations at line 22 in 500 of 500 steps"),
        ([event(22, kind="copy", what="h2d", count=3 * STEPS)], "1500 copies at line 22 in 500 of 500 steps"),
    ],
)
def test_a_loop_over_elements_is_confirmed_by_what_its_turns_wait_for_or_copy(seen, reason):
    (one,) = judged([finding(20, code="TPL651", loop=BODY)], evidence(*seen))
    assert (one.verdict.outcome.value, one.verdict.reason) == ("confirmed", f"its turns wait or copy: {reason}")
    assert times_of(one, evidence()) == (3.0, STEP)
    assert not unfound([one], evidence(*seen), ("sync", "copy"))


@pytest.mark.parametrize(
    "seen",
    [
        event(22),  # one turn's, or what has one turn
        event(22, count=12, train_steps=3),  # not every step
        event(20, count=3 * STEPS),  # what the loop goes over
        event(25, count=3 * STEPS),  # behind it
    ],
)
def test_a_loop_over_elements_is_left_open_where_no_line_of_its_body_does_so_several_times(seen):
    (one,) = judged([finding(20, code="TPL651", loop=BODY)], evidence(seen))
    assert (one.verdict.outcome.value, one.verdict.reason) == (
        "unobservable",
        "no probe counts the kernels of its turns",
    )
    missed = unfound([one], evidence(seen), ("sync",))
    assert missed == (() if seen.line == 20 else (seen,))


@pytest.mark.parametrize(
    ("does", "columns", "outcome"),
    [
        ("reads each element on the host", (9, 17), "confirmed"),
        ("reads each element on the host", (12, 16), "refuted"),  # within its argument: `any(t[mask])`
        ("starts a kernel for each element", (9, 17), "unobservable"),
    ],
)
def test_a_call_that_reads_elements_is_confirmed_by_its_own_waits(does, columns, outcome):
    code = "TPL102" if "host" in does else "TPL651"
    seen = event(20, count=4 * STEPS, train_steps=STEPS, column=columns[0], end_column=columns[1])
    one = replace(finding(20, code=code), message=f"`any(t)` takes the tensor apart and {does} every training step")
    assert verdict_of(one, evidence(seen)).outcome.value == outcome


def test_loops_over_elements_say_which_lines_they_have(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(ELEMENTS)
    report = lint(Target(tmp_path, Settings(), (path,)))
    (one,) = (f for f in report.findings if f.code == "TPL651")
    assert (one.location.line, one.loop.line, one.loop.end_line) == (8, 8, 10)


ELEMENTS = """\
import torch
from torch import nn

def train(model: nn.Module, loader, optimizer, device):
    for x, y in loader:
        p = model(x.to(device, non_blocking=True)).softmax(1)
        loss = torch.zeros((), device=device)
        for c in range(p.shape[1]):
            overlap = (p[:, c] * p[:, c]).sum()
            loss = loss + 1 - 2 * overlap / p[:, c].sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ("TPL801", ""),
        ("TPL404", ""),
        ("TPL313", ""),
        ("TPL101", "wait upload"),
        ("TPL119", "wait upload"),
        ("TPL120", "wait upload"),
        ("TPL201", "wait upload later"),
        ("TPL651", "wait upload later"),
        ("TPL607", "wait upload later"),
        ("TPL116", ""),
        ("TPL999", "wait upload later"),
    ],
)
def test_a_finding_names_what_its_rule_could_be_about(code, named):
    events = {
        "wait": event(22, what="copy"),
        "upload": event(22, kind="copy", what="h2d", attributes={"pinned": False, "blocking": True}),
        "later": event(22, kind="copy", what="h2d", attributes={"pinned": False, "blocking": False}),
    }
    missed = unfound([finding(22, code=code)], evidence(*events.values()), ("sync", "copy"))
    assert {name for name, one in events.items() if one not in missed} == set(named.split())


def test_checks_of_a_distribution_are_told_from_the_numbers_that_it_uploads():
    found = finding(22, code="TPL116")
    verdict = verdict_of(found, evidence(event(22), event(22, what="copy")))
    assert (verdict.reason, verdict.times) == ("500 synchronisations in 500 of 500 steps", 1.0)
    uploads = evidence(event(22, what="copy"), lines={"train.py": {22: 3}}, complete=frozenset({"train.py"}))
    assert verdict_of(found, uploads).reason == "the line ran at least 3 times without a check that waits"


def test_loops_over_parameters_say_which_lines_they_have(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(LOOPS)
    report = lint(Target(tmp_path, Settings(), (path,)))
    loops = {f.code: (f.loop.line, f.loop.end_line) for f in report.findings if f.loop is not None}
    assert loops == {"TPL604": (15, 16), "TPL607": (12, 13)}


LOOPS = """\
import math, torch
from torch.utils.data import DataLoader, TensorDataset

net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)).cuda()
opt = torch.optim.SGD(net.parameters(), 0.1)
loader = DataLoader(TensorDataset(torch.zeros(16, 3), torch.zeros(16, 1)), batch_size=2, pin_memory=True)
for x, y in loader:
    x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
    opt.zero_grad()
    ((net(x) - y) ** 2).mean().backward()
    norm = 0
    for p in net.parameters():
        norm += math.pow(p.grad.data.norm(), 2)
    norm = math.sqrt(norm)
    for p in net.parameters():
        p.grad.data.mul_(min(1.0, 1.0 / norm))
    opt.step()
"""


@pytest.mark.parametrize(("line", "outcome"), [(20, "confirmed"), (30, "confirmed"), (40, "refuted")])
def test_what_one_method_makes_for_another_is_copied_there(line, outcome):
    moved = Related(place(30), "is copied to the device here")
    made = finding(20, moved, code="TPL251", root_cause="TPL251 moved by another method: 3 and 4")
    run = evidence(event(line, "copy", "h2d"), lines={"train.py": {20: STEPS, 30: STEPS}}, complete={"train.py"})
    assert verdict_of(made, run).outcome.value == outcome
