"""`target-torch`: nothing is asked for that the oldest torch the code must run on lacks."""

from __future__ import annotations

import pytest
from fixing import fixed

AMP = """\
import torch


def scale():
    return torch.cuda.amp.GradScaler()


def region():
    return torch.cuda.amp.autocast()
"""
ZEROS = """\
import torch


def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x.cuda(non_blocking=True)).mean()
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("target", "scaler", "context"),
    [
        (None, 'torch.amp.GradScaler("cuda")', 'torch.amp.autocast("cuda")'),
        ("2.4", 'torch.amp.GradScaler("cuda")', 'torch.amp.autocast("cuda")'),
        ("2.2.1", "torch.cuda.amp.GradScaler()", 'torch.amp.autocast("cuda")'),
        ("1.9", "torch.cuda.amp.GradScaler()", "torch.cuda.amp.autocast()"),
    ],
)
def test_a_spelling_is_new_from_its_release_on(target, scaler, context):
    done = fixed(AMP, "TPL507", target_torch=target)
    assert done.text == AMP.replace("torch.cuda.amp.GradScaler()", scaler).replace("torch.cuda.amp.autocast()", context)
    assert not done.report.findings


@pytest.mark.parametrize(
    ("target", "call"),
    [(None, "zero_grad()"), ("2.0", "zero_grad()"), ("1.13", "zero_grad(set_to_none=True)")],
)
def test_gradients_are_dropped_by_default_since_two(target, call):
    done = fixed(ZEROS, "TPL601", target_torch=target)
    assert done.text == ZEROS.replace("zero_grad(set_to_none=False)", call)
