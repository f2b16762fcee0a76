"""Training that updates its parameters by itself: backward passes are the steps of a run that has no optimizer."""

import pytest
from builders import Loop, watch

from torchperf_lint.runtime.probes._without_optimizer import NO_OPTIMIZER, WithoutOptimizer
from torchperf_lint.runtime.reading import evidence_of

SCRIPT = """
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x):
            return self.layer(x).sum()

    def evaluate(net):
        net.eval()
        with torch.no_grad():
            for _ in range(3):
                net(torch.ones(8, 4).cuda()).item()
        net.train()

    net = Net().cuda()
    for epoch in range(5):
        for _ in range(8):
            loss = net(torch.ones(8, 4).cuda())
            net.zero_grad()
            loss.backward()
            for p in net.parameters():
                p.data.add_(p.grad, alpha=-0.1)
            print(loss.item())
        evaluate(net)
"""
LATER = """
    import torch

    net = torch.nn.Linear(4, 1).cuda()
    net(torch.ones(8, 4).cuda()).sum().backward()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(10):
        optimizer.zero_grad()
        for _ in range(2):
            net(torch.ones(8, 4).cuda()).sum().backward()
        optimizer.step()
"""
LOADED = """
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    net = torch.nn.Linear(4, 1).cuda()
    for (x,) in DataLoader(TensorDataset(torch.ones(12, 4)), 2):
        for _ in range(3):
            net.zero_grad()
            net(x.cuda()).sum().backward()
"""


def seen(tmp_path, script):
    return evidence_of([watch(tmp_path, script, options=["--simulate"]).record])


def test_each_backward_pass_is_a_step_and_evaluation_is_none(tmp_path):
    found = seen(tmp_path, SCRIPT)
    assert (found.steps, found.backwards, found.eval_calls) == (40, 40, 15)
    rows = {
        (event.what, event.line): (event.trained or 0, event.train_steps or 0, event.evaluated or 0)
        for event in found.events
        if event.kind == "sync" and event.count > 8
    }
    steps, evaluation = (40, 40, 0), (0, 0, 15)
    assert rows == {("copy", 22): steps, ("item", 27): steps, ("copy", 16): evaluation, ("item", 16): evaluation}


def test_once_there_is_an_optimizer_its_steps_are_those_of_the_run(tmp_path):
    found = seen(tmp_path, LATER)
    assert (found.steps, found.backwards) == (11, 21)


def test_where_a_loader_is_read_its_batches_are_the_turns(tmp_path):
    found = seen(tmp_path, LOADED)
    assert (found.steps, found.backwards, found.train_batches) == (0, 18, 6)


class Recorded:
    def later(self, function, *args):
        function(*args)


class Session:
    def __init__(self, timeline):
        self.timeline, self.recorder = timeline, Recorded()
        self.on_backward, self.trained_by_hand = [], set()

    def guarded(self, probe, callback):
        return callback


@pytest.fixture
def loop(tmp_path, monkeypatch):
    return Loop(tmp_path, monkeypatch)


def test_a_backward_pass_within_another_closes_no_step(loop):
    by_hand = WithoutOptimizer(Session(loop.timeline), None, "steps")
    for _ in range(3):
        loop.timeline.backward_begins(None)
        loop.timeline.backward_begins(None)
        by_hand.backward_ends(None, *loop.timeline.now())
        by_hand.backward_ends(None, *loop.timeline.now())
    assert (loop.timeline.steps, loop.timeline.closing.calls) == (3, {NO_OPTIMIZER: 3})


def test_an_optimizer_that_is_made_closes_steps_at_once(loop):
    by_hand = WithoutOptimizer(Session(loop.timeline), None, "steps")
    loop.timeline.backward_begins(None)
    by_hand.backward_ends(None, *loop.timeline.now())
    by_hand.made()
    for _ in range(3):
        loop.timeline.backward_begins(None)
        by_hand.backward_ends(None, *loop.timeline.now())
        loop.step()
    assert loop.timeline.steps == 4
