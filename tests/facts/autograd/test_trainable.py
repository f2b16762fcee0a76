"""Modules whose parameters take gradients, and those that have none."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.autograd.trainable import freezes, is_without_parameters


@pytest.mark.parametrize(
    "made",
    [
        "torch.nn.Upsample()",
        "torchaudio.transforms.Resample()",
        "torchaudio.transforms.Resample().cuda()",
        "torchvision.transforms.v2.Resize().to().eval()",
    ],
)
def test_layers_and_transforms_without_parameters_wherever_they_were_moved(made):
    assert is_without_parameters(made)


@pytest.mark.parametrize(
    "made", ["torch.nn.Linear().cuda()", "torchaudio.transforms.Resample().kernel()", "Resample()"]
)
def test_what_has_some_or_is_not_known(made):
    assert not is_without_parameters(made)


@pytest.mark.parametrize(
    ("text", "frozen"),
    [
        ("model.requires_grad_(False)", True),
        ("model.encoder.requires_grad_(freeze)", True),
        ("hidden.detach().requires_grad_(False)", False),
        ("x.requires_grad_()", False),
    ],
)
def test_a_tensor_that_takes_no_gradients_freezes_no_model(text, frozen):
    assert freezes(text) is frozen
