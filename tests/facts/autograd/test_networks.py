"""Which calls run a network."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.autograd.networks import runs_a_network
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

SNIPPET = """\
import copy
import torchaudio

class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Linear(8, 4)

    def forward(self, x):
        return self.layers(x)

    def draw(self, x):
        return self.forward(x).relu()

    def describe(self, x):
        return x.shape

class Agent:
    def __init__(self, controller, helper):
        self.policy = Actor()
        self.parameters = list(controller.parameters())
        self.target = copy.deepcopy(controller)
        self.helper = copy.deepcopy(helper)
        self.resample = torchaudio.transforms.Resample(8000, 16000)

    def run(self, x):
        return {call}

    def _policed(self, x):
        return self.policy(x)

    def _kept(self, x):
        self.state = self.policy(x)
        return self.state

    def _unrecorded(self, x):
        with torch.no_grad():
            return self.policy(x)

    def _plain(self, x):
        return x + 1
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("nets.generator(x)", True),
        ("model.style_encoder(x)", True),
        ("nets.penalty(x)", False),
        ("tokenizer.decoder(x)", False),
        ("self.policy(x)", True),
        ("self.policy.draw(x)", True),
        ("self.policy.describe(x)", False),
        ("self.target(x)", True),
        ("self.target.forward(x)", True),
        ("self.target.reset(x)", False),
        ("self.helper(x)", False),
        ("self.resample(x)", False),
        ("self._policed(x)", True),
        ("self._unrecorded(x)", False),
        ("self._plain(x)", False),
    ],
)
def test_calls(call, expected):
    files = texts(SNIPPET.replace("{call}", call))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    callee = call.partition("(")[0]
    (site,) = file.calls_among(
        [c for c in file.outline.calls if c.callee == callee and "return self" not in callee][:1]
    )
    assert runs_a_network(file, site) is expected
