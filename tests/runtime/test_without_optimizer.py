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
    assert (found.steps, found.backwards) == (10, 21)


STAGES = {
    "few": 3,
    "put off in part": 150,
    "many": 400,
}
IMPORTANCE = """
    import torch

    net = torch.nn.Linear(4, 1).cuda()
    for _ in range({passes}):
        net.zero_grad()
        net(torch.ones(8, 4).cuda()).sum().backward()
        net.weight.grad.sum().item()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for step in range(20):
        loss = net(torch.ones(8, 4).cuda()).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())
        if step % 5 == 4:
            net.eval()
            with torch.no_grad():
                print(net(torch.ones(8, 4).cuda()).sum().item())
            net.train()
"""


@pytest.mark.parametrize("stage", STAGES)
def test_backward_passes_before_there_is_an_optimizer_are_no_steps(tmp_path, stage):
    found = seen(tmp_path, IMPORTANCE.format(passes=STAGES[stage]))
    assert (found.steps, found.backwards, found.eval_calls) == (20, STAGES[stage] + 20, 4)
    rows = figures(found)
    assert rows["item", 8] == (0, 0, 0)
    assert rows["item", 15] == (20, 20, 0)
    assert rows["item", 19] == (0, 0, 4)
    (loss,) = [event for event in found.events if (event.what, event.line) == ("item", 15)]
    assert loss.steady == 11, "the warm-up is one of ten steps, and what follows the tenth is after it"


def figures(found):
    return {
        (event.what, event.line): (event.trained or 0, event.train_steps or 0, event.evaluated or 0)
        for event in found.events
        if event.kind == "sync"
    }


FED = """
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    net = torch.nn.Linear(4, 1).cuda()
    for _ in range({passes}):
        net(torch.ones(8, 4).cuda()).sum().backward()
        net.zero_grad()
    rows = DataLoader(TensorDataset(torch.ones(40, 4)), 2)
    for epoch in range(2):
        for (x,) in rows:
            loss = net(x.cuda()).sum()
            loss.backward()
            print(loss.item())
            net.zero_grad()
"""


@pytest.mark.parametrize("passes", [1, 100])
def test_backward_passes_before_a_loader_feeds_some_are_no_steps(tmp_path, passes):
    found = seen(tmp_path, FED.format(passes=passes))
    assert (found.steps, found.backwards, found.train_batches) == (0, 40 + passes, 40)
    assert figures(found)["item", 14][0] == figures(found)["copy", 12][0] == 40


EVALUATED = """
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    net = torch.nn.Linear(4, 1).cuda()
    rows = DataLoader(TensorDataset(torch.ones(6, 4)), 2)
    for epoch in range(3):
        for _ in range(10):
            net.zero_grad()
            loss = net(torch.ones(8, 4).cuda()).sum()
            loss.backward()
            print(loss.item())
        with torch.no_grad():
            for (x,) in rows:
                print(net(x.cuda()).sum().item())
"""


def test_a_loader_that_feeds_no_backward_pass_ends_no_steps(tmp_path):
    found = seen(tmp_path, EVALUATED)
    assert (found.steps, found.backwards, found.eval_batches) == (30, 30, 9)
    assert (figures(found)["item", 12], figures(found)["item", 15]) == ((30, 30, 0), (0, 0, 9))


def test_where_a_loader_is_read_its_batches_are_the_turns(tmp_path):
    found = seen(tmp_path, LOADED)
    assert (found.steps, found.backwards, found.train_batches) == (0, 18, 6)


class Session:
    def __init__(self, timeline):
        self.timeline, self.recorder, self.on_withdrawal = timeline, timeline.recorder, []
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


def test_an_optimizer_that_is_made_takes_back_the_steps_so_far(loop):
    by_hand = WithoutOptimizer(Session(loop.timeline), None, "steps")
    loop.timeline.backward_begins(None)
    by_hand.backward_ends(None, *loop.timeline.now())
    by_hand.made()
    for _ in range(3):
        loop.timeline.backward_begins(None)
        by_hand.backward_ends(None, *loop.timeline.now())
        loop.step()
    assert loop.timeline.steps == 3


BROKEN = """
    from torchperf_lint.runtime.probes._without_optimizer import WithoutOptimizer

    WithoutOptimizer.stepped = lambda self: {}["broken"]
    import torch

    torch.ones(2, requires_grad=True).sum().backward()
    print("went on")
"""


def test_what_fails_after_a_backward_pass_is_noted_and_not_raised(tmp_path):
    ran = watch(tmp_path, BROKEN, options=["--simulate"])
    assert (ran.returncode, "went on" in ran.out) == (0, True)
