"""Of which class the object is that a chain of calls of `self` runs on."""

from __future__ import annotations

import pytest
from snippets import hot_at

ROLLOUTS = """
class Rollout:
    def generate(self, batch):
        return self.finish(batch)

    def finish(self, batch):
        raise NotImplementedError


class Distil(Rollout):
    def run(self, loader, optimizer):
        for batch in loader:
            self.generate(batch).backward()
            optimizer.step()
{0}

class Policy({1}):
    def finish(self, batch):
        return batch.mean()  # <-
{2}
"""
OWN = "\n    def finish(self, batch):\n        return batch\n"
RUN = """
    def run(self, loader, optimizer):
        for batch in loader:
            self.generate(batch).backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("distil", "base", "policy", "hot"),
    [
        ("", "Rollout", "", False),
        (OWN, "Rollout", "", False),
        ("", "Distil", "", True),
        (OWN, "Distil", "", True),
        ("", "Rollout", RUN, True),
        (OWN, "Rollout", RUN, True),
    ],
    ids=["sibling", "own version", "derived", "overridden", "own loop", "own loop, own version"],
)
def test_a_loop_of_one_class_is_no_reason_for_a_sibling(distil, base, policy, hot):
    assert (hot_at(ROLLOUTS.format(distil, base, policy)) is not None) is hot


def test_the_reason_names_the_loop_of_the_objects_own_class():
    found = hot_at(ROLLOUTS.format(OWN, "Rollout", RUN))
    assert found is not None
    assert "(line 31)" in found.because


def test_through_super_the_object_stays_what_it_is():
    code = """
class Base:
    def step(self, batch):
        return self.finish(batch)

    def finish(self, batch):
        raise NotImplementedError


class Distil(Base):
    def step(self, batch):
        return super().step(batch)

    def finish(self, batch):
        return batch

    def run(self, loader, optimizer):
        for batch in loader:
            self.step(batch).backward()
            optimizer.step()


class Policy(Base):
    def finish(self, batch):
        return batch.mean()  # <-
"""
    assert hot_at(code) is None
    assert hot_at(code.replace("class Policy(Base)", "class Policy(Distil)")) is not None


def test_a_function_that_the_constructor_keeps_is_no_method():
    code = """
class Metric:
    def __init__(self):
        def overlap(batch):
            return batch.mean()  # <-

        self.overlap = overlap

    def run(self, loader, optimizer):
        for batch in loader:
            self.overlap(batch).backward()
            optimizer.step()
            self.add(batch)

    def add(self, batch):
        return self.overlap(batch)
"""
    assert hot_at(code) is not None
