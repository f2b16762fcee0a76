"""Runs that neither train nor read a loader: what counts as a request, how long it took, what lay between."""

import threading

import pytest
from builders import HEADER, Clock, recorder, write_run

from torchperf_lint.events import read
from torchperf_lint.evidence import Evidence
from torchperf_lint.reporters._requests import requests_said
from torchperf_lint.runtime import recorder as recorder_module
from torchperf_lint.runtime.reading import evidence_of
from torchperf_lint.runtime.requests import Requests
from torchperf_lint.runtime.timeline import Timeline


class Server:
    """Answers by hand; every time in seconds."""

    def __init__(self, directory, monkeypatch, warmup=2):
        self.clock = Clock()
        monkeypatch.setattr(recorder_module, "perf_counter", self.clock)
        self.recorder = recorder(directory)
        self.timeline = Timeline(self.recorder, warmup, self.clock)
        self.cpu = Clock()
        self.requests = Requests(self.recorder, self.timeline, self.cpu)
        self.recorder.sources.append(self.requests.records)

    def call(self, seconds=0.5, waits_ms=0.0, within=False):
        here = self.requests.here
        here.inside, waited, began = True, here.waited, self.clock()
        self.requests.call_begins(began, None, within=within)
        if waits_ms:
            self.timeline.waited(waits_ms)
        self.clock.now += seconds
        here.inside = False
        self.requests.call_ends(began, self.clock(), waited)

    def block(self, calls=1, around=0.25, **more):
        self.requests.block_begins(self.clock())
        self.clock.now += around
        for _ in range(calls):
            self.call(**more)
        self.requests.block_ends(self.clock())

    def idle(self, seconds, computes=0.0):
        self.clock.now += seconds
        self.cpu.now += computes

    @property
    def seen(self):
        self.recorder.flush()
        return evidence_of([read(self.recorder.path)]).requests


@pytest.fixture
def server(tmp_path, monkeypatch):
    return Server(tmp_path, monkeypatch)


def test_blocks_are_requests_and_what_lies_between_is_none_of_them(server):
    for _ in range(12):
        server.block(calls=3)
        server.idle(4.0)
    seen = server.seen
    assert (seen.unit, seen.count, seen.calls, seen.steady, seen.most) == ("request", 12, 36, 10, 1)
    assert seen.ms.median == pytest.approx(1750, rel=0.02)
    assert seen.between_ms.median == pytest.approx(4000, rel=0.02)
    assert (seen.total_ms, seen.in_calls_ms, seen.idle_ms) == (17_500, 15_000, 40_000)


def test_one_block_around_a_loop_leaves_its_calls(server):
    server.block(calls=40)
    seen = server.seen
    assert (seen.unit, seen.count, seen.calls, seen.steady) == ("call", 40, 40, 38)
    assert seen.ms.median == pytest.approx(500, rel=0.02)


def test_calls_outside_of_every_block_are_calls(server):
    for _ in range(6):
        server.call()
        server.idle(1.0)
    seen = server.seen
    assert (seen.unit, seen.count, seen.steady) == ("call", 6, 4)
    assert seen.in_calls_ms == seen.total_ms == 2000


def test_training_that_ends_before_its_first_backward_pass_is_one_call(server):
    server.call()
    assert (server.seen.unit, server.seen.count, requests_said(Evidence(requests=server.seen))) == (
        "call",
        1,
        "1 call of a model",
    )


def test_one_block_is_a_request_though_other_calls_have_none(server):
    server.block()
    assert (server.seen.unit, server.seen.count) == ("request", 1)


def test_a_block_that_is_still_open_does_not_hide_its_calls(server):
    server.requests.block_begins(server.clock())
    for _ in range(8):
        server.call()
    assert (server.seen.unit, server.seen.count) == ("call", 8)


def test_blocks_within_blocks_and_within_calls_and_without_calls(server):
    for _ in range(6):
        server.requests.block_begins(server.clock())
        server.block()
        server.requests.block_ends(server.clock())
        server.requests.block_begins(server.clock())
        server.requests.block_ends(server.clock())
    here = server.requests.here
    here.inside = True
    server.requests.block_begins(server.clock())
    server.requests.block_ends(server.clock())
    assert (server.seen.count, here.blocks) == (6, 0)


def test_waits_for_the_device_are_told_from_computing(server):
    for _ in range(4):
        server.block(waits_ms=200.0)
    assert (server.seen.waiting_ms, server.seen.total_ms) == (400, 1500)


def test_computing_between_calls_is_told_from_waiting(server):
    for _ in range(12):
        server.call()
        server.idle(4.0, computes=1.5)
    between = server.seen.between
    (stretch,) = between.stretches
    assert (stretch.ms, stretch.cpu_ms, stretch.times) == (40_000, 15_000, 10)
    assert (between.in_calls_ms, between.share) == (5000, 0.75)


def test_waits_for_the_device_between_calls_are_no_computing(server):
    for _ in range(12):
        server.call()
        server.timeline.waited(1000.0)
        server.idle(4.0, computes=1.5)
    assert server.seen.between.cpu_ms == 5000


def test_what_a_model_does_between_calls_of_its_own_parts_is_its_own(server):
    for _ in range(6):
        server.call()
        server.idle(2.0, computes=2.0)
        server.call(within=True)
        server.idle(4.0, computes=1.0)
    between = server.seen.between
    assert (between.cpu_ms, between.times) == (5000, 5)
    assert between.in_calls_ms == 10 * 500 + 5 * 2000


def test_records_of_before_cpu_time_was_counted(server):
    for _ in range(4):
        server.call()
    server.recorder.flush()
    run = read(server.recorder.path)
    del run.requests["between"]
    assert evidence_of([run]).requests.between is None


def test_two_threads_that_answer_at_once_leave_no_idle_time_between(server):
    def other():
        server.requests.call_begins(server.clock(), None)
        begun.set()
        done.wait()
        server.requests.call_ends(server.clock() - 1, server.clock(), 0.0)

    for _ in range(4):
        server.call()
    begun, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=other)
    thread.start()
    begun.wait()
    for _ in range(4):
        server.call()
        server.idle(1.0)
    done.set()
    thread.join()
    assert (server.seen.count, server.seen.most, server.seen.idle_ms) == (9, 2, 0)


def test_turns_are_calls_of_the_model(server):
    for _ in range(20):
        server.call()
        server.recorder.event("sync", "item", key=None, depth=1)
    server.recorder.flush()
    seen = evidence_of([read(server.recorder.path)])
    assert (seen.eval_total, seen.eval_unit) == (20, "call of the model")
    assert seen.turns(seen.events) == (0, 20)
    assert seen.every_step(seen.events)


def test_a_run_that_trains_has_steps_for_turns(server):
    server.call()
    server.call()
    for _ in range(12):
        server.timeline.backward_begins(None)
        server.timeline.backward_ends(None)
        server.timeline.step_begins(None)
        server.timeline.step_ends(None, 1)
    assert server.seen is None


def test_calls_of_a_first_step_that_raised_are_no_answers(server):
    """It made an optimizer: it would have trained."""
    for _ in range(4):
        server.call()
    assert server.seen.count == 4
    server.recorder.state("optimizer_made", value=True)
    assert server.seen.count == 4
    server.recorder.state("raised", "KeyError: 'data'")
    assert server.seen is None


def test_answers_of_who_fails_at_last_stay_answers(server):
    for _ in range(4):
        server.block()
    server.recorder.state("optimizer_made", value=True)
    server.recorder.state("raised", "KeyError: 'data'")
    assert server.seen.unit == "request"


def test_records_of_before_requests_were_kept(tmp_path):
    path = write_run(tmp_path / "old.events.jsonl", **HEADER)
    assert evidence_of([read(path)]).requests is None
