"""Names whose tensors are changed where they are, after they were made."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.constants.changed_in_place import changed_in_place

MADE = "torch.tensor(1e-3, device=x.device)"


def changed(*lines: str) -> bool:
    code = "\n    ".join(("def f(x, v, low):", *lines, "return v"))
    return changed_in_place(site_of(code, MADE))


@pytest.mark.parametrize(
    "lines",
    [
        (f"v = {MADE}", "v += x"),
        (f"v = {MADE}", "v[low] = 0"),
        (f"v = {MADE}", "v.mul_(x)"),
        (f"v = {MADE}.view(1, 1)", "v += x"),
        ("for y in x:", "    v += y", f"    v = {MADE}"),
        ("for y in x:", f"    v = {MADE}", "    v += y"),
    ],
)
def test_what_is_changed_after_it_was_made(lines):
    assert changed(*lines)


@pytest.mark.parametrize(
    "lines",
    [
        (f"v = {MADE}",),
        (f"v = {MADE}", "v = v + x", "x += v"),
        ("if low:", "    v[v < 1] = 1", "else:", f"    v = {MADE}"),
        ("v += x", f"v = {MADE}"),
        (f"v = x * {MADE}", "v += x"),
        (f"v = torch.stack([{MADE}])", "v += x"),
        (f"v = {MADE}.exp()", "v += x"),
    ],
)
def test_what_was_changed_before_was_another(lines):
    assert not changed(*lines)
