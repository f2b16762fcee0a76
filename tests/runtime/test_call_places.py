"""Where several models answer in turn, an event's turns are the calls of the place that it comes with."""

import pytest
from builders import Loop, watch

from torchperf_lint.runtime.reading import evidence_of


@pytest.fixture
def loop(tmp_path, monkeypatch):
    return Loop(tmp_path, monkeypatch, warmup=2)


def call(loop, key):
    loop.scopes.answers(key)
    loop.record()


def of(loop, what):
    """(turns, of how many)."""
    count = loop.counts()[what]
    return count["eval_turns"], count["eval_of"]


@pytest.mark.parametrize("flush", [False, True])
def test_a_decoder_that_is_called_many_times_for_each_call_of_its_encoder(loop, flush):
    look = loop.record if flush else lambda: None
    for _ in range(4):
        loop.event("input")
        loop.scopes.answers("encoder")
        look()
        for _ in range(6):
            loop.event("token")
            look()
            loop.scopes.answers("decoder")
            look()
            loop.event("score")
            look()
    assert of(loop, "token") == of(loop, "score") == (24, 24)
    assert of(loop, "input") == (3, 24)  # the first was set-up; such come after the decoder


def test_models_that_are_called_in_turn_have_as_many_turns_each(loop):
    for _ in range(5):
        for name in ("encoder", "head", "loss"):
            loop.scopes.answers(name)
        loop.event("read")
    assert of(loop, "read") == (5, 5)


def test_a_line_that_is_run_now_and_then_is_of_all_calls(loop):
    for number in range(20):
        loop.scopes.answers("model")
        loop.event("each")
        if number % 10 == 3:
            loop.scopes.answers("audit")
            loop.event("seldom")
    assert of(loop, "seldom") == (2, 20)
    assert of(loop, "each") == (20, 20)


SCRIPT = """
import torch
from torch import nn
encoder, decoder = nn.Linear(4, 4).cuda(), nn.Linear(4, 4).cuda()
with torch.no_grad():
    for _ in range(4):
        memory = encoder(torch.randn(1, 4, device="cuda"))
        for _ in range(6):
            memory = decoder(memory)
            memory.sum().item()
"""


def test_calls_of_several_models_are_told_apart(tmp_path):
    ran = watch(tmp_path, SCRIPT, options=("--simulate",))
    run = evidence_of([ran.record])
    (read,) = [event for event in run.events if event.kind == "sync" and event.line == 10]
    assert (read.eval_turns, run.evaluated([read])) == (24, (24, 24))
    said = " ".join(ran.err.split())
    assert "28 calls of a model, 24 of them from run.py:9" in said
    assert "run.py:10: synchronisation (item), 1 a call of the model" in said
