"""Branches for when there is nothing to compute, and functions whose results are kept."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest
from calls_in import site_of

from torchperf_lint.facts.constants.fallbacks import is_fallback

CALL = "torch.tensor(0.0, device=x.device)"


def asked(body, question, decorator=""):
    lines = indent(dedent(body).strip().replace("HERE", CALL), " " * 4)
    return question(
        site_of(f"import functools\n\n{decorator}\ndef f(x: torch.Tensor, n, boxes, self):\n{lines}\n", CALL)
    )


@pytest.mark.parametrize(
    "body",
    [
        "if x.numel() == 0:\n    y = HERE",
        "if len(boxes) == 0:\n    y = HERE",
        "if not len(boxes):\n    y = HERE",
        "if n == 0:\n    y = HERE",
        "if len(boxes) > 0:\n    y = x\nelse:\n    y = HERE",
        "if boxes:\n    y = x\nelse:\n    y = HERE",
        "found = len(boxes) > 0\nif found:\n    y = x\nelse:\n    y = HERE",
        "y = x.sum() if boxes else HERE",
        "if not x.any():\n    y = HERE",
        "if (x > 0).sum() < 1:\n    y = HERE",
        "if n and len(boxes) == 0:\n    y = HERE",
        "if self.fast:\n    return HERE\nreturn x",
        "if self.fast:\n    return HERE, x\nreturn x",
        "if torch.isnan(x):\n    y = HERE",
        "try:\n    y = x\nexcept ValueError:\n    y = HERE",
        "if isinstance(x.shape[0], int):\n    y = x\nelse:\n    y = HERE",
        "if isinstance(x.shape[0], torch.Tensor):\n    y = HERE",
    ],
)
def test_a_fallback(body):
    assert asked(body, is_fallback)


@pytest.mark.parametrize(
    "body",
    [
        "y = HERE",
        "return HERE",
        "if self.flag:\n    y = HERE",
        "if n is None:\n    y = HERE",
        "if n == 2:\n    y = HERE",
        "fast = x.ndim > 3\nif fast:\n    y = x\nelse:\n    y = HERE",
        "if len(boxes) > 0:\n    y = HERE",
        "if HERE > 0:\n    y = x",
        "if isinstance(n, float):\n    y = HERE",
        "for box in boxes:\n    y = HERE",
        "with torch.no_grad():\n    y = HERE",
        "if coefficient < 1.0:\n    y = HERE",
    ],
)
def test_no_fallback(body):
    assert not asked(body, is_fallback)
