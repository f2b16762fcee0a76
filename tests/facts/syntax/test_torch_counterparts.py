"""What torch has for functions of other libraries."""

from __future__ import annotations

import pytest
import torch

from torchperf_lint.facts.syntax import torch_counterparts
from torchperf_lint.facts.syntax.torch_counterparts import counterpart


@pytest.mark.parametrize(
    ("function", "there"),
    [
        ("numpy.argsort", "torch.argsort"),
        ("numpy.concatenate", "torch.cat"),
        ("numpy.linalg.svd", "torch.linalg.svd"),
        ("numpy.fft.rfft", "torch.fft.rfft"),
        ("numpy.random.permutation", "torch.randperm"),
        ("cv2.resize", "torch.nn.functional.interpolate"),
        ("numpy.vectorize", None),
        ("numpy.linalg.sort", None),
        ("cv2.findContours", None),
    ],
)
def test_the_counterpart(function, there):
    assert counterpart(function) == there


def test_torch_has_them():
    names = [f"torch.{name}" for name in torch_counterparts._OF_ONE_NAME]
    names += [f"torch.linalg.{name}" for name in torch_counterparts._LINALG]
    names += [f"torch.fft.{name}" for name in torch_counterparts._FFT]
    others = [*torch_counterparts._RENAMED.values(), *torch_counterparts._OTHERS.values()]
    names += [name.partition("(")[0] for name in others if name.startswith("torch.")]
    for name in names:
        thing = torch
        for part in name.split(".")[1:]:
            thing = getattr(thing, part)
        assert callable(thing), name
