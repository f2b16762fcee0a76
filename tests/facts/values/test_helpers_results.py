"""What helpers hand back: what they were given, or something made of it."""

from __future__ import annotations

import pytest
from snippets import value_of


@pytest.mark.parametrize(
    ("body", "kind", "device"),
    [
        ("k = torch.tensor(k)", "tensor", "device"),
        (
            "k = torch.tensor(k)\n    if k.ndim == 1:\n        k = k[None] * k[:, None]\n    k /= k.sum()",
            "tensor",
            "device",
        ),
        ("k = torch.from_numpy(k)", "tensor", "host"),
        ("k = k.detach().cpu().numpy()", "array", "host"),
        ("k = torch.stack([torch.from_numpy(f(e.numpy())) for e in k.cpu()]).float()", "tensor", "host"),
        ("k = torch.from_numpy(f(k))\n    if n is not None:\n        k = k[:, :n]", "tensor", "host"),
        ("k = torch.stack([e.float() for e in k])", "tensor", "device"),
        ("k = k.float()", "tensor", "device"),
        ("if k is None:\n        k = torch.tensor([1.0])", "tensor", "anywhere"),
    ],
)
def test_a_parameter_that_was_made_anew_is_not_what_was_given(body, kind, device):
    given = "torch.ones(3).to('cuda')"
    value = value_of(f"def helper(k):\n    {body}\n    return k\n\ny = helper({given})\nz = y\n", "y")
    assert (value.kind, value.device) == (kind, device) or (device == "anywhere" and value.kind == kind)


@pytest.mark.parametrize(
    ("given", "kind", "device"),
    [("x, n", "tensor", "device"), ("len('ab'), x", "plain", "host"), ("n, x", "unknown", "anywhere")],
)
def test_what_is_handed_back_one_by_one_is_what_this_call_gave(given, kind, device):
    text = (
        "def detached(*tensors):\n"
        "    return (t.detach() if isinstance(t, torch.Tensor) else t for t in tensors)\n\n"
        "def other(x):\n    x = torch.ones(3).to('cuda')\n    a, b = detached(x, x)\n\n"
        "def asked(n):\n    x = torch.ones(3).to('cuda')\n"
        f"    y, z = detached({given})\n    return y\n"
    )
    value = value_of(text, "y")
    assert (value.kind, value.device) == (kind, device)


def test_a_list_beside_the_tensors_that_a_module_gives_may_be_one_of_lengths():
    net = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.proj = nn.Linear(3, 3)

            def forward(self, x, lengths):
                kept = []
                for n in lengths:
                    kept.append(n)
                return self.proj(x), kept

        def train(loader, net: nn.Module):
            for x, lengths in loader:
                out, kept = Net().cuda()(x, lengths)
                print(out, kept[0])
    """
    assert value_of(net, "out").kind == "tensor"
    assert value_of(net, "kept[0]").kind == "unknown"


NET = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(3, 3)

        def forward(self, x, with_details=False):
            apart = self.proj(x)
            if with_details:
                return apart.mean(), [apart, x]
            return apart.mean()

    def helper(x, with_details=False):
        return (x.mean(), x) if with_details else x.mean()

    def train(x, flag):
        net = Net().cuda()
        x = x.cuda()
        found = CALL
        print(found)
"""


@pytest.mark.parametrize("called", ["net", "helper"])
@pytest.mark.parametrize(
    ("given", "kind"), [("x", "tensor"), ("x, with_details=False", "tensor"), ("x, with_details=True", "sequence")]
)
def test_literals_of_a_call_settle_what_it_gives(called, given, kind):
    assert value_of(NET.replace("CALL", f"{called}({given})"), "found").kind == kind


@pytest.mark.parametrize(("asked", "kind"), [("keys()", "sequence"), ("items()", "sequence"), ("shape", "unknown")])
def test_what_is_asked_for_its_keys_is_handed_back_as_a_mapping(asked, kind):
    code = f"""
    def mean_of_all(terms):
        if not dist.is_initialized():
            return terms
        names = sorted(terms.{asked})
        values = torch.stack(list(terms.values()))
        return {{name: value for name, value in zip(names, values)}}

    def train(net: nn.Module, x):
        terms = net(x.cuda())
        shown = mean_of_all(terms)
        print(shown)
    """
    assert value_of(code, "shown").kind == kind
