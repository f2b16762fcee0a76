"""Which methods a call of `self.method()` may run, where subclasses have their own version of what holds the call."""

from __future__ import annotations

import pytest
from snippets import hot_at

FAMILY = """
class Policy:
    def update(self, loader, optimizer):
        for batch in loader:
            self.loss(batch).backward()
            optimizer.step()
            self.advance(batch)

    def advance(self, batch):
        return batch


class Natural(Policy):
    {update}

    def advance(self, batch):
        return batch.mean()  # <-
"""


@pytest.mark.parametrize(
    ("update", "hot"),
    [
        ("pass", True),
        ("def update(self, loader, optimizer):\n        self.advance(loader)", False),
        ("def update(self, loader, optimizer):\n        super().update(loader, optimizer)", True),
        ("def update(self, loader, optimizer):\n        Policy.update(self, loader, optimizer)", True),
        ("def rewrite(self, loader, optimizer):\n        self.advance(loader)", True),
    ],
)
def test_a_base_classs_loop_is_not_run_by_a_class_with_a_version_of_its_own(update, hot):
    assert (hot_at(FAMILY.format(update=update)) is not None) is hot


INHERITED = """
class Policy:
    def update(self, loader, optimizer):
        raise NotImplementedError

    def advance(self, batch):
        return batch.mean()  # <-


class Natural(Policy):
    def update(self, loader, optimizer):
        for batch in loader:
            self.loss(batch).backward()
            optimizer.step()
            self.advance(batch)
"""


def test_a_method_of_the_base_class_is_run_by_the_subclass_that_calls_it():
    assert hot_at(INHERITED) is not None


SIBLINGS = """
class Policy:
    def advance(self, batch):
        return batch

class Trained(Policy):
    def update(self, loader, optimizer):
        for batch in loader:
            self.loss(batch).backward()
            optimizer.step()
            self.advance(batch)

class Natural(Policy):
    def advance(self, batch):
        return batch.mean()  # <-

{third}
"""


@pytest.mark.parametrize(("third", "hot"), [("", False), ("class Both(Trained, Natural):\n    pass", True)])
def test_a_call_of_one_class_runs_nothing_of_its_sibling(third, hot):
    assert (hot_at(SIBLINGS.format(third=third)) is not None) is hot
