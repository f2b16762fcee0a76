"""Loops of which each turn learns for several epochs, with steps of their own."""

from __future__ import annotations

import pytest
from snippets import hot_at

LEARNER = """
class Learner:
    def run(self, dataloader):
        for data in dataloader:
            self.learn(data)

    def learn(self, data):
        data = data.to("cuda")
        {before}
        {head}
            for start in range(0, len(data), 8):
                loss = self.model(data[start : start + 8]).sum()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                {inside}
"""


def often(head: str, before: str = "pass", inside: str = "pass") -> str | None:
    hot = hot_at(LEARNER.format(head=head, before=before, inside=inside))
    return hot and hot.kind


@pytest.mark.parametrize(
    ("head", "before"),
    [
        ("for _ in range(self.args.ppo_epochs):", None),
        ("for epoch in range(4):", None),
        ("for _ in range(self.critics):", "step"),
        ("if self.epochs:", "step"),
    ],
)
def test_what_stands_before_several_epochs_runs_once_for_all_of_them(head, before):
    assert often(head, before="print(data)  # <-") == before
    assert often(head, inside="print(loss)  # <-") == "step"


@pytest.mark.parametrize(("bound", "hot"), [("config.inner_epochs", False), ("config.critics", True)])
def test_epochs_may_stand_in_the_loop_itself(bound, hot):
    code = f"""
        def fit(loader, model, optimizer, config):
            for x in loader:
                print(x)  # <-
                for _ in range({bound}):
                    loss = model(x).sum()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
        """
    assert (hot_at(code) is not None) is hot
