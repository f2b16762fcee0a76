"""Entries that callers put into a mapping before they hand it over."""

from __future__ import annotations

import pytest
from snippets import value_of

STEP = """
class Scaled(torch.optim.Optimizer):
    def rate(self, group, state):
        {before}
        return state["rms"]

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                p.mul_(0.9)
                {put}
                p.add_(p.grad, alpha=self.rate(group, {given}))
                state["rms"] = p.norm()
"""


@pytest.mark.parametrize(
    ("put", "given", "before", "kind"),
    [
        ('state["rms"] = p.norm()', "state", "pass", "tensor"),
        ('state["rms"] = 0; state["rms"] = p.norm()', "state", "pass", "tensor"),
        ('state["rms"] = p.norm()', "dict(state)", "pass", "unknown"),
        ('state["other"] = p.norm()', "state", "pass", "unknown"),
        ('if group["normed"]: state["rms"] = p.norm()', "state", "pass", "unknown"),
        ('state["rms"] = p.norm(); state["rms"] = 0', "state", "pass", "unknown"),
        ('state["rms"] = p.norm(); state = group', "state", "pass", "unknown"),
        ('state["rms"] = p.norm()', "state", "state = group", "unknown"),
        ('state["rms"] = p.norm()', "state", 'state["rms"] = 0', "unknown"),
        ("pass", "state", "pass", "unknown"),
    ],
)
def test_what_each_caller_has_always_put_there(put, given, before, kind):
    assert value_of(STEP.format(put=put, given=given, before=before), 'state["rms"]').kind == kind


@pytest.mark.parametrize(("other", "kind"), [('state["rms"] = x.norm()', "tensor"), ("pass", "unknown")])
def test_all_callers_have_to(other, kind):
    code = STEP.format(put='state["rms"] = p.norm()', given="state", before="pass") + (
        f"\ndef more(scaled: Scaled, state, x: torch.Tensor):\n    {other}\n    return scaled.rate(None, state)\n"
    )
    assert value_of(code, 'state["rms"]').kind == kind
