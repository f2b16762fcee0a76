"""Programs that keep all they do on the host."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.host_scripts import stays_on_host
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

SCRIPT = """
class Policy(nn.Module):
    def forward(self, x):
        return self.proj(x)

policy = Policy()
optimizer = torch.optim.Adam(policy.parameters())

for state in states:
    loss = policy(torch.from_numpy(state)).sum()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SCRIPT, True),
        (SCRIPT.replace("Policy()\n", "Policy().to(where)\n"), False),
        (SCRIPT.replace("torch.optim.Adam(policy.parameters())", "given"), False),
        (SCRIPT.replace("loss.backward()", "print(loss)"), False),
        ("from tools import Memory\n" + SCRIPT, False),
        ("from gym import Memory\n" + SCRIPT, True),
        ("def risks(model, x):\n    return model(x).detach().numpy()\n", True),
        ("def risks(model, x):\n    return model(x).detach().numpy() if x.ndim else x.cpu()\n", False),
        ("def risks(model, x):\n    return model(x.cuda()).data.numpy()\n", False),
        ("def risks(model, x):\n    return model(x).numpy()\n", False),
    ],
)
def test_a_program_of_its_own_that_names_no_device(text, expected):
    files = {"a.py": texts(text)["a.py"], "tools.py": "class Memory: pass\n", "b.py": "model.cuda()\n"}
    assert stays_on_host(SourceFile(Project.of_texts(files), "a.py", files["a.py"])) is expected


CHECKED = """
class Reshuffle(nn.Module):
    def forward(self, x):
        return self.proj(x)

    def check(self):
        x = torch.randn(3, 4)
        return self(x).detach().numpy()
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CHECKED, False),
        (CHECKED + "\n    def predict(self, x):\n        return self(x).detach().numpy()\n", True),
        (CHECKED.replace("x = torch.randn(3, 4)", "x = self.given"), True),
        (CHECKED.replace("self(x).detach()", "x.detach()"), True),
    ],
)
def test_a_check_that_a_module_makes_of_itself_says_nothing_of_its_passes(text, expected):
    files = texts(text)
    assert stays_on_host(SourceFile(Project.of_texts(files), "a.py", files["a.py"])) is expected
