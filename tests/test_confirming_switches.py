"""Switches of the whole process, judged by the state that a training step found."""

import pytest

from torchperf_lint import catalog
from torchperf_lint.confirming import NO_DEVICE
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Confidence, Finding, Location, Severity
from torchperf_lint.recorded import Event
from torchperf_lint.verdict import unfound

HERE = Location("train.py", 3, 1, 3, 40)


def outcome(code, severity=Severity.WARNING, message="m", **run):
    finding = Finding(code, "x-y", HERE, severity, Confidence.CERTAIN, message, None, None, "i", "u")
    verdict = catalog.rule_class(code)().confirm(finding, Evidence(**run))
    return verdict.outcome.value, verdict.reason


RAN = {"lines": {"train.py": {3: 1}}, "complete": frozenset({"train.py"})}
SKIPPED = {"complete": frozenset({"train.py"})}


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ({**RAN, "state": {"anomaly_mode": True}}, "confirmed"),
        ({**RAN, "state": {"anomaly_mode": False}}, "unobservable"),
        ({**RAN}, "unobservable"),
        ({**SKIPPED, "state": {"anomaly_mode": True}}, "not-reached"),
        ({"state": {"anomaly_mode": True}}, "confirmed"),
    ],
)
def test_anomaly_detection(run, expected):
    assert outcome("TPL551", **run)[0] == expected


@pytest.mark.parametrize(
    ("what", "times", "told"),
    [
        ("anomaly-mode", 99, "99 synchronisations at line 8 in 99 of 100 steps: backward passes that search for NaN"),
        ("anomaly-mode", 1, "anomaly detection was on when the optimizer stepped"),
        ("item", 500, "anomaly detection was on when the optimizer stepped"),
    ],
)
def test_searches_for_nan_are_counted_and_named(what, times, told):
    wait = Event("sync", what, "train.py", 8, times, train_turns=min(times, 100))
    run = Evidence(**RAN, events=(wait,), steps=100, device="H100", state={"anomaly_mode": True})
    found = Finding("TPL551", "x-y", HERE, Severity.WARNING, Confidence.CERTAIN, "m", None, None, "i", "u")
    assert catalog.rule_class("TPL551")().confirm(found, run).reason == told
    assert unfound([found], run, ("sync",)) == (() if what == "anomaly-mode" else (wait,))
    assert unfound([], run, ("sync",)) == (wait,)


BLOCKING = {"environment": {"CUDA_LAUNCH_BLOCKING": "1"}}


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ({**RAN, "device": "H100", "state": BLOCKING}, "confirmed"),
        ({**RAN, "device": "H100", "state": {"environment": {"CUDA_LAUNCH_BLOCKING": "0"}}}, "refuted"),
        ({**RAN, "device": "H100", "state": {"environment": {}}}, "refuted"),
        ({**RAN, "device": "H100"}, "unobservable"),
        ({**SKIPPED, "device": "H100", "state": BLOCKING}, "not-reached"),
    ],
)
def test_launch_blocking(run, expected):
    assert outcome("TPL552", **run)[0] == expected


def test_without_a_device_no_launch_blocks():
    assert outcome("TPL552", **RAN, state=BLOCKING) == ("unobservable", NO_DEVICE)


def test_nothing_looks_at_the_debug_mode():
    assert outcome("TPL552", Severity.INFO, **RAN, device="H100", state=BLOCKING)[0] == "unobservable"


@pytest.mark.parametrize("code", ["TPL507", "TPL601", "TPL651", "TPL652", "TPL653"])
def test_what_no_probe_sees(code):
    assert outcome(code, **RAN, device="H100")[0] == "unobservable"


def of_adam(switches, devices=("cuda",)):
    return {"optimizers": [{"class": "Adam", "devices": list(devices), "tensors": 9, "switches": switches}]}


def deterministic(cudnn):
    return {"deterministic": False, "cudnn_deterministic": cudnn}


def environment(**variables):
    return {"environment": variables}


SETTINGS = [
    ("TPL555", "m", deterministic(cudnn=True), deterministic(cudnn=False)),
    ("TPL556", "m", {"cudnn_enabled": False}, {"cudnn_enabled": True}),
    ("TPL558", "m", {"profiling": True}, {"profiling": False}),
    ("TPL602", "`optim.Adam`", of_adam({"foreach": False}), of_adam({"foreach": None})),
    ("TPL603", "`Adam`", of_adam({"fused": None}), of_adam({"fused": True})),
    ("TPL762", "NCCL_DEBUG is set", environment(NCCL_DEBUG="INFO"), environment(NCCL_DEBUG="WARN")),
    ("TPL762", "NCCL_IB_DISABLE is set", environment(NCCL_IB_DISABLE="1"), environment()),
    (
        "TPL407",
        "PYTORCH_CUDA_ALLOC_CONF keeps",
        environment(PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:32"),
        environment(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True"),
    ),
]  # fmt: skip
"""Code, the start of its message, the state that confirms it, the state that refutes it."""


@pytest.mark.parametrize(("code", "message", "slow", "fine"), SETTINGS)
def test_a_setting_is_judged_by_what_a_step_found(code, message, slow, fine):
    def judged(**run):
        return outcome(code, message=message, **run)

    assert judged(**RAN, state=slow)[0] == "confirmed"
    assert judged(**RAN, state=fine)[0] == "refuted"
    assert judged(**SKIPPED, state=slow) == ("not-reached", "the line did not run")
    assert judged(**RAN)[0] == "unobservable"


@pytest.mark.parametrize(("backwards", "word"), [(0, "ran"), (3, "trained")])
def test_a_program_that_trains_nothing_is_not_said_to_train(backwards, word):
    _, reason = outcome("TPL555", message="m", **RAN, state=deterministic(cudnn=True), backwards=backwards)
    assert reason == f"deterministic algorithms were asked for while it {word}"


@pytest.mark.parametrize(
    ("code", "message"),
    [("TPL556", "switches kernels of attention off"), ("TPL558", "keeps the stack of every allocation")],
)
def test_what_no_state_tells(code, message):
    state = {"cudnn_enabled": False, "profiling": True}
    assert outcome(code, message=message, **RAN, state=state)[0] == "unobservable"


def test_an_optimizer_on_the_host_or_of_another_class():
    on_host = of_adam({"foreach": False}, devices=("cpu",))
    assert outcome("TPL602", message="`Adam`", **RAN, state=on_host) == ("unobservable", NO_DEVICE)
    there = of_adam({"foreach": False})
    assert outcome("TPL602", message="`SGD`", **RAN, state=there)[0] == "unobservable"
