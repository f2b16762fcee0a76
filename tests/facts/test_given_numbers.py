"""Objects of a class that gathers tensors elsewhere, and is given numbers only here."""

from __future__ import annotations

import pytest
from snippets import value_of

CODE = """
    class Meter:
        def __init__(self):
            self.avg = 0
            self.sum = 0
            self.count = 0

        def update(self, value, n=1):
            self.sum += value * n
            self.count += n
            self.avg = self.sum / self.count

    def train(model, loader, optimizer):
        losses = Meter()
        tops = Meter()
        spare = Meter()
        for x, y in loader:
            loss = model(x.cuda()).mean()
            loss.backward()
            optimizer.step()
            losses.update({given})
            tops.update(model(x.cuda()).mean(), len(x))
            print({shown})
"""


@pytest.mark.parametrize(
    ("given", "shown", "kind"),
    [
        ("loss.item()", "losses.avg", "plain"),
        ("loss.item(), len(x)", "losses.avg", "plain"),
        ("loss, len(x)", "losses.avg", "tensor"),
        ("known(loss)", "losses.avg", "tensor"),
        ("loss.item()", "tops.avg", "tensor"),
        ("loss.item()", "spare.avg", "tensor"),
    ],
)
def test_what_is_given_here_says_more_than_other_callers(given, shown, kind):
    code = CODE.replace("{given}", given).replace("{shown}", shown)
    assert value_of(code, shown).kind == kind
