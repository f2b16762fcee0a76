"""Models that may need autograd to be evaluated: of unknown class, where a module's pass differentiates."""

import pytest
from snippets import texts

from torchperf_lint.facts.autograd.evaluated_with_grad import evaluated_with_grad
from torchperf_lint.facts.autograd.gradients_in_passes import may_ask_for_gradients
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

EVALUATE = """
class Plain(nn.Module):
    def forward(self, x):
        return x

def evaluate(data, built):
    model = {model}
    loader = DataLoader(data)
    model.eval()
    for x in loader:
        model(x)
"""
FORCES = """
class Forces({base}):
    def {method}(self, energy, positions):
        return -torch.autograd.grad(energy, positions)[0]
"""


@pytest.mark.parametrize(
    ("model", "base", "method", "may"),
    [
        ("built()", "nn.Module", "forward", True),
        ("Plain()", "nn.Module", "forward", False),  # whose pass is known
        ("built()", "nn.Module", "penalty", False),  # no pass: what trains asks for it
        ("built()", "object", "forward", False),
    ],
)
def test_who_may_ask(model, base, method, may):
    files = texts({"a.py": EVALUATE.format(model=model), "b.py": FORCES.format(base=base, method=method)})
    (found,) = evaluated_with_grad(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    assert may_ask_for_gradients(found.site) is may


RENDERED = """
class Renderer(nn.Module):
    def forward(self, points):
        return self.colours(self.field.{called}(points))
"""


@pytest.mark.parametrize(("called", "may"), [("gradient", True), ("density", False)])
def test_a_pass_that_differentiates_another_module(called, may):
    fields = FORCES.format(base="nn.Module", method="gradient")
    files = texts({"a.py": EVALUATE.format(model="built()"), "b.py": fields + RENDERED.format(called=called)})
    (found,) = evaluated_with_grad(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    assert may_ask_for_gradients(found.site) is may
