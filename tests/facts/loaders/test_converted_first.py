"""What is converted on the host before it is copied, and the one call that does both."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.loaders.converted_first import converted_first, in_one_call
from torchperf_lint.lint import Target, lint
from torchperf_lint.settings import Settings


def call_of(code: str) -> ast.Call:
    node = ast.parse(code, mode="eval").body
    assert isinstance(node, ast.Call)
    return node


@pytest.mark.parametrize(
    ("code", "one", "made"),
    [
        ("x.to(torch.bfloat16).cuda()", 'x.to("cuda", torch.bfloat16, non_blocking=True)', True),
        ("x.half().to(device)", "x.to(device, torch.float16, non_blocking=True)", True),
        (
            "batch['x'].float().to(device=self.device)",
            "batch['x'].to(self.device, torch.float32, non_blocking=True)",
            False,
        ),
        ("y.long().cuda(1)", "y.to(1, torch.int64, non_blocking=True)", False),
        ("x.type(torch.FloatTensor).cuda()", 'x.to("cuda", torch.float, non_blocking=True)', False),
        ("x.type(torch.half).cuda()", 'x.to("cuda", torch.half, non_blocking=True)', True),
        ("x.to(dtype=torch.float16).cuda()", 'x.to("cuda", torch.float16, non_blocking=True)', True),
    ],
)
def test_one_call_does_both(code, one, made):
    call = call_of(code)
    found = converted_first(call)
    assert found is not None
    assert (in_one_call(call, found), found.made) == (one, made)


@pytest.mark.parametrize(
    "code",
    [
        "x.cuda()",
        "x.to(device)",
        "x.to(other).cuda()",
        "x.view(-1).cuda()",
        "f(x).cuda()",
        "x.to(torch.device(0)).cuda()",
        "x.type(kind).cuda()",
        "x.type(torch.cuda.FloatTensor).cuda()",
        "x.half().type(torch.cuda.FloatTensor)",
        "x.half().to(device, torch.float32)",
        "x.half().to(device, dtype=torch.float32)",
    ],
)
def test_what_converts_nothing(code):
    assert converted_first(call_of(code)) is None


STEP = """\
import torch
from torch.utils.data import DataLoader

def train(model: torch.nn.Module, data, optimizer, device):
    for x, y in DataLoader(data, num_workers=4{pinned}):
{lines}
        out.mean().backward()
        optimizer.step()
"""


def advice(tmp_path, lines, pinned=""):
    path = tmp_path / "train.py"
    indented = "\n".join(" " * 8 + line for line in lines.splitlines())
    path.write_text(STEP.format(lines=indented, pinned=pinned))
    report = lint(Target(tmp_path, Settings(select=("TPL201",)), (path,)))
    assert report.problems == ()
    return [finding.instead for finding in report.findings]


@pytest.mark.parametrize(
    ("lines", "write"),
    [
        ("x = x.type(torch.FloatTensor)\nout = model(x.cuda())", 'x.to("cuda", torch.float, non_blocking=True)'),
        ("x = x.half()\nout = model(x.to(device))", "x.to(device, torch.float16, non_blocking=True)"),
        (
            "z = x.half()\nif device:\n    z = z.to(device)\nout = model(z)",
            "x.to(device, torch.float16, non_blocking=True)",
        ),
        (
            "z = x.half()\nout = model(z.to(device))\nprint(z.size(0))\nz = y.half()\nprint(z.mean())",
            "x.to(device, torch.float16, non_blocking=True)",
        ),
        (
            "x = x.half()\nx, z = x.to(device), x.shape\nout = model(x)\nprint(x.mean())",
            "x.to(device, torch.float16, non_blocking=True)",
        ),
    ],
)
def test_a_conversion_in_a_statement_before(tmp_path, lines, write):
    (found,) = advice(tmp_path, lines)
    assert found.startswith(f"write `{write}` without the conversion on line 6, and pass `pin_memory=True` to")
    (found,) = advice(tmp_path, lines, ", pin_memory=True")
    assert found.startswith(f"write `{write}` without the conversion on line 6: in one call the device converts")


@pytest.mark.parametrize(
    "lines",
    [
        "x = x.type(torch.FloatTensor)\nx = x / 255\nout = model(x.cuda())",
        "x = x.float()\nx.div_(255)\nout = model(x.cuda())",
        "if len(x) > 3:\n    x = x.half()\nout = model(x.cuda())",
        "y = y.half()\nout = model(x.cuda())",
        "x = x.contiguous()\nout = model(x.cuda())",
        "x = x.float()\nz = x.cuda()\nprint(x.mean())\nout = model(z)",
        "x = x.double()\nout = model(x.cuda())\nseen = float((x / 3).mean())",
        "x = x.half()\nout = model(x.cuda(), x.mean())",
        "x = x.half()\nz = x.cuda()\nif device:\n    x = y\nout = model(z) + x.sum()",
    ],
)
def test_what_may_not_be_left_to_the_copy(tmp_path, lines):
    assert all(found.startswith("pass `non_blocking=True`") for found in advice(tmp_path, lines))
