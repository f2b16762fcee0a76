"""Evaluation between training steps where neither reads a loader: calls in evaluation mode, once or more in a row."""

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


def train(loop, steps, *, before=("upload",), after=("loss",)):
    for _ in range(steps):
        for what in before:
            loop.event(what)
        loop.event("forward")
        loop.backward()
        loop.step()
        for what in after:
            loop.event(what)


def evaluate(loop, turns, look, *, before=("upload",), after=("loss",), calls=("model",), graded=False):
    for index in range(turns):
        for what in before:
            loop.event(what)
        look()
        for number, call in enumerate(calls):
            loop.scopes.evaluates(call, opens=not index and not number, graded=graded)
            loop.event("forward")
            loop.scopes.evaluated()
        for what in after:
            loop.event(what)
        look()


def figures(loop, what):
    """(trained, training steps, evaluated, turns of evaluation)."""
    count = loop.counts()[what]
    return tuple(count.get(name, 0) for name in ("trained", "train_steps", "evaluated", "eval_turns"))


def turns(loop):
    return loop.record().steps["eval_calls"]


def test_what_evaluation_alone_does_is_no_part_of_a_step(loop, look):
    for _ in range(4):
        train(loop, 5)
        evaluate(loop, 3, look, before=["moved"], after=["metric", "metric"])
    assert turns(loop) == 12
    assert figures(loop, "moved") == (0, 0, 12, 12)
    assert figures(loop, "metric") == (0, 0, 24, 12)
    assert figures(loop, "upload") == figures(loop, "loss") == (20, 20, 0, 0)
    assert loop.counts()["metric"]["eval_of"] == 12


def test_lines_that_training_and_evaluation_share_are_told_apart(loop, look):
    for _ in range(3):
        train(loop, 5)
        evaluate(loop, 4, look)
        train(loop, 1)
        train(loop, 1)
    assert turns(loop) == 12
    assert figures(loop, "forward") == figures(loop, "upload") == (21, 21, 12, 12)
    assert figures(loop, "loss") == (21, 21, 12, 12)


def test_a_step_that_follows_an_evaluation_is_counted_once(loop, look):
    """What comes behind the run and again in the step's own part, after its first backward pass."""
    for _ in range(3):
        train(loop, 5, before=["upload", "upload"], after=())
        evaluate(loop, 2, look, after=())
        loop.event("upload")
        loop.backward()
        loop.event("upload")
        loop.step()
    assert figures(loop, "upload") == (36, 18, 6, 6)


def test_what_comes_once_an_epoch_stays_outside_of_evaluation(loop, look):
    for _ in range(3):
        train(loop, 5)
        evaluate(loop, 4, look)
        loop.event("checkpoint")
    assert figures(loop, "checkpoint") == (3, 3, 0, 0)


def test_an_agent_that_acts_before_each_step_acts_in_steps(loop, look):
    for _ in range(20):
        train(loop, 1)
        evaluate(loop, 4, look, before=(), after=["act"])
    assert turns(loop) == 0
    assert figures(loop, "act") == (80, 20, 0, 0)
    assert figures(loop, "upload")[:2] == (20, 20)


def test_an_agent_that_acts_once_a_step_acts_in_steps(loop, look):
    for _ in range(20):
        train(loop, 1)
        evaluate(loop, 1, look, after=["act"])
    assert turns(loop) == 0
    assert figures(loop, "act") == (20, 20, 0, 0)
    assert figures(loop, "upload") == (40, 21, 0, 0)


def test_an_evaluation_of_one_call_is_told_from_the_steps(loop, look):
    for _ in range(4):
        train(loop, 3, after=["log"])
        evaluate(loop, 1, look, after=["metric"])
    train(loop, 1, after=["log"])
    assert turns(loop) == 4
    assert figures(loop, "forward") == figures(loop, "upload") == (13, 13, 4, 4)
    assert figures(loop, "metric") == (0, 0, 4, 4)
    assert loop.counts()["metric"]["eval_of"] == 4
    assert figures(loop, "log") == (13, 13, 0, 0)


def test_what_follows_one_call_and_comes_in_steps_too_is_the_steps(loop, look):
    for _ in range(4):
        train(loop, 3)
        evaluate(loop, 1, look, before=(), after=())
    train(loop, 1)
    assert figures(loop, "upload") == figures(loop, "loss") == (13, 13, 0, 0)


def test_what_follows_evaluations_of_many_calls_as_of_one_is_the_steps(loop, look):
    for turns in (4, 1, 4):
        train(loop, 5)
        evaluate(loop, turns, look)
        loop.event("checkpoint")
    assert figures(loop, "checkpoint") == (3, 3, 0, 0)


def test_what_follows_each_call_follows_the_last_too(loop, look):
    """A loss that waits, computed behind the model's call, in training before the step; then training goes on, or not.
    """
    for _ in range(2):
        for _ in range(6):
            loop.event("loss")
            loop.backward()
            loop.step()
        evaluate(loop, 4, look, before=[], after=["loss", "loss"])
    assert figures(loop, "loss") == (12, 12, 16, 8)
    assert loop.counts()["loss"]["eval_of"] == 8


def test_a_last_evaluation_of_one_call_is_like_those_before(loop, look):
    for _ in range(4):
        train(loop, 3)
        evaluate(loop, 1, look, after=())
    assert figures(loop, "forward") == figures(loop, "upload") == (12, 12, 4, 4)


def test_calls_with_gradients_are_evaluation_where_training_mode_follows(loop, look):
    for _ in range(4):
        train(loop, 5)
        evaluate(loop, 3, look, after=["metric"], graded=True)
        loop.scopes.runs.is_left()
    train(loop, 1)
    assert turns(loop) == 12
    assert figures(loop, "metric") == (0, 0, 12, 12)
    assert figures(loop, "upload") == (21, 21, 12, 12)


def test_calls_with_gradients_that_lead_to_a_backward_pass_are_training(loop, look):
    """Every fourth step calls in evaluation mode what it trains."""
    for _ in range(5):
        train(loop, 3)
        evaluate(loop, 2, look, after=(), graded=True)
        loop.backward()
        loop.step()
    assert turns(loop) == 0
    assert figures(loop, "upload") == (25, 20, 0, 0)


def test_a_model_that_stays_in_evaluation_mode_trains_with_gradients_on(loop, look):
    for _ in range(4):
        for _ in range(5):
            evaluate(loop, 1, look, after=(), graded=True)
            loop.backward()
            loop.step()
            loop.event("loss")
        evaluate(loop, 3, look, after=["metric"])
    assert turns(loop) == 12
    assert figures(loop, "metric") == (0, 0, 12, 12)
    assert figures(loop, "upload") == (20, 20, 12, 12)


def test_an_evaluation_after_the_first_step_is_one_as_soon_as_more_steps_have_come(loop, look):
    train(loop, 1)
    evaluate(loop, 3, look, after=["metric"])
    assert figures(loop, "metric") == (3, 1, 0, 0)
    train(loop, 4)
    assert figures(loop, "metric") == (0, 0, 3, 3)


def test_a_call_in_the_middle_of_a_step_opens_no_evaluation(loop):
    for _ in range(6):
        loop.event("upload")
        for _ in range(2):
            loop.scopes.evaluates("teacher", opens=False)
            loop.event("teacher")
            loop.scopes.evaluated()
        loop.backward()
        loop.step()
    assert figures(loop, "teacher") == (12, 6, 0, 0)


def test_a_turn_is_what_begins_with_the_first_call_of_the_run(loop, look):
    for _ in range(3):
        train(loop, 5)
        evaluate(loop, 4, look, after=["metric"], calls=["encoder", "decoder", "decoder"])
    assert turns(loop) == 12
    assert figures(loop, "metric") == (0, 0, 12, 12)


def test_a_loader_that_begins_ends_the_run(loop, look):
    train(loop, 6)
    evaluate(loop, 3, look, after=["metric"])
    iterator = loop.begin()
    loop.train(iterator, 6, event="batch")
    loop.fetch(iterator, got=False)
    assert loop.turns()["batch"] == (6, 6, 0)
    assert figures(loop, "metric") == (0, 0, 3, 3)


def test_times_of_evaluation_stay_where_they_were(loop):
    train(loop, 6)
    evaluate(loop, 3, lambda: None)
    train(loop, 6)
    assert loop.recorded_s() == pytest.approx(loop.steady_s)


SCRIPT = """
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def forward(self, x):
            return self.layer(x)

    def batches(count):
        for _ in range(count):
            yield torch.ones(4, 2).cuda()

    def evaluate(net, criterion):
        net.eval()
        with torch.no_grad():
            for x in batches(4):
                criterion(net(x), x[:, :1]).item()
        net.train()

    net, criterion = Net().cuda(), torch.nn.MSELoss()
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    for epoch in range(8):
        for x in batches(6):
            loss = criterion(net(x), x[:, :1])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.isnan().item()
        evaluate(net, criterion)
"""


def test_a_hand_written_loader_feeds_both(tmp_path):
    found = evidence_of([watch(tmp_path, SCRIPT, options=["--simulate"]).record])
    each = {(event.kind, event.line): event for event in found.events if event.count > 8}
    rows = {
        place: (event.trained or 0, event.train_steps or 0, event.evaluated or 0, event.eval_turns)
        for place, event in each.items()
    }
    assert (found.steps, found.eval_calls, found.eval_unit) == (48, 32, "call in evaluation mode")
    assert rows == {
        ("copy", 14): (48, 48, 32, 32),
        ("sync", 14): (48, 48, 32, 32),
        ("sync", 20): (0, 0, 32, 32),
        ("sync", 31): (48, 48, 0, 0),
    }


ENCODED = """
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def encode(self, x):
            return self.layer(x)

        def forward(self, x):
            return self.encode(x.cuda())

    def evaluate(net):
        net.eval()
        for _ in range(10):
            net.encode(torch.ones(4, 2).cuda()).sum().item()
        net.train()

    net = Net().cuda()
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    for epoch in range(2):
        for _ in range(40):
            loss = net(torch.ones(4, 2)).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        evaluate(net)
"""


def test_evaluation_by_another_method_with_gradients_on(tmp_path):
    """The outermost call is that of a part, whose class no step has called from outside."""
    found = evidence_of([watch(tmp_path, ENCODED, options=["--simulate"]).record])
    rows = {
        (event.kind, event.what, event.line): (event.trained or 0, event.evaluated or 0, event.eval_turns)
        for event in found.events
        if event.count > 8
    }
    assert (found.steps, found.eval_calls) == (80, 20)
    assert rows == {
        ("copy", "h2d", 13): (80, 0, 0),
        ("sync", "copy", 13): (80, 0, 0),
        ("copy", "h2d", 18): (0, 20, 20),
        ("sync", "copy", 18): (0, 20, 20),
        ("sync", "item", 18): (0, 20, 20),
    }


ACTS = """
    import torch

    class Policy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def forward(self, x):
            x = self.layer(x)
            x.isnan().any().item()
            return x

    policy = Policy().cuda()
    optimizer = torch.optim.SGD(policy.parameters(), 0.01)
    x = torch.ones(4, 2, device="cuda")
    for step in range(12):
        loss = policy(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % EVERY == EVERY - 1:
            for _ in range(4):
                with torch.no_grad():
                    policy(x).cpu()
"""


@pytest.mark.parametrize(
    ("every", "calls", "inside"), [(3, 16, (12, 12, 16, 16)), (2, 0, (36, 12, 0, 0))], ids=["rollouts", "steps"]
)
def test_a_policy_in_training_mode_that_acts_between_some_steps(tmp_path, every, calls, inside):
    """Its rollouts are no part of a step, unless they come in at least half of the steps."""
    script = ACTS.replace("EVERY", str(every))
    found = evidence_of([watch(tmp_path, script, options=["--simulate"]).record])
    (read,) = [event for event in found.events if event.kind == "sync" and event.line == 11]
    figures = (read.trained or 0, min(read.train_steps, found.steps), read.evaluated or 0, read.eval_turns)
    assert (found.steps, found.eval_calls, figures) == (12, calls, inside)
    assert not calls or found.eval_unit == "call without gradients"


def test_the_first_step_after_a_rollout_counts_where_its_optimizer_takes_over(loop, look):
    """Its wait stands between the rollout's last call and its backward pass: it may be evaluation's, and is not."""
    for _ in range(6):
        evaluate(loop, 5, look)
        for optimizer in (1, 2):
            for _ in range(4):
                loop.event(f"wait {optimizer}")
                loop.backward()
                loop.step(optimizer)
    assert loop.record().steps["steps"] == 48
    assert figures(loop, "wait 1") == (24, 24, 0, 0)
    assert figures(loop, "wait 2") == (24, 24, 0, 0)
