"""What follows an evaluation is of the training loop around it; a checkpoint ends one; neither is evaluation."""

import pytest
from builders import Loop, watch

from torchperf_lint.runtime.reading import evidence_of


@pytest.fixture
def loop(tmp_path, monkeypatch):
    return Loop(tmp_path, monkeypatch, warmup=2)


@pytest.fixture(params=[False, True], ids=["one flush", "a flush at each turn"])
def look(request, loop):
    """Figures are asked for at any time, and must be right in the end."""
    return loop.record if request.param else lambda: None


def figures(loop, what):
    """(trained, turns and steps of training, evaluated, turns of evaluation)."""
    count = loop.counts()[what]
    return tuple(count.get(n, 0) for n in ("trained", "train_turns", "train_steps", "evaluated", "eval_turns"))


@pytest.mark.parametrize("loaders", [1, 2])
def test_what_follows_an_evaluation_in_the_training_loop_is_of_some_steps(loop, look, loaders):
    train = loop.begin()
    for _ in range(3):
        loop.train(train, 4, "shared")
        loop.event("shared")
        for _ in range(loaders):
            loop.evaluate(3, "metric")
            for _ in range(5):
                loop.event("logged")
            look()
            loop.event("shared")
    loop.fetch(train, got=False, inside=lambda: None)
    assert figures(loop, "logged") == (15 * loaders, 3, 3, 0, 0)
    assert figures(loop, "metric") == (0, 0, 0, 9 * loaders, 9 * loaders)
    assert figures(loop, "shared")[:2] == (12 + 3 + 3 * loaders, 12)
    assert figures(loop, "shared")[2] == 13  # the last one follows the last step


def test_what_follows_the_last_evaluation_of_all_is_outside(loop, look):
    """The training pass may be kept, and not go on."""
    train = loop.begin()
    loop.train(train, 4)
    look()
    loop.evaluate(3, "metric")
    loop.event("moved")
    look()
    loop.evaluate(3, "metric")
    loop.event("moved")
    assert figures(loop, "moved") == (0, 0, 0, 0, 0)


def test_what_follows_an_evaluation_after_an_epoch_is_outside(loop, look):
    for _ in range(3):
        train = loop.begin()
        loop.train(train, 4)
        loop.fetch(train, got=False)
        loop.evaluate(3, "metric")
        look()
        loop.event("checkpoint")
    assert figures(loop, "checkpoint") == (0, 0, 0, 0, 0)


def test_a_pass_within_a_step_gives_back_to_the_step(loop, look):
    train = loop.begin()
    for _ in range(4):
        loop.fetch(train)
        loop.evaluate(3, "memory")
        look()
        loop.event("loss")
        loop.backward()
        loop.step()
    assert figures(loop, "loss") == (4, 4, 4, 0, 0)


def test_a_checkpoint_ends_an_evaluation_that_reads_one_batch(loop, look):
    """`next(batches)` every few steps, then a snapshot and what is drawn for it."""
    train, test = loop.begin(), loop.begin()
    for _ in range(3):
        loop.train(train, 4)
        loop.fetch(test)
        loop.event("metric")
        loop.scopes.saves()
        look()
        loop.event("snapshot")
        loop.event("drawn")
    loop.train(train, 1)
    del test
    assert figures(loop, "metric") == (0, 0, 0, 3, 3)
    assert figures(loop, "snapshot") == figures(loop, "drawn") == (3, 3, 3, 0, 0)


@pytest.mark.parametrize("trained", [False, True])
def test_what_is_saved_of_each_batch_of_an_evaluation_is_evaluation(loop, look, trained):
    train = loop.begin()
    if trained:
        loop.train(train, 4)
    test = loop.begin()
    for _ in range(5):
        loop.fetch(test, inside=lambda: None)
        loop.scopes.saves()
        loop.event("features")
        look()
    loop.fetch(test, got=False, inside=lambda: None)
    loop.event("done")
    if trained:
        loop.train(train, 2)
    assert figures(loop, "features") == (0, 0, 0, 5, 5)
    assert figures(loop, "done")[:2] == ((1, 1) if trained else (0, 0))
    assert loop.recorded_s() == pytest.approx(loop.steady_s)


def test_a_checkpoint_before_the_backward_pass_is_of_its_step(loop, look):
    train = loop.begin()
    for _ in range(4):
        loop.fetch(train)
        loop.scopes.saves()
        loop.event("saved")
        look()
        loop.backward()
        loop.step()
    assert figures(loop, "saved") == (4, 4, 4, 0, 0)


SCRIPT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(20)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
loader = DataLoader(TensorDataset(torch.randn(48, 4)), batch_size=4)
test = iter(DataLoader(TensorDataset(torch.randn(48, 4)), batch_size=4))
for step, (x,) in enumerate(loader):
    model(x.cuda()).mean().backward()
    optimizer.step()
    if step % 4 == 1:
        model(next(test)[0].cuda()).mean().item()  # a batch
        torch.save(model.state_dict(), "model.pt")
        for _ in range(3):
            model(torch.randn(1, 4, device="cuda")).mean().item()  # drawn
del test
"""


def test_a_checkpoint_is_told_from_what_evaluation_waits_for(tmp_path):
    ran = watch(tmp_path, SCRIPT, options=("--simulate",))
    assert ran.returncode == 0, ran.err
    run = evidence_of([ran.record])
    saved = [event for event in run.events if event.attributes.get("checkpoint")]
    assert {event.line for event in saved} == {14}
    assert [(e.count, e.train_steps, e.eval_turns) for e in saved if e.kind == "sync"] == [(120, 3, 0)]
    batch, drawn = ([e for e in run.events if e.kind == "sync" and e.line == n and e.what == "item"] for n in (13, 16))
    assert (batch[0].evaluated, batch[0].eval_turns, drawn[0].evaluated or 0) == (3, 3, 0)
    assert "of the run's waits come in bursts" not in ran.err
    assert "120 in saving checkpoints" in " ".join(ran.err.split())
