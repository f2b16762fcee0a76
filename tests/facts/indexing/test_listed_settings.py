"""Lists of settings that tensors pick from."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.sizing import sized

CODE = """
    class Net(nn.Module):
        def __init__(self, rates: {hint}, other):
            super().__init__()
            self.rates = rates
            self.other = other

        def forward(self, x: torch.Tensor, at: torch.Tensor, number: int, unsaid):
            {before}
            return x.cuda(), {taken}
"""


def picked(taken, hint="list[float]", before="pass"):
    files = texts(CODE.format(taken=taken, hint=hint, before=before))
    return any(found.setting for found in sized(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))


@pytest.mark.parametrize("hint", ["list[float]", "List[str]", "Tuple[int, ...]", "Sequence[int]"])
def test_a_tensor_picks_a_setting(hint):
    assert picked("self.rates[at]", hint)


@pytest.mark.parametrize("hint", ["dict[str, list[int]]", "list[torch.Tensor]", "torch.Tensor", "object"])
def test_what_is_no_list_of_settings(hint):
    assert not picked("self.rates[at]", hint)


@pytest.mark.parametrize("taken", ["self.rates[number]", "self.rates[unsaid]", "self.other[at]", "self.rates[at:]"])
def test_what_no_tensor_picks_from_a_list(taken):
    assert not picked(taken)


def test_a_parameter_that_is_bound_anew_may_be_a_number():
    assert not picked("self.rates[at]", before="at = int(at)")
