"""Constructors of own distributions that hand their parameters on to a class of torch's, which checks them."""

from __future__ import annotations

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.own_constructors import hands_on_checks
from torchperf_lint.facts.reads.validating import checked

TEXT = (
    IMPORTS
    + """
import torch.distributions as td

class Masked({base}):
    def __init__(self, logits, probs=None, validate_args={default}):
        logits = logits.masked_fill(logits < 0, -1e8)
        {made}

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor):
        logits = self.net(x.to("cuda"))
        return Masked(logits{passed})
"""
)


def found(made="super().__init__(logits=logits)", base="td.Categorical", default="None", passed=""):
    text = TEXT.format(made=made, base=base, default=default, passed=passed)
    return list(checked(SourceFile(Project.of_texts({"m.py": text}), "m.py", text)))


@pytest.mark.parametrize(
    ("made", "on"),
    [
        ("super().__init__(logits=logits)", False),
        ("super(Masked, self).__init__(probs, logits, validate_args)", True),
        ("super().__init__(logits=logits, validate_args=validate_args)", True),
        ("super().__init__(logits=logits, validate_args=True)", False),
        ("super().__init__(logits=logits, validate_args=None)", False),
    ],
)
def test_what_is_handed_on_is_checked(made, on):
    ((site, value),) = found(made)
    assert "`Masked` derives from `torch.distributions.Categorical`" in value.because
    assert hands_on_checks(site.call) is on


@pytest.mark.parametrize(
    "options",
    [
        {"made": "super().__init__(logits=logits, validate_args=False)"},
        {"made": "super().__init__(probs, logits, False)"},
        {"made": "super().__init__(*[probs, logits])"},
        {"made": "self.inner = td.Normal.__init__"},
        {"made": "self.other.__init__(logits)"},
        {"base": "nn.Module"},
        {"base": "nn.Module, td.Categorical"},
        {"made": "super().__init__(probs, logits, validate_args)", "passed": ", validate_args=False"},
        {"made": "super().__init__(probs, logits, validate_args)", "passed": ", **options"},
        {"made": "super().__init__(probs, logits, validate_args)", "default": "False"},
        {"made": "super().__init__(logits=logits, validate_args=probs is None)"},
    ],
)
def test_what_is_not(options):
    assert not found(**options)
