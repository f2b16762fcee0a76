"""Which calls of modules pass through our function: all, until it is known whose the outermost are."""

import json
import sys

import pytest
from builders import run

from torchperf_lint.runtime.probes import _dynamo
from torchperf_lint.runtime.probes._outermost import FEW, MANY, Outermost

SERVING = """
import json, sys, torch, torchperf_lint
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(2, 2) for _ in range(8)))
    def forward(self, x):
        return self.layers(x)

def entries(times, module):
    entered = []
    def count(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_name == "call" and code.co_filename.endswith("_over_eval_frame.py"):
            entered.append("original" not in code.co_freevars)
    sys.setprofile(count)
    for _ in range(times):
        module(torch.ones(1, 2))
    sys.setprofile(None)
    return len([ours for ours in entered if not ours])

model, other, found = Model(), nn.Sequential(nn.Linear(2, 2)), {}
with torchperf_lint.watch(warmup=2) as seen:
    found["at first"] = entries(1, model)
    entries(30, model)
    found["once known"] = entries(100, model)
    nn.Module.__call__, plain = (lambda self, *args: theirs.append(1) or plain(self, *args)), nn.Module.__call__
    theirs = []
    model(torch.ones(1, 2))
    found["theirs"] = len(theirs)
    nn.Module.__call__ = plain
    seen.evidence, seen.evidence
    found["another"] = entries(1, other)
    found["calls"] = seen.evidence.requests.calls
    entries(30, model)
    found["unwatched"] = "requests" in seen.evidence.unwatched
print(json.dumps(found))
"""


def test_calls_within_the_outermost_ones_are_left_alone_once_these_are_known(tmp_path):
    (tmp_path / "serving.py").write_text(SERVING, encoding="utf-8")
    done = run([sys.executable, "serving.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["at first"], found["once known"]) == (10, 100)
    assert found["theirs"] == 10
    assert (found["another"], found["calls"], found["unwatched"]) == (2, 133, False)


class Base:
    def __call__(self):
        return "base"


class Model(Base):
    pass


class Other(Base):
    pass


class Caller(Base):
    def __call__(self):
        return super().__call__()


class Everywhere:
    there = True

    def is_there(self):
        return self.there

    def put(self):
        self.there = True

    def take(self):
        self.there = False


def ours(self):
    return Base.__call__(self)


@pytest.fixture
def outermost(monkeypatch):
    monkeypatch.setattr(_dynamo, "has_compiled", lambda: False)
    made = Outermost(Base, Everywhere(), ours)
    yield made
    made.give_back()


def see(outermost, kind, times):
    for _ in range(times):
        outermost.seen(kind)


def test_a_class_is_watched_after_a_few_calls_without_a_new_one(outermost):
    see(outermost, Model, FEW)
    see(outermost, Other, FEW)
    assert outermost.wide
    see(outermost, Model, 1)
    assert (outermost.wide, Model.__call__, Other.__call__) == (False, ours, ours)


def test_all_calls_are_looked_at_again_after_many(outermost):
    see(outermost, Model, FEW + 1)
    see(outermost, Model, MANY - 1)
    assert not outermost.wide
    see(outermost, Model, 1)
    assert (outermost.wide, "__call__" in vars(Model)) == (True, False)
    see(outermost, Model, FEW)
    assert not outermost.wide


def test_all_calls_are_looked_at_again_when_no_known_class_is_called(outermost):
    see(outermost, Model, FEW + 1)
    outermost.look()
    assert not outermost.wide
    see(outermost, Model, 1)
    outermost.look()
    assert not outermost.wide
    outermost.look()
    assert outermost.wide


def test_a_class_that_calls_in_its_own_way_leaves_all_calls_watched(outermost):
    see(outermost, Caller, 3 * FEW)
    assert outermost.wide
    assert "ours" not in Caller.__call__.__qualname__


def test_replaced_calls_stay_as_somebody_has_made_them(outermost):
    outermost._everywhere.there = False
    see(outermost, Model, 3 * FEW)
    assert outermost.wide


def test_what_pickles_classes_by_value_finds_them_as_they_were(outermost):
    see(outermost, Model, FEW + 1)
    outermost.widen_for_good()
    see(outermost, Model, 3 * FEW)
    assert (outermost.wide, "__call__" in vars(Model)) == (True, False)


def test_once_something_is_compiled_nothing_changes_that_it_may_rest_on(outermost, monkeypatch):
    see(outermost, Model, FEW + 1)
    monkeypatch.setattr(_dynamo, "has_compiled", lambda: True)
    see(outermost, Model, MANY)
    assert (outermost.wide, Model.__call__) == (True, ours)
    see(outermost, Model, 3 * FEW)
    assert outermost.wide
