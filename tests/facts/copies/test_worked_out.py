"""Numbers that are worked out on the device though the host has all they are made of."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.copies.worked_out import worked_out
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

SAMPLE = """
import math
import torch

@torch.no_grad()
def sample(model, scores, num_tokens, steps: int, device="cuda"):
    for step in range(steps):
        time = {time}
        masked = {masked}
        _, indices = scores.topk(masked.item(), dim=-1)
        scores = model(indices)
"""
FULL = "torch.full((1,), step / steps, device=device)"
SCHEDULE = "(num_tokens * torch.cos(time * math.pi * 0.5)).round().long().clamp(min=1)"


def line_of_upload(time: str, masked: str) -> int | None:
    text = SAMPLE.format(time=time, masked=masked)
    file = SourceFile(Project.of_texts({"a.py": text}), "a.py", text)
    (site,) = file.calls_among(c for c in file.outline.calls if c.callee.endswith(".item"))
    assert site.receiver is not None
    return worked_out(file, site, site.receiver)


@pytest.mark.parametrize(
    ("time", "masked", "line"),
    [
        (FULL, SCHEDULE, 8),
        (FULL, "time", 8),
        ("torch.tensor(step / steps, device=device)", "torch.sin(time).mul(num_tokens)", 8),
        ("torch.tensor(step / steps)", SCHEDULE, None),  # on the host: nothing waits
        ("scores.mean()", SCHEDULE, None),
        (FULL, "time * scores.mean()", None),
        (FULL, "time.cos().add(scores.sum())", None),
        (FULL, "torch.cos(time).multinomial(1)", None),  # draws
        (FULL, "model(time)", None),
    ],
)
def test_what_numbers_of_the_host_alone_give(time: str, masked: str, line: int | None):
    assert line_of_upload(time, masked) == line
