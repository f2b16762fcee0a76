"""Where tensors on the host come from, and which uploads repeat the same numbers."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.constants.configured import LITERAL, SHAPE
from torchperf_lint.facts.copies.host_data import NUMBER, REPEATED, made_on_host, upload_at


def moved(body, call):
    lines = "\n".join(f"    {line}" for line in body.splitlines() or ["pass"])
    return site_of(f"def f(x: torch.Tensor, a, n, device):\n{lines}\n    {call}\n", call)


@pytest.mark.parametrize(
    ("body", "receiver", "factory"),
    [
        ("", "torch.from_numpy(a)", "from_numpy"),
        ("", "torch.tensor(a)", "tensor"),
        ("", "torch.zeros(n)", "zeros"),
        ("", "torch.FloatTensor(a)", "FloatTensor"),
        ("", "torch.from_numpy(a).float().unsqueeze(0)", "from_numpy"),
        ("", "torch.from_numpy(a)[0]", "from_numpy"),
        ("", "torch.from_numpy(a).T", "from_numpy"),
        ("", "torch.zeros(n, device='cpu')", "zeros"),
        ("", "torch.tensor(a, pin_memory=False)", "tensor"),
        ("", "torch.as_tensor(np.zeros(3))", "as_tensor"),
        ("t = torch.from_numpy(a)\nt = t.float()", "t", "from_numpy"),
        ("", "torch.tensor(a, pin_memory=True)", None),
        ("", "torch.from_numpy(a).pin_memory()", None),
        ("", "torch.zeros(n, device=device)", None),
        ("", "torch.zeros(n, **a)", None),
        ("", "torch.as_tensor(a)", None),
        ("", "torch.from_numpy(a).cuda()", None),
        ("", "torch.from_numpy(a).matmul(x)", None),
        ("", "np.zeros(3)", None),
        ("", "x", None),
        ("t = torch.zeros(3)\nif n:\n    t = x", "t", None),
        ("torch.set_default_device('cuda')", "torch.zeros(n)", None),
    ],
)
def test_what_made_a_tensor(body, receiver, factory):
    site = moved(body, f"{receiver}.to(device)")
    made = made_on_host(site.file.project.values, site.receiver, site.frame)
    assert (made.factory if made is not None else None) == factory


@pytest.mark.parametrize(
    ("body", "call", "kind", "scalar"),
    [
        ("", "torch.tensor([1, 2], device=x.device)", LITERAL, False),
        ("", "torch.tensor(0.5, device=device)", LITERAL, True),
        ("", "torch.tensor([1, 2]).to(device)", LITERAL, False),
        ("", "torch.tensor([1, 2]).float().cuda()", LITERAL, False),
        ("", "torch.tensor([1, 2]).type_as(x)", LITERAL, False),
        ("", "torch.tensor([1, 2]).to(x)", LITERAL, False),
        ("", "torch.FloatTensor([1, 2]).cuda()", LITERAL, False),
        ("", "torch.tensor([1, 2])[None].to(device)", LITERAL, False),
        ("", "torch.tensor([1, 2])[None, :, None].float().cuda()", LITERAL, False),
        ("", "torch.tensor([1, 2])[:1].repeat(n, 1).to(x)", LITERAL, False),
        ("", "torch.tensor([[1, 2]]).T.to(device)", LITERAL, False),
        ("", "torch.tensor(x.shape)[..., None].to(device)", SHAPE, False),
        ("t = torch.tensor([1, 2])", "t[None].to(device)", LITERAL, False),
        ("", "torch.tensor([1, 2])[a].to(device)", None, None),
        ("", "torch.tensor(a)[None].to(device)", None, None),
        ("", "torch.cuda.FloatTensor([1, 2])", LITERAL, False),
        ("", "x.new_tensor([1, 2])", LITERAL, False),
        ("", "torch.tensor(x.shape, device=x.device)", SHAPE, False),
        ("", "torch.tensor([0.5] * len(x), device=x.device)", REPEATED, False),
        ("t = torch.tensor([1, 2])", "t.to(device)", LITERAL, False),
        ("k = len(a)", "torch.tensor(k, device=device)", NUMBER, True),
        ("k = len(a)", "torch.tensor([k], device=device)", NUMBER, False),
        ("k = len(a)", "torch.as_tensor(k, device=device)", NUMBER, True),
        ("", "torch.as_tensor(n, device=device)", None, None),
        ("", "torch.as_tensor(float(n), device=device)", NUMBER, True),
        ("", "torch.as_tensor(max(n, 2), device=device)", None, None),
        ("assert isinstance(a, float)", "torch.tensor([a] * len(x), device=device)", REPEATED, False),
        ("", "torch.tensor([a] * len(x), device=device)", None, None),
        ("", "torch.tensor([1, 2])", None, None),
        ("", "torch.tensor([1, 2], device='cpu')", None, None),
        ("", "torch.tensor([1, 2]).to(torch.float16)", None, None),
        ("", "torch.tensor(n, device=device)", None, None),
        ("", "torch.tensor(a).to(device)", None, None),
        ("", "torch.tensor([1, 2], **a)", None, None),
        ("", "torch.LongTensor(3, 4).cuda()", None, None),
        ("", "torch.FloatTensor(3).cuda()", None, None),
        ("", "torch.zeros(3).to(device)", None, None),
        ("", "x.cpu().new_tensor([1, 2])", None, None),
        ("t = torch.tensor([1, 2])\nif n:\n    t = x", "t.to(device)", None, None),
    ],
)
def test_what_is_uploaded_again(body, call, kind, scalar):
    site = moved(body, call)
    found = upload_at(site.file.project.values, site.call, site.frame)
    assert (found and found.kind, found and found.scalar) == (kind, scalar)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("torch.tensor([1, 2])", LITERAL),
        ("torch.tensor(0.5)", LITERAL),
        ("torch.Tensor([float(n)])", None),
        ("torch.Tensor(3)", None),
        ("torch.FloatTensor([1, 2])", None),
        ("torch.tensor(a)", None),
        ("torch.tensor([1, 2], device='cpu')", None),
    ],
)
def test_what_is_made_where_the_device_is_the_default_is_uploaded(call, kind):
    for head in ("with torch.device('cuda'):", "if n:"):
        site = site_of(f"def f(x: torch.Tensor, a, n, device):\n    {head}\n        {call}\n", call)
        upload = upload_at(site.file.project.values, site.call, site.frame)
        assert (upload.kind if upload is not None else None) == (kind if "with" in head else None)


@pytest.mark.parametrize(
    ("call", "setter", "kind"),
    [
        ("torch.Tensor([float(n)])", "set_default_tensor_type('torch.cuda.FloatTensor')", NUMBER),
        ("torch.Tensor([0.5])", "set_default_tensor_type('torch.cuda.FloatTensor')", LITERAL),
        ("torch.Tensor([0.5])", "set_default_device('cuda')", None),
        ("torch.FloatTensor([0.5])", "set_default_tensor_type('torch.cuda.FloatTensor')", None),
        ("torch.tensor([0.5])", "set_default_device('cuda')", LITERAL),
        ("torch.tensor([0.5])", "set_default_tensor_type('torch.cuda.FloatTensor')", LITERAL),
    ],
)
def test_only_a_default_type_says_where_a_legacy_tensor_is_made(call, setter, kind):
    site = site_of(f"torch.{setter}\n\n\ndef f(x: torch.Tensor, n):\n    {call}\n", call)
    upload = upload_at(site.file.project.values, site.call, site.frame)
    assert (upload.kind if upload is not None else None) == kind
