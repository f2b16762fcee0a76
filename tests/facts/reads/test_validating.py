"""Which distributions check what they are made of, in the step, on the device."""

from __future__ import annotations

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.validating import checked, overwritten

MODULE = """
import torch.distributions as td
from torch.distributions import Normal
from torch.distributions.normal import Normal as Gaussian

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, **options):
        mean = self.net(x.to("cuda"))
        return {made}
"""


def _file(text: str, **others: str) -> SourceFile:
    project = Project.of_texts({"m.py": text, **{f"{name}.py": other for name, other in others.items()}})
    return SourceFile(project, "m.py", text)


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("Normal(mean, 1.0)", 1),
        ("Gaussian(0.0, mean.exp())", 1),
        ("td.Categorical(logits=mean)", 1),
        ("td.Independent(Normal(mean, 1.0), 1)", 1),
        ("td.Categorical(None, mean)", 1),
        ("Normal(0.0, 1.0)", 0),
        ("Normal(torch.zeros(3), torch.ones(3))", 0),
        ("Normal(mean, 1.0, validate_args=False)", 0),
        ("Normal(mean, 1.0, False)", 0),
        ("Normal(mean, 1.0, **options)", 0),
        ("Normal(*mean.chunk(2))", 0),
    ],
)
def test_what_is_checked(made: str, found: int) -> None:
    assert len(list(checked(_file(IMPORTS + MODULE.replace("{made}", made))))) == found


@pytest.mark.parametrize(
    "switch",
    [
        "torch.distributions.Normal.set_default_validate_args(False)",
        "enable_validation(False)",
        "torch.distributions.Distribution._validate_args = False",
    ],
)
def test_a_switch_anywhere_in_the_project_decides(switch: str) -> None:
    text = IMPORTS + MODULE.replace("{made}", "Normal(mean, 1.0)")
    assert not list(checked(_file(text, main=f"import torch\n{switch}\n")))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("Normal.set_default_validate_args = False", 1),
        ("td.Distribution.set_default_validate_args = False", 1),
        ("Normal.set_default_validate_args(False)", 0),
        ("Own.set_default_validate_args = False", 0),
    ],
)
def test_assignments_that_switch_nothing(line: str, found: int) -> None:
    text = f"import torch.distributions as td\nfrom torch.distributions import Normal\n{line}\n"
    assert len(list(overwritten(_file(text)))) == found


LOSS = """
from torch.distributions import Binomial

class M(nn.Module):
    def loss(self, outputs):
        return -Binomial(outputs["n"].count, logits=outputs["logits"] + 1).log_prob(outputs["x"]).mean()
{beside}
"""
MOVES = "\ndef load(model):\n    return model.to('cuda')\n"
PROGRAM = "\nif __name__ == '__main__':\n    M().train()\n"


@pytest.mark.parametrize(("beside", "found"), [(MOVES, 1), ("", 1), (PROGRAM, 0), (MOVES + PROGRAM, 1)])
def test_what_nobody_can_follow_counts_unless_a_program_never_speaks_of_a_device(beside: str, found: int) -> None:
    assert len(list(checked(_file(IMPORTS + LOSS.replace("{beside}", beside))))) == found


@pytest.mark.parametrize(("name", "found"), [("outputs", 1), ("noise_kwargs", 0), ("config", 0)])
def test_what_settings_hold_are_numbers(name: str, found: int) -> None:
    text = LOSS.replace("{beside}", MOVES).replace("outputs", name)
    assert len(list(checked(_file(IMPORTS + text)))) == found


KEPT = """
import torch.distributions as td

class M(nn.Module):
    def __init__(self, size, made=td.Normal):
        super().__init__()
        self.net = nn.Linear(8, 8)
        self.made = made

    def forward(self, x: torch.Tensor):
        mean = self.net(x.to("cuda"))
        return self.made(mean, 1.0)

def build(settings, other):
    return {built}
"""


@pytest.mark.parametrize(
    ("built", "found"),
    [
        ("M(8)", 1),
        ("M(8), M(size=4)", 1),
        ("M(8, other)", 0),
        ("M(8), M(8, made=other)", 0),
        ("M(**settings)", 0),
        ("M(*settings)", 0),
        ("None", 0),
    ],
)
def test_a_class_that_an_object_keeps(built, found):
    seen = list(checked(_file(IMPORTS + KEPT.replace("{built}", built))))
    assert len(seen) == found
    told = "`self.made` is `td.Normal` by default (line 12), and no call gives another"
    assert all(told in value.because for _, value in seen)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("made=td.Normal", "made"),
        ("made=td.Normal", "made=td.MixtureSameFamily"),
        ("self.made(mean, 1.0)", "self.made(mean, 1.0, validate_args=False)"),
        ("    def forward", "    def choose(self, made):\n        self.made = made\n\n    def forward"),
        ("        self.made = made", "        made = other or made\n        self.made = made"),
    ],
)
def test_what_an_object_keeps_may_be_another_or_not_check(old, new):
    assert not list(checked(_file(IMPORTS + KEPT.replace("{built}", "M(8)").replace(old, new))))


GIVEN = """
from torch.distributions import Bernoulli

class M(nn.Module):
    def __init__(self, decoder):
        super().__init__()
        self.decoder = decoder

    def forward(self, x, rate=0.5):
        return {made}
"""


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("Bernoulli(logits=self.decoder(x))", 1),
        ("Bernoulli(probs=self.decoder(x, 3))", 1),
        ("Bernoulli(probs=self.decoder(3))", 0),
        ("Bernoulli(probs=self.decoder)", 0),
        ("Bernoulli(logits=self.decoder(x), validate_args=False)", 0),
    ],
)
def test_a_network_that_the_constructor_is_given(made: str, found: int) -> None:
    assert len(list(checked(_file(IMPORTS + GIVEN.replace("{made}", made))))) == found


def test_a_switch_that_turns_them_on_is_none() -> None:
    text = IMPORTS + MODULE.replace("{made}", "Normal(mean, 1.0)")
    assert list(checked(_file(text, main="import torch\ntorch.distributions.Distribution._validate_args = True\n")))


PLANNER = """
from lightning import LightningModule
from torch.distributions import Beta

class Planner(LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 8)

    def training_step(self, batch, batch_idx):
        kept = Beta(batch["mu"][0], batch["sigma"])
        return self.net(batch["x"]).sum() - kept.mean.sum()

def train(net, loader: torch.utils.data.DataLoader, optimizer):
    for batch in loader:
        kept = Beta(batch["mu"], batch["sigma"])
        net(batch["x"]).sum().backward()
        optimizer.step()
"""


def test_parts_of_a_batch_that_a_framework_has_moved() -> None:
    (found,) = checked(_file(IMPORTS + PLANNER))
    assert found[0].file.outline.functions[found[0].function].name == "training_step"
