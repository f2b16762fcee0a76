"""Calls that hand a tensor to a function which reads it."""

from __future__ import annotations

import ast

import pytest
from calls_in import site_of

from torchperf_lint.facts.reads.read_for_callers import reading_callers

CODE = """
    class Meters:
        def __init__(self):
            self.sums = {}

        def update(self, **given):
            for name, value in given.items():
                if isinstance(value, torch.Tensor):
                    value = value.item()
                self.sums[name] = self.sums.get(name, 0.0) + value

    def mean_of_all(found):
        return {name: value.mean() for name, value in found.items()}

    def train(net: nn.Module, data, optimizer):
        meters, loader = Meters(), DataLoader(data, 8, num_workers=4)
        for step, x in enumerate(loader):
            loss = net(x.cuda(non_blocking=True))
            shared = mean_of_all(loss)
            scaled = {name: 2 * value for name, value in shared.items()}
            loss.backward()
            optimizer.step()
            meters.update(loss=loss)
            {more}
"""


def handed_over(more: str) -> list[str]:
    site = site_of(CODE.replace("{more}", more), "value.item()")
    receiver = site.receiver
    assert receiver is not None
    return [ast.unparse(caller.call) for caller in reading_callers(site.file, site, receiver)]


@pytest.mark.parametrize(
    "more",
    [
        "meters.update(error=loss.square())",
        'meters.update(error=shared["error"])',
        "meters.update(**shared)",
        "meters.update(**scaled)",
    ],
)
def test_each_call_that_hands_a_tensor_over(more):
    assert handed_over(more) == ["meters.update(loss=loss)", more.replace('"', "'")]


@pytest.mark.parametrize(
    "more",
    [
        'meters.update(rate=optimizer.param_groups[0]["lr"])',
        "meters.update(rate=0.1)",
        "meters.update(step=step)",
        "if step % 100 == 0: meters.update(error=loss.square())",
    ],
)
def test_one_call_alone_is_told_in_the_reason(more):
    assert handed_over(more) == []


AGAIN = """
    class Callback:
        @staticmethod
        def number(value):
            if isinstance(value, torch.Tensor):
                value = value.item()
            return float(value)

        def on_batch_end(self, state, found):
            for key, value in state.metrics.items():
                value = reduced(value)
                self.shown[key] = Callback.number(value)
            for x in range(2):
                found = reduced(found)
                self.shown[x] = Callback.number(found)

    def train(net: nn.Module, loader, optimizer, callback: Callback):
        for x in loader:
            loss = net(x.cuda()).mean()
            loss.backward()
            optimizer.step()
            callback.on_batch_end(state, found)
"""


def test_a_name_that_is_made_of_itself_comes_to_an_end():
    """As catalyst-rl's metrics are, which made the rule crash."""
    site = site_of(AGAIN, "value.item()")
    assert site.receiver is not None
    assert reading_callers(site.file, site, site.receiver) == []


def test_what_is_made_of_itself_ends():
    assert handed_over("kept = merge(kept)\n            meters.update(**kept)") == []
