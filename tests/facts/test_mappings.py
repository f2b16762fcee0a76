"""A loop over a dict gets its keys, whatever it holds."""

import pytest
from snippets import value_of


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("def f(losses: dict[str, torch.Tensor]):\n    for k in losses:\n        print(k)", "plain"),
        ("def f(losses: Mapping[str, Tensor]):\n    for k in losses:\n        print(k)", "plain"),
        ("def f(losses: list[torch.Tensor]):\n    for k in losses:\n        print(k)", "tensor"),
        ("def f(x: torch.Tensor):\n    d = {'a': x}\n    for k in d:\n        print(k)", "plain"),
        ("def f(x: torch.Tensor):\n    d = {n: x for n in 'ab'}\n    for k in d:\n        print(k)", "plain"),
        ("def f(x: torch.Tensor):\n    d = {}\n    d['a'] = x\n    for k in d:\n        print(k)", "plain"),
        ("def f(x: torch.Tensor):\n    d = {'a': x}\n    for k in d.values():\n        print(k)", "tensor"),
        ("def f(x: torch.Tensor):\n    d = {'a': x}\n    for _, k in d.items():\n        print(k)", "tensor"),
        ("def f(x: torch.Tensor):\n    d = {'a': x}\n    k = d['a']\n    print(k)", "tensor"),
    ],
)
def test_what_a_loop_over_it_gets(code, kind):
    assert value_of(f"from torch import Tensor\nfrom typing import Mapping\n{code}", "k").kind == kind


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
