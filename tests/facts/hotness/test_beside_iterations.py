"""Code beside the loop of an episode, or of a search, of a function that a hot loop calls."""

from __future__ import annotations

import pytest
from snippets import hot_at

from torchperf_lint.model import Confidence

EPISODE = """
    class Worker:
        def episode(self):
            plan = self.plan(self.env.reset())
            plan = plan + 0  # <-
            {head}
                action = self.choose(plan)
                plan, done = self.env.step(action)
            {then}
            return plan

    def main(worker, net, optimizer, steps):
        while steps < 100_000:
            loss = net(worker.episode()).mean()
            loss.backward()
            optimizer.step()

    main(Worker(), nn.Linear(8, 8), torch.optim.SGD([]), 0)
"""


@pytest.mark.parametrize(
    ("head", "then", "seldom"),
    [
        ("while not done and step < self.limit:", "pass", True),
        ("while True:", "pass", True),
        ("for step in range(self.n):", "pass", False),  # five steps, it may be
        ("while not done:", "plan.mean().backward()", False),
    ],
)
def test_what_an_episode_begins_with(head, then, seldom):
    found = hot_at(EPISODE.format(head=head, then=then))
    assert found is not None
    assert (found.confidence is Confidence.POSSIBLE) is seldom


SEARCH = """
    class Attack:
        def best(self, x):
            return self.model(x).amax(1)

        def run(self, x):
            best = self.{first}(x)
            best = best + 0  # <-
            for i in range({turns}):
                best = self.best(x + torch.rand_like(x))
            return best

    @torch.no_grad()
    def judge(model, loader):
        attack = Attack()
        model.eval()
        for x in loader:
            model(x.cuda())
            attack.run(x)
"""


@pytest.mark.parametrize(
    ("first", "turns", "seldom"),
    [
        ("best", "self.n_queries", True),
        ("best", "max_iter", True),
        ("best", "5", False),
        ("best", "self.max_len", False),
        ("other", "self.n_queries", False),
    ],
)
def test_what_a_search_begins_with(first, turns, seldom):
    found = hot_at(SEARCH.format(first=first, turns=turns))
    assert found is not None
    assert (found.confidence is Confidence.POSSIBLE) is seldom


def test_what_stands_in_the_loop_itself_runs_as_often_as_it():
    before = SEARCH.format(first="best", turns="self.n_queries").replace("  # <-", "")
    code = before.replace("rand_like(x))", "rand_like(x))  # <-")
    found = hot_at(code)
    assert found is not None
    assert found.confidence is not Confidence.POSSIBLE
