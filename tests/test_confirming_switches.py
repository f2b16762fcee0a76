"""Switches of the whole process, judged by the state that a training step found."""

import pytest

from torchperf_lint import catalog
from torchperf_lint.confirming import NO_DEVICE
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Confidence, Finding, Location, Severity

HERE = Location("train.py", 3, 1, 3, 40)


def outcome(code, severity=Severity.WARNING, **run):
    finding = Finding(code, "x-y", HERE, severity, Confidence.CERTAIN, "m", None, None, "i", "u")
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
