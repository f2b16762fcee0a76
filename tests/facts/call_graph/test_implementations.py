"""What a call of an abstract method runs, and of what nobody knows the class of."""

from __future__ import annotations

import pytest
from snippets import hot_at

FAMILY = """
class Model(nn.Module):
    {decorator}
    def forward_loss(self, points):
        {body}

{others}

class Last(Model):
    def forward_loss(self, points):
        return self.net(points).sum()  # <-


class Trainer:
    def __init__(self, model: Model):
        self.model = model

    def fit(self, loader, optimizer):
        for batch in loader:
            {call}.backward()
            optimizer.step()
"""
OTHERS = "".join(
    f"class Other{i}(Model):\n    def forward_loss(self, points):\n        return points.sum()\n\n\n" for i in range(8)
)


@pytest.mark.parametrize(
    ("decorator", "body", "hot"),
    [
        ("", "raise NotImplementedError", True),
        ("", 'raise NotImplementedError("left to subclasses")', True),
        ("@abc.abstractmethod", "pass", True),
        ("", "return self.net(points)", False),
    ],
)
def test_any_stand_in_of_an_abstract_method_may_run(decorator, body, hot):
    source = FAMILY.format(decorator=decorator, body=body, others=OTHERS, call="self.model.forward_loss(batch)")
    found = hot_at("import abc\n\n" + source)
    # By its name it is a loss, whoever calls it; the loop says more than that.
    assert found is not None
    assert ("in the loop" in found.because) is hot


MODULE = """
class Base(nn.Module):
    def inference(self, x):
        raise NotImplementedError

    def describe(self):
        return "x"


class Poisson(Base):
    def inference(self, x):
        return x.sum()  # <-


def fit({name}, loader, optimizer):
    for x in loader:
        {name}.inference(x).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(("name", "hot"), [("module", True), ("model", True), ("session", False)])
def test_what_modules_leave_to_subclasses_runs_where_a_model_is_asked_for_it(name, hot):
    assert (hot_at(MODULE.format(name=name)) is not None) is hot


def test_two_bases_that_leave_a_method_open_say_nothing():
    second = "class Second(nn.Module):\n    def inference(self, x):\n        raise NotImplementedError\n"
    assert hot_at(second + MODULE.format(name="model")) is None


COPIED = """
class Values:
    def best_of_all(self):
        return self.q.max()  # <-


class Agent:
    def __init__(self, model):
        self.target = {copied}

    def learn(self, loader, optimizer):
        for x in loader:
            values = self.target(x)
            (values.best_of_all() - x).sum().backward()
            optimizer.step()
"""


@pytest.mark.parametrize(("copied", "hot"), [("copy.deepcopy(model)", True), ("vendor.make(model)", False)])
def test_what_is_copied_is_of_a_class_that_nobody_knows(copied, hot):
    assert (hot_at("import copy\nimport vendor\n" + COPIED.format(copied=copied)) is not None) is hot


def test_a_loader_beside_a_bar_is_what_a_loop_goes_over():
    code = """
        @torch.no_grad()
        def score(model, {name}):
            for i, batch in zip(bar, {name}):
                print(model(batch.cuda()))  # <-
    """
    found = hot_at(code.format(name="loader"))
    assert found is not None
    assert "DataLoader" in found.because


FIELD = """
class Policy(nn.Module):
    def evaluate(self, x):
        return x.sum()  # <-


class Algorithm(vendor.Algorithm):
    policy: {annotation}

    def make(self):
        self.policy = self.policy_class()

    def train(self, loader, optimizer):
        for x in loader:
            self.policy.evaluate(x).backward()
            optimizer.step()
"""


@pytest.mark.parametrize(("annotation", "hot"), [("Policy", True), ("vendor.Policy", False)])
def test_the_body_of_a_class_tells_of_what_class_an_attribute_is(annotation, hot):
    assert (hot_at("import vendor\n" + FIELD.format(annotation=annotation)) is not None) is hot


def test_what_counts_operations_runs_once():
    adapter = "class Adapter(nn.Module):\n    def forward(self, x):\n        return x + 1  # <-\n"
    assert hot_at({"get_flops.py": adapter}) is None
    assert hot_at({"adapters.py": adapter}) is not None
