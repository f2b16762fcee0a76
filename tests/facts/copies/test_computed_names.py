"""Parameters that hot callers fill with what they make on the host at each call."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.computed import computed_fresh, computed_upload

SNIPPET = """\
def window_of(size):
    t = torch.arange(size)
    return t / t.sum()

def filtered(x, window):
    return F.conv1d(x, window.to(x.device))

def score(x, size=11, window=None):
    {body}

class Score(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("window", window_of(size))

    def forward(self, x):
        return {called}
"""

LEFT_OUT = "if window is None:\n    window = window_of(size)\nreturn filtered(x, window)"


def found(body, called="score(x)"):
    body = body.replace("\n", "\n    ")
    site = site_of(SNIPPET.format(body=body, called=called), "window.to(x.device)")
    values = site.file.project.values
    return computed_fresh(values, site.call, site.frame) or computed_upload(values, site.call, site.frame)


@pytest.mark.parametrize(
    "body",
    [
        "window = window_of(size)\nreturn filtered(x, window)",
        "return filtered(x, window_of(size))",
        "return filtered(x, window=window_of(size).repeat(2, 1))",
        LEFT_OUT,
        "window = torch.tensor([0.25, 0.5, 0.25])\nreturn filtered(x, window)",
    ],
)
def test_what_hot_callers_make_on_the_host_is_moved_in_each_call(body):
    assert found(body) is not None


@pytest.mark.parametrize(
    ("body", "called"),
    [
        ("return filtered(x, window)", "score(x)"),  # what a caller has
        ("return filtered(x, window)", "score(x, window=self.window)"),
        (LEFT_OUT, "score(x, window=self.window)"),
        ("window = window_of(size).to(x.device)\nreturn filtered(x, window)", "score(x)"),
        ("window = x[:size]\nreturn filtered(x, window)", "score(x)"),
        ("window = window_of(size)\nreturn filtered(*[x, window])", "score(x)"),
    ],
)
def test_what_callers_hand_on_or_have_on_the_device_is_not_told(body, called):
    assert found(body, called) is None


def test_other_calls_of_hot_code_have_to_make_it_too():
    body = "window = window_of(size)\nreturn filtered(x, window)"
    assert found(body, "score(x) + filtered(x, self.window)") is None
