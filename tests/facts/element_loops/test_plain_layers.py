"""Layers of torch.nn without parameters."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.element_loops.plain_layers import is_plain_layer


@pytest.mark.parametrize("made", ["torch.nn.Fold()", "torch.nn.Upsample()", "torch.nn.modules.activation.ReLU()"])
def test_layers_without_parameters(made):
    assert is_plain_layer(made)


@pytest.mark.parametrize("made", ["torch.nn.Linear()", "torch.nn.BatchNorm2d()", "torch.nn.ReLU", "project.nn.ReLU()"])
def test_layers_with_parameters_classes_and_what_is_not_of_torch(made):
    assert not is_plain_layer(made)
