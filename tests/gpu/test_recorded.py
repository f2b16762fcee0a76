"""What a card has told, kept in fixtures/recorded: the simulated device agrees with it, and runs are judged as then."""

import hashlib
import json
import statistics
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import against_simulated  # noqa: E402

from torchperf_lint import events  # noqa: E402
from torchperf_lint.runtime.diagnose import diagnose  # noqa: E402
from torchperf_lint.runtime.reading import evidence_of  # noqa: E402

RECORDED = HERE.parents[1] / "fixtures" / "recorded"
FACTS = json.loads((RECORDED / "facts.json").read_text(encoding="utf-8"))
KERNEL_MS = 10.0
RECORDS = sorted(RECORDED.glob("*.jsonl"))
BOUND_BY = {
    "frameworks-dqn_loop": "TPL916",
    "frameworks-generate_loop": "TPL900",
    "frameworks-inference_server": "TPL919",
    "frameworks-queue_server": "TPL919",
    "train-accumulation": "TPL903",
    "train-compile_breaks": "TPL913",
    "train-inference": "TPL903",
    "train-loader_bound": "TPL901",
    "train-logging_bound": "TPL904",
    "train-storage_bound": "TPL309",
}
"""What each of these scripts is bound by on that card, by what it was written for."""


def script_of(record):
    folder, _, name = record.name.removesuffix(events.SUFFIX).partition("-")
    return RECORDED.parent / folder / f"{name}.py"


def test_it_was_a_card():
    assert not FACTS["simulated"]
    assert FACTS["machine"]["device"] == "NVIDIA H200"


@pytest.mark.parametrize("expression", against_simulated.table())
def test_the_simulated_device_waits_and_copies_where_the_card_did(expression):
    assert expression in FACTS["operations"]
    assert expression not in {row[0] for row in against_simulated.of_operations(FACTS)}


def test_what_blocked_the_host_behind_a_kernel_is_what_the_simulated_device_calls_a_wait():
    assert list(against_simulated.of_blocking(FACTS, KERNEL_MS)) == []


def test_a_wait_was_timed_as_long_as_the_kernel_that_was_waited_for():
    for name, row in FACTS["blocked_time"].items():
        ratios = [sum(turn["blocked_ms"]) / turn["kernel_ms"] for turn in row["behind"]]
        assert 0.95 <= statistics.median(ratios) <= 1.05, name


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name.removesuffix(events.SUFFIX))
def test_a_record_is_that_of_its_script(record):
    header = json.loads(record.read_bytes().partition(b"\n")[0])
    rest = record.read_bytes().partition(b"\n")[2]
    assert header["recorded"]["script_sha256"] == hashlib.sha256(script_of(record).read_bytes()).hexdigest(), (
        "the script has changed: record it again on a card (record_fixtures.py)"
    )
    assert header["recorded"]["record_sha256"] == hashlib.sha256(rest).hexdigest()


@pytest.mark.parametrize("script", against_simulated.SCRIPTS, ids=lambda script: script.stem)
def test_a_script_waited_on_the_card_where_its_comments_say(script):
    record = RECORDED / f"simulate-{script.stem}{events.SUFFIX}"
    assert list(against_simulated.of_script(script, record)) == []


@pytest.mark.parametrize("name", BOUND_BY)
def test_a_run_says_which_card_it_used_whether_or_not_it_trains(name):
    run = evidence_of([events.read(str(RECORDED / f"{name}{events.SUFFIX}"))])
    assert [device["name"] for device in run.state["gpus"]] == ["NVIDIA H200"]


@pytest.mark.parametrize("name", BOUND_BY)
def test_a_run_is_bound_by_what_bound_it_on_the_card(name):
    evidence = evidence_of([events.read(str(RECORDED / f"{name}{events.SUFFIX}"))])
    bounds, problems = diagnose(evidence)
    assert problems == ()
    assert bounds[0].code == BOUND_BY[name]
