"""Searches for the number of a step in the table that the loop goes through."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.own_steps import finds_own_step
from torchperf_lint.facts.indexing.selections import selections

CODE = """
    class Decay:
        def set_timesteps(self, n, device):
            self.timesteps = torch.arange(n, device=device).flip(0)
            self.sigmas = torch.linspace(0, 1, n, device=device)
            self.index = None

        def step(self, output, t, sample):
            {search}
            return sample + i * output

        def _look(self, t):
            return (self.timesteps == t).nonzero()

    def sample(model: nn.Module, x, n):
        model.cuda()
        x = x.cuda()
        scheduler = Decay()
        scheduler.set_timesteps(n, device="cuda")
        timesteps = scheduler.timesteps
        for {loop}:
            x = scheduler.step(model(x), t, x)
            {beside}
        return x
"""


def found(search, loop="t in scheduler.timesteps", beside="pass"):
    files = texts(CODE.format(search=search.replace("\n", "\n" + 12 * " "), loop=loop, beside=beside))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [finds_own_step(one) for one in selections(file)]


@pytest.mark.parametrize(
    "search",
    [
        "i = (self.timesteps == t).nonzero()",
        "i = torch.nonzero(self.timesteps == t, as_tuple=True)[0]",
        "i = torch.where(t == self.timesteps)[0]",
        "all_steps = self.timesteps\ni = (all_steps == t).nonzero()[0]",
    ],
)
@pytest.mark.parametrize("loop", ["t in scheduler.timesteps", "i, t in enumerate(timesteps)", "t in tqdm(timesteps)"])
def test_a_step_that_looks_for_its_own_number(search, loop):
    assert any(found(search, loop))


def test_a_search_in_the_loop_itself():
    assert any(found("i = 1", "t in timesteps", "x = x * torch.where(timesteps == t)[0]"))
    assert not any(found("i = 1", "t in timesteps", "x = x * torch.where(timesteps == n)[0]"))


@pytest.mark.parametrize(
    "search",
    [
        "if self.index is None:\n    self.index = (self.timesteps == t).nonzero()\ni = self.index",  # the first alone
        "i = (self.sigmas == t).nonzero()",  # another table
        "i = (self.timesteps > t).nonzero()",
        "i = (self.timesteps == sample.argmax()).nonzero()",  # what the data say
        "wanted = sample.argmax()\ni = (self.timesteps == wanted).nonzero()",
        "i = self.index if self.index is not None else self._look(t)",
    ],
)
def test_what_the_host_cannot_count(search):
    assert not any(found(search))
