"""Kernels that the host does not have under the name that C++ asks a device for: convolutions, fused cells, dropout;
and the norm of groups, which torch's own kernel for any backend refuses where the input's channels are last.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torchperf_lint.runtime.simulated.host import run_on_host
from torchperf_lint.runtime.simulated.reports import REPORTS


def _convolution(*args: Any) -> Any:  # noqa: ANN401
    return run_on_host(torch.ops.aten.convolution.default, args, {})


def _convolution_backward(grad: Tensor, given: Tensor, weight: Tensor, *rest: Any) -> Any:  # noqa: ANN401
    *geometry, mask = rest
    transposed, groups = geometry[3], geometry[5]
    bias = [weight.shape[1] * groups if transposed else weight.shape[0]]
    args = (grad, given, weight, bias, *geometry, mask)
    return run_on_host(torch.ops.aten.convolution_backward.default, args, {})


def _native_dropout(given: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    if train is False or p == 0:
        return given.clone(), torch.ones_like(given, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(given), torch.zeros_like(given, dtype=torch.bool)
    kept = torch.empty_like(given).bernoulli_(1 - p)
    return given * kept.div(1 - p), kept.bool()


def _sum_gates(given: Tensor, hidden: Tensor, given_bias: Tensor | None, hidden_bias: Tensor | None) -> Any:  # noqa: ANN401
    if given_bias is not None:
        given = given + given_bias
    if hidden_bias is not None:
        hidden = hidden + hidden_bias
    return given, hidden


def _lstm_cell(
    given: Tensor, hidden: Tensor, cx: Tensor, given_bias: Tensor | None = None, hidden_bias: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    given, hidden = _sum_gates(given, hidden, given_bias, hidden_bias)
    i, f, g, o = (given + hidden).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat([i, f, g, o], 1)


def _lstm_cell_backward(
    grad_hy: Tensor | None, grad_cy: Tensor | None, cx: Tensor, cy: Tensor, gates: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor]:
    i, f, g, o = gates.chunk(4, 1)
    squashed = cy.tanh()
    hy = torch.zeros_like(cx) if grad_hy is None else grad_hy
    cell = hy * o * (1 - squashed * squashed)
    if grad_cy is not None:
        cell = cell + grad_cy
    parts = [
        cell * g * i * (1 - i),
        cell * cx * f * (1 - f),
        cell * i * (1 - g * g),
        hy * squashed * o * (1 - o),
    ]
    grads = torch.cat(parts, 1)
    return grads, cell * f, grads.sum(0) if has_bias else torch.empty(0, dtype=grads.dtype, device=grads.device)


def _gru_cell(
    given: Tensor, hidden: Tensor, hx: Tensor, given_bias: Tensor | None = None, hidden_bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    given, hidden = _sum_gates(given, hidden, given_bias, hidden_bias)
    ir, iz, inew = given.chunk(3, 1)
    hr, hz, hnew = hidden.chunk(3, 1)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    n = (inew + r * hnew).tanh()
    return (hx - n) * z + n, torch.cat([r, z, n, hx, hnew], 1)


def _gru_cell_backward(grad_hy: Tensor, workspace: Tensor, has_bias: bool) -> tuple[Tensor | None, ...]:
    r, z, n, hx, hnew = workspace.chunk(5, 1)
    grad_n = grad_hy * (1 - z) * (1 - n * n)
    grad_z = grad_hy * (hx - n) * z * (1 - z)
    grad_r = grad_n * hnew * r * (1 - r)
    grad_given = torch.cat([grad_r, grad_z, grad_n], 1)
    grad_hidden = torch.cat([grad_r, grad_z, grad_n * r], 1)
    none = torch.empty(0, dtype=grad_hy.dtype, device=grad_hy.device)
    biases = (grad_given.sum(0), grad_hidden.sum(0)) if has_bias else (none, none)
    return grad_given, grad_hidden, grad_hy * z, *biases


def _group_norm(given: Tensor, *rest: Any) -> Any:  # noqa: ANN401
    # As on a card, whose result is contiguous whatever the input's layout is.
    return run_on_host(torch.ops.aten.native_group_norm.default, (given.contiguous(), *rest), {})


def _never_nested(given: Tensor, mask: Tensor) -> bool:
    """Keeps TransformerEncoder, which asks this when it evaluates padded batches, on its dense path."""
    REPORTS.unsupported("TransformerEncoder's nested tensors are not simulated; its dense path runs instead")
    return False


KERNELS = {
    "convolution_overrideable": _convolution,
    "convolution_backward_overrideable": _convolution_backward,
    "native_dropout": _native_dropout,
    "native_group_norm": _group_norm,
    "_nested_tensor_from_mask_left_aligned": _never_nested,
    "_thnn_fused_lstm_cell": _lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": _lstm_cell_backward,
    "_thnn_fused_gru_cell": _gru_cell,
    "_thnn_fused_gru_cell_backward": _gru_cell_backward,
}
"""By the operator's name; each takes and returns device tensors."""
