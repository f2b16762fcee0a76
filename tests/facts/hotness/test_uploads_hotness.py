"""What is hot around uploads: constructors of what is called at once, loops over batches, moves of agents."""

from __future__ import annotations

import pytest
from calls_in import site_of
from snippets import hot_at

from torchperf_lint.facts.constants.generated_numbers import is_counted
from torchperf_lint.facts.files.each_update import each_update

MADE = """
class Inner(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.table = torch.zeros(n)  # <-

    def forward(self, x):
        return x + self.table

class Outer(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
        {start}

    def forward(self, x):
        return {used}
"""


@pytest.mark.parametrize(
    ("start", "used", "expected"),
    [
        ("pass", "Inner(self.n)(x)", True),
        ("self.inner = Inner(n)", "self.inner(x)", False),
        ("pass", "self.keep(Inner(self.n), x)", False),
    ],
)
def test_the_constructor_of_a_module_that_is_called_where_it_is_made(start, used, expected):
    assert (hot_at(MADE.format(start=start, used=used)) is not None) is expected


PARTS = """
def extract(model, dataloaders, sizes):
    for data in {iterated}:
        image, label = {taken}
        kept = torch.zeros(3)  # <-
        for size in sizes:
            kept += model({moved}.cuda())
"""


@pytest.mark.parametrize(
    ("iterated", "taken", "moved", "expected"),
    [
        ("dataloaders", "data", "image", True),
        ("dataloaders", "data", "sizes", False),
        ("dataloaders", "sizes", "image", False),
        ("model.named_parameters()", "data", "image", False),
    ],
)
def test_a_loop_whose_turns_move_a_part_of_what_they_take(iterated, taken, moved, expected):
    assert (hot_at(PARTS.format(iterated=iterated, taken=taken, moved=moved)) is not None) is expected


PLAYED = """
{decorated}
def chosen(model, x):
    for _ in range(2):
        x = model(x)
    return x

def play(model, env, n):
    x, done = env.reset(), False
    while not done:
        x, done = {step}  # <-
"""


@pytest.mark.parametrize(
    ("decorated", "step", "expected"),
    [
        ("@torch.no_grad()", "env.step(chosen(model, x))", True),
        ("", "env.step(chosen(model, x))", False),
        ("@torch.no_grad()", "chosen(model, x)", False),
        ("@torch.no_grad()", "env.step(chosen(model, x)), env.render()", False),
    ],
)
def test_a_loop_that_plays_what_is_chosen_without_gradients(decorated, step, expected):
    assert (hot_at(PLAYED.format(decorated=decorated, step=step)) is not None) is expected


SHARED = """
class SAC(Base_Agent):
    def actor_pick_action(self, state):
        return self.propose(state)

    def propose(self, state):
        return torch.tanh(self.actor(state))  # <-

    def learn(self, batch):
        loss = self.propose(batch).mean()
        loss.backward()
        self.optimizer.step()
"""


def test_a_training_step_tells_more_than_what_an_agent_does():
    hot = hot_at(SHARED)
    assert hot is not None
    assert hot.kind == "step"


UPDATES = """
class Agent:
    def batch(self):
        return torch.tensor(self.states)

    def update(self):
        states = self.batch()
        {learns}
            self.policy(states).mean().backward()
            self.optimizer.step()

def main(env, n):
    agent = Agent()
    {again}
        agent.update()
"""


@pytest.mark.parametrize(
    ("learns", "again", "expected"),
    [
        ("for _ in range(10):", "while env.play():", True),
        ("for _ in range(10):", "if n:", False),
        ("for _ in range(10):", "for _ in range(2):", False),
    ],
)
def test_what_runs_once_an_update(learns, again, expected):
    assert (
        each_update(site_of(UPDATES.format(learns=learns, again=again), "torch.tensor(self.states)")) is not None
    ) is expected


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        ("np.reshape(np.arange(n), [1, n])", True),
        ("np.expand_dims(np.array(range(n)), 0)", True),
        ("np.arange(n).reshape(1, n)", True),
        ("np.reshape(rows, [1, n])", False),
    ],
)
def test_numbers_that_are_counted_out(array, expected):
    site = site_of(f"def f(n, rows):\n    return torch.from_numpy({array})", f"torch.from_numpy({array})")
    assert is_counted(site.file.project.values, site.call.args[0], site.frame) is expected
