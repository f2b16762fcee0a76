"""Objects that `next` is given run their `__next__`: fetchers and prefetchers around loaders."""

import pytest
from snippets import hot_at

FETCHER = """
class Fetcher:
    def __init__(self, loader, device):
        self.batches, self.device = iter(loader), device

    def {method}(self):
        x, y = next(self.batches)
        return x.to(self.device), y.to(self.device)  # <-

class Other:
    def __next__(self):
        return 3

def train(model, loader, optimizer, device, steps):
    fetcher = Fetcher(loader, device)
    other = Other()
    shown = Fetcher(loader, device)
    {before}
    for step in range(steps):
        x, y = {taken}
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
"""


def hot(taken, before="pass", method="__next__"):
    return hot_at(FETCHER.format(taken=taken, before=before, method=method))


def test_next_runs_the_method_of_the_object():
    found = hot("next(fetcher)")
    assert found is not None
    assert found.kind == "step"
    assert "called at" in found.because


@pytest.mark.parametrize(
    "given",
    [
        {"taken": "next(loader)", "before": "x, y = next(shown)"},  # once, before the loop
        {"taken": "next(fetcher)", "method": "fetch"},  # another method
        {"taken": "(next(other), loader)"},  # another object
        {"taken": "next(loader)", "before": "print(fetcher)"},
        {"taken": "next(loader, fetcher)"},  # what stands in for it when all is gone through
    ],
)
def test_others_do_not(given):
    assert hot(**given) is None
