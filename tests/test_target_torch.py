"""`target-torch`: nothing is asked for that the oldest torch the code must run on lacks."""

from __future__ import annotations

import pytest
from fixing import fixed

from torchperf_lint.lint import Target, lint
from torchperf_lint.model import Severity
from torchperf_lint.settings import Settings

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
        ("1.13", "torch.cuda.amp.GradScaler()", 'torch.autocast("cuda")'),
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


UPDATES = """\
import torch
from torch import nn


def train(model: nn.Module, ema: nn.Module, loader, optimizer, decay):
    for x in loader:
        model(x).mean().backward()
        for p in model.parameters():
            p.grad.clamp_(-1, 1)
        optimizer.step()
        for q, p in zip(ema.parameters(), model.parameters()):
            q.lerp_(p, 1 - decay)
"""
OF_LISTS = "`torch._foreach_mul_(averages, decay)` and `torch._foreach_add_(averages, parameters, alpha=1 - decay)`"


@pytest.mark.parametrize(
    ("target", "lines", "instead"),
    [("2.0", [8, 11], "torch._foreach_lerp_"), ("1.12", [11], OF_LISTS), ("1.9", [11], OF_LISTS), ("1.8", [], "")],
)
def test_averages_are_blended_with_the_forms_that_a_release_has(tmp_path, target, lines, instead):
    path = tmp_path / "train.py"
    path.write_text(UPDATES)
    report = lint(Target(tmp_path, Settings(select=("TPL604",), target_torch=target), (path,)))
    assert [finding.location.line for finding in report.findings] == lines
    assert all(instead in finding.instead for finding in report.findings[-1:])


HEADS = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, 8)

    def forward(self, x: torch.Tensor):
        return x + self.attn(x, x, x)[0]
"""


@pytest.mark.parametrize(
    ("target", "severity", "cost", "spared"),
    [
        ("2.0", Severity.WARNING, "computes its attention weights", "`scaled_dot_product_attention`"),
        ("1.11", Severity.INFO, "averages its attention weights over the heads", "leaves the average out"),
    ],
)
def test_weights_for_nobody_cost_an_average_where_there_is_no_fused_kernel(tmp_path, target, severity, cost, spared):
    path = tmp_path / "model.py"
    path.write_text(HEADS)
    (finding,) = lint(Target(tmp_path, Settings(select=("TPL655",), target_torch=target), (path,))).findings
    assert finding.severity is severity
    assert cost in finding.message and spared in finding.instead


NORMS = """\
import torch


def norm_of(parameters):
    return torch.stack([p.grad.norm() for p in parameters]).norm()


def train(model, loader, optimizer):
    for x in loader:
        model(x).mean().backward()
        {takes}norm_of(model.parameters()){then}
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("target", "takes", "then", "said"),
    [
        ("2.0", "norm = ", "; model.log(norm)", ["torch._foreach_norm(grads)"]),
        ("1.7", "norm = ", "; model.log(norm)", []),
        ("2.0", "", "", ["leave the call of `norm_of` out"]),
        ("1.7", "", "", ["leave the call of `norm_of` out"]),
    ],
)
def test_a_norm_that_nobody_reads_is_left_out_under_any_release(tmp_path, target, takes, then, said):
    path = tmp_path / "train.py"
    path.write_text(NORMS.format(takes=takes, then=then))
    found = lint(Target(tmp_path, Settings(select=("TPL607",), target_torch=target), (path,))).findings
    assert len(found) == len(said)
    assert all(words in finding.instead for words, finding in zip(said, found, strict=True))


@pytest.mark.parametrize(
    ("asked", "scaler", "context"),
    [
        ("torch", ("", 'torch.amp.GradScaler("cuda")'), ("", 'torch.amp.autocast("cuda")')),
        ("torch>=2.3", ("", 'torch.amp.GradScaler("cuda")'), ("", 'torch.amp.autocast("cuda")')),
        ("torch>=2.0,<3", ("2.3, which brought it: it admits 2.0", None), ("", 'torch.amp.autocast("cuda")')),
        ("torch>=1.12", ("2.3, which brought it: it admits 1.12", None), ("", 'torch.autocast("cuda")')),
        ("torch~=1.8", ("2.3, which brought it: it admits 1.8", None), ("1.10, which brought it: it admits 1.8", None)),
    ],
)
def test_a_bound_that_admits_releases_without_a_spelling_is_said_and_nothing_is_edited(
    tmp_path, asked, scaler, context
):
    path = tmp_path / "train.py"
    path.write_text(AMP)
    (tmp_path / "requirements.txt").write_text(f"{asked}\n")
    found = lint(Target(tmp_path, Settings(select=("TPL507",), no_cache=True), (path,))).findings
    assert len(found) == 2
    for finding, (words, written) in zip(found, (scaler, context), strict=True):
        assert ("once the project asks for" in finding.instead) is bool(words)
        assert words in finding.instead
        assert (finding.fix is not None) is (written is not None)
        assert written is None or f"`{written}`" in finding.instead


def test_a_warning_of_later_releases_is_not_promised_to_one_that_is_pinned(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(AMP)
    target = Target(tmp_path, Settings(select=("TPL507",), target_torch="2.0", no_cache=True), (path,))
    assert [f.message for f in lint(target).findings] == [
        "`torch.cuda.amp.autocast` is deprecated since torch 2.4, where its calls issue a FutureWarning; "
        "what replaces it is there since 1.10"
    ]
