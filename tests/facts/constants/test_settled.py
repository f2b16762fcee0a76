"""Numbers that a buffer was made of, and that every pass reads back."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.consequences import COUNTED, consequence
from torchperf_lint.facts.reads.truths import truths

CODE = """\
class Memory(nn.Module):
    def __init__(self, k, t, start):
        super().__init__()
        self.register_buffer("params", {made})

    def forward(self, x):
        x = x.cuda()
        n = int(self.params[0].item())
        if n < 0:
            {then}
        return x.view(n, -1)
"""


def settled(made, then="x = x + 1"):
    files = texts(CODE.format(made=made, then=then))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return consequence(next(iter(file.hot_calls("item")))) == COUNTED


@pytest.mark.parametrize("made", ["torch.tensor([k, t, -1])", "torch.Tensor([k * 2, 0.07])", "torch.tensor((k, -1))"])
def test_the_constructor_had_the_number(made):
    assert settled(made)


def test_an_entry_that_is_set_once_is_settled():
    assert settled("torch.tensor([k, t])", "self.params[0] = x.mean()")
    assert settled("torch.tensor([k, t])", "self.params[1] = x.mean()")


@pytest.mark.parametrize(
    ("made", "then"),
    [
        ("start", "x = x + 1"),
        ("torch.tensor([start.mean(), t])", "x = x + 1"),
        ("torch.tensor([k, t])", "self.params[n] = x.mean()"),
        ("torch.tensor([k, t])", "x = x + 1\n        self.params[0] = x.mean()"),
    ],
)
def test_what_the_device_computes_is_not(made, then):
    assert not settled(made, then)


WHOLE = """\
class Scaler(nn.Module):
    def __init__(self, scale, start):
        super().__init__()
        self.register_buffer("scale", {made})

    def forward(self, x):
        x = x.cuda()
        if {test}:
            x = x * self.scale
        {then}
        return self.other(x)
"""


def settled_whole(made="torch.tensor(scale or 0.0)", test="self.scale > 0", then="pass"):
    files = texts(WHOLE.format(made=made, test=test, then=then))
    asked = truths(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    return [consequence(spot) for spot in asked] == [COUNTED]


def test_a_buffer_of_one_number_is_what_the_constructor_had():
    assert settled_whole()
    assert settled_whole(made="torch.tensor(scale)", test="self.scale")
    assert settled_whole(made="torch.as_tensor(2 * scale, dtype=torch.float)", test="self.scale != 1")


def test_a_buffer_of_one_number_that_a_pass_sets_is_not():
    assert not settled_whole(then="self.scale.copy_(x.max())")
    assert not settled_whole(then="self.scale = x.max()")
    assert not settled_whole(then="self.scale[0] = x.max()")
    assert not settled_whole(made="start.max()")
    assert not settled_whole(made="torch.zeros(scale)")
    assert not settled_whole(test="self.scale > x.max()")


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [("scale: bool = False", True), ("scale: float", True), ("scale: float | None = None", False), ("scale", False)],
)
def test_a_number_may_be_made_a_tensor_before(parameter, expected):
    code = f"""\
        class Scaler(nn.Module):
            def __init__(self, {parameter}):
                super().__init__()
                if not isinstance(scale, torch.Tensor):
                    scale = torch.as_tensor(scale)
                self.register_buffer("scale", scale)

            def forward(self, x):
                if self.scale:
                    return self.other(x.cuda())
                return x
    """
    files = texts(code)
    asked = truths(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    assert [consequence(spot) == COUNTED for spot in asked] == [expected]
