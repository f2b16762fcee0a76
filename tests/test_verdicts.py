"""Every rule with a probe, every outcome, from small made-up runs; and what holds for all rules."""

import hashlib
from dataclasses import replace

import pytest

from torchperf_lint import catalog, verdict
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Confidence, Finding, Location, Outcome, Related, Severity, Verdict
from torchperf_lint.recorded import Event, LoaderRun, Segment
from torchperf_lint.rule import SourceRule

HERE = Location("train.py", 20, 9, 20, 20)
RULES = {rule.code: rule for rule in catalog.rule_classes() if issubclass(rule, SourceRule) and rule.probes}
STEPS = {"steps": 500, "train_batches": 500, "warmup": 10, "torch": "2.13.0"}
RAN = {"lines": {"train.py": {20: 3}}, "complete": frozenset({"train.py"})}
NOT_RAN = {"lines": {"train.py": {1: 1}}, "complete": frozenset({"train.py"})}


def finding(code, **more):
    base = Finding(code, "x-y", HERE, Severity.WARNING, Confidence.LIKELY, "m", None, None, "i", "u")
    return replace(base, **more)


def event(kind="sync", what="item", count=500, **more):
    figures = {"column": 9, "end_line": 20, "end_column": 20, "train_turns": count, "eval_turns": 0}
    return Event(**{"kind": kind, "what": what, "path": "train.py", "line": 20, "count": count, **figures, **more})


def copy(direction="h2d", pinned=False, blocking=True, **more):
    return event("copy", direction, attributes={"pinned": pinned, "blocking": blocking}, **more)


def forward(devices, **more):
    return event("data-parallel", "forward", attributes={"devices": devices}, **more)


def collective(count=500, processes=2, what="all_reduce", **more):
    return event("collective", what, count, attributes={"processes": processes}, **more)


def loader(workers=0, pinned=False, batches=500, **more):
    figures = {
        "steady_batches": max(batches - 11, 0),
        "steady_wait_ms": 4.0 * max(batches - 11, 0),
        "background": False,
    }
    zeros = dict.fromkeys(("first_wait_ms", "start_ms", "wait_ms", "cpu_ms"), 0.0)
    settings = {"num_workers": workers, "pin_memory": pinned}
    made = {"path": "train.py", "line": 20, "epochs": 1, "worker": None, "settings": settings, "batches": batches}
    return LoaderRun(**{**made, **figures, **zeros, **more})


def run(*events, **more):
    return Evidence(events=events, **{**STEPS, "device": "H100", **RAN, **more})


def stepped(tensors, last=30, **more):
    """An optimizer of the project's, whose `step` goes from line 12 to `last`, and takes 9 of 20 ms."""
    one = {"class": "Slow", "tensors": tensors, "step": {"path": "train.py", "line": 12, "last": last}}
    segments = tuple(Segment(phase, None, None, 490 * ms, 490) for phase, ms in (("forward", 11.0), ("optimizer", 9.0)))
    return run(**{"state": {"optimizers": [one]}, "segments": segments, "device": None, **more})


def judged(code, evidence, **more):
    return verdict.judged([finding(code, **more)], evidence)[0].verdict


def compiled(what="first", count=1, line=15, last=25, **attributes):
    attributes = {"last": last, "resumed": False, **attributes}
    where = {"column": None, "end_line": None, "end_column": None, "function": "forward", "line": line}
    return event("compile", what, count=count, attributes=attributes, blocked_ms=80.0, **where)


def ended(count=2, line=20, what="break"):
    where = {"column": None, "end_line": None, "end_column": None, "line": line}
    return event("graph-break", what, count=count, attributes={"reason": "Failed to trace `print`."}, **where)


GUARDED = {"guard": "self.step == ...", "at": ("train.py", 20)}
SYNCS = {
    "confirmed": run(event()),
    "refuted": run(event(count=5)),
    "not-reached": run(**NOT_RAN),
    "unobservable": run(event(), device=None),
}
EXCHANGES = {
    "confirmed": run(collective(), device=None),
    "refuted": run(collective(processes=1), device=None),
    "not-reached": run(device=None, **NOT_RAN),
    "unobservable": run(device=None, unwatched={"collectives": "torch was built without torch.distributed"}),
}
ITEMS = ("TPL307", "TPL308", "TPL319")
"""Judged by the data set of a loader: tests/test_confirming_items.py."""
CASES = {
    **dict.fromkeys(("TPL101", "TPL102", "TPL104", "TPL107", "TPL108", "TPL112", "TPL115", "TPL119", "TPL120"), SYNCS),
    **dict.fromkeys(("TPL109", "TPL110", "TPL113", "TPL114", "TPL116", "TPL117", "TPL118"), SYNCS),
    "TPL103": SYNCS | {"refuted": run(copy())},
    "TPL105": SYNCS,
    "TPL106": SYNCS,
    "TPL111": SYNCS | {"unobservable": run(unwatched={"host-sync": "no CUDA"})},
    "TPL201": {
        "confirmed": run(copy()),
        "refuted": run(copy(blocking=False)),
        "not-reached": run(**NOT_RAN),
        "unobservable": run(copy(), device=None),
    },
    "TPL202": {
        "confirmed": run(copy(pinned=False, blocking=False)),
        "refuted": run(copy(pinned=True, blocking=False)),
        "not-reached": run(**NOT_RAN),
        "unobservable": run(copy(), device=None),
    },
    "TPL203": {
        "confirmed": run(copy(pinned=True, blocking=False)),
        "refuted": run(copy(pinned=False)),
        "not-reached": run(**NOT_RAN),
        "unobservable": run(copy(pinned=True), device=None),
    },
    "TPL204": {
        "confirmed": run(copy("d2h", blocking=False, count=1)),
        "refuted": run(copy("d2h")),
        "not-reached": run(**NOT_RAN),
        "unobservable": run(unwatched={"transfers": "no CUDA"}),
    },
    "TPL122": SYNCS,
    "TPL756": EXCHANGES | {"refuted": run(collective(count=5), device=None)},
    "TPL757": EXCHANGES,
    "TPL758": EXCHANGES | {"confirmed": run(collective(1000, train_turns=500)), "refuted": run(collective())},
    "TPL205": {
        "confirmed": run(copy()),
        "refuted": run(),
        "not-reached": run(**NOT_RAN),
        "unobservable": run(copy(), device=None),
    },
    "TPL208": {
        "confirmed": run(copy()),
        "refuted": run(),
        "not-reached": run(**NOT_RAN),
        "unobservable": run(unwatched={"transfers": "no CUDA"}),
    },
    "TPL209": {
        "confirmed": run(event()),
        "refuted": run(event(count=5)),
        "not-reached": run(**NOT_RAN),
        "unobservable": run(),
    },
    "TPL251": {
        "confirmed": run(copy(blocking=False, pinned=True)),
        "refuted": run(copy("d2h")),
        "not-reached": run(**NOT_RAN),
        "unobservable": run(unwatched={"transfers": "no CUDA"}),
    },
    "TPL252": SYNCS | {"unobservable": run(unwatched={"host-sync": "no CUDA"})},
    "TPL254": {
        "confirmed": run(copy()),
        "refuted": run(copy("d2h")),
        "not-reached": run(**NOT_RAN),
        "unobservable": run(unwatched={"transfers": "no CUDA"}),
    },
    "TPL314": {
        "confirmed": run(copy()),
        "refuted": run(copy("d2h")),
        "not-reached": run(**NOT_RAN),
        "unobservable": run(unwatched={"transfers": "no CUDA"}),
    },
    "TPL301": {
        "confirmed": run(loaders=(loader(),), device=None),
        "refuted": run(loaders=(loader(workers=4),), device=None),
        "not-reached": run(loaders=(loader(batches=0),), device=None),
        "unobservable": run(lines={"train.py": {20: 1}}, device=None),
    },
    "TPL302": {
        "confirmed": run(copy(), loaders=(loader(),)),
        "refuted": run(copy(), loaders=(loader(pinned=True),)),
        "not-reached": run(**NOT_RAN),
        "unobservable": run(copy(), loaders=(loader(),), device=None),
    },
    "TPL303": {
        "confirmed": run(loaders=(loader(workers=2, epochs=5, first_wait_ms=9.0),), device=None),
        "refuted": run(loaders=(loader(epochs=5),), device=None),
        "not-reached": run(**NOT_RAN, device=None),
        "unobservable": run(loaders=(loader(workers=2, epochs=1),), device=None),
    },
    "TPL323": {
        "confirmed": run(loaders=(loader(workers=2),), device=None),
        "refuted": run(loaders=(loader(workers=1),), device=None),
        "not-reached": run(**NOT_RAN, device=None),
        "unobservable": run(lines={"train.py": {20: 1}}, device=None),
    },
    "TPL305": {
        "confirmed": run(loaders=tuple(loader(workers=2, start_ms=9.0) for _ in range(5)), device=None),
        "refuted": run(loaders=(loader(workers=2, epochs=5),), device=None),
        "not-reached": run(**NOT_RAN, device=None),
        "unobservable": run(loaders=(loader(workers=2),), device=None),
    },
    "TPL306": {
        "confirmed": run(loaders=(loader(batches=200, epochs=200),), device=None),
        "refuted": run(loaders=(loader(batches=500, epochs=5),), device=None),
        "not-reached": run(**NOT_RAN, device=None),
        "unobservable": run(lines={"train.py": {20: 1}}, device=None),
    },
    "TPL313": {
        "confirmed": run(loaders=(loader(settings={"batch_size": 64, "dataset": "TensorDataset"}),), device=None),
        "refuted": run(loaders=(loader(settings={"batch_size": None}),), device=None),
        "not-reached": run(**NOT_RAN, device=None),
        "unobservable": run(lines={"train.py": {20: 1}}, device=None),
    },
    "TPL401": {
        "confirmed": run(event("empty-cache", "call"), device=None),
        "refuted": run(event("empty-cache", "call", count=2), device=None),
        "not-reached": run(**NOT_RAN, device=None),
        "unobservable": run(lines={}, complete=frozenset(), device=None),
    },
    "TPL402": {
        "confirmed": run(event("collect", "all"), device=None),
        "refuted": run(event("collect", "all", count=2), device=None),
        "not-reached": run(**NOT_RAN, device=None),
        "unobservable": run(lines={}, complete=frozenset(), device=None),
    },
    "TPL404": {
        "confirmed": run(event("kept-graph", "backward"), device=None),
        "refuted": run(event("kept-graph", "backward", count=2), device=None),
        "not-reached": run(**NOT_RAN, device=None),
        "unobservable": run(lines={}, complete=frozenset(), device=None),
    },
    "TPL703": {
        "confirmed": run(compiled(), ended(), device=None),
        "refuted": run(compiled(), device=None),
        "not-reached": run(**NOT_RAN, device=None),
        "unobservable": run(compiled(line=40, last=50), device=None),
    },
    "TPL604": {
        "confirmed": stepped(tensors=900),
        "refuted": stepped(tensors=1),
        "not-reached": stepped(tensors=900, **NOT_RAN),
        "unobservable": stepped(tensors=900, last=15),
    },
    "TPL704": {
        "confirmed": run(compiled(), compiled("again", 7, **GUARDED), device=None),
        "refuted": run(compiled(), compiled("again", 1, **GUARDED), device=None),
        "not-reached": run(**NOT_RAN, device=None),
        "unobservable": run(compiled("failed", reason="no code"), device=None),
    },
    "TPL751": {
        "confirmed": run(forward(4)),
        "refuted": run(forward(1)),
        "not-reached": run(**NOT_RAN),
        "unobservable": run(forward(4), simulated=True, device="simulated"),
    },
}


SWITCHES = {"TPL407", "TPL551", "TPL552", "TPL555", "TPL556", "TPL558", "TPL602", "TPL603", "TPL762"}
"""Judged by the state of the process: see test_confirming_switches.py."""


def test_every_rule_with_probes_is_judged_here():
    assert {*CASES, *SWITCHES, *ITEMS} == {
        code for code, rule in RULES.items() if rule.confirm is not SourceRule.confirm
    }
    assert {code for code, rule in RULES.items() if rule.confirm is SourceRule.confirm} == set()


def test_an_optimizers_loop_is_priced_by_its_step():
    found = judged("TPL604", stepped(900))
    assert found.reason == "Slow updated 900 tensors one by one: 9.00 ms each time, 10 us a tensor"
    assert (found.blocked_ms_per_step, found.share_of_step) == (pytest.approx(9.0), pytest.approx(0.45))
    simulated = judged("TPL604", stepped(900, simulated=True, device="simulated"))
    assert (simulated.outcome, simulated.blocked_ms_per_step) == (Outcome.CONFIRMED, None)
    assert " ms" not in simulated.reason


def test_of_two_kinds_of_optimizers_none_is_priced():
    both = [*stepped(900).state["optimizers"], {"class": "Adam", "tensors": 3, "step": None}]
    found = judged("TPL604", stepped(900, state={"optimizers": both}))
    assert (found.outcome, found.blocked_ms_per_step) == (Outcome.CONFIRMED, None)
    assert found.reason == "Slow updated 900 tensors one by one"


@pytest.mark.parametrize("outcome", [o.value for o in Outcome])
@pytest.mark.parametrize("code", CASES)
def test_outcomes(code, outcome):
    found = judged(code, CASES[code][outcome])
    assert found.outcome.value == outcome
    assert found.reason
    assert "None" not in found.reason


WITHOUT_A_DEVICE = (
    *("TPL301", "TPL303", "TPL323", "TPL305", "TPL306", "TPL313"),
    *("TPL604", "TPL401", "TPL402", "TPL404", "TPL703", "TPL704", "TPL756", "TPL757", "TPL758"),
)


@pytest.mark.parametrize("code", [code for code in CASES if code not in WITHOUT_A_DEVICE])
def test_no_device(code):
    evidence = replace(CASES[code]["confirmed"], device=None)
    found = judged(code, evidence)
    assert found.outcome is Outcome.UNOBSERVABLE
    assert "no CUDA device" in found.reason
    assert "--simulate" in found.reason


@pytest.mark.parametrize("code", CASES)
def test_a_probe_that_was_blind_refutes_nothing(code):
    for probe in RULES[code].probes:
        for outcome in ("refuted", "unobservable"):
            evidence = replace(CASES[code][outcome], unwatched={probe: "broken"})
            assert judged(code, evidence).outcome is Outcome.UNOBSERVABLE
        evidence = replace(CASES[code]["refuted"], unwatched={probe: "broken"})
        assert judged(code, evidence).reason == f"{probe}: broken"


@pytest.mark.parametrize("code", CASES)
def test_a_probe_that_was_blind_does_not_undo_what_others_saw(code):
    evidence = CASES[code]["confirmed"]
    assert judged(code, replace(evidence, unwatched={"other": "broken"})).outcome is Outcome.CONFIRMED
    assert judged(code, replace(evidence, unwatched={RULES[code].probes[0]: "lost"})).outcome is Outcome.CONFIRMED


@pytest.mark.parametrize("code", CASES)
def test_a_changed_source_is_not_judged(code):
    found = verdict.judged([finding(code)], CASES[code]["confirmed"], changed=["train.py"])[0].verdict
    assert (found.outcome, found.reason) == (Outcome.UNOBSERVABLE, "the file has changed since it ran")
    other = verdict.judged([finding(code)], CASES[code]["confirmed"], changed=["other.py"])[0].verdict
    assert other.outcome is Outcome.CONFIRMED


@pytest.mark.parametrize("code", CASES)
def test_a_notebooks_cell_did_not_run(code):
    found = judged(code, CASES[code]["confirmed"], location=replace(HERE, cell=3))
    assert (found.outcome, found.reason) == (Outcome.UNOBSERVABLE, "a notebook's cell did not run")


@pytest.mark.parametrize("code", CASES)
def test_without_torch_nothing_is_judged(code):
    evidence = replace(CASES[code]["not-reached"], unwatched={"torch": "the script did not import torch"})
    assert judged(code, evidence) == Verdict(Outcome.UNOBSERVABLE, "the script did not import torch")


def test_a_rule_that_this_version_does_not_have():
    assert judged("TPL199", run(event())).reason == "this version has no rule TPL199"


def test_a_rule_that_fails_is_no_reason_to_fail(monkeypatch):
    def fail(*args):
        raise ZeroDivisionError("x / 0")

    monkeypatch.setattr(RULES["TPL101"], "confirm", fail)
    found = judged("TPL101", run(event()))
    assert found.outcome is Outcome.UNOBSERVABLE
    assert found.reason == "TPL101 could not judge: ZeroDivisionError: x / 0"


@pytest.mark.parametrize("code", [code for code in CASES if code != "TPL301"])
def test_shorter_than_the_warm_up_an_outcome_and_no_price(code):
    long = CASES[code]["confirmed"]
    short = replace(
        long,
        steps=8,
        train_batches=8,
        events=tuple(replace(e, count=8 * max(e.count // 500, 1), train_turns=8, blocked_ms=3.0) for e in long.events),
    )
    found = judged(code, short)
    assert found.outcome is Outcome.CONFIRMED
    assert (found.blocked_ms_per_step, found.share_of_step) == (None, None)


def test_a_loader_without_workers_in_a_run_shorter_than_the_warm_up():
    found = judged("TPL301", run(steps=8, loaders=(loader(batches=8),)))
    assert (found.outcome, found.blocked_ms_per_step) == (Outcome.CONFIRMED, None)
    assert "too few batches" in found.reason


def test_the_price_of_a_loader_without_workers():
    evidence = run(loaders=(loader(),), segments=(Segment("data", None, None, 9800.0, 1),))
    found = judged("TPL301", evidence)
    assert found.reason == "no workers; the loop waited 4 ms for each of 489 batches"
    assert found.blocked_ms_per_step == pytest.approx(489 * 4 / 490)
    assert found.share_of_step == pytest.approx(489 * 4 / 9800)


def test_a_loader_that_was_made_with_and_without_workers():
    found = judged("TPL301", run(loaders=(loader(workers=4), loader(batches=100))))
    assert found.outcome is Outcome.CONFIRMED
    assert "89 batches" in found.reason


def test_a_negligible_share_is_told_as_such():
    evidence = run(event(blocked_ms=4.9), segments=(Segment("forward", None, None, 4900.0, 1),))
    found = judged("TPL101", evidence)
    assert found.outcome is Outcome.CONFIRMED
    assert found.share_of_step == pytest.approx(0.001)
    assert found.share_of_step < verdict.NEGLIGIBLE
    worth = judged("TPL101", run(event(blocked_ms=490.0), segments=evidence.segments))
    assert worth.share_of_step > verdict.NEGLIGIBLE


def test_an_event_in_a_package_called_from_the_findings_line():
    inside = event(path="/lib/x.py", line=3, via=("train.py", 20), column=1, end_line=3, end_column=9)
    assert judged("TPL101", run(inside)).outcome is Outcome.CONFIRMED
    assert judged("TPL101", run(replace(inside, via=("train.py", 21)))).outcome is Outcome.REFUTED


def test_two_findings_on_one_line():
    evidence = run(event(), event(count=5, column=30, end_column=40))
    findings = [finding("TPL101"), finding("TPL101", location=replace(HERE, column=30, end_column=40))]
    first, second = (f.verdict for f in verdict.judged(findings, evidence))
    assert (first.outcome, second.outcome) == (Outcome.CONFIRMED, Outcome.REFUTED)


def test_a_finding_in_evaluation():
    evidence = run(event(count=40, train_turns=0, eval_turns=40), eval_batches=40)
    found = judged("TPL101", evidence)
    assert (found.outcome, found.reason) == (
        Outcome.CONFIRMED,
        "40 synchronisations in 40 of 40 evaluation batches",
    )


@pytest.mark.parametrize("code", ["TPL101", "TPL103", "TPL105", "TPL201", "TPL251", "TPL401", "TPL751"])
def test_once_every_hundred_steps_is_refuted(code):
    seen = CASES[code]["confirmed"]
    rare = replace(seen, events=tuple(replace(e, count=5, train_turns=5) for e in seen.events))
    found = judged(code, rare)
    assert found.outcome is Outcome.REFUTED
    assert "in 5 of 500 steps" in found.reason


def test_unpinned_memory_is_seen_where_the_batches_are_moved():
    moved = replace(copy(), line=31, end_line=31)
    related = (Related(Location("train.py", 31, 1, 31, 30), "moves the batch"),)
    assert judged("TPL302", run(moved, loaders=(loader(),)), related=related).outcome is Outcome.CONFIRMED
    elsewhere = judged("TPL302", run(moved, loaders=(loader(),)))
    assert elsewhere.outcome is Outcome.UNOBSERVABLE  # whose copy it is, nobody knows


def test_a_loader_is_made_once_and_its_batches_are_moved_often():
    related = tuple(Related(Location("train.py", n, 1, n, 30), "moves the batch") for n in (31, 32))
    evidence = run(loaders=(loader(),), lines={"train.py": {20: 1, 31: 1, 32: 3}})
    assert judged("TPL302", evidence, related=related).outcome is Outcome.REFUTED
    unread = run(loaders=(loader(),), lines={"train.py": {20: 1}})
    assert judged("TPL302", unread, related=related).outcome is Outcome.NOT_REACHED


def test_an_upload_is_seen_as_a_wait_or_as_a_copy():
    assert judged("TPL252", run(copy())).outcome is Outcome.CONFIRMED
    assert judged("TPL252", run(copy("d2h"))).outcome is Outcome.REFUTED


def test_what_was_pinned_is_seen_where_it_is_moved():
    moved = replace(copy(pinned=True), line=31, end_line=31)
    related = (Related(Location("train.py", 31, 20, 31, 21), "moves what was pinned"),)
    assert judged("TPL203", run(moved), related=related).outcome is Outcome.CONFIRMED
    assert judged("TPL203", run(moved)).outcome is Outcome.REFUTED


def test_one_copy_that_does_not_wait_is_one_too_many():
    found = judged("TPL204", run(copy("d2h", blocking=False, count=1)))
    assert (found.outcome, found.reason) == (Outcome.CONFIRMED, "1 copy to the host that did not wait")
    assert judged("TPL204", run(lines={"train.py": {20: 1}})).outcome is Outcome.UNOBSERVABLE


def test_a_copy_of_pinned_memory_does_not_confirm_unpinned_memory():
    assert judged("TPL302", run(copy(pinned=True), loaders=(loader(),))).outcome is Outcome.REFUTED


def test_data_parallel_on_one_device_says_why():
    assert judged("TPL751", run(forward(1))).reason == "it ran on one device, where it only calls the module"


def test_a_barrier_is_seen_in_the_helper_that_is_called():
    inside = replace(collective(what="barrier"), line=31, end_line=31)
    related = (Related(Location("train.py", 31, 1, 31, 30), "they wait here"),)
    assert judged("TPL756", run(inside, device=None), related=related).outcome is Outcome.CONFIRMED
    assert judged("TPL756", run(inside, device=None)).outcome is Outcome.REFUTED


def test_data_parallel_is_seen_in_the_factory_that_makes_it():
    inside = replace(forward(4), line=31, end_line=31)
    related = (Related(Location("train.py", 31, 1, 31, 30), "it is wrapped here"),)
    assert judged("TPL751", run(inside), related=related).outcome is Outcome.CONFIRMED


def test_a_copy_of_data_parallel_is_not_watched():
    assert judged("TPL751", run()).outcome is Outcome.UNOBSERVABLE


@pytest.mark.parametrize("code", CASES)
@pytest.mark.parametrize("steps", [0, 10])
def test_nothing_divides_by_zero(code, steps):
    for evidence in CASES[code].values():
        bare = replace(evidence, steps=steps, train_batches=0, warmup=10, segments=())
        timed = replace(bare, events=tuple(replace(e, blocked_ms=1.0, train_turns=0) for e in bare.events))
        for each in (bare, timed):
            assert "could not judge" not in judged(code, each).reason


def test_findings_keep_their_order_and_the_rest_of_themselves():
    findings = [finding("TPL401"), finding("TPL101"), finding("TPL999")]
    after = verdict.judged(findings, run(event()))
    assert [replace(f, verdict=None) for f in after] == findings
    assert all(f.verdict is not None for f in after)


def test_changed_sources(tmp_path):
    (tmp_path / "same.py").write_text("a", encoding="utf-8")
    (tmp_path / "other.py").write_text("b", encoding="utf-8")
    digest = hashlib.sha256(b"a").hexdigest()
    sources = {"same.py": digest, "other.py": digest, "gone.py": digest, str(tmp_path / "same.py"): digest}
    assert verdict.changed_sources(run(sources=sources), tmp_path) == ("gone.py", "other.py")


def test_what_no_finding_tells():
    told = event()
    hidden = replace(event(blocked_ms=5.0), line=40, end_line=40)
    cheap = replace(hidden, line=50, end_line=50, blocked_ms=None)
    outside = replace(hidden, line=60, end_line=60, train_turns=0)
    nowhere = replace(hidden, path="", line=0)
    evidence = run(told, cheap, hidden, outside, nowhere)
    assert verdict.unfound([finding("TPL101")], evidence, ("sync",)) == (hidden, cheap)
    assert verdict.unfound([finding("TPL101")], evidence, ("copy",)) == ()


@pytest.mark.parametrize("found", [event(count=3, train_turns=0, eval_turns=3), None], ids=["seldom", "silent"])
@pytest.mark.parametrize(
    ("hot", "more", "outcome"),
    [("it runs every training step: called at train.py:9", {}, "unobservable"),
     ("it runs every evaluation batch", {}, "refuted"),
     ("it runs every evaluation batch", {"returncode": 1}, "refuted"),
     ("it runs every training step: called at train.py:9", {"backwards": 5}, "refuted")],
)  # fmt: skip
def test_a_run_that_trains_nothing_does_not_refute_what_is_said_of_training_steps(found, hot, more, outcome):
    decoded = run(*([found] if found else []), **{"steps": 0, "train_batches": 0, "eval_batches": 32, **more})
    judged = verdict.judged([finding("TPL101", why_hot=hot)], decoded)
    assert judged[0].verdict.outcome.value == outcome


def test_a_run_that_fell_short_of_its_first_step_refutes_nothing():
    early = run(steps=0, train_batches=0, returncode=1)
    assert verdict.judged([finding("TPL101")], early)[0].verdict == Verdict(
        Outcome.UNOBSERVABLE, "the run ended before its first step"
    )
