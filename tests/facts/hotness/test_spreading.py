"""Which reason a function has that loaders' workers call, and others as well."""

from __future__ import annotations

import pytest
from snippets import hot_at

SHARED = """
from torch.utils.data import Dataset

def field_of_view(lenses):
    return widths(lenses)

def widths(lenses):
    return torch.tensor([0.5, 1.0], device=lenses.device) * lenses  # <-

class Views(Dataset):
    def __getitem__(self, index):
        return field_of_view(torch.rand(4, 2))

class Decoder(nn.Module):
    def {method}(self, lenses):
        return {call}(lenses)
"""


@pytest.mark.parametrize(
    ("method", "call", "kind"),
    [
        ("forward", "field_of_view", "forward"),
        ("forward", "widths", "forward"),
        ("forward", "abs", "data"),
        ("export", "field_of_view", "data"),
    ],
)
def test_what_a_pass_runs_says_more_than_what_a_worker_runs(method, call, kind):
    hot = hot_at(SHARED.format(method=method, call=call))
    assert hot is not None
    assert hot.kind == kind
