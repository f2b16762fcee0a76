"""Code behind options that nothing in a project turns on, and what is named there only."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.call_graph.programs import Beside
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.outlines.outline import outline

TRAIN = """
from torch.utils.data import DataLoader
from net import Net
{before}

if __name__ == "__main__":
    model = Net({given})
    for x in DataLoader([]):
        model(x).mean().backward()
"""
NET = """
from torch import nn

class Net(nn.Module):
    def __init__(self, size=4, average=False, mode="plain", turns=1, *, last=None):
        self.size = size
        self.average = average
        self.kind = mode
        self.turns = turns
        self.last = last

    def forward(self, x):
        {0}

    def mean_of(self, x):
        return x.mean()
"""


def project(body: str, given: str = "", before: str = "", settings: str | None = None, **files: str) -> Project:
    texts = {"net.py": NET.format(body), "train.py": TRAIN.format(given=given, before=before)}
    texts |= {f"{name}.py": text for name, text in files.items()}
    outlines = [outline(path, text) for path, text in sorted(texts.items())]
    return Project(outlines, texts.__getitem__, beside=Beside(settings))


def is_left(found: Project, text: str, path: str = "net.py") -> bool:
    lines = found.text(path).splitlines()
    line = next(number for number, written in enumerate(lines, 1) if text in written)
    return found.is_left_off(path, line, lines[line - 1].index(text) + 1)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("if self.average:\n            y = x.item()", "x.item()"),
        ("if x is not None and self.average:\n            y = x.item()", "x.item()"),
        ("y = x.item() if self.average else x", "x.item()"),
        ("y = self.average and x.item()", "x.item()"),
        ("if not self.average:\n            return x\n        y = x.item()", "x.item()"),
        ("if not self.average:\n            y = x\n        else:\n            y = x.item()", "x.item()"),
        ("if self.kind == 'fast':\n            y = x.item()", "x.item()"),
        ("if self.turns > 1:\n            y = x.item()", "x.item()"),
        ("if self.last is not None:\n            y = x.item()", "x.item()"),
        ("if self.average:\n            return self.mean_of(x)", "x.mean()"),
    ],
)
def test_an_option_that_nobody_gives_leaves_its_code(body: str, place: str) -> None:
    assert is_left(project(body), place)


@pytest.mark.parametrize(
    "given",
    ["average=True", "4, True", "average=flag", "**options", "*options", "4, flag"],
)
def test_an_option_that_a_call_gives_leaves_nothing(given: str) -> None:
    assert not is_left(project("if self.average:\n            y = x.item()", given), "x.item()")


def test_one_that_a_call_gives_the_same_again_is_left() -> None:
    assert is_left(project("if self.average:\n            y = x.item()", "4, average=False"), "x.item()")


def test_a_default_counts_where_a_call_leaves_it_only() -> None:
    body = "if self.turns:\n            y = x.item()"
    assert is_left(project(body, "turns=0"), "x.item()")
    assert not is_left(project(body, "turns=0", before="other = Net()"), "x.item()")


@pytest.mark.parametrize(
    "before",
    [
        "model = Net()\nmodel.average = True",
        "options = {'average': True}",
        "options['average'] = read()",
        "import fire\nfire.Fire(Net)",
        "class Own(Net):\n    def __init__(self):\n        super().__init__(4, True)",
        "class Own(Net): pass\nOwn(4, True)",
        "models = [Net]\nmodels[0](4, True)",
    ],
)
def test_a_name_that_is_given_anything_elsewhere_leaves_nothing(before: str) -> None:
    assert not is_left(project("if self.average:\n            y = x.item()", before=before), "x.item()")


@pytest.mark.parametrize(
    "before",
    [
        "print(getattr(model, 'average', None))",
        "options = {'average': False}",
        "class Own(Net):\n    def __init__(self, *args, **kwargs):\n        super().__init__(*args, **kwargs)",
        "isinstance(model, Net)",
        "class Own(Net):\n    def __init__(self):\n        super(Net, self).__init__()",
        "print('the average is off')",
        "parser.add_argument('--average', action='store_true')",
        "average = read()",
        "for average in (False, True): pass",
        "def f(average=True): pass",
    ],
)
def test_what_only_reads_a_name_or_gives_it_to_no_object_changes_nothing(before: str) -> None:
    assert is_left(project("if self.average:\n            y = x.item()", before=before), "x.item()")


def test_settings_may_give_it() -> None:
    body = "if self.average:\n            y = x.item()"
    assert is_left(project(body, "**options", settings="size: 4"), "x.item()")
    assert not is_left(project(body, "**options", settings="average: true"), "x.item()")


def test_a_function_that_others_name_too_is_not_left() -> None:
    body = "if self.average:\n            return self.mean_of(x)"
    assert not is_left(project(body, before="print(model.mean_of(x))"), "x.mean()")
    assert is_left(project(body), "x.mean()")


def test_a_class_that_is_made_behind_it_only_is_left() -> None:
    norm = "from torch import nn\n\nclass Norm(nn.Module):\n    def forward(self, x):\n        return x.item()\n"
    body = "if self.average:\n            self.norm = Norm()"
    assert is_left(project(body, norm=norm), "x.item()", "norm.py")
    assert not is_left(project(body, norm=norm, before="from norm import Norm\nnorm = Norm()"), "x.item()", "norm.py")


def test_the_arguments_of_forward_are_not_followed() -> None:
    # `model(x, True)` does not name it.
    net = "from torch import nn\n\nclass Net(nn.Module):\n    def forward(self, x, average=False):\n"
    texts = {
        "net.py": net + "        if average:\n            return x.item()\n",
        "train.py": TRAIN.format(given="", before=""),
    }
    found = Project([outline(path, text) for path, text in sorted(texts.items())], texts.__getitem__)
    assert not is_left(found, "x.item()")


def test_what_runs_as_a_program_itself_and_what_stands_alone_are_not_left() -> None:
    body = "if self.average:\n            y = x.item()"
    alone = {"net.py": NET.format(body)}
    assert not is_left(Project.of_texts(alone), "x.item()")


def test_a_name_that_holds_itself_or_another_in_turn_is_followed_to_its_end() -> None:
    before = "def build(size, mean=False):\n    return Net(size, average=mean)\n\nmodel = build(4)"
    assert is_left(project("if self.average:\n            y = x.item()", "average=average", before), "x.item()")
    before = before.replace("build(4)", "build(4, mean=True)")
    assert not is_left(project("if self.average:\n            y = x.item()", "average=average", before), "x.item()")


NOISE = "\nnoise = read()\nfor average in noise:\n    print(average)\n"
"""Gives names that the class has too another meaning."""


def test_a_name_with_other_meanings_is_left_where_no_object_has_it() -> None:
    body = "average = x.sum()\n        if self.average:\n            y = x.item()\n        return average"
    assert is_left(project(body, before=NOISE), "x.item()")
    assert is_left(project(body, "4, False", before=NOISE), "x.item()")
    assert not is_left(project(body.replace("if self.average", "if average"), before=NOISE), "x.item()")


@pytest.mark.parametrize(
    ("given", "more"),
    [
        ("average=True", ""),
        ("average=noise", ""),
        ("**vars(parser.parse_args())", "parser.add_argument('--average', action='store_true')"),
        ("", "model.average = read()"),
        ("", "setattr(model, 'average', read())"),
        ("", "class Own(Net):\n    def __init__(self):\n        super().__init__()\n        self.average = True"),
        ("", "model = {'Net': Net}['Net']"),
        ("", "models = [Net]\nmodels[0](4, True)"),
        ("", "other = Net(4, True)"),
        ("", "from net import Net as Small\nother = Small(4, True)"),
        ("", "from functools import partial\nmake = partial(Net, average=True)"),
    ],
)
def test_an_object_that_may_have_it_leaves_nothing(given: str, more: str) -> None:
    body = "average = x.sum()\n        if self.average:\n            y = x.item()\n        return average"
    assert not is_left(project(body, given, before=NOISE + more), "x.item()")


def test_an_attribute_that_the_class_sets_itself_may_be_anything() -> None:
    body = "average = x.sum()\n        if self.average:\n            y = x.item()\n        self.average = average"
    assert not is_left(project(body, before=NOISE), "x.item()")
