"""When the facts of a process are noted: with its first batch or backward pass, and once it has opened a device."""

import pytest

torch = pytest.importorskip("torch")

from torchperf_lint.runtime.probes import state  # noqa: E402

CARD = [{"index": 0, "name": "a card"}]


@pytest.fixture
def looker(watched):
    return state._Looker(watched, torch)


def opens(monkeypatch):
    """The script opens a device, which this machine may not have."""
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(state, "_gpus", lambda _: CARD)


def noted(looker):
    return {record["key"]: record["value"] for record in looker.records()}


def test_nothing_is_asked_before_the_run_has_begun(looker, monkeypatch):
    monkeypatch.setattr(state, "facts", lambda *_: pytest.fail("asked"))
    assert noted(looker) == {}


def test_a_server_on_a_device_says_which(looker, monkeypatch):
    opens(monkeypatch)
    assert noted(looker)["gpus"] == CARD
    assert noted(looker) == {}


def test_a_script_that_updates_its_parameters_itself_is_noted(looker):
    looker.session.timeline.backwards = 1
    assert "threads" in noted(looker)


def test_a_device_that_is_opened_later_is_noted_then(looker, monkeypatch):
    looker.session.timeline.backwards = 1
    monkeypatch.setattr(state, "_gpus", lambda _: None)
    assert "gpus" not in noted(looker)
    opens(monkeypatch)
    assert noted(looker) == {"gpus": CARD}


def test_the_simulated_device_is_no_card(looker, monkeypatch):
    opens(monkeypatch)
    looker.session.simulated = True
    assert noted(looker) == {}
