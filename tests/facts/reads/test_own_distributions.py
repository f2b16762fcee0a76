"""Distributions of the project that check what the class of torch's checks that they derive from."""

from __future__ import annotations

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.own_distributions import asked_within
from torchperf_lint.facts.reads.validating import checked

OWN = """
import other
import torch.distributions

class Told(torch.distributions.Distribution):
    def told(self):
        return self.mean

class Discrete({before}torch.distributions.{base}):
    {body}
    def log_probs(self, actions):
        return (
            super()
            .log_prob(actions.squeeze(-1))
            .unsqueeze(-1)
        )

class Narrow(Discrete):
    pass
"""
NET = """
from own.distributions import Discrete, Narrow

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor):
        mean = self.net(x.to("cuda"))
        return {made}
"""


def found(made="Discrete(logits=mean)", base="Categorical", body="", before=""):
    texts = {
        "own/distributions.py": IMPORTS + OWN.format(base=base, body=body, before=before),
        "m.py": IMPORTS + NET.format(made=made),
    }
    return list(checked(SourceFile(Project.of_texts(texts), "m.py", texts["m.py"])))


@pytest.mark.parametrize("made", ["Discrete(logits=mean)", "Narrow(logits=mean)"])
def test_an_inherited_constructor_checks(made):
    ((site, value),) = found(made)
    assert "`torch.distributions.Categorical`" in value.because
    places = list(asked_within(site))
    assert bool(places) is made.startswith("Discrete")
    assert all(path == "own/distributions.py" for path, _ in places)
    texts = (IMPORTS + OWN.format(base="Categorical", body="", before="")).splitlines()
    assert all(texts[line - 1][column - 1 :].startswith("log_prob(") for _, (line, column) in places)


@pytest.mark.parametrize(
    ("made", "base", "body"),
    [
        ("Discrete(logits=mean, validate_args=False)", "Categorical", ""),
        ("Discrete(0.5)", "Bernoulli", ""),
        ("Discrete(mean)", "TransformedDistribution", ""),
        ("Discrete(logits=mean)", "Categorical", "_validate_args = False"),
        ("Discrete(logits=mean)", "Categorical", "arg_constraints = {}"),
        (
            "Discrete(mean)",
            "Categorical",
            "def __init__(self, x):\n        super().__init__(logits=x, validate_args=False)",
        ),
    ],
)
def test_what_checks_nothing(made, base, body):
    assert not found(made, base, body)


@pytest.mark.parametrize(("before", "checks"), [("Told, ", 1), ("nn.Module, ", 0), ("other.Base, ", 0)])
def test_whose_constructor_it_is(before, checks):
    assert len(found(before=before)) == checks
