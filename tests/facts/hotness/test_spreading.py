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


SHARED_STEP = """
import lightning as L

class Net(L.LightningModule):
    def {first}(self, batch, batch_idx):
        out = []
        for turn in range(self.turns):
            out.append(self.once(batch))
        return torch.tensor(out).mean()

    def {second}(self, batch, batch_idx):
        return self.wrapped(batch)

    def wrapped(self, batch):
        return self.once(batch)

    def once(self, batch):
        return self.inner(batch)

    def inner(self, batch):
        return F.mse_loss(self.model(batch), batch)  # <-

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)
"""


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("test_step", "training_step", "step"),
        ("training_step", "test_step", "step"),
        ("test_step", "validation_step", "eval"),
    ],
)
def test_what_a_training_step_runs_too_is_no_evaluation(first, second, kind):
    hot = hot_at(SHARED_STEP.format(first=first, second=second))
    assert hot is not None
    assert hot.kind == kind
