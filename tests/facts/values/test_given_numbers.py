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

        @property
        def worst(self):
            return self.sum

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


@pytest.mark.parametrize(
    ("also", "kind"),
    [
        ("print(losses, losses.count)", "plain"),
        ("print(f'{losses} {losses.worst}')", "plain"),
        ("print('loss {loss.avg:.3f}'.format(loss=losses))", "plain"),
        ("if loss.isnan(): return losses", "plain"),
        ("record(losses, loss.detach(), 1)", "tensor"),
        ("update = losses.update; update(loss.detach(), 1)", "tensor"),
        ("meters = [losses]; meters[0].update(loss.detach())", "tensor"),
        ("meter = losses; meter.update(loss.detach())", "tensor"),
        ("losses.sum = loss.detach()", "tensor"),
        ("losses.sum += loss.detach()", "tensor"),
        ("record(lambda t: losses.update(t))", "tensor"),
    ],
)
def test_an_object_that_others_have_may_be_given_anything(also, kind):
    code = CODE.replace("{given}", f"0.0, 1)\n            {also}\n            print(y").replace("{shown}", "losses.avg")
    assert value_of(code, "losses.avg").kind == kind
