"""`--trace`: JSON by the rules of the Trace Event Format, which Perfetto opens.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU/preview
"""

from __future__ import annotations

import json
from collections import defaultdict
from math import isfinite
from pathlib import Path

import pytest
from test_run_report import simulated as simulated_report

from torchperf_lint.adapters import cli
from torchperf_lint.events import read
from torchperf_lint.reporters import run_trace
from torchperf_lint.run_report import RunReport
from torchperf_lint.runtime.reading import evidence_of

RECORD = Path(__file__).parents[1] / "docs" / "run.events.jsonl"
HEADER = {"record": "header", "version": 1, "pid": 7, "argv": ["train.py"], "cwd": "/project"}
SITE = {"record": "site", "column": 1, "end_line": 1, "end_column": 2, "function": "f", "via": None}
UTILISATION = {
    "record": "utilisation",
    "started": 999.5,
    "course": [
        {
            "t": n / 2,
            "gpu.0.busy_share": 0.25,
            "gpu.0.memory_bytes": 2e9,
            "disk.read_bytes_per_s": 3e6,
            "cpu.main_cores": 1,
        }
        for n in range(6)
    ],
}
SPANS = {
    "record": "spans",
    "at": 1000.25,
    "first": [0, 0, 0],
    "kinds": [["data", 1, 1], ["forward", 1, 2], ["sync", "item", 2], ["copy", "h2d", 1]],
    "rows": [[0, 0, 100], [1, 100, 300], [0, 400, 100], [1, 500, 300]],
    "events": [[2, 390, 200], [3, 410, None], [2, 790, 500], [2, 5000, 10]],
    "turns": [[11, 400], [12, 800]],
}
WINDOW = {
    "record": "window",
    "at": 1001.0,
    "tracks": ["stream 7", "stream 20"],
    "names": ["gemm", "Memcpy HtoD", "gelu"],
    "boundaries": [0, 50, 90],
    "intervals": [[0, 0, 10.5, 20.25], [0, 2, 30, 5], [1, 1, 0, 5], ["NVLink", "<all>\u001b", 7, 1]],
    "waits": [[2, "stream", 12, 30]],
}


def course(at, steps, syncs=0, epochs=1):
    figures = {"warmup": 10, "train_batches": steps, "eval_batches": 0, "bucket": 0.02, "histogram": []}
    loader = {"record": "loader", "id": 1, "batches": steps, "epochs": epochs}
    return [{"record": "steps", "at": at, "steps": steps, **figures}, loader]


def written(path, *records, **header):
    lines = [{**HEADER, **header}, *records]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return read(str(path))


def whole(path, **header):
    sites = ({**SITE, "id": number, "path": "train.py", "line": 10 * number} for number in (1, 2))
    moments = [row for n in range(4) for row in course(1000.0 + n, 10 * n + 1, epochs=1 + n // 2)]
    return written(path, *sites, *moments, SPANS, WINDOW, UTILISATION, **header)


def trace(*runs, script="train.py"):
    return checked(run_trace(RunReport(script, evidence_of(runs), runs=runs)))


def checked(text):
    """A trace by the rules: what each kind of event must have, times that are numbers, slices that nest.

    Perfetto's trace processor (55.3) drops a slice that ends after the one around it, and counts it as an error; it had
    none, by its own account, with what passes here.
    """
    whole = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert whole["displayTimeUnit"] in ("ms", "ns")
    slices, named, times = defaultdict(list), set(), []
    for event in whole["traceEvents"]:
        assert isinstance(event["name"], str)
        assert event["name"].isprintable()
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "process_sort_index", "thread_name", "thread_sort_index")
            assert list(event["args"]) == (["sort_index"] if "sort" in event["name"] else ["name"])
            named.add((event["name"], event["pid"], event["tid"]))
            assert not times, "names come first"
            continue
        times.append(event["ts"])
        assert isfinite(event["ts"])
        assert event["ts"] >= 0
        if event["ph"] == "C":
            assert event["args"]
            assert all(isinstance(v, (int, float)) and isfinite(v) for v in event["args"].values())
        elif event["ph"] == "i":
            assert event["s"] in "gpt"
        else:
            assert event["ph"] == "X"
            assert isfinite(event["dur"])
            assert event["dur"] >= 0
            slices[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        assert ("process_name", event["pid"], 0) in named
        assert event["ph"] == "C" or ("thread_name", event["pid"], event["tid"]) in named
    assert times == sorted(times)
    for rows in slices.values():
        open_until = []
        for start, end in ((round(1000 * start), round(1000 * end)) for start, end in rows):
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1], "a slice ends after the one around it"
            open_until.append(end)
    return whole


def of(found, ph, **wanted):
    return [e for e in found["traceEvents"] if e["ph"] == ph and all(e[key] == value for key, value in wanted.items())]


def test_steps_stand_where_they_ran_with_their_phases(tmp_path):
    found = trace(whole(tmp_path / "a.events.jsonl"))
    zero = 750_000  # from when the sampler began
    steps = of(found, "X", cat="step")
    assert [(e["name"], e["ts"], e["dur"]) for e in steps] == [
        ("step 11", zero, 400),
        ("step 12", zero + 400, 400),
    ]
    first = of(found, "X", cat="phase")[1]
    assert (first["name"], first["ts"], first["dur"]) == ("forward", zero + 100, 300)
    assert first["args"] == {"from": "train.py:10", "to": "train.py:20"}
    assert found["otherData"]["lacks"] == []


def test_waits_are_as_long_as_they_held_the_host_up(tmp_path):
    found = trace(whole(tmp_path / "a.events.jsonl"))
    # The second began, as its length says, before the first was over: that track was free from then on.
    assert [(e["name"], e["ts"] - 750_000, e["dur"]) for e in of(found, "X", cat="sync")] == [
        ("item train.py:20", 190, 200),
        ("item train.py:20", 390, 400),
    ]
    (copied,) = of(found, "i")
    assert (copied["name"], copied["ts"] - 750_000, copied["args"]["kind"]) == ("h2d train.py:10", 410, "copy")


def test_what_a_step_ends_in_is_shown_in_two_pieces(tmp_path):
    spans = {**SPANS, "rows": [[0, 0, 300], [1, 300, 350], [0, 640, 160]], "events": []}
    found = trace(written(tmp_path / "a.events.jsonl", *course(1000.0, 5), spans))
    assert [(e["name"], e["ts"], e["dur"]) for e in of(found, "X", cat="phase")] == [
        ("data", 250_000, 300),
        ("forward", 250_300, 100),
        ("forward", 250_400, 250),
        ("data", 250_650, 150),
    ]


def test_the_machine_and_the_progress_are_counters(tmp_path):
    found = trace(whole(tmp_path / "a.events.jsonl"))
    rows = {e["name"]: e["args"] for e in of(found, "C", ts=1_000_000)}
    assert rows == {
        "gpu.0.busy": {"%": 25.0},
        "gpu.0.memory": {"MB": 2000.0},
        "disk.read": {"MB/s": 3.0},
        "cpu.main": {"cores": 1},
    }
    assert [e["args"]["since the start"] for e in of(found, "C", name="steps")] == [1, 11, 21, 31]
    assert [(e["name"], e["ts"], e["dur"]) for e in of(found, "X", cat="pass")] == [
        ("pass 1", 500_000, 2_000_000),
        ("pass 2", 2_500_000, 1_000_000),
    ]


def test_a_profilers_window_is_a_thread_for_each_track(tmp_path):
    found = trace(whole(tmp_path / "a.events.jsonl"))
    threads = {e["tid"]: e["args"]["name"] for e in of(found, "M", name="thread_name")}
    shown = {(threads[e["tid"]], e["name"], e["ts"], e["dur"]) for e in of(found, "X", cat="window")}
    assert shown == {
        ("window: steps", "step 1 of the window", 1_500_000, 50),
        ("window: steps", "step 2 of the window", 1_500_050, 40),
        ("window: waits of the host", "stream train.py:20", 1_500_012, 30),
        ("window: stream 7", "gemm", 1_500_010.5, 20.25),
        ("window: stream 7", "gelu", 1_500_030.75, 4.25),
        ("window: stream 20", "Memcpy HtoD", 1_500_000, 5),
        ("window: NVLink", "<all>\ufffd", 1_500_007, 1),
    }


def test_ranks_are_processes_of_their_number(tmp_path):
    headers = ({"rank": rank, "world": 2, "pid": 70 + rank, "node": (None, 1)[rank]} for rank in (0, 1))
    runs = [whole(tmp_path / f"{header['rank']}.events.jsonl", **header) for header in headers]
    found = trace(*runs)
    assert {e["pid"]: e["args"]["name"] for e in of(found, "M", name="process_name")} == {
        1_000_000: "the machine",
        0: "rank 0 (process 70)",
        1: "rank 1, node 1 (process 71)",
    }
    assert {e["pid"] for e in of(found, "X", cat="step")} == {0, 1}
    assert {e["pid"] for e in of(found, "C", name="gpu.0.busy")} == {1_000_000}


def test_processes_without_a_rank_have_numbers_of_their_own(tmp_path):
    runs = [
        whole(tmp_path / f"{name}.events.jsonl", **header)
        for name, header in (("a", {}), ("b", {"rank": 0}), ("c", {}))
    ]
    found = trace(*runs)
    assert len({e["pid"] for e in of(found, "M", name="process_name")}) == 4


def test_an_empty_run_says_what_it_lacks(tmp_path):
    found = trace(written(tmp_path / "a.events.jsonl"))
    lacks = found["otherData"]["lacks"]
    assert len(lacks) == 2
    assert [e["name"] for e in of(found, "i")] == [f"this trace lacks {what}" for what in lacks]


def test_a_report_without_records_is_a_valid_trace():
    found = json.loads(run_trace(simulated_report()))
    assert found["otherData"]["lacks"] == ["times: on a simulated device they mean nothing"]


def test_a_simulated_run_has_no_times(tmp_path):
    probe = {"record": "probe", "name": "simulated", "state": "watching", "reason": None}
    run = written(tmp_path / "a.events.jsonl", probe, *course(1000.0, 5), SPANS, UTILISATION, simulated=True)
    found = trace(run)
    assert {e["ph"] for e in found["traceEvents"]} == {"M", "i"}
    assert found["otherData"]["lacks"] == ["times: on a simulated device they mean nothing"]


@pytest.mark.parametrize("wrong", [None, "1", -5, float("nan"), float("inf"), True, 99])
def test_damaged_numbers_are_left_out(tmp_path, wrong):
    spans = {**SPANS, "rows": [[0, wrong, 100], [wrong, 0, 5], [0, 0, wrong]], "events": [[2, wrong, wrong]]}
    window = {**WINDOW, "intervals": [[0, 0, wrong, 5], [0, 0, 5, wrong]]}
    machine = {**UTILISATION, "course": [{"t": wrong, "a_share": 1}, {"t": 1, "a_share": wrong}, 3]}
    run = written(tmp_path / "a.events.jsonl", spans, window, machine)
    checked_text = run_trace(RunReport("train.py", evidence_of([run]), runs=(run,)))
    assert "NaN" not in checked_text
    assert "Infinity" not in checked_text


def test_report_writes_it_also_of_an_earlier_versions_record(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["--report", str(RECORD), "--trace", "run.json"]) == 0
    found = checked((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert of(found, "C", name="cpu.main")
    capsys.readouterr()
    assert cli.main(["--report", str(RECORD), "--trace", "no/such/run.json"]) == 2
    assert "--trace: no/such/run.json cannot be written" in capsys.readouterr().err
    assert cli.main(["--trace", "a.json", "a.py"]) == 2
    assert "--trace: only with --runtime or --report" in capsys.readouterr().err
