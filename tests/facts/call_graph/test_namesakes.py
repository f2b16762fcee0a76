"""Calls on objects of unknown class: which method of the project they most likely run."""

from __future__ import annotations

import pytest
from snippets import hot_at

FLOW = """
    class Flow(nn.Module):
        def {method}(self, z):
            return z * 2  # <-

    class Loss(nn.Module):
        def __init__(self, flow):
            super().__init__()
            self.flow = flow

        def forward(self, z, tokenizer: str):
            return {call}
    """


@pytest.mark.parametrize(
    ("method", "call", "hot"),
    [
        ("energy_score", "self.flow.energy_score(z)", True),
        ("energy_score", "helpers[0].energy_score(z)", True),
        ("energy_score", "energy_score(z)", False),
        ("energy_score", "F.energy_score(z)", False),
        ("energy_score", "tokenizer.energy_score(z)", False),
        ("score", "self.flow.score(z)", True),
        ("log_prob", "self.flow.log_prob(z)", True),
        ("score", "self.density.score(z)", False),
        ("log_prob", "self.density.log_prob(z)", False),
        ("index_select", "self.flow.index_select(z)", False),
        ("update", "self.flow.update(z)", False),
    ],
)
def test_a_method_of_several_words_is_known_by_its_name(method, call, hot):
    assert (hot_at(FLOW.format(method=method, call=call)) is not None) is hot


def test_a_method_that_many_classes_define_is_not():
    others = "".join(f"class C{i}:\n    def energy_score(self, z):\n        return z\n" for i in range(3))
    flow = {"a.py": FLOW.format(method="energy_score", call="self.parts[0].energy_score(z)"), "b.py": others}
    assert hot_at(flow) is None


def test_a_method_and_those_that_override_it_are_one():
    code = """
        class Flow(nn.Module):
            def energy_score(self, z):
                return z

        class Other(Flow):
            def energy_score(self, z):
                return z + 1  # <-

        class Loss(nn.Module):
            def forward(self, flow: nn.Module, z):
                return flow.energy_score(z)
        """
    assert hot_at(code) is not None


def test_a_base_class_may_leave_a_method_to_its_subclasses():
    code = """
        class Base(nn.Module):
            def forward(self, x):
                return self.compute(x)

        class One(Base):
            def compute(self, x):
                return x + 1  # <-
        """
    assert hot_at(code) is not None
    assert hot_at(code.replace("One(Base)", "One")) is None


@pytest.mark.parametrize(
    ("cls", "name", "hot"),
    [
        ("VPSDE", "sde", True),
        ("CTCConverter", "converter", True),
        ("Keypad", "pad", False),
        ("BaseModel", "model", False),
    ],
)
def test_what_an_object_is_called_tells_its_class_by_the_last_words_of_its_name(cls, name, hot):
    code = f"""
        class {cls}:
            def decode(self, x):
                return x * 2  # <-

        def validate(net, loader, {name}):
            with torch.no_grad():
                for x in loader:
                    {name}.decode(net(x))
        """
    assert (hot_at(code) is not None) is hot


def test_a_guess_takes_no_role_away():
    code = """
        class Potential:
            def compute(self, x: torch.Tensor) -> torch.Tensor:
                return x.sum()  # <-

        def show(potential, x):
            print(potential.compute(x))
        """
    assert hot_at(code) is not None
