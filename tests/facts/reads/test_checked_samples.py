"""Values that a distribution made before checks in each step."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.checked_samples import checked_samples
from torchperf_lint.facts.reads.validating import checked

STEP = """\
import torch.distributions as td

def train(model: nn.Module, loader, optimizer, other, device):
    {before}
    for x in loader:
        z = model(x.to(device, non_blocking=True))
        loss = {loss}
        loss.mean().backward()
        optimizer.step()
"""
FLOW = """\
import torch.distributions as td

class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.prior = nn.Linear(8, 8), {made}

    def loss(self, z: torch.Tensor):
        return -self.prior.log_prob(self.net(z.to("cuda"))).mean()
"""
PRIOR = "prior = td.MultivariateNormal(torch.zeros(2).to(device), torch.eye(2).to(device))"


def _found(text: str) -> list[str]:
    files = texts(text)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    told = {site.call for site, _ in checked(file)}
    return [file.brief(sample.site.call) for sample in checked_samples(file, told)]


@pytest.mark.parametrize(
    ("before", "loss", "found"),
    [
        (PRIOR, "prior.log_prob(z)", ["prior.log_prob(z)"]),
        ("pass", "td.Normal(0.0, 1.0).log_prob(z)", ["td.Normal(0.0, 1.0).log_prob(z)"]),
        (f"{PRIOR}; td.Distribution.set_default_validate_args(False)", "prior.log_prob(z)", []),
        (PRIOR.replace("))", "), validate_args=False)"), "prior.log_prob(z)", []),
        ("pass", "td.Normal(z, 1.0).log_prob(z)", []),  # told where it is made
        (f"{PRIOR}; prior._validate_args = False", "prior.log_prob(z)", []),
        (f"{PRIOR}; told = prior._validate_args", "prior.log_prob(z)", ["prior.log_prob(z)"]),
        (PRIOR, "prior.log_prob(torch.zeros(2))", []),
        (PRIOR, "other.log_prob(z)", []),
        (PRIOR, "prior.log_prob", []),
        ("pass", "td.Independent(other, 1).log_prob(z)", []),
    ],
)
def test_what_is_asked_in_the_step(before, loss, found):
    assert _found(STEP.format(before=before, loss=loss)) == found


@pytest.mark.parametrize(
    ("made", "count"),
    [("td.Normal(0.0, 1.0)", 1), ("td.Normal(0.0, 1.0, validate_args=False)", 0), ("Gaussian(0.0, 1.0)", 0)],
)
def test_what_a_module_holds(made, count):
    assert len(_found(FLOW.format(made=made))) == count
