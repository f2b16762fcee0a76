"""Copies that the host waits for, as far as their call says."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.devices.blocking import is_blocking


def waits(call: str) -> bool:
    return is_blocking(ast.parse(call, mode="eval").body)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "call", ["x.cuda()", "x.cuda(0)", "x.to(device)", "x.to(device, dtype)", "x.to(device, non_blocking=False)"]
)
def test_copies_that_wait(call):
    assert waits(call)


@pytest.mark.parametrize(
    "call",
    ["x.cuda(0, True)", "x.to(device, non_blocking=True)", "x.to(device, dtype, True)", "x.to(*some)", "x.to(**some)"],
)
def test_copies_that_do_not_wait_or_that_nobody_knows(call):
    assert not waits(call)
