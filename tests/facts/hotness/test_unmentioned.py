"""Functions and classes that nothing in a project names."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.programs import Beside
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.hotness import unmentioned
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.hotness.unmentioned import NO_PROGRAM
from torchperf_lint.facts.outlines.outline import outline
from torchperf_lint.facts.roles.role import Role
from torchperf_lint.model import Confidence
from torchperf_lint.naming import is_packaged, settings_of
from torchperf_lint.settings import Settings

GUESS = Role("forward", "takes tensors, and no call of it is seen in the project", "each time", Confidence.LIKELY)
SURE = Role("forward", "is the `forward` of a module", "in every forward pass", Confidence.LIKELY)
TRAIN = """
from torch.utils.data import DataLoader
from layers import Used
{0}
if __name__ == "__main__":
    for x in DataLoader([]):
        Used()(x).mean().backward()
"""
LAYERS = """
from torch import nn


def blur(x):
    return x


class Used(nn.Module):
    def forward(self, x):
        return x


{1}class Left(nn.Module):
    def __init__(self):
        super(Left, self).__init__()

    def forward(self, x):
        return x
{0}
"""


@pytest.fixture(autouse=True, params=[64, 0], ids=["few names", "many names"])
def _names_asked_for(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unmentioned, "_FEW_NAMES", request.param)


def holds(name: str, role: Role, files: dict[str, str]) -> bool:
    project = Project.of_texts(files)
    functions = project.index.outlines["layers.py"].functions
    number = next(n for n, function in enumerate(functions) if function.qualname == name)
    return project.hotness.unmentioned.holds(FunctionKey("layers.py", number), role)


def files(program: str = "", more: str = "", above: str = "", **others: str) -> dict[str, str]:
    return {"train.py": TRAIN.format(program), "layers.py": LAYERS.format(more, above), **others}


def test_what_programs_leave_over():
    assert holds("Left.forward", SURE, files())
    assert not holds("Used.forward", SURE, files())


@pytest.mark.parametrize(
    "project",
    [
        files("import layers; Made = layers.Left"),
        files("kind = getattr(layers, 'Left')"),
        files(more="ALL = {'left': Left}"),
        files(above="@register\n"),
        files("from importlib import import_module\nnet = import_module(name)"),
        {"layers.py": LAYERS.format("", "")},
        {**files(), "__init__.py": ""},
        {**files(), "train.py": TRAIN.format("").replace("from layers", "from other")},
    ],
    ids=["named", "text", "table", "registered", "by name", "library", "package", "not imported"],
)
def test_what_may_be_used(project):
    assert not holds("Left.forward", SURE, project)


def test_tests_and_examples_are_no_programs_and_name_nothing():
    assert holds("Left.forward", SURE, {**files(), "tests/test_layers.py": "from layers import Left"})
    alone = {"layers.py": LAYERS.format("", ""), "examples/train.py": TRAIN.format("")}
    assert not holds("Left.forward", SURE, alone)


def test_a_function_that_runs_by_a_guess_is_asked_in_libraries_too():
    library = {"layers.py": LAYERS.format("", ""), "__init__.py": "from .layers import Used"}
    assert holds("blur", GUESS, library)
    assert not holds("blur", SURE, library)
    assert not holds("blur", GUESS, {**library, "__init__.py": "from .layers import Used, blur"})
    assert not holds("blur", GUESS, {"layers.py": LAYERS.format("", "")})


EXPLAINED = [
    '"""Blur.\n\n    Args:\n        x: of shape (n, c)\n    """',
    '"""Blur.\n\n    Parameters\n    ----------\n    x : Tensor\n    """',
    '"""Blur.\n\n    :param x: of shape (n, c)\n    """',
]


@pytest.mark.parametrize("told", EXPLAINED)
def test_what_a_library_explains_to_users_is_offered_to_them(told):
    layers = LAYERS.format("", "").replace("def blur(x):\n", f"def blur(x):\n    {told}\n")
    library = {"layers.py": layers, "__init__.py": "from .layers import Used"}
    assert not holds("blur", GUESS, library)
    assert holds("blur", GUESS, {"train.py": TRAIN.format(""), "layers.py": layers})  # its own programs would run it


@pytest.mark.parametrize("told", ['"""Blur x."""', '"""Args are for others."""', "args = 'Args:'"])
def test_what_a_docstring_only_names_is_left_over_in_libraries(told):
    layers = LAYERS.format("", "").replace("def blur(x):\n", f"def blur(x):\n    {told}\n")
    assert holds("blur", GUESS, {"layers.py": layers, "__init__.py": "from .layers import Used"})


def test_talk_of_a_name_is_no_use_of_it_where_there_are_programs():
    talk = '"""Left and blur were tried."""\n# Left(), blur()\nlabel = "Left of it"\n'
    assert holds("Left.forward", SURE, files(talk))
    assert holds("blur", GUESS, files(talk))
    library = {"layers.py": LAYERS.format("", ""), "__init__.py": "from .layers import Used\n" + talk}
    assert not holds("blur", GUESS, library)


def test_a_method_that_runs_by_a_guess():
    method = "    def soften(self, x):\n        return x\n"
    assert holds("Left.soften", GUESS, files("import layers; made = layers.Left()", method))
    assert not holds("Left.soften", GUESS, files("import layers; made = layers.Left().soften(x)", method))
    library = {"layers.py": LAYERS.format(method, ""), "__init__.py": "from .layers import Left"}
    assert not holds("Left.soften", GUESS, library)


def test_what_settings_name_is_used(tmp_path):
    project = files("from importlib import import_module\nnet = import_module(name)")
    outlines = [outline(path, text) for path, text in project.items()]

    def left_over(settings: str | None) -> bool:
        made = Project(outlines, project.__getitem__, beside=Beside(settings))
        functions = made.index.outlines["layers.py"].functions
        number = next(n for n, function in enumerate(functions) if function.qualname == "Left.forward")
        return made.hotness.unmentioned.holds(FunctionKey("layers.py", number), SURE)

    assert left_over("target: layers.Used")
    assert not left_over("target: layers.Left")
    assert not left_over(None)

    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "net.yaml").write_text("target: layers.Left")
    (tmp_path / "data.json").write_text("x" * 300_000)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "a.yaml").write_text("no")
    assert settings_of(tmp_path, Settings(), project.values()) == "target: layers.Left"
    assert settings_of(tmp_path, Settings(), ["import torch"]) is None


@pytest.mark.parametrize(
    ("name", "text", "packaged"),
    [
        ("pyproject.toml", "[project]\nname = 'nets'\n", True),
        ("pyproject.toml", "[tool.poetry]\nname = 'nets'\n", True),
        ("pyproject.toml", "[tool.ruff]\nline-length = 100\n", False),
        ("setup.cfg", "[flake8]\n", False),
        ("setup.cfg", "[metadata]\nname = nets\n", True),
        ("setup.py", "from setuptools import setup\nsetup(name='nets')\n", True),
        ("train.py", "setup(rank)\n", False),
    ],
)
def test_which_projects_are_packages(tmp_path, name, text, packaged):
    (tmp_path / name).write_text(text)
    assert is_packaged(tmp_path) is packaged


def passes(more: dict[str, str]) -> tuple[Hot, Hot, Hot, Hot]:
    """Why `Used.forward` and `Left.forward` of layers.py run, each with how that is weighed for whoever runs it."""
    body = LAYERS.format("", "").replace(
        "        return x\n", "        x + torch.zeros(len(x)).to(x.device)\n        return x\n"
    )
    texts = {**files(), "layers.py": f"import torch\n{body}", **more}
    layers = SourceFile(Project.of_texts(texts), "layers.py", texts["layers.py"])
    found = {layers.outline.functions[s.function].qualname: (s.hot, s.function) for s in layers.hot_calls("to")}
    (used, first), (left, second) = found["Used.forward"], found["Left.forward"]
    weighed = layers.project.hotness.unmentioned.whoever_runs_it
    return used, weighed(used, FunctionKey("layers.py", first)), left, weighed(left, FunctionKey("layers.py", second))


def test_what_a_pass_does_for_nothing_is_as_slow_for_whoever_runs_it():
    used, weighed_used, left, weighed_left = passes({})
    assert used.confidence is not Confidence.POSSIBLE
    assert weighed_used == used
    assert left.confidence is Confidence.POSSIBLE
    assert NO_PROGRAM in left.because
    assert weighed_left.confidence is Confidence.LIKELY


def test_a_copy_of_what_runs_elsewhere_is_told_there():
    copied = "from torch import nn\nclass Left(nn.Module):\n    def forward(self, x):\n        return x\n"
    program = TRAIN.format("from other.layers import Left as Last").replace("Used()(x)", "Last()(Used()(x))")
    *_, left, weighed = passes({"other/layers.py": copied, "train.py": program})
    assert left.confidence is Confidence.POSSIBLE
    assert weighed == left


OPERATION = """\
import torch
from .tables import table

def blend(image, other):
    weights = table(image)
    return image * weights.to(image.device) + other.to(image.device)
"""
TABLES = "import torch\n\ndef {}(image):\n    return torch.zeros(len(image)).to(image.device)\n"


def far_from_a_guess(name: str, offered: str = "", package: str = "lib") -> tuple[Hot, Hot]:
    """Why a line is hot that an operation which nobody calls gets to in another file, and how that is weighed."""
    tables = f"{package}/tables.py"
    texts = {
        f"{package}/__init__.py": offered,
        f"{package}/blend.py": OPERATION.replace("table(", f"{name}(").replace("import table", f"import {name}"),
        tables: TABLES.format(name),
    }
    file = SourceFile(Project.of_texts(texts), tables, texts[tables])
    (site,) = file.hot_calls("to")
    hotness, key = file.project.hotness, FunctionKey(tables, site.function)
    assert site.hot is not None
    return site.hot, hotness.unmentioned.whoever_runs_it(site.hot, key, hotness.seldom.is_seldom(key))


@pytest.mark.parametrize("package", ["lib", "src/lib"])
def test_what_a_package_offers_at_its_root_leads_as_far_as_it_goes(package: str):
    told, _ = far_from_a_guess("table", "from .blend import blend\n", package)
    assert told.confidence is Confidence.LIKELY


def test_what_a_guess_leads_to_is_as_slow_in_each_call():
    guessed, weighed = far_from_a_guess("table")
    assert guessed.confidence is Confidence.POSSIBLE
    assert weighed.confidence is Confidence.LIKELY
    assert weighed.when == "in every call (`table`)"
    assert weighed.because == guessed.because
