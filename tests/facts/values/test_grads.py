"""Which expressions carry an autograd graph, and where gradients are recorded."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.model import Confidence


def graph_of(snippet):
    """The graph of what `keep(...)` is called with last."""
    files = texts(snippet)
    project = Project.of_texts(files)
    body = project.body("a.py")
    nodes = [n for n in ast.walk(body.functions[0]) if isinstance(n, ast.Call) and ast.unparse(n.func) == "keep"]
    node = max(nodes, key=lambda n: n.lineno)
    outline = project.index.outlines["a.py"]
    function = outline.regions[project.hotness.innermost("a.py", body.at(node))].function
    (argument,) = node.args
    return project.grads.of(argument, Frame("a.py", function, body.at(argument)))


def train(body, before="", decorator=""):
    inside = "\n".join(f"            {line}" for line in body.strip().splitlines())
    return f"""
    {before or "pass"}

    {decorator or ""}
    def train(model: nn.Module, loader, criterion: nn.CrossEntropyLoss, teacher: nn.Module, other, flag):
        for x, y in loader:
{inside}
"""


@pytest.mark.parametrize(
    ("body", "carries"),
    [
        ("keep(model(x))", True),
        ("keep(model(x).logits[0])", True),
        ("loss = criterion(model(x), y)\nkeep(loss)", True),
        ("loss = criterion(x, y)\nkeep(loss)", False),
        ("loss = F.mse_loss(model(x), y)\nkeep(2 * loss + 1)", True),
        ("keep(torch.stack([model(x), y]).mean())", True),
        ("loss = other(x)\nloss.backward()\nkeep(loss)", True),
        ("loss = other(x)\nkeep(loss)\nloss.backward()", True),
        ("out = other(x)\nout.loss.backward()\nkeep(out.loss)", True),
        ("a = other(x)\nb = other(y)\n(a + 2 * b).backward()\nkeep(b)", True),
        ("loss = other(x)\nkeep(loss)", False),
        ("loss, score = flag.loss_fn(model(x), y)\nloss.backward()\nkeep(score)", False),
        ("loss, score = flag.loss_fn(model(x), y)\nloss.backward()\nkeep(loss)", True),
        ("loss, kl = flag.loss_fn(model(x), y)\n(loss + kl).backward()\nkeep(kl)", True),
        ("out, score = flag.net(model(x), y)\nout.sum().backward()\nkeep(score)", True),
        ("loss = other(x)\nloss.backward()\nkeep(loss.item())", False),
        ("loss = other(x)\nloss.backward()\nkeep(float(loss))", False),
        ("loss = other(x)\nloss.backward()\nkeep(loss.data)", False),
        ("loss = other(x)\nloss.backward()\nkeep(loss.detach().cpu())", False),
        ("loss = other(x)\nloss.backward()\nloss = loss.detach()\nkeep(loss)", False),
        ("loss = other(x)\nloss.backward()\nif flag:\n    loss = loss.item()\nkeep(loss)", False),
        ("keep(model(x).argmax(1))", False),
        ("keep((model(x) > 0).float())", False),
        ("value, index = model(x).max(1)\nkeep(value)", True),
        ("value, index = model(x).max(1)\nkeep(index)", False),
        ("keep(teacher(x))", False),
        ("keep(teacher(model(x)))", True),
        ("with torch.no_grad():\n    out = model(x)\nkeep(out)", False),
        ("with torch.no_grad():\n    keep(model(x))", False),
        ("out = model(x)\nfor i, (a, b) in enumerate(zip(out, y)):\n    keep(a)", True),
        ("out = model(x)\nfor i, (a, b) in enumerate(zip(out, y)):\n    keep(b)", False),
        ("out = model(x)\nfor i, a in enumerate(out):\n    keep(i)", False),
        ("pair = (model(x), y)\na, b = pair\nkeep(y)", False),
        ("a, b = model(x), y\nkeep(a)", True),
        ("a, b = model(x), y\nkeep(b)", False),
        ("keep([model(x), y])", True),
        ("keep(len(model(x)))", False),
        ("keep(torch.zeros_like(model(x)))", False),
        ("keep(np.mean(model(x)))", False),
        ("keep(flag)", False),
        ("keep(other.net(x))", True),
        ("keep(other.norm(x))", False),
        ("other.net.cuda()\nkeep(other.net(x))", True),
    ],
)
def test_what_carries_a_graph(body, carries):
    found = graph_of(train(body))
    assert (found is not None) is carries
    assert found is None or found.because


HELPERS = """
    def loss_of(model: nn.Module, x, y):
        return F.cross_entropy(model(x), y)

    def number_of(model: nn.Module, x, y):
        return F.cross_entropy(model(x), y).item()

    @torch.no_grad()
    def score(model: nn.Module, x):
        return model(x)

    def double(value):
        return 2 * value

    def both(model: nn.Module, x):
        return model(x), x
"""


@pytest.mark.parametrize(
    ("body", "carries"),
    [
        ("keep(loss_of(model, x, y))", True),
        ("keep(number_of(model, x, y))", False),
        ("keep(score(model, x))", False),
        ("keep(double(model(x)))", True),
        ("keep(double(x))", False),
        ("out, same = both(model, x)\nkeep(out)", True),
        ("out, same = both(model, x)\nkeep(same)", False),
    ],
)
def test_what_functions_of_the_project_return(body, carries):
    assert (graph_of(train(body, before=HELPERS.strip())) is not None) is carries


def test_backward_is_proof_and_a_sum_is_less():
    assert graph_of(train("loss = other(x)\nloss.backward()\nkeep(loss)")).confidence is Confidence.CERTAIN
    found = graph_of(train("a = other(x)\n(a * other(y)[0] * flag).backward()\nkeep(a)"))
    assert found.confidence is Confidence.LIKELY


@pytest.mark.parametrize("decorator", ["@torch.no_grad()", "@torch.inference_mode()", "@other.no_grad"])
def test_decorators_switch_gradients_off(decorator):
    assert graph_of(train("keep(model(x))", decorator=decorator)) is None


@pytest.mark.parametrize(
    ("callers", "records"),
    [
        ("", True),
        ("def run(model, loader):\n        with torch.no_grad():\n            collect(model, loader)", False),
        ("@torch.no_grad()\n    def run(model, loader):\n        collect(model, loader)", False),
        ("def run(model, loader):\n        collect(model, loader)", True),
        (
            "@torch.no_grad()\n    def run(model, loader):\n        collect(model, loader)\n\n"
            "    def also(model, loader):\n        collect(model, loader)",
            True,
        ),
        (
            "def run(model, loader):\n        collect(model, loader)\n\n"
            "    @torch.no_grad()\n    def further_up(model, loader):\n        run(model, loader)",
            False,
        ),
    ],
)
def test_callers_switch_gradients_off(callers, records):
    snippet = f"""
    def collect(model: nn.Module, loader):
        for x in loader:
            keep(model(x))

    {callers}
"""
    assert (graph_of(snippet) is not None) is records


def test_frameworks_validate_without_gradients():
    snippet = """
    import lightning

    class Net(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(2, 2)

        def {name}(self, batch, batch_idx):
            keep(self.net(batch))
    """
    assert graph_of(snippet.format(name="training_step")) is not None
    assert graph_of(snippet.format(name="validation_step")) is None


def test_what_is_bound_to_itself_ends():
    assert graph_of(train("x = x + y\ny = x * y\nx = y - x\nkeep(x)")) is None


def test_a_pair_that_a_function_gets_from_itself_ends():
    before = "def pair(x, n):\n        return pair(x, n - 1)"
    assert graph_of(train("keep(pair(x, 3)[0])\na, b = pair(model(x), 3)\nkeep(a)", before=before)) is None


HELPER = """
    def check_net(model: nn.Module, x):
        {first}
        return {given}

    def train(model: nn.Module, loader):
        for x in loader:
            keep(check_net(model, x))
"""


@pytest.mark.parametrize(
    ("first", "given", "carries"),
    [("pass", "model(x).sum()", True), ("pass", "float(model(x).sum())", False), ("told = {}", "told", False)],
)
def test_a_function_is_no_module_whatever_it_is_called(first, given, carries):
    assert (graph_of(HELPER.format(first=first, given=given)) is not None) is carries
