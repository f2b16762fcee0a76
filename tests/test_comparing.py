"""Two runs, before and after a change, as people and programs are told about them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from runs import GPU, WARMUP, finding, loader, report, run, sync, utilisation, waiting
from test_run_html import seen, words

from torchperf_lint.adapters import cli
from torchperf_lint.comparable import Change, threshold_of
from torchperf_lint.comparing import compare, paired
from torchperf_lint.model import Location, Outcome, Problem
from torchperf_lint.recorded import Rank, Spread
from torchperf_lint.reporters import View, formats, render_compared, run_page

RECORD = Path(__file__).parents[1] / "docs" / "run.events.jsonl"
SOURCES = {"train.py": "aa"}


def spread(median, width=0.2, count=100):
    return Spread(median, median * 1.5, count, median - width / 2, median + width / 2)


def one(median=20.0, width=0.2, count=100, findings=(), **changes):
    """A judged run whose steps take `median` ms."""
    made = run(step_ms=median, **{"device": GPU, "sources": SOURCES, **changes})
    if made.step_ms is not None:
        made = replace(made, step_ms=spread(median, width, count))
    return report(made, findings)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ({"median": 20.0}, {"median": 17.0}, Change.BETTER),
        ({"median": 17.0}, {"median": 20.0}, Change.WORSE),
        ({"median": 20.0}, {"median": 20.0}, Change.SAME),
        ({"median": 20.0}, {"median": 19.7}, Change.SAME),  # under 2 %
        ({"median": 20.0, "width": 4.0}, {"median": 17.0}, Change.SAME),  # within the spread of one of them
        ({"median": 20.0}, {"median": 17.0, "width": 4.0}, Change.SAME),
        ({"median": 20.0, "width": 2.9}, {"median": 17.0, "width": 2.9}, Change.BETTER),
    ],
)
def test_a_steps_time_changes_by_more_than_its_spread(before, after, change):
    step = compare(one(**before), one(**after)).step
    assert step.change is change
    assert (step.before_ms, step.after_ms) == (before["median"], after["median"])


@pytest.mark.parametrize(
    ("before", "after", "width"),
    [
        (spread(20, 1), spread(10, 0.5), 1.0),
        (spread(20, 0.1), spread(10, 0.1), 0.4),
        (Spread(20, 23, 9), spread(10), 3.0),
    ],
)
def test_the_threshold_is_the_wider_middle_half_and_at_least_two_per_cent(before, after, width):
    assert threshold_of(before, after) == threshold_of(after, before) == pytest.approx(width)


RANKS = tuple(Rank(n, n, 110, None, 0.0) for n in range(2))
NOT_COMPARED = {
    "other device": ({}, {"device": "NVIDIA A100"}, "other device: NVIDIA H200 before, NVIDIA A100 after"),
    "no device": ({}, {"device": None}, "other device: NVIDIA H200 before, none after"),
    "simulated": ({}, {"device": "simulated", "simulated": True}, "the device after is simulated"),
    "both simulated": ({"simulated": True}, {"simulated": True}, "the device before is simulated"),
    "ranks": ({}, {"ranks": RANKS}, "other number of ranks: 1 before, 2 after"),
    "batches": (
        {"loaders": [loader(settings={"batch_size": 8})]},
        {"loaders": [loader(settings={"batch_size": 32})]},
        "a step does other work: 8 before, 32 after",
    ),
    "cores": (
        {"device": None, "utilisation": utilisation(cores=2)},
        {"device": None, "utilisation": utilisation(cores=16)},
        "other number of cores allowed, and no device: 2 before, 16 after",
    ),
    "few": ({"count": 19}, {}, "too few steps before: 19 were timed, 20 are needed"),
    "none": ({}, {"steps": WARMUP}, "no step was timed after"),
}


@pytest.mark.parametrize("case", NOT_COMPARED)
def test_what_cannot_be_compared_says_so(case):
    before, after, why = NOT_COMPARED[case]
    priced = finding(25, blocked_ms_per_step=8.0, share_of_step=0.4)
    found = compare(one(findings=[priced], **before), one(17.0, findings=[priced], **after))
    assert (found.step.change, found.threshold_ms) == (Change.UNKNOWN, None)
    assert why in found.step.reason
    assert (found.step.before_ms, found.step.after_ms) == (None, None)
    for name in formats():
        text = " ".join(render_compared(name, found, View()).split())
        assert why in text
        assert "not compared" in text


def priced(ms, line=25):
    return finding(line, blocked_ms_per_step=ms, share_of_step=ms / 20)


def judged(outcome, line=25):
    return finding(line, outcome=outcome, reason="why")


FINDINGS = {
    "gone": ([priced(8.0)], [], Change.GONE),
    "new": ([], [priced(8.0)], Change.NEW),
    "moved": ([priced(8.0)], [priced(8.0, 31)], Change.SAME),
    "better": ([priced(8.0)], [priced(2.0)], Change.BETTER),
    "worse": ([priced(2.0)], [priced(8.0)], Change.WORSE),
    "within the spread": ([priced(0.3)], [priced(0.1)], Change.SAME),
    "no longer happens": ([priced(8.0)], [judged(Outcome.REFUTED)], Change.BETTER),
    "happens": ([judged(Outcome.REFUTED)], [priced(8.0)], Change.WORSE),
    "not reached": ([priced(8.0)], [judged(Outcome.NOT_REACHED)], Change.UNKNOWN),
    "blind": ([judged(Outcome.UNOBSERVABLE)], [priced(8.0)], Change.UNKNOWN),
    "blind both times": ([judged(Outcome.UNOBSERVABLE)], [judged(Outcome.UNOBSERVABLE)], Change.SAME),
    "nobody judged": ([replace(priced(1.0), verdict=None)], [replace(priced(1.0), verdict=None)], Change.SAME),
}


@pytest.mark.parametrize("case", FINDINGS)
def test_what_became_of_a_finding(case):
    before, after, change = FINDINGS[case]
    (entry,) = compare(one(findings=before), one(findings=after)).findings
    assert entry.change is change
    assert (entry.before is None, entry.after is None) == (not before, not after)


@pytest.mark.parametrize(("times", "change"), [(1, Change.BETTER), (3, Change.SAME), (6, Change.WORSE)])
def test_without_prices_counts_are_compared(times, change):
    simulated = {"device": "simulated", "simulated": True}
    before = one(findings=[finding(25)], events=(sync(25, per_step=3),), **simulated)
    after = one(findings=[finding(25)], events=(sync(25, per_step=times),), **simulated)
    found = compare(before, after)
    assert found.findings[0].change is change
    assert found.findings[0].reason == f"3 a step, then {times} a step"[: -len(" a step")]


@pytest.mark.parametrize("side", ["before", "after"])
def test_what_did_not_run_is_neither_gone_nor_new(side):
    has, lacks = one(findings=[finding(25)]), one(sources={"other.py": "bb"})
    found = compare(*((lacks, has) if side == "before" else (has, lacks)))
    assert found.findings[0].change is Change.UNKNOWN
    assert found.findings[0].reason == f"train.py did not run {side}"


def test_what_could_not_be_judged_is_not_gone():
    after = one()
    after = replace(after, report=replace(after.report, problems=(Problem("train.py", 3, "syntax error"),)))
    assert compare(one(findings=[finding(25)]), after).findings[0].reason == "train.py could not be judged after"


def at(line, message="`x.item()` waits (line 3)", **changes):
    return replace(finding(line), location=Location("train.py", line, 1, line, 9), message=message, **changes)


@pytest.mark.parametrize(
    ("before", "after", "pairs"),
    [
        ([at(10), at(20), at(30)], [at(11), at(31)], [(10, 11), (30, 31)]),
        ([at(10)], [at(12, "`x.item()` waits (line 5)")], [(10, 12)]),
        ([at(10)], [at(10, "`y.item()` waits (line 3)")], []),
        ([at(10)], [at(10, code="TPL102")], []),
        ([at(10), at(12)], [at(9), at(8)], [(10, 9), (12, 8)]),
    ],
)
def test_a_finding_is_known_again_where_it_moved(before, after, pairs):
    found, gone, new = paired(before, after)
    assert [(a.location.line, b.location.line) for a, b in found] == pairs
    assert len(gone) == len(before) - len(pairs)
    assert len(new) == len(after) - len(pairs)


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        (waiting(0.6), waiting(0.3), {"TPL901": Change.BETTER, "TPL910": Change.NEW}),
        (waiting(0.3), waiting(0.6), {"TPL901": Change.WORSE, "TPL910": Change.GONE}),
        (waiting(0.6), waiting(0.6), {"TPL901": Change.SAME}),
        (waiting(0.6), run(), {"TPL901": Change.GONE, "TPL910": Change.NEW}),
    ],
)
def test_what_became_of_a_diagnosis(before, after, changes):
    sides = [report(replace(side, step_ms=spread(20.0))) for side in (before, after)]
    found = {(entry.after or entry.before).code: entry.change for entry in compare(*sides).diagnoses}
    assert found == changes


def both():
    before = report(
        replace(waiting(0.6, device=None), step_ms=spread(20.0), sources=SOURCES), [priced(8.0), finding(40)]
    )
    after = report(replace(waiting(0.2, device=None), step_ms=spread(12.0), sources=SOURCES), [priced(1.0, 27)])
    return compare(before, replace(after, run=replace(after.run, torch="2.14.0", returncode=3), script="<b>train.py"))


@pytest.mark.parametrize("width", [40, 80, 300])
def test_the_page_for_people(width):
    text = render_compared("full", both(), View(width=width))
    assert all(len(line) <= min(width, 120) for line in text.splitlines())
    said = " ".join(text.split())
    assert "before median 20.0 ms, quartiles 19.9 ms and 20.1 ms (100 steps)" in said
    assert "better 8.00 ms less (40 %), spread 0.400 ms" in said
    assert "2 findings: 1 better, 1 gone" in said
    assert "better TPL101 train.py:27:18 item-in-hot-loop: 8.00 ms a step, then 1.00 ms" in said
    assert "same: no more than the spread" in said
    assert "other torch: 2.13.0 before, 2.14.0 after" in said
    assert "the run after ended with exit code 3" in said


def test_json_has_figures_and_nulls():
    data = json.loads(render_compared("json", both(), View()))
    assert data["version"] == 1
    found = data["comparison"]
    assert found["before"]["step_ms"] == {"lower": 19.9, "median": 20.0, "upper": 20.1, "p95": 30.0, "count": 100}
    assert (found["step"]["change"], found["step"]["before_ms"], found["step"]["after_ms"]) == ("better", 20.0, 12.0)
    assert found["threshold_ms"] == 0.4
    gone = next(entry for entry in found["findings"] if entry["change"] == "gone")
    assert gone["before"] == {"path": "train.py", "line": 40, "column": 18, "outcome": "confirmed"}
    assert (gone["after"], gone["after_ms"], gone["code"]) == (None, None, "TPL101")


def test_concise_is_a_line_for_each():
    lines = render_compared("concise", both(), View()).splitlines()
    assert lines[0].startswith("better: time of a step: 8.00 ms less")
    assert [line.partition(":")[0] for line in lines[1:]] == ["new", "better", "better", "gone"]


def test_the_page_of_a_run_has_a_section():
    found = both()
    text = run_page(found.after, View(), found)
    seen(text)
    assert "<b>train" not in text
    said = words(text)
    assert said.index("What the change did") < said.index("What bounds it")
    assert "2 findings: 1 better, 1 gone" in said
    assert "What the change did" not in words(run_page(found.after, View()))


def test_the_command_compares_two_records(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["--report", str(RECORD), "--compare", str(RECORD), "--html", "page.html"]) == 0
    out = capsys.readouterr().out
    assert "1 finding: 1 same" in out
    assert "What the change did" in words((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert cli.main(["--report", str(RECORD), "--compare", "gone.jsonl"]) == 2
    assert "--compare: gone.jsonl: cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--compare", "b.jsonl", "a.py"], ["--runtime", "--compare", "b.jsonl", "a.py"]])
def test_only_a_report_can_be_compared(arguments, capsys):
    assert cli.main(arguments) == 2
    assert "--compare: only with --report" in capsys.readouterr().err
