"""Numbers that the host lays out on the device and reads back, at places that it knows."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.consequences import LAID_OUT, consequence
from torchperf_lint.facts.reads.truths import truths

CODE = """
    class Sampler(nn.Module):
        def __init__(self, model, steps: int):
            super().__init__()
            self.model = nn.Linear(2, 2)
            self.n = steps

        @torch.no_grad()
        def one(self, x, time, time_next):
            x = self.model(x * time)
            if {test}:
                return x
            return x + torch.randn_like(x) * time_next

        @torch.no_grad()
        def sample(self, shape, n: int):
            x = torch.randn(shape, device="cuda")
            times = {times}
            {before}
            for {turns}:
                x = self.one(x, {given})
            return x
"""


def told(
    test="time_next == 0",
    times='torch.linspace(1.0, 0.0, n + 1, device="cuda")',
    before="pass",
    turns="i in range(n)",
    given="times[i], times[i + 1]",
):
    files = texts(CODE.format(test=test, times=times, before=before, turns=turns, given=given))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [consequence(place) for place in (*truths(file), *file.hot_calls("item", "float"))]


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"test": "time_next.item() > 0.5"},
        {"test": "float(time_next) <= 1e-5"},
        {"times": 'torch.arange(n, -1, -1, device="cuda")[:n] / n'},
        {"times": "torch.linspace(1, 0, n).to(x.device).flip(0)"},
        {"times": "torch.flip(torch.linspace(1, 0, n).cuda(), (0,))"},
        {"turns": "now, later in zip(times[:-1], times[1:])", "given": "now, later", "test": "time_next.abs() == 0"},
        {"before": "times = times * 0.5"},
    ],
)
def test_the_host_knows_what_it_has_laid_out(shape):
    assert told(**shape) == [LAID_OUT]


@pytest.mark.parametrize(
    "shape",
    [
        {"times": "self.model(x).mean(1)"},
        {"times": 'torch.linspace(1.0, x.abs().max(), 9, device="cuda")'},
        {"before": "times[0] = x.mean()"},
        {"before": "times.mul_(x.mean())"},
        {"test": "(time_next * x).sum() == 0"},
        {"test": "time_next < x.mean()"},
        {"given": "times[x.argmax()], times[x.argmin()]"},
        {"given": "times[i], x[i]"},
    ],
)
def test_what_the_device_computes_it_does_not(shape):
    assert LAID_OUT not in told(**shape)


def test_numbers_that_are_passed_are_not_looked_at():
    assert told(given="1.0, 0.0") == []
    assert told(times="list(range(n))", given="i, n - i") == []
