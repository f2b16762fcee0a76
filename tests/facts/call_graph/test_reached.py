"""What the programs of a project reach by the names that they write."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.call_graph.programs import Beside
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.outlines.outline import outline

TRAIN = """
from torch.utils.data import DataLoader
from nets.used import Used
{0}

if __name__ == "__main__":
    model = Used()
    for x in DataLoader([]):
        model(x).mean().backward()
    {1}
"""
USED = """
from torch import nn
{0}

class Used(nn.Module):
    def forward(self, x):
        return self.soften(x)

    def soften(self, x):
        return x

    def sharpen(self, x):
        return blur(x)


def blur(x):
    return x


class Other(nn.Module):
    def forward(self, x):
        return sharper(x)


def sharper(x):
    return x
"""


def left(
    files: dict[str, str], settings: str | None = None, packaged: bool = False, installed: bool = False
) -> set[str]:
    """The qualified names of what no program reaches; the path of a file that none imports."""
    project = Project(
        [outline(path, text) for path, text in sorted(files.items())],
        files.__getitem__,
        beside=Beside(settings, packaged, installed),
    )
    found = project.hotness.left
    return {key.path if key.index == 0 else project.index.function(key).qualname for key in found}


def project(head: str = "", tail: str = "", used: str = "", **others: str) -> dict[str, str]:
    others = {name.replace("__", "/") + ".py": text for name, text in others.items()}
    return {"train.py": TRAIN.format(head, tail), "nets/used.py": USED.format(used), **others}


REST = {"Used.sharpen", "blur", "Other.forward", "sharper"}


def test_what_only_unreached_code_calls_is_not_reached():
    assert left(project()) == REST


@pytest.mark.parametrize(
    ("tail", "rest"),
    [
        ("from nets.used import Other; Other()(x)", {"Used.sharpen", "blur"}),
        ("import nets.used as layers; layers.Other()(x)", {"Used.sharpen", "blur"}),
        ("from nets.used import *; Other()(x)", {"Used.sharpen", "blur"}),
        ("Other = 1", REST),
        ("model.sharpen(x)", {"Other.forward", "sharper"}),
        ("getattr(model, 'sharpen')(x)", {"Other.forward", "sharper"}),
        ("print('Other is not used')", REST),
    ],
)
def test_a_name_that_running_code_writes_is_reached(tail, rest):
    assert left(project(tail=tail)) == rest


def test_what_is_imported_under_one_name_is_not_what_else_is_called_so():
    twin = "def blur(x):\n    return x\n"
    assert left(project("from nets.twin import blur", "blur(x)", nets__twin=twin)) == REST
    both = "try:\n    from nets.twin import blur\nexcept ImportError:\n    from nets.used import blur"
    assert left(project(both, "blur(x)", nets__twin=twin)) == REST - {"blur"}
    assert left(project("from nets.twin import blur", "model.blur(x)", nets__twin=twin)) == REST - {"blur"}


def test_what_is_imported_from_where_nobody_knows_is_taken_for_all_of_its_name():
    assert left(project("from train import Other as Net", "Net()")) == {"Used.sharpen", "blur"}
    assert left(project("from lib.nets.used import Other as Net", "Net()")) == {"Used.sharpen", "blur"}
    assert left(project("from elsewhere import Other as Net", "Net()")) == REST


def test_a_class_may_hand_its_methods_on():
    files = project(tail="model.act(1)")
    files["nets/used.py"] = files["nets/used.py"].replace("    def sharpen", "    act = sharpen\n\n    def sharpen")
    assert left(files) == REST - {"Used.sharpen", "blur"}


def test_an_import_is_no_use():
    assert left(project("from nets.used import Other")) == REST
    assert left(project("from nets.used import Other as Net", "Net()")) == {"Used.sharpen", "blur"}


def test_a_file_that_none_imports():
    old = "from torch import nn\n\nclass Used(nn.Module):\n    def forward(self, x):\n        return x\n"
    assert left(project(nets__old=old)) == {*REST, "nets/old.py", "Used.forward"}
    assert left(project("import nets.old", nets__old=old)) == {*REST, "Used.forward"}
    assert left(project("import nets.old", "nets.old.Used()", nets__old=old)) == REST
    assert left(project(attic__old=old)) == REST  # nobody says whom that folder is for
    assert left(project(nets__old=old + "\nif __name__ == '__main__':\n    Used()")) == REST


@pytest.mark.parametrize(
    "tail",
    [
        "net = getattr(nets.used, name)()",
        "net = vars(nets.used)[name]()",
        "net = nets.used.__dict__[name]()",
        "net = eval(name)()",
    ],
)
def test_a_computed_name_may_be_any_of_a_file(tail):
    assert left(project("import nets.used", tail)) == set()
    assert left(project("from nets.used import *", "net = eval(name)()")) == set()


def test_methods_that_a_class_finds_by_computed_names():
    files = project()
    files["nets/used.py"] = files["nets/used.py"].replace("self.soften(x)", "getattr(self, 'so' + self.kind)(x)")
    assert left(files) == {"Other.forward", "sharper"}  # no methods of its own
    files["nets/used.py"] = files["nets/used.py"].replace("getattr(self, 'so' + self.kind)", "globals()[self.kind]")
    assert left(files) == set()


@pytest.mark.parametrize(
    ("decorator", "settings", "reached"),
    [
        ("@NETS.register_module()\n", None, True),
        ("@NETS.register_module()\n", "type: Used", False),
        ("@NETS.register_module()\n", "type: Other", True),
        ("@register('other')\n", "type: Used", True),
        ("@task()\n", "task: other", True),
        ("@task()\n", "task: others", False),
        ("@dataclass\n", None, False),
    ],
)
def test_classes_that_are_registered(decorator, settings, reached):
    files = project("from registry import build" if settings else "")
    files["nets/used.py"] = files["nets/used.py"].replace("class Other", decorator + "class Other")
    files["registry.py"] = (
        "from importlib import import_module\n\ndef build(path):\n    return import_module(path.rsplit('.')[0])\n"
    )
    if settings is None:
        del files["registry.py"]
    assert ("Other.forward" not in left(files, settings)) is reached


@pytest.mark.parametrize(
    ("above", "reached"),
    [
        ("@register('other')\n@dataclass\n", True),
        ("@register(\n    'other',\n)\n", True),
        ("@register('other')\n# as others are\n", True),
        ("x = call(1)\n", False),
        ("@dataclass\n@dataclass(frozen=True)\n", False),
    ],
)
def test_decorators_over_several_lines(above, reached):
    files = project("from importlib import import_module\n\nimport_module('nets.used')")
    files["nets/used.py"] = files["nets/used.py"].replace("class Other", above + "class Other")
    assert ("Other.forward" not in left(files, "type: Used")) is reached


def test_code_between_strings_and_in_fields_is_code():
    for tail in ("d['a'] = blur(d['b'])", "d = {'a': blur(1), 'b': 2}", "print(f'it is {blur(1)} of it')"):
        assert "blur" not in left(project("from nets.used import blur", tail)), tail


def test_a_variable_may_hide_a_module():
    files = project("import model", "model = model.Net(); model.loss(1)")
    files["model.py"] = "class Net:\n    def loss(self, x):\n        return x\n\ndef loss(x):\n    return x\n"
    assert not {"Net.loss", "loss"} & left(files)


def test_methods_of_kin_by_computed_names():
    base = "class Base:\n    def run(self, name):\n        getattr(self, name)()\n"
    sub = "from nets.base import Base\n\nclass Sub(Base):\n    def loss_a(self):\n        pass\n"
    files = project("from nets.sub import Sub", "Sub().run(name)", nets__base=base, nets__sub=sub)
    assert "Sub.loss_a" not in left(files)
    files["nets/base.py"] = "def run(net, name):\n    getattr(net, f'loss_{name}')()\n\nclass Base:\n    pass\n"
    files["train.py"] = TRAIN.format("from nets.sub import Sub\nfrom nets.base import run", "run(Sub(), name)")
    assert "Sub.loss_a" not in left(files)


def test_methods_that_others_call():
    callback = (
        "import lightning\n\nclass Used(lightning.LightningModule):\n    def training_step(self, x):\n        pass\n"
    )
    assert left({"train.py": TRAIN.format("", ""), "nets/used.py": callback}) == set()
    function = USED.format("").replace("def sharpen", "def extra_repr")
    assert "Used.extra_repr" not in left({"train.py": TRAIN.format("", ""), "nets/used.py": function})


def test_what_is_asked_for_its_subclasses():
    base = "class Base:\n    def __init_subclass__(cls):\n        pass\n\n"
    base += "class Late(Base):\n    def forward(self, x):\n        return x\n"
    assert "Late.forward" not in left(project("import nets.late", nets__late=base))
    assert "Late.forward" in left(project("import nets.late", nets__late=base.replace("__init_subclass__", "build")))


def test_what_a_package_offers_is_reached_and_what_it_hands_round_is_not():
    offered = {"nets/__init__.py": "from nets.used import Other\n"}
    assert left({**project(), **offered}) == {"Used.sharpen", "blur"}
    deep = {
        "lib/nets/__init__.py": "from .used import Other\n__all__ = ['Other']\n",
        "lib/nets/used.py": USED.format(""),
    }
    assert left({"train.py": TRAIN.format("", "").replace("from nets", "from lib.nets"), **deep}) == REST


def test_what_an_installed_package_gathers_for_others_may_be_used_by_them():
    offers = {"nets/__init__.py": "from .used import Used\n"}
    assert left({**project(), **offers}, packaged=True) == set()
    assert left({**project(), "nets/__init__.py": ""}, packaged=True) == REST


LEFT_OPEN = """
import abc

class Player(abc.ABC):
    @abc.abstractmethod
    def play(self, x):
        ...

class Learner:
    def learn(self, x):
        return x
"""
PLAYS = "from nets.players import Player\n\nclass Mine(Player):\n    def play(self, x):\n        return x\n"


def test_a_file_that_leaves_methods_to_others_is_offered_to_them():
    files = {**project(), "nets/__init__.py": "", "nets/players.py": LEFT_OPEN}
    assert "Learner.learn" not in left(files, packaged=True)
    assert "Learner.learn" in left(files)
    assert "Learner.learn" in left({**files, "nets/mine.py": PLAYS}, packaged=True)
    concrete = LEFT_OPEN.replace("    @abc.abstractmethod\n", "")
    assert "Learner.learn" in left({**files, "nets/players.py": concrete}, packaged=True)


def test_a_program_inside_a_package_is_one_where_the_package_is_not_for_others():
    files = {f"app/{path}": text for path, text in project().items()} | {"app/__init__.py": ""}
    files["app/train.py"] = files["app/train.py"].replace("from nets", "from app.nets")
    assert left(files) == REST
    assert left(files, installed=True) == set()
    assert left({**files, "app/__init__.py": "from app.nets.used import Used"}, packaged=True) == set()


def test_commands_of_a_package():
    command = "from nets.used import blur\n\ndef main():\n    blur(1)\n"
    files = {**project(), "nets/__init__.py": "", "nets/tool.py": command}
    assert "blur" in left(files)  # `main` is not written anywhere
    assert "nets/tool.py" not in left(files)


@pytest.mark.parametrize(
    ("start", "program"),
    [
        ("args = argparse.ArgumentParser().parse_args()", True),
        ("for x in []:\n    blur(x).backward()", True),
        ("blur(1)", False),
        ("def parse():\n    return argparse.ArgumentParser().parse_args()", False),
    ],
)
def test_a_file_of_a_package_that_takes_arguments_or_trains_outside_of_functions_is_a_program(start, program):
    text = f"import argparse\nfrom nets.used import blur\n\n{start}\n"
    files = {**project(), "nets/__init__.py": "", "nets/fit.py": text}
    assert ("nets/fit.py" not in left(files)) is program


@pytest.mark.parametrize(
    ("end", "program"),
    [
        ("device = torch.device('cuda')", False),
        ("train(Used())", True),
        ("model = Used()", True),
        ("import lightning\nlightning.Trainer().fit(net)", True),
    ],
)
def test_a_file_that_only_defines_what_others_call_is_no_program(end, program):
    train = "import torch\nfrom nets.used import Used\n\ndef train(model):\n    model(1).backward()\n\n" + end
    assert ("blur" in left({"train.py": train, "nets/used.py": USED.format("")})) is program


def test_without_a_program_nothing_is_left_over():
    assert left({"nets/used.py": USED.format("")}) == set()
    assert left({"nets/used.py": USED.format(""), "tests/test_used.py": TRAIN.format("", "")}) == set()


def test_what_a_class_asks_itself_for_is_of_its_own_kin():
    twin = "class Twin:\n    def __init__(self):\n        self.step()\n\n    def step(self):\n        pass\n"
    other = "\nclass Apart:\n    def __init__(self):\n        pass\n\n    def step(self):\n        pass\n"
    started = "from nets.twin import Apart, Twin"
    assert left(project(started, "Twin(), Apart()", nets__twin=twin + other)) == {*REST, "Apart.step"}
    base = other.replace("class Apart:", "class Apart(Twin):")
    assert left(project(started, "Twin(), Apart()", nets__twin=twin + base)) == REST
    assert left(project(started, "Twin(), Apart().step()", nets__twin=twin + other)) == REST


def test_mixins_ask_for_what_their_siblings_have():
    mixins = """
class Asks:
    def __init__(self):
        self.step()

class Has:
    def step(self):
        pass

class Both(Asks, Has):
    pass
"""
    assert left(project("from nets.mixins import Both", "Both()", nets__mixins=mixins)) == REST
    apart = mixins.replace("class Both(Asks, Has):\n    pass\n", "def both():\n    return Asks(), Has()\n")
    assert (
        left(project("from nets.mixins import both", "both()", nets__mixins=apart)) == REST
    )  # nobody of its kin has it


def test_a_class_inside_another_may_mean_itself():
    nested = """
class Outer:
    def __init__(self):
        self.inner = Outer.Inner()

    def step(self):
        pass

    class Inner:
        def __init__(self):
            self.step()

        def step(self):
            pass


class Apart:
    def step(self):
        pass
"""
    assert left(project("from nets.n import Outer, Apart", "Outer(), Apart()", nets__n=nested)) == REST


def test_each_branch_may_import_something_else_by_one_name():
    head = """
if DataLoader.kind:
    from nets.used import blur as smooth
else:
    from nets.used import sharper as smooth
"""
    assert left(project(head, "smooth(x)")) == REST - {"blur", "sharper"}
    assert left(project(head, "pass")) == REST, "what is imported and not used"
