"""Loops that evaluate a model while autograd records."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.autograd.evaluated_with_grad import evaluated_with_grad
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

LOADER = "loader = torch.utils.data.DataLoader(data)"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("model.eval()\nfor x in loader:\n    model(x)", ["model"]),
        ("model.eval()\nfor x in loader:\n    other(x)", []),
        ("for x in loader:\n    model(x)\nmodel.eval()", []),
        ("model.eval()\nfor x in loader:\n    with torch.no_grad():\n        model(x)", []),
        ("model.eval()\nwith torch.inference_mode():\n    for x in loader:\n        model(x)", []),
        ("model.eval()\nfor x in loader:\n    model(x).sum().backward()", []),
        ("model.eval()\nfor x in loader:\n    model(x.requires_grad_())", []),
        ("model.eval()\nmodel.train()\nfor x in loader:\n    model(x)", []),
        ('model.eval("a + b")\nfor x in loader:\n    model(x)', []),
        ("model.eval()\nfor x in [1, 2]:\n    model(x)", []),
        ("model.eval()\nmodel(data)", []),
    ],
)
def test_in_one_function(body, expected):
    inner = "\n".join("    " + line for line in [LOADER, *body.splitlines()])
    assert _models(f"def run(model: nn.Module, other: nn.Module, data):\n{inner}\n") == expected


@pytest.mark.parametrize(
    ("name", "turn", "expected"),
    [
        ("sample", "data.append(model(torch.randn(64, 8)).detach().cpu().numpy())", ["model"]),
        ("generate", "data.append(model(torch.randn(64, 8)).data)", ["model"]),
        ("sample", "show(model(torch.randn(64, 8)))", []),
        ("sample_images", "data.append(model(torch.randn(64, 8)).detach().cpu())", []),
        ("sample", "data.append(model(torch.randn(64, 8)).detach().cpu()); save_image(data[-1], 'a.png')", []),
    ],
)
def test_what_draws_as_much_as_it_is_asked_for(name, turn, expected):
    """Synthesisers of tables and the like; not those of a few pictures."""
    text = f"def {name}(model: nn.Module, count):\n    model.eval()\n    data = []\n    for _ in range(count // 64):\n"
    assert _models(f"{text}        {turn}\n    return data\n") == expected


TRAINED = """\
for x in loader:
    model.train()
    loss = model(x).mean()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("model.eval()\nfor x in loader:\n    model(x)", ["model"]),
        ("model.eval()\nfor x in loader:\n    loss = model(x)\nprint(loss)", ["model"]),
        ("model.eval()\nfor x in loader:\n    loss = model(x)\nloss.backward()", []),
        ("model.eval()\nfor x in loader:\n    total += model(x)\ntotal.backward()", []),
        ("for x in loader:\n    model(x)", []),
        ("model.eval()\nfor x in loader:\n    attack(model, x)\n    model(x)", []),
    ],
)
def test_below_the_training_of_the_same_function(after, expected):
    lines = [LOADER, "total = 0", *TRAINED.splitlines(), *after.splitlines()]
    inner = "\n".join("    " + line for line in lines)
    assert _models(f"def run(model: nn.Module, optimizer, data):\n{inner}\n") == expected


EVALUATE = """\
def evaluate(model: nn.Module, data):
    model.eval()
    for x in torch.utils.data.DataLoader(data):
        model(x)
"""


@pytest.mark.parametrize(
    ("caller", "expected"),
    [
        ("def main(model, data):\n    evaluate(model, data)\n", ["model"]),
        ("@torch.no_grad()\ndef main(model, data):\n    evaluate(model, data)\n", []),
        ("def main(model, data):\n    with torch.no_grad():\n        evaluate(model, data)\n", []),
        ("def build(model):\n    for p in model.parameters():\n        p.requires_grad = False\n", []),
        ("def build(model):\n    return [p for p in model.parameters() if p.requires_grad]\n", ["model"]),
        ("def build(model):\n    return len([p for p in model.parameters() if not p.requires_grad])\n", ["model"]),
        ("def build(model, on):\n    for p in model.parameters():\n        p.requires_grad = on\n", []),
    ],
)
def test_beside_a_caller(caller, expected):
    assert _models(f"{EVALUATE}\n\n{caller}") == expected


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("if best:\n    tags = model.decode(x, best)\nelse:\n    tags = model(x)", "model(x)"),
        ("if best:\n    tags = model.decode(x, best)\nelse:\n    tags = None", "model.decode(x, best)"),
        ("tags = model.decode(x, best)\ntags = model(x)", "model.decode(x, best)"),
    ],
)
def test_the_call_of_the_model_itself_is_told_where_an_option_asks_for_a_method(body, line):
    model = (
        "class Tagger(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.layer = nn.Linear(8, 8)\n\n"
        "    def decode(self, x, best):\n        return self.layer(x).topk(best)\n\n"
        "    def forward(self, x):\n        return self.layer(x)\n\n\n"
    )
    inner = "".join(f"        {part}\n" for part in body.splitlines())
    head = f"def run(data, best):\n    model = Tagger()\n    model.eval()\n    {LOADER}\n    for x in loader:\n"
    files = texts(f"{model}{head}{inner}")
    found = list(evaluated_with_grad(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))
    assert [ast.unparse(evaluated.site.call) for evaluated in found] == [line]


def _models(text: str) -> list[str]:
    files = texts(text)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [evaluated.model for evaluated in evaluated_with_grad(file)]
