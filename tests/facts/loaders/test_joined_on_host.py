"""Parts of a batch that are joined on the host, and arrays of one number."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest
from snippets import texts

from torchperf_lint.facts.constants.filled_arrays import is_filled_array
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.loaders.joined_on_host import joined_at_times, joined_on_host, origins_of_parts
from torchperf_lint.facts.values.value import Frame

STEP = """
def shown(n, x):
    size = x.shape
    return x.reshape([-1, n]).transpose(0, 1).reshape(size)

def computed(x):
    return F.interpolate(x, 3).flatten(1)

def either(x):
    if len(x) > 3:
        return x.flatten(1)
    return x.float()

def train(model, dataset, other, device):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for views, labels in loader:
"""


def is_joined(code: str) -> bool:
    """Whether what the step's last line moves was joined on the host."""
    return joined(code)[0]


def joined(code: str) -> tuple[bool, int]:
    """The same, and how many loaders make what is joined."""
    files = texts(STEP + indent(dedent(code), " " * 8))
    project = Project.of_texts(files)
    body = project.body("a.py")
    assert body is not None
    step = next(n for n, function in body.functions.items() if getattr(function, "name", "") == "train")
    calls = [n for n in ast.walk(body.functions[step]) if isinstance(n, ast.Call)]
    moved = [n for n in calls if ast.unparse(n.func).endswith(".to")]
    last = max(moved, key=body.at)
    assert isinstance(last.func, ast.Attribute)
    frame = Frame("a.py", step, body.at(last))
    join = joined_on_host(project.values, last.func.value, frame)
    return join is not None, len(origins_of_parts(project.values, join, frame)) if join is not None else 0


def test_the_loaders_of_what_is_joined_are_known():
    assert joined("torch.cat([views[0], labels]).to(device)") == (True, 1)
    others = "for first, second in zip(loader, DataLoader(other)):\n    torch.cat([first, second]).to(device)"
    assert joined(others) == (True, 2)


ONE = "x, labels = batch"
HELPER = """
def prepared(batch, kinds, device):
    if kinds == 2:
        first, second, labels = batch
        x = {join}
    else:
        {other}
    return x.to(device), labels

def train(trainLoader, model, device):
    for batch in trainLoader:
        x, labels = prepared(batch, 2, device)
        loss = model(x).mean()
        loss.backward()
"""


@pytest.mark.parametrize(
    ("join", "other", "joined", "at_times"),
    [
        ("torch.cat((first, second), dim=1)", ONE, True, True),
        ("torch.cat((first, second), dim=1)", "x, y, labels = batch; x = torch.cat([x, y])", True, False),
        ("torch.cat((first.to(device), second.to(device)), dim=1)", ONE, False, True),
        ("first", ONE, False, True),
        ("fused(first, second)", ONE, False, True),
    ],
)
def test_a_join_in_one_branch_of_a_helper(join, other, joined, at_times):
    files = texts(HELPER.format(join=join, other=other))
    project = Project.of_texts(files)
    body = project.body("a.py")
    assert body is not None
    call = next(n for n in ast.walk(body.functions[1]) if ast.unparse(n) == "x.to(device)")
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    frame = Frame("a.py", 1, body.at(call))
    assert (joined_on_host(project.values, call.func.value, frame) is not None) is joined
    assert joined_at_times(project.values, call.func.value, frame) is at_times


@pytest.mark.parametrize(
    ("code", "joined"),
    [
        ("x = torch.cat([views[0], views[1]], dim=0)\nx = x.to(device, non_blocking=True)", True),
        ("torch.stack((views[0], labels)).to(device)", True),
        ("if device:\n    x = torch.cat([views[0], views[1]])\n    x = x.to(device)", True),
        ("torch.cat([views[:, :8], torch.zeros_like(views[:, 8:])], dim=1).float().to(device)", True),
        ("x = torch.cat([views[0], views[1]]).to(device)\nx.float().to(device)", False),
        ("x = torch.cat([views[0], other])\nx.to(device)", False),
        ("x = torch.cat([views[0], views[1]])\nx = x.view(-1, 3)\nx = x.float()\nx = x.to(device)", True),
        ("x = torch.cat([views[0], views[1]])\nx.view(-1, 3).to(device)", True),
        ("x = torch.cat([views[0], views[1]])\nx = x.to(device)\nx = x.view(-1, 3)\nx.to(device)", False),
        ("x = torch.cat([views[0], views[1]])\nif device:\n    x = x.cuda()\nx = x.view(-1, 3)\nx.to(device)", False),
        ("x = torch.cat(views, 1)\nx.to(device)", True),
        ("torch.stack([view[:3] for view in views]).to(device)", False),
        ("x = torch.cat(other)\nx.to(device)", False),
        ("x = torch.cat([views[0], views[1]], out=other)\nx.to(device)", False),
        ("x = torch.cat([views[0].cuda(), views[1].cuda()])\nx.to(device)", False),
        ("x = views[0]\nif device:\n    x = torch.cat([views[0], views[1]])\nx.to(device)", False),
        ("x = views[0] + views[1]\nx.to(device)", False),
        ("shown(3, torch.cat([views[0], views[1]])).to(device)", True),
        ("x = shown(x=torch.cat([views[0], views[1]]), n=3)\nx.to(device)", True),
        ("shown(3, views[0]).to(device)", False),
        ("computed(torch.cat([views[0], views[1]])).to(device)", False),
        ("either(torch.cat([views[0], views[1]])).to(device)", False),
    ],
)
def test_joined_parts_of_a_batch(code, joined):
    assert is_joined(code) is joined


@pytest.mark.parametrize(
    ("expression", "filled"),
    [
        ("np.ones((8, 1))", True),
        ("np.zeros(n)", True),
        ("np.full((8, 1), 0.9)", True),
        ("np.zeros_like(a)", True),
        ("np.full((8, 1), a)", False),
        ("np.empty(n)", False),
        ("np.random.rand(8)", False),
        ("torch.ones(8)", False),
        ("ones(8)", False),
        ("a", False),
    ],
)
def test_arrays_of_one_number(expression, filled):
    files = texts(f"def f(a, n):\n    return {expression}\n")
    project = Project.of_texts(files)
    body = project.body("a.py")
    assert body is not None
    node = next(n for n in ast.walk(body.functions[1]) if isinstance(n, ast.Return)).value
    assert node is not None
    assert is_filled_array(project.values, node, Frame("a.py", 1, body.at(node))) is filled
