"""Where the value of a call goes through the function that makes it."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.autograd.ways_of_values import Ways
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

SNIPPET = """\
def scaled(x, weight):
    part = x.new_zeros(3)
    part[0] = x.sum() * weight
    return part

def stored(x, memory):
    memory.append(x)
    return x

def masked(*parts, mask=None):
    return mask.detach()

def plain(part):
    return part.detach()

def run(net: nn.Module, x, y, other):
    {body}
"""


def _ways(body: str) -> Ways:
    files = texts(SNIPPET.format(body="\n    ".join(body.splitlines())))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    ways = Ways(next(file.calls_among([call for call in file.outline.calls if call.callee == "net"])))
    ways.ends()
    return ways


@pytest.mark.parametrize(
    "body",
    [
        "z = net(x).max(1)[1]",
        "z = torch.topk(net(x), 3)[1]",
        "z = scaled(net(x), y).detach()",
        "z = plain(net(x))\nz.sum().backward()",
        "z = net(x)\nw = torch.zeros_like(z)\nz[y > 0] = 0\nprint(z.eq(y), len(z))\nz = z.detach()",
        "z = []\nfor _ in y:\n    z.append(net(x))\nz = torch.stack(z[1:])\nz = z.detach()",
        "z = net(x)\nw = y\nw += z\nw = w.detach()",
        "z = F.softmax(net(x), -1).multinomial(1)",
        "z = net(x)\nw = y[z > 3].sum()\nw.backward()\nz.detach()",
        "_, w = torch.max(net(x), 1)\nF.cross_entropy(other(x), w).backward()",
        "z, w = net(x).topk(3)\nw.sum()\nz.detach()",
        "_, w = net(x).min(dim=other)\nF.cross_entropy(other(x), w).backward()",
        "_, w = net(x).topk(other)\nF.cross_entropy(other(x), w).backward()",
        "_, w = net(x).sort(descending=True)\nF.cross_entropy(other(x), w).backward()",
        "_, w = torch.topk(net(x), k=other)\nF.cross_entropy(other(x), w).backward()",
        "_, w = torch.max(net(x), -1)\nF.cross_entropy(other(x), w).backward()",
    ],
)
def test_what_is_detached_at_the_end(body):
    ways = _ways(body)
    assert ways.lines
    assert ways.all_end


@pytest.mark.parametrize(
    "body",
    [
        "z = net(x).max(1)[0]\nz.sum().backward()",
        "z = masked(net(x))\nz.sum().backward()",
        "z, w = torch.max(net(x), 1)\nz.sum().backward()",
        "_, w = torch.maximum(net(x), y)\nw.sum().backward()",
        "_, w = torch.max(net(x), y)\nw.mean().backward()",
        "z, w = net(x).min(y)\nw.mean().backward()",
        "w = torch.max(net(x), y)[1]\nw.mean().backward()",
        "z = stored(net(x), y).detach()",
        "z = []\nfor _ in y:\n    z.append(net(x))\nw = torch.stack(z).detach()\nreturn z",
        "z = other\nz.append(net(x))\ntorch.stack(z).detach()",
        "z = net(x)\nw = y\nw += z\nz.detach()\nreturn w",
        "z = net(x)\ny[0] = z\nz.detach()",
        "z = net(x)\nz.detach()\ntorch.autograd.grad(z.sum(), x)",
        "z = net(x)\nother(z)\nz.argmax(1)",
    ],
)
def test_what_may_be_asked_for_a_gradient(body):
    assert not _ways(body).all_end


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("z = net(x)\nw = F.cross_entropy(z, y).item()", 1),
        ("z = net(x)\nw = float(z.mean())", 1),
        ("z = net(x)\nw = z > 3", 0),
    ],
)
def test_what_is_only_read(body, lines):
    ways = _ways(body)
    assert ways.all_end
    assert not ways.lines
    assert len(ways.reads) == lines


@pytest.mark.parametrize(("own", "detached"), [("draw", True), ("sample", False)])
def test_a_distribution_of_the_project_may_draw_with_a_graph(own, detached):
    """Whether one that draws by a `sample` of its own is at work behind a name is not known: it is not believed."""
    classes = f"class Clipped(torch.distributions.Normal):\n    def {own}(self):\n        return noise(self.loc)\n\n"
    run = "def run(net: nn.Module, x):\n    dist = net(x)\n    return dist.sample().sum()\n"
    files = texts(classes + run)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    ways = Ways(next(file.calls_among([call for call in file.outline.calls if call.callee == "net"])))
    assert bool(ways.ends()) is detached
