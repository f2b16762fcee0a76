"""A loop over a dict gets its keys, whatever it holds."""

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import DEVICE


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("def f(losses: dict[str, torch.Tensor]):\n    for k in losses:\n        print(k)", "plain"),
        ("def f(losses: Mapping[str, Tensor]):\n    for k in losses:\n        print(k)", "plain"),
        ("def f(losses: list[torch.Tensor]):\n    for k in losses:\n        print(k)", "tensor"),
        ("def f(x: torch.Tensor):\n    d = {'a': x}\n    for k in d:\n        print(k)", "plain"),
        ("def f(x: torch.Tensor):\n    d = {n: x for n in 'ab'}\n    for k in d:\n        print(k)", "plain"),
        ("def f(x: torch.Tensor):\n    d = {}\n    d['a'] = x\n    for k in d:\n        print(k)", "plain"),
        ("def f(net: nn.Module):\n    d = net(1)\n    d['a'] = 2\n    for k in d:\n        print(k)", "plain"),
        ("def f(net: nn.Module):\n    d = net(1)\n    d[0] = 2\n    for k in d:\n        print(k)", "tensor"),
        ("def f(x: torch.Tensor):\n    d = {'a': x}\n    for k in d.values():\n        print(k)", "tensor"),
        ("def f(x: torch.Tensor):\n    d = {'a': x}\n    for _, k in d.items():\n        print(k)", "tensor"),
        ("def f(x: torch.Tensor):\n    d = {'a': x}\n    k = d['a']\n    print(k)", "tensor"),
    ],
)
def test_what_a_loop_over_it_gets(code, kind):
    assert value_of(f"from torch import Tensor, nn\nfrom typing import Mapping\n{code}", "k").kind == kind


def test_what_a_function_is_asked_to_put_on_the_host_is_there():
    code = """
        def as_tensor(array, device=None):
            return torch.as_tensor(array).to(device)

        def f(x, device):
            a, b = as_tensor(x, device="cpu"), as_tensor(x, device=device)
            print(a, b)
    """
    assert value_of(code, "a").device == "host"
    assert value_of(code, "b").device != "host"


BATCH = """
def step(net, x, names, late):
    out = {{"loss": torch.relu(x).cuda(), "meta": names, "count": 3}}
    {}
    a, b, c, d = out["loss"], out["meta"], out["count"], out["late"]
"""


@pytest.mark.parametrize(
    ("change", "expression", "kind"),
    [
        ("pass", "out['loss']", "tensor"),
        ("pass", "out['meta']", "unknown"),
        ("pass", "out['count']", "plain"),
        ("pass", "out['late']", "tensor"),
        ("out['late'] = 3", "out['late']", "plain"),
        ("out['meta'] = torch.zeros(3)", "out['meta']", "tensor"),
        ("if late: out['count'] = torch.zeros(3)", "out['count']", "tensor"),
        ("out['loss'] = out['loss'].item()", "out['loss']", "plain"),
    ],
)
def test_what_is_under_a_text(change, expression, kind):
    assert value_of(BATCH.format(change), expression).kind == kind


@pytest.mark.parametrize(
    "made",
    [
        "return {'loss': torch.relu(x).cuda(), 'names': str(x)}",
        "out = {}\n    out['loss'] = torch.relu(x).cuda()\n    out['names'] = str(x)\n    return out",
    ],
)
def test_what_a_function_gives_under_a_text(made):
    code = f"def losses(x):\n    {made}\n\nfound = losses(data)\na, b = found['loss'], found['names']\n"
    assert (value_of(code, "found['loss']").kind, value_of(code, "found['loss']").device) == ("tensor", DEVICE)
    assert value_of(code, "found['names']").kind == "plain"


def test_texts_of_a_batch():
    code = "for batch in DataLoader(data):\n    a, b = batch['meta'], batch['image']\n"
    assert value_of(code, "batch['meta']").kind == "unknown"
    assert value_of(code, "batch['image']").kind == "batch"
