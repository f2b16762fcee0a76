"""Events files become evidence; several files are the ranks of one run."""

from math import exp

import pytest
from builders import write_run

from torchperf_lint.events import read
from torchperf_lint.runtime.reading import evidence_of, spread

TORCH = {"record": "state", "key": "torch", "value": "2.13.0"}
WATCHING = {"record": "probe", "name": "loader", "state": "watching", "reason": None}


def site(number, path="train.py", line=7, via=None, **more):
    columns = {"column": 5, "end_line": line, "end_column": 16, "function": "main"}
    return {"record": "site", "id": number, "path": path, "line": line, "via": via, **columns, **more}


def event(number, site_id, kind="sync", what="item", **attributes):
    return {"record": "event", "id": number, "kind": kind, "what": what, "site": site_id, **attributes}


def count(number, n, **more):
    figures = {"steady": n, "train_turns": n, "eval_turns": 0, "ms": None, "steady_ms": None, "bytes": 0}
    figures |= {"first": 0, "last": 0}
    return {"record": "count", "id": number, "n": n, **figures, **more}


def steps(number, median_bucket=100, **more):
    figures = {"warmup": 10, "train_batches": number, "eval_batches": 0, "bucket": 0.02}
    return {"record": "steps", "steps": number, **figures, "histogram": [[median_bucket, max(number - 10, 0)]], **more}


def loader(number, site_id, **more):
    figures = dict.fromkeys(("steady_wait_ms", "first_wait_ms", "start_ms", "wait_ms", "cpu_ms"), 1.0)
    counts = {"batches": 4, "epochs": 1, "steady_batches": 2, "background": False, "class": "DataLoader"}
    return {"record": "loader", "id": number, "site": site_id, "num_workers": 2, **figures, **counts, **more}


@pytest.fixture
def make(tmp_path):
    def make(*records, name="a", **header):
        settings = {"settings": {"warmup": 10}, "pid": 1}
        return read(write_run(tmp_path / f"{name}.events.jsonl", TORCH, WATCHING, *records, **{**settings, **header}))

    return make


def test_moments_of_a_run_are_kept_in_their_order(make):
    run = make(
        site(1),
        event(1, 1),
        event(2, 1, "copy", "h2d"),
        count(1, 3),
        count(2, 3),
        steps(3, at=1000.5, eval_batches=2),
        loader(1, 1, batches=3),
        loader(2, 1, batches=2, epochs=9),
        count(1, 8),
        steps(8, at=1001.5),
        {"record": "loader", "id": 1, "batches": 8, "epochs": 2},
        steps(9),
    )
    moments = [(m.at, m.steps, m.batches, m.syncs, m.passes) for m in evidence_of([run]).course]
    assert moments == [(1000.5, 3, 5, 3, 1), (1001.5, 8, 8, 8, 2)]


@pytest.mark.parametrize(
    ("histogram", "buckets"),
    [([[7, 1]], (7, 7, 7)), ([[0, 25], [1, 50], [2, 25]], (0, 1, 1)), ([[0, 1], [5, 2], [9, 1]], (0, 5, 5))],
)
def test_quartiles_of_a_histogram(histogram, buckets):
    found = spread(histogram, 0.02)
    assert (found.lower, found.median, found.upper) == pytest.approx(tuple(exp((b + 0.5) * 0.02) for b in buckets))


def test_one_run(make):
    run = make(
        site(1),
        site(2, "/lib/timm/x.py", 90, via=["train.py", 3]),
        event(1, 1),
        event(2, 2, "copy", "h2d", pinned=False, blocking=True),
        event(3, None, what="stream"),
        count(1, 40, eval_turns=2, ms=8.0, steady_ms=6.0),
        count(2, 5, bytes=640),
        count(3, 1),
        steps(50, eval_batches=6),
        {"record": "time", "train": [["data", 1, 2, 12.5, 40], ["other", None, None, 1.0, 2]], "eval": []},
        loader(1, 2, worker={"batches": 4}, read_bytes=0),
        {"record": "source", "path": "train.py", "sha256": "aa"},
        {"record": "lines", "path": "train.py", "complete": True, "cap": 3, "ran": {"7": 3}},
        {"record": "probe", "name": "transfers", "state": "unavailable", "reason": "no CUDA"},
        {"record": "state", "key": "gpus", "value": [{"name": "H100"}]},
        {"record": "utilisation", "series": {}},
        {"record": "ended", "returncode": 0, "wall_s": 12.5},
    )
    found = evidence_of([run])
    item, copy, nowhere = found.events
    assert (item.path, item.line, item.column, item.end_column, item.function) == ("train.py", 7, 5, 16, "main")
    assert (item.count, item.train_turns, item.eval_turns, item.blocked_ms) == (40, 40, 2, 6.0)
    assert (copy.via, copy.nbytes, copy.blocked_ms) == (("train.py", 3), 640, None)
    assert copy.attributes == {"pinned": False, "blocking": True}
    assert (nowhere.path, nowhere.line, nowhere.via) == ("", 0, None)
    assert (found.steps, found.warmup, found.train_batches, found.eval_batches) == (50, 10, 50, 6)
    assert found.step_ms.median == pytest.approx(exp(2.01))
    assert [(s.phase, s.start, s.end, s.ms) for s in found.segments] == [
        ("data", ("train.py", 7), ("train.py", 3), 12.5),
        ("other", None, None, 1.0),
    ]
    assert found.step_total_ms == 13.5
    made = found.loaders[0]
    assert (made.path, made.line, made.workers, made.wait_per_batch_ms) == ("train.py", 3, 2, 0.5)
    assert (made.worker, made.read_bytes) == ({"batches": 4}, 0)
    assert found.unwatched == {"transfers": "no CUDA"}
    assert (found.device, found.torch, found.returncode, found.wall_s) == ("H100", "2.13.0", 0, 12.5)
    assert (found.lines["train.py"], found.complete) == ({7: 3}, {"train.py"})
    assert found.missing_ranks == ()


def test_an_empty_run(make):
    found = evidence_of([make()])
    assert (found.steps, found.step_ms, found.device, found.returncode) == (0, None, None, None)
    assert (found.step_total_ms, found.steady_steps, found.events) == (0, 0, ())


def test_without_torch(tmp_path):
    found = evidence_of([read(write_run(tmp_path / "a.events.jsonl"))])
    assert found.unwatched == {"torch": "the script did not import torch"}


def test_a_probe_that_failed_is_unwatched_with_its_reason(make):
    found = evidence_of(
        [
            make(
                {"record": "probe", "name": "steps", "state": "failed", "reason": "KeyError: 1"},
                {**WATCHING, "name": "x"},
            )
        ]
    )
    assert found.unwatched == {"steps": "KeyError: 1"}


def test_an_event_without_figures_did_not_happen(make):
    assert evidence_of([make(site(1), event(1, 1))]).events == ()


@pytest.mark.parametrize("state", ["watching", "failed"])
def test_the_simulated_device(make, state):
    run = make({"record": "probe", "name": "simulated", "state": state, "reason": None}, simulated=True)
    found = evidence_of([run])
    assert (found.device, found.simulated) == (("simulated", True) if state == "watching" else (None, False))


@pytest.mark.parametrize(
    ("histogram", "median", "p95"),
    [
        ([], None, None),
        ([[0, 1]], 0, 0),
        ([[0, 1], [100, 1]], 0, 100),
        ([[5, 94], [9, 6]], 5, 9),
        ([[9, 5], [5, 95]], 5, 5),
    ],
)
def test_spread(histogram, median, p95):
    found = spread(histogram, 0.02)
    if median is None:
        assert found is None
    else:
        assert found.median == pytest.approx(exp((median + 0.5) * 0.02))
        assert found.p95 == pytest.approx(exp((p95 + 0.5) * 0.02))
        assert found.count == sum(n for _, n in histogram)


@pytest.fixture
def two(make):
    first = make(
        site(1),
        site(2, line=9),
        event(1, 1),
        event(2, 2, what="stream"),
        count(1, 40, ms=5.0, steady_ms=4.0),
        count(2, 8),
        steps(50, 100),
        {"record": "time", "train": [["data", 1, 1, 100.0, 40]], "eval": []},
        loader(1, 1, steady_wait_ms=30.0),
        {"record": "lines", "path": "train.py", "complete": True, "cap": 3, "ran": {"1": 1, "2": 1}},
        {"record": "lines", "path": "only0.py", "complete": True, "cap": 3, "ran": {"1": 1}},
        {"record": "source", "path": "train.py", "sha256": "first"},
        {"record": "utilisation", "series": {"a": 1}},
        {"record": "ended", "returncode": 0, "wall_s": 9.0},
        name="zero",
        rank=0,
        world=4,
        pid=100,
        argv=["train.py", "--zero"],
    )
    second = make(
        site(5),
        site(6, line=11),
        event(5, 5),
        event(6, 6, "copy", "d2h", pinned=True),
        count(5, 10, ms=90.0, steady_ms=80.0),
        count(6, 3),
        steps(49, 200),
        {"record": "time", "train": [["data", 5, 5, 700.0, 40]], "eval": []},
        loader(1, 5, steady_wait_ms=300.0),
        {"record": "lines", "path": "train.py", "complete": True, "cap": 3, "ran": {"2": 3, "4": 1}},
        {"record": "source", "path": "worker.py", "sha256": "second"},
        {"record": "ended", "returncode": 3, "wall_s": 8.0},
        name="one",
        rank=1,
        world=4,
        pid=90,
    )
    return first, second


def test_two_ranks_are_merged_by_site(two):
    found = evidence_of(two)
    events = {(e.line, e.what): e for e in found.events}
    item = events[7, "item"]
    assert (item.by_rank, item.count, item.blocked_ms) == ((40, 10), 10, 80.0)
    assert events[9, "stream"].by_rank == (8, 0)
    assert events[11, "d2h"].by_rank == (0, 3)
    assert len(events) == 3


def test_times_are_those_of_the_slowest_and_the_longest_waiting_rank(two):
    found = evidence_of(two)
    assert found.step_ms.median == pytest.approx(exp(4.01))
    assert found.segments[0].ms == 700.0
    assert found.loaders[0].steady_wait_ms == 300.0
    assert (found.steps, found.train_batches) == (50, 50)
    assert [(rank.rank, rank.pid, rank.steps, rank.wait_ms) for rank in found.ranks] == [
        (0, 100, 50, 30.0),
        (1, 90, 49, 300.0),
    ]


def test_lines_ran_where_they_ran_on_any_rank(two):
    found = evidence_of(two)
    assert found.lines["train.py"] == {1: 1, 2: 3, 4: 1}
    assert "train.py" in found.complete
    assert found.sources == {"train.py": "first", "worker.py": "second"}


def test_a_file_that_only_one_rank_knows_is_not_complete(two):
    assert "only0.py" not in evidence_of(two).complete


def test_the_first_file_stands_for_the_run_and_ranks_are_named_that_are_missing(two):
    first, second = two
    found = evidence_of([first, second])
    assert (found.utilisation["series"], found.returncode, found.wall_s) == ({"a": 1}, 0, 9.0)
    assert found.argv == ("train.py", "--zero")
    assert found.missing_ranks == (2, 3)
    again = evidence_of([second, first])
    assert again.returncode == 3
    assert [rank.rank for rank in again.ranks] == [0, 1]


def test_helpers_that_did_not_train_are_left_out(make, two):
    first, _ = two
    launcher = make(steps(0), name="launcher", pid=7, argv=["launch.py"])
    found = evidence_of([launcher, first])
    assert len(found.ranks) == 1
    assert found.steps == 50
    assert found.argv == ("launch.py",)


@pytest.mark.parametrize(
    ("backwards", "rank", "expected"), [(1, None, [8]), (0, None, [7, 8]), (1, 0, [7, 8]), (0, 0, [7, 8])]
)
def test_a_process_that_failed_before_its_first_step_is_no_second_rank_of_its_launcher(
    make, backwards, rank, expected
):
    launcher = make(steps(0), name="launcher", pid=7, rank=rank)
    failed = make(steps(0, backwards=backwards), name="failed", pid=8)
    assert [one.pid for one in evidence_of([launcher, failed]).ranks] == expected


def test_ranks_without_numbers_are_told_by_pid(make):
    runs = [make(steps(12), name=str(pid), pid=pid) for pid in (30, 20)]
    assert [rank.pid for rank in evidence_of(runs).ranks] == [20, 30]


def test_three_ranks_and_the_order_of_files_does_not_matter(make):
    runs = [make(site(1), event(1, 1), count(1, n), steps(20), name=str(n), rank=n, world=3, pid=n) for n in (2, 0, 1)]
    found = evidence_of(runs)
    assert found.events[0].by_rank == (0, 1, 2)
    assert found.missing_ranks == ()
    assert evidence_of(runs[::-1]).events == found.events


def test_torn_is_kept(make, tmp_path):
    run = make(steps(5))
    with (tmp_path / "a.events.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"rec')
    assert not evidence_of([run]).torn
    assert evidence_of([read(run.path)]).torn


@pytest.mark.parametrize(("more", "share"), [({}, 0.25), ({"cpu_of_ms": 2.0}, 0.5), ({"cpu_of_ms": 0.0}, None)])
def test_the_share_that_a_wait_computes_is_of_the_waits_that_were_asked_about(make, more, share):
    run = make(site(1), loader(1, 1, wait_ms=4.0, cpu_ms=1.0, **more), steps(3))
    assert evidence_of([run]).loaders[0].cpu_share == share


@pytest.mark.parametrize(("number", "expected"), [(3, 3), (12, 12), (13, 12)])
def test_what_follows_the_last_step_is_of_no_other(make, number, expected):
    seen = evidence_of([make(site(1), event(1, 1), count(1, 20, train_steps=number, first=1, last=number), steps(12))])
    assert (seen.events[0].train_steps, seen.events[0].over_steps) == (expected, expected)


@pytest.mark.parametrize(("batches", "expected"), [(12, 12), (24, 11)])
def test_what_is_done_to_a_batch_that_is_fetched_ahead_is_in_as_many_steps_as_there_are_batches(
    make, batches, expected
):
    figures = count(1, 12, train_steps=11, first=1, last=11)
    seen = evidence_of([make(site(1), event(1, 1), figures, steps(12, train_batches=batches))])
    assert seen.events[0].train_steps == expected


def test_what_comes_after_the_last_step_alone_is_of_one_step(make):
    seen = evidence_of([make(site(1), event(1, 1), count(1, 20, train_steps=1, first=13, last=13), steps(12))])
    assert (seen.events[0].train_steps, seen.events[0].over_steps) == (1, 1)


def test_without_steps_a_record_says_what_it_said(make):
    seen = evidence_of([make(site(1), event(1, 1), count(1, 20, train_steps=4, first=1, last=4), steps(0))])
    assert (seen.events[0].train_steps, seen.events[0].over_steps) == (4, 4)
