"""What is converted on the host before it is copied, and the one call that does both."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.converted_first import converted_first, in_one_call


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
        "x.half().type(torch.cuda.FloatTensor)",
        "x.half().to(device, torch.float32)",
        "x.half().to(device, dtype=torch.float32)",
    ],
)
def test_what_converts_nothing(code):
    assert converted_first(call_of(code)) is None
