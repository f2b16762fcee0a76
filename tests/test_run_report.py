"""The report about a run, as people and programs get it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from runs import GPU, STEPS, WARMUP, answered, copy, finding, loader, report, run, sync, utilisation, waiting, worker

from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Confidence, Outcome, Problem, Report
from torchperf_lint.recorded import Rank
from torchperf_lint.reporters import View, render, render_run, run_page
from torchperf_lint.reporters._bars import cells
from torchperf_lint.run_report import RunReport
from torchperf_lint.untold import NO_EFFECT, NO_MEMORY, NO_TIME

GOLDEN = Path(__file__).parent / "golden"
SOURCE = (
    "\n" * 19 + "for x, y in loader:\n    x, y = x.to(device), y.to(device)\n\n\n\n    total = total + loss.item()\n"
)
NO_DEVICE = "the run used no CUDA device, so nothing waits for one"
REFUTED = "the line ran at least 3 times without a synchronisation"
ON_GPU = utilisation(
    cores=8,
    gpu=0.42,
    gpu__0__memory_bytes=20e9,
    cpu__main_cores=1.02,
    cpu__others_cores=0.31,
    cpu__machine_share=0.2,
    disk__read_bytes_per_s=12e6,
    disk__tree_read_bytes_per_s=11e6,
    disk__written_bytes_per_s=0.2e6,
)


def page(made, width=80, **view):
    return render_run("full", made, View(width=width, texts={"train.py": SOURCE}, **view))


def on_gpu():
    """Half of the step is blocked in two lines, and the loader lets training wait a little."""
    events = (
        sync(25, blocked_ms=8.0),
        sync(21, "stream", blocked_ms=1.5, per_step=2),
        copy(21, per_step=2),
        sync(31, "stream", blocked_ms=0.1),
        sync(35, "stream", blocked_ms=0.4),
        sync(120, "item", path="/opt/site-packages/meters/mean.py", via=("train.py", 33), blocked_ms=0.01),
    )
    shares = {"waiting_for_the_device": 0.5, "data": 0.12, "backward": 0.1, "optimizer": 0.05, "after_the_step": 0.004}
    evidence = run(
        shares=shares, events=events, loaders=[loader(2.4)], device=GPU, utilisation=ON_GPU, argv=("train.py",)
    )
    findings = (
        finding(21, "TPL201", blocked_ms_per_step=3.0, share_of_step=0.15),
        finding(25, blocked_ms_per_step=8.0, share_of_step=0.40),
        finding(31, blocked_ms_per_step=0.1, share_of_step=0.005),
        finding(50, outcome=Outcome.REFUTED, reason=REFUTED),
        finding(60, outcome=Outcome.NOT_REACHED, reason="the line did not run"),
        finding(70, outcome=Outcome.NOT_REACHED, reason="the line did not run"),
    )
    return report(evidence, findings, unfound=events[4:], record="torchperf-1.events.jsonl")


def simulated():
    events = (sync(25), sync(21, "copy"), copy(21), sync(34, "torch.compile runs eagerly", kind="unsupported"))
    evidence = run(events=events, device="simulated", simulated=True, loaders=[loader(2.4)], utilisation=ON_GPU)
    return report(evidence, (finding(25), finding(21, "TPL201")))


@pytest.mark.parametrize(
    ("what", "exact"),
    [(NO_MEMORY, True), (NO_TIME, True), (NO_EFFECT.format("cudaHostRegister"), False), ("stft has no kernel", False)],
)
def test_counts_are_exact_where_only_figures_are_missing(what, exact):
    made = simulated()
    lacking = sync(34, what, kind="unsupported")
    text = page(replace(made, run=replace(made.run, events=(*made.run.events[:3], lacking))), width=120)
    assert ("counts are exact" in text) is exact
    assert ("counts may lack something" in text) is not exact
    assert f"the simulation cannot do this: {what.split(':')[0]}" in text


def on_cpu():
    evidence = waiting(0.6, utilisation=utilisation(cores=2, cpu__main_cores=0.98), returncode=3)
    unseen = {"host-sync": "no CUDA", "transfers": "no CUDA"}
    findings = tuple(finding(line, outcome=Outcome.UNOBSERVABLE, reason=NO_DEVICE) for line in (21, 25))
    problem = Problem("broken.py", 3, "syntax error")
    made = report(replace(evidence, unwatched=unseen), findings, changed=("model.py",))
    return replace(made, report=replace(made.report, problems=(problem,)))


def many():
    """More of everything than fits a screen."""
    lines = range(100, 140)
    events = tuple(sync(line, blocked_ms=0.3) for line in lines) + tuple(
        sync(line, blocked_ms=0.2) for line in range(200, 220)
    )
    evidence = run(events=events, device=GPU, shares={"waiting_for_the_device": 0.6}, utilisation=ON_GPU)
    findings = [finding(line, blocked_ms_per_step=0.3, share_of_step=0.015) for line in lines]
    findings += [finding(n, outcome=Outcome.UNOBSERVABLE, reason=f"reason {n}") for n in range(300, 310)]
    return report(evidence, findings, unfound=events[40:])


def killed():
    evidence = run(steps=WARMUP, returncode=-9, torn=True, missing_ranks=(1, 3), device=GPU)
    ranks = tuple(Rank(n, 100 + n, WARMUP, None, 0.0) for n in (0, 2))
    return report(replace(evidence, ranks=ranks, events=(sync(25, steps=WARMUP),)), (finding(25),))


def empty():
    return report(Evidence(returncode=0))


PAGES = {
    "on_gpu": on_gpu,
    "simulated": simulated,
    "on_cpu": on_cpu,
    "many": many,
    "killed": killed,
    "empty": empty,
}


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_the_one_that_was_agreed_on(name):
    assert page(PAGES[name]()) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 300])
@pytest.mark.parametrize("name", PAGES)
def test_the_page_fits_its_width(name, width):
    for line in page(PAGES[name](), width).splitlines():
        assert len(line) <= min(width, 120), line
        assert line == line.rstrip()


@pytest.mark.parametrize("width", [40, 80])
def test_no_path_is_broken_in_two_and_none_moves_a_figure(width):
    path = "experiments/with/a/folder/for/everything/that/anybody/ever/tried/by/hand/train.py"
    record = "/scratch/somebody/results/of/november/the/twelfth/with/more/digits/train-20261112.events.jsonl"
    seen = (sync(25, path=path), sync(30, path=path), sync(26, path="train.py"))
    found = [finding(25, path=path), finding(26, path="train.py")]
    found += [finding(40, path=path, outcome=Outcome.NOT_REACHED, reason="the line did not run")]
    unsupported = sync(50, "stft", path=path, kind="unsupported")
    evidence = run(events=(*seen, unsupported), device="simulated", simulated=True)
    evidence = replace(evidence, returncode=1, state={"raised": "KeyError: 'x'", "raised_at": (path, 60)})
    text = page(report(evidence, found, unfound=seen[1:2], record=record), width)
    assert record in text
    assert all(f"{path}:{line}" in text for line in (25, 30, 40, 50, 60))
    rows = [line for line in text.splitlines() if line.startswith("  TPL101 ")]
    if width == 80:
        figures = [row.partition(where)[0] for row, where in zip(rows, (path, "train.py:26"), strict=True)]
        assert figures == ["  TPL101       1       -       -     -  "] * 2


@pytest.mark.parametrize("width", [40, 80])
def test_only_a_path_may_be_longer_than_the_page(width):
    path = "a/very/long/path/that/no/terminal/of/this/width/could/show/on/one/line/at/all/train.py"
    event = sync(25, path=path, blocked_ms=1.0)
    evidence = run(events=(event,), device=GPU, shares={"waiting_for_the_device": 0.3}, utilisation=ON_GPU)
    made = report(evidence, (finding(25, path=path, blocked_ms_per_step=1.0, share_of_step=0.05),), script=path)
    for line in page(made, width).splitlines():
        assert len(line) <= width or path in line or "train.py:25" in line


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("color", [False, True])
def test_the_page_is_ascii_and_colours_change_no_word(name, color):
    text = page(PAGES[name](), color=color)
    assert text.isascii()
    assert ("\x1b[" in text) is color
    assert re.sub(r"\x1b\[[\d;]*m", "", text) == page(PAGES[name]())


@pytest.mark.parametrize("name", PAGES)
def test_a_normal_page_is_about_a_screen(name):
    assert len(page(PAGES[name]()).splitlines()) <= (80 if name == "many" else 70)


@pytest.mark.parametrize(("confirmed", "others", "unnamed"), [(13, 4, 11), (5, 8, 3)])
def test_what_is_confirmed_and_what_happens_every_step_is_listed(confirmed, others, unnamed):
    """Never `and 1 more`, which is as long as what it leaves out."""
    waits = [sync(line) for line in range(100, 100 + confirmed)] + [sync(line) for line in range(200, 200 + unnamed)]
    findings = [finding(line) for line in range(100, 100 + confirmed)]
    findings += [finding(n, outcome=Outcome.UNOBSERVABLE, reason=f"reason {n}") for n in range(300, 300 + others)]
    made = report(run(events=waits, simulated=True), findings, unfound=waits[confirmed:])
    text = page(made)
    assert all(f"train.py:{event.line}" in text for event in waits)
    assert all(f"reason {n}" in text for n in range(300, 300 + others))
    assert "more" not in text


def test_where_it_is_cut_it_says_how_to_see_the_rest():
    text = " ".join(page(many()).split())
    assert "and 35 more: 28 confirmed, 7 unobservable (`--html FILE` and `--output-format json` list all)" in text
    assert "and 10 more lines (`--html FILE` and `--output-format json` list all)" in text


def figures(text):
    """Every number with a unit of time or a per cent sign, and every cell of the table's columns of prices."""
    return re.findall(r"[\d.]+(?= (?:ms|s|%)(?![\w/]))", text)


@pytest.mark.parametrize("name", ["simulated", "killed", "empty"])
def test_nothing_is_said_about_time_where_none_was_measured(name):
    assert figures(page(PAGES[name]())) == []


@pytest.mark.parametrize("blocked", [None, 0.0004, 0.2, 3.0])
@pytest.mark.parametrize("bubble", [None, 0.2])
@pytest.mark.parametrize("share", [None, 0.0001, 0.02])
@pytest.mark.parametrize("width", [40, 80])
def test_what_was_not_measured_never_prints_as_0(blocked, bubble, share, width):
    one = finding(25, blocked_ms_per_step=blocked, bubble_ms_per_step=bubble, share_of_step=share)
    made = report(run(events=(sync(25),), device=GPU), (one,))
    text = page(made, width)
    assert not re.search(r"(?<![\d.:])0(\.0+)?(?![\d.:]| of)", text.partition("finding")[2].partition("Notes")[0])
    if None in (blocked, bubble, share):
        assert "- not measured: a bubble needs a profiler's window" in " ".join(text.split())
    if blocked is not None or bubble is not None:
        assert "upper bound" in " ".join(text.split())
    assert (("(negligible)" if width == 80 else "confirmed, negligible") in " ".join(text.split())) is (share == 0.0001)


def test_the_dearest_come_first_and_the_negligible_last():
    text = page(on_gpu())
    table = text.partition("N/step")[2]
    assert table.index("train.py:25") < table.index("train.py:21") < table.index("train.py:31")
    first = text.partition("Do these first")[2].partition("findings:")[0]
    assert "train.py:31" not in first
    assert [n for n in ("1.", "2.", "3.", "4.") if f"\n  {n} " in first] == ["1.", "2.", "3."]


def test_a_bubble_weighs_more_than_a_wait():
    waits = finding(25, blocked_ms_per_step=9.0, share_of_step=0.4)
    idles = finding(21, "TPL201", bubble_ms_per_step=0.5, blocked_ms_per_step=0.6, share_of_step=0.03)
    table = page(report(run(device=GPU), (waits, idles))).partition("N/step")[2]
    assert table.index("train.py:21") < table.index("train.py:25")


def test_without_prices_the_most_frequent_comes_first():
    events = (sync(25), sync(40, per_step=6))
    made = report(run(events=events, device="simulated", simulated=True), (finding(25), finding(40)))
    table = page(made).partition("N/step")[2]
    assert table.index("train.py:40") < table.index("train.py:25")


def test_what_is_only_possible_comes_last_and_is_called_that():
    dear = replace(finding(40, share_of_step=0.3, blocked_ms_per_step=6.0), confidence=Confidence.POSSIBLE)
    made = report(run(device=GPU), (dear, finding(25, share_of_step=0.1, blocked_ms_per_step=2.0)))
    first = page(made).partition("Do these first")[2].partition("2 findings")[0]
    assert first.index("1. train.py:25") < first.index("2. train.py:40:18  TPL101 item-in-hot-loop (possible)")
    assert first.count("(possible)") == 1
    html = run_page(made, View(texts={"train.py": SOURCE}))
    assert html.count("TPL101 item-in-hot-loop (possible)") == 1


def test_a_finding_that_an_advice_names_is_told_with_it():
    evidence = waiting(0.6, utilisation=utilisation(cores=8))
    made = report(evidence, (finding(9, "TPL301", share_of_step=0.6, blocked_ms_per_step=12.0), finding(90)))
    first = page(made).partition("Do these first")[2].partition("2 findings")[0]
    assert first.index("1. try `num_workers=2`") < first.index("train.py:9:18  TPL301") < first.index("2. train.py:90")
    assert "3." not in first


def test_evaluation_is_counted_by_its_batches():
    event = sync(25, count=24, train_turns=0, eval_turns=12, steady=24)
    made = report(run(events=(event,), eval_batches=12, device="simulated", simulated=True), (finding(25),))
    assert re.search(r"TPL101 +2 ev [ -]+ train\.py:25\n", page(made))
    assert "ev: per evaluation batch" in page(made)


def test_quiet_leaves_what_to_do_and_the_verdicts():
    text = page(on_gpu(), quiet=True)
    assert text.startswith("Do these first\n")
    assert "6 findings: 3 confirmed, 1 refuted, 2 not reached" in text
    assert "Where the step goes" not in text
    assert "Notes" not in text


@pytest.mark.parametrize(
    ("code", "words"), [(0, None), (3, "ended with exit code 3"), (-15, "killed by SIGTERM"), (None, "not recorded")]
)
def test_how_the_script_ended_is_said_unless_well(code, words):
    head = page(report(run(returncode=code))).partition("\n\n")[0]
    assert (words in head) if words else ("end" not in head and "killed" not in head)


@pytest.mark.parametrize("width", [1, 7, 76])
@pytest.mark.parametrize("shares", [[1.0], [0.5, 0.5], [0.97, 0.01, 0.01, 0.01], [0.333, 0.333, 0.334], [0.0, 1.0], []])
def test_a_bar_is_full_and_hides_nothing(shares, width):
    counts = cells(shares, width)
    assert sum(counts) == (width if shares else 0)
    if width >= len(shares):
        assert [count > 0 for count in counts] == [share > 0 for share in shares]
    for share, count in zip(shares, counts, strict=True):
        assert abs(count - share * width) <= max(len(shares), 1)


KEYS = ("device", "simulated", "torch", "steps", "ranks", "step_ms", "breakdown", "sites", "utilisation", "diagnoses")


@pytest.mark.parametrize("name", PAGES)
def test_json_has_the_runtime_part_and_the_static_one_as_it_was(name):
    made = PAGES[name]()
    data = json.loads(render_run("json", made, View()))
    runtime = data.pop("runtime")
    assert data == json.loads(render("json", made.report, View()))
    assert set(KEYS) <= set(runtime)
    for site in runtime["sites"]:
        assert {"path", "line", "kind", "count", "per_step", "blocked_ms", "bubble_ms"} <= set(site)
    for diagnosis in runtime["diagnoses"]:
        assert {"code", "name", "title", "evidence", "advice"} <= set(diagnosis)


def test_json_of_a_run_on_a_device():
    runtime = json.loads(render_run("json", on_gpu(), View()))["runtime"]
    assert (runtime["device"], runtime["simulated"], runtime["torch"]) == (GPU, False, "2.13.0")
    assert (runtime["steps"], runtime["step_ms"]) == (STEPS, {"median": 20.0, "p95": 30.0})
    assert runtime["breakdown"][0] == {"phase": "data", "share": 0.12, "ms": 2.4}
    by_place = {(site["line"], site["kind"]): site for site in runtime["sites"]}
    item = by_place[25, "sync"]
    assert (item["count"], item["per_step"], item["blocked_ms"], item["bubble_ms"]) == (STEPS, 1.0, 800.0, None)
    assert (item["found"], by_place[35, "sync"]["found"]) == (True, False)
    assert by_place[120, "sync"]["via"] == {"path": "train.py", "line": 33}
    assert by_place[21, "copy"]["bytes"] == 1000
    assert "record" not in runtime["utilisation"]
    assert [d["code"] for d in runtime["diagnoses"]] == ["TPL903", "TPL901"]


@pytest.mark.parametrize(
    ("name", "nothing"), [("simulated", {"step_ms", "breakdown"}), ("empty", {"utilisation", "torch"})]
)
def test_what_was_not_measured_is_null(name, nothing):
    runtime = json.loads(render_run("json", PAGES[name](), View()))["runtime"]
    assert {key for key in nothing if runtime[key] is not None} == set()
    assert all(site["blocked_ms"] is None and site["bubble_ms"] is None for site in runtime["sites"])
    assert all(rank["step_ms"] is None and rank["wait_ms"] is None for rank in runtime["ranks"])


def test_concise_is_a_line_for_each_diagnosis_and_finding():
    lines = render_run("concise", on_gpu(), View()).splitlines()
    assert lines[0].startswith("train.py: TPL903 the host is blocked by the device 50 % of the step's time")
    assert lines[2:5] == [
        "train.py:21:18: TPL201 confirmed: 110 synchronisations in 110 of 110 steps",
        "train.py:25:18: TPL101 confirmed: 110 synchronisations in 110 of 110 steps",
        "train.py:31:18: TPL101 confirmed, negligible: 110 synchronisations in 110 of 110 steps",
    ]
    assert len(lines) == 8


def test_a_finding_nobody_judged_is_said_to_be_so():
    made = RunReport("train.py", Evidence(), Report((replace(finding(25), verdict=None),)))
    assert render_run("concise", made, View()).startswith("train.py:25:18: TPL101 not judged: ")
    assert "1 finding: not judged" in page(made)


def test_more_gpus_than_two_are_summed_up():
    record = utilisation(gpu=0.4, **{f"gpu__{n}__busy_share": 0.1 * n for n in range(1, 4)})
    record["gpus"] = [{"index": n, "uuid": f"GPU-{n}", "memory_total_bytes": None} for n in range(4)]
    text = page(report(run(device=GPU, utilisation=record)))
    assert "0: some kernel ran 40 % of the time" in text
    assert "and 2 more; the least busy of all ran some kernel 10 %" in " ".join(text.split())


def test_workers_and_their_cost_make_one_screen():
    evidence = waiting(0.5, 2, cost=worker(40, 0.95), utilisation=utilisation(cores=16))
    text = " ".join(page(report(evidence)).split())
    assert "1. try `num_workers=5` at train.py:9 (TPL902)" in text
    assert text.count("try `num_workers=5`") == 1


def test_a_run_that_answers_counts_in_calls():
    read = replace(sync(25), train_turns=0, eval_turns=4 * STEPS, count=4 * STEPS)
    text = page(report(answered(events=(read,), simulated=True), (finding(25),), unfound=(replace(read, line=40),)))
    assert "N/call" in text
    assert "ev: per" not in text
    assert "Waits and copies of every call that no finding names\n" in text
    assert "train.py:40: synchronisation (item), 1 a call of the model" in " ".join(text.split())


@pytest.mark.parametrize(
    ("others", "heading"), [((), "evaluation batch"), ((sync(50),), "step or evaluation batch")]
)
def test_what_is_regular_in_evaluation_alone_is_told_by_its_batches(others, heading):
    """Pictures saved in evaluation, and every so many steps in training as well: no wait of every step."""
    rare = {"train_turns": 2, "train_steps": 2, "trained": 7 * STEPS}
    seen = replace(sync(40), count=7 * STEPS + 10, **rare, eval_turns=10, evaluated=10)
    evidence = run(events=(seen, *others), simulated=True, eval_batches=10)
    text = page(report(evidence, unfound=evidence.events))
    assert f"Waits and copies of every {heading} that no finding names\n" in text
    assert "train.py:40: synchronisation (item), 1 an evaluation batch" in " ".join(text.split())


def test_the_time_between_two_requests_is_the_models_in_no_sentence():
    text = " ".join(page(report(answered(in_calls_ms=1600.0))).split())
    assert "between two requests median 55.0 ms, p95 90.0 ms: 75 % of the time, which counts in no request" in text
    assert "but 75 % of the run's time lies between two requests, and counts in none" in text


CROWDED = {"cores": 2, "cpu__main_cores": 0.21, "cpu__others_cores": 0.1, "cpu__machine_share": 0.99}


@pytest.mark.parametrize(
    ("changes", "said"),
    [({}, True), ({"cpu__others_cores": 1.2}, False), ({"cpu__machine_share": 0.5}, False), ({"cores": None}, False)],
)
def test_a_machine_that_others_kept_busy_is_said(changes, said):
    text = " ".join(page(report(run(utilisation=utilisation(**{**CROWDED, **changes})))).split())
    note = "other programs kept the machine busy (99 %, while the script used 0.31 of 2 cores)"
    assert (note in text) is said


@pytest.mark.parametrize(
    ("busy", "used", "batch", "is_said"),
    [(0.42, 20e9, 32, True), (0.42, 76e9, 32, False), (0.95, 20e9, 32, False), (0.42, 20e9, None, False)],
)
def test_room_for_larger_batches_is_a_hint_with_its_numbers(busy, used, batch, is_said):
    sampled = utilisation(cores=8, gpu=busy, gpu__0__memory_bytes=used)
    reads = loader(2.4, settings={"batch_size": batch})
    said = page(report(run(loaders=[reads], device=GPU, utilisation=sampled, argv=("train.py",))))
    assert ("at batch size 32 at most 20.0 GB of 150 GB were in use: larger" in " ".join(said.split())) is is_said


def test_a_place_beside_a_finding_is_told_with_its_column():
    """`x, y = x.cuda(), other.cuda()`: no finding names the second, and the line alone would read as if one did."""
    beside, alone = sync(25, column=30), sync(40, column=30)
    made = report(run(events=(beside, alone), simulated=True), (finding(25),), unfound=(beside, alone))
    text = page(made)
    assert "train.py:25:30: synchronisation" in text
    assert "train.py:40: synchronisation" in text
