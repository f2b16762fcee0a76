"""What names mean across files: imports in all their forms, re-exports, classes with their bases."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.outlines.outline import outline
from torchperf_lint.facts.syntax.canonical import canonical


def index_of(files):
    return Index({path: outline(path, text) for path, text in texts(files, imports="").items()})


def named(index, thing):
    """A thing in words: `function data.py:make`."""
    if thing is None or thing.kind == "external":
        return thing and f"external {thing.dotted}"
    if thing.kind == "module":
        return f"module {thing.path}"
    outlined = index.outlines[thing.path]
    records = outlined.functions if thing.kind == "function" else outlined.classes
    return f"{thing.kind} {thing.path}:{records[thing.index].qualname}"


def denotes(files, name, path="main.py"):
    index = index_of(files)
    return named(index, index.member(path, name))


MAKE = "def make():\n    pass\n\nclass Net:\n    pass"

# -- imports ---------------------------------------------------------------------------------------

IMPORTS = {
    "a function": ({"data.py": MAKE, "main.py": "from data import make"}, "make", "function data.py:make"),
    "a class": ({"data.py": MAKE, "main.py": "from data import Net"}, "Net", "class data.py:Net"),
    "an alias": ({"data.py": MAKE, "main.py": "from data import make as m"}, "m", "function data.py:make"),
    "a module": ({"data.py": MAKE, "main.py": "import data"}, "data", "module data.py"),
    "a module by alias": ({"pkg/data.py": MAKE, "main.py": "import pkg.data as d"}, "d", "module pkg/data.py"),
    "a module from a package": ({"pkg/data.py": MAKE, "main.py": "from pkg import data"}, "data", "module pkg/data.py"),
    "from a package's file": (
        {"pkg/data.py": MAKE, "main.py": "from pkg.data import make"},
        "make",
        "function pkg/data.py:make",
    ),
    "a package": (
        {"pkg/__init__.py": MAKE, "main.py": "from pkg import make"},
        "make",
        "function pkg/__init__.py:make",
    ),
    "src": ({"src/pkg/data.py": MAKE, "main.py": "from pkg.data import make"}, "make", "function src/pkg/data.py:make"),
    "src, from tests": (
        {"src/pkg/data.py": MAKE, "tests/main.py": "from pkg.data import make"},
        "make",
        "function src/pkg/data.py:make",
    ),
    "a sibling before a namesake above": (
        {"data.py": "x = 1", "pkg/data.py": MAKE, "pkg/main.py": "from data import make"},
        "make",
        "function pkg/data.py:make",
    ),
    "a folder above": ({"data.py": MAKE, "a/b/main.py": "from data import make"}, "make", "function data.py:make"),
    "relative": ({"pkg/data.py": MAKE, "pkg/main.py": "from .data import make"}, "make", "function pkg/data.py:make"),
    "a relative module": ({"pkg/data.py": MAKE, "pkg/main.py": "from . import data"}, "data", "module pkg/data.py"),
    "relative, one up": (
        {"pkg/data.py": MAKE, "pkg/sub/main.py": "from ..data import make"},
        "make",
        "function pkg/data.py:make",
    ),
    "relative, a module one up": (
        {"pkg/data.py": MAKE, "pkg/sub/main.py": "from .. import data"},
        "data",
        "module pkg/data.py",
    ),
    "relative, from the package itself": (
        {"pkg/__init__.py": MAKE, "pkg/main.py": "from . import make"},
        "make",
        "function pkg/__init__.py:make",
    ),
    "relative, at the root": ({"data.py": MAKE, "main.py": "from .data import make"}, "make", "function data.py:make"),
    "relative, nowhere": ({"main.py": "from .data import make"}, "make", None),
    "inside a function": (
        {"data.py": MAKE, "main.py": "def f():\n    from data import make"},
        "make",
        "function data.py:make",
    ),
    "conditional": (
        {"data.py": MAKE, "main.py": "try:\n    from data import make\nexcept ImportError:\n    make = None"},
        "make",
        "function data.py:make",
    ),
    "a definition of its own": (
        {"data.py": MAKE, "main.py": "from data import make\n\ndef make():\n    pass"},
        "make",
        "function main.py:make",
    ),
    "external": ({"main.py": "from torch import nn"}, "nn", "external torch.nn"),
    "external by alias": ({"main.py": "import torch.nn.functional as F"}, "F", "external torch.nn.functional"),
    "a file that is called like an external module": (
        {"torch.py": "from torch import nn"},
        "nn",
        "external torch.nn",
    ),
    "a library in a package that has a part of the same name": (
        {
            "pkg/models/__init__.py": "",
            "pkg/models/torch/__init__.py": "x = 1",
            "pkg/models/main.py": "from torch import nn",
        },
        "nn",
        "external torch.nn",
    ),
    "a module of Python in a package that has a part of the same name": (
        {"pkg/__init__.py": "", "pkg/typing.py": "x = 1", "pkg/main.py": "from typing import NamedTuple"},
        "NamedTuple",
        "external typing.NamedTuple",
    ),
    "a folder of scripts that has one of the same name": (
        {"tools/queue.py": MAKE, "tools/main.py": "from queue import make"},
        "make",
        "function tools/queue.py:make",
    ),
    "a folder of scripts that is called like a library": (
        {"datasets/__init__.py": MAKE, "main.py": "from datasets import make"},
        "make",
        "function datasets/__init__.py:make",
    ),
    "unknown names": ({"data.py": MAKE, "main.py": "from data import missing"}, "missing", None),
    "no such name": ({"main.py": "x = 1"}, "y", None),
}


@pytest.mark.parametrize(("files", "name", "expected"), IMPORTS.values(), ids=IMPORTS)
def test_what_an_imported_name_denotes(files, name, expected):
    path = next(p for p in files if p.endswith("main.py") or p == "torch.py")
    assert denotes(files, name, path) == expected


REEXPORTS = {
    "through __init__": (
        {"pkg/__init__.py": "from .data import make", "pkg/data.py": MAKE, "main.py": "from pkg import make"},
        "function pkg/data.py:make",
    ),
    "through two": (
        {
            "pkg/__init__.py": "from .sub import make",
            "pkg/sub/__init__.py": "from .data import build as make",
            "pkg/sub/data.py": "def build():\n    pass",
            "main.py": "from pkg import make",
        },
        "function pkg/sub/data.py:build",
    ),
    "through a plain module": (
        {"a.py": "from b import make", "b.py": MAKE, "main.py": "from a import make"},
        "function b.py:make",
    ),
    "of external names": (
        {"a.py": "from torch import zeros as make", "main.py": "from a import make"},
        "external torch.zeros",
    ),
    "of a star": (
        {"pkg/__init__.py": "from .data import *", "pkg/data.py": MAKE, "main.py": "from pkg import make"},
        "function pkg/data.py:make",
    ),
    "a star here": ({"data.py": MAKE, "main.py": "from data import *"}, "function data.py:make"),
    "stars in a row": (
        {"a.py": "from b import *", "b.py": "from c import *", "c.py": MAKE, "main.py": "from a import *"},
        "function c.py:make",
    ),
    "the second star": (
        {"a.py": "x = 1", "data.py": MAKE, "main.py": "from a import *\nfrom data import *"},
        "function data.py:make",
    ),
    "a star of a relative package": (
        {"main.py": "from pkg import make", "pkg/__init__.py": "from .sub import *", "pkg/sub.py": MAKE},
        "function pkg/sub.py:make",
    ),
    "a cycle": ({"a.py": "from b import make", "b.py": "from a import make", "main.py": "from a import make"}, None),
    "a cycle of stars": ({"a.py": "from b import *", "b.py": "from a import *", "main.py": "from a import *"}, None),
    "a cycle with a way out": (
        {
            "a.py": "from b import *",
            "b.py": "from a import *\nfrom c import make",
            "c.py": MAKE,
            "main.py": "from a import make",
        },
        "function c.py:make",
    ),
    "of itself": ({"a.py": "from a import make", "main.py": "from a import make"}, None),
}


@pytest.mark.parametrize(("files", "expected"), REEXPORTS.values(), ids=REEXPORTS)
def test_reexports_are_followed(files, expected):
    found = denotes(files, "make")
    assert found == expected or (expected is None and found is not None and found.startswith("external"))


@pytest.mark.parametrize("first", ["a.py", "b.py", "main.py"])
def test_a_cycle_gives_the_same_answer_whoever_asks_first(first):
    files = {
        "a.py": "from b import *",
        "b.py": "from a import *\nfrom c import make",
        "c.py": MAKE,
        "main.py": "from a import make",
    }
    index = index_of(files)
    index.member(first, "make")
    assert named(index, index.member("main.py", "make")) == "function c.py:make"


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("from .Net import Net", "class nets/Net.py:Net"),
        ("from nets.Net import Net", "class nets/Net.py:Net"),
        ("from . import Net", "module nets/Net.py"),
        ("from .other import Net", "class nets/other.py:Net"),
        ("", "module nets/Net.py"),
    ],
)
def test_what_a_package_has_by_the_name_of_its_module_hides_the_module(start, expected):
    files = {"nets/__init__.py": start, "nets/Net.py": MAKE, "nets/other.py": MAKE, "main.py": "from nets import Net"}
    assert denotes(files, "Net") == expected
    assert denotes(files | {"main.py": "from nets.Net import Net"}, "Net") == "class nets/Net.py:Net"


@pytest.mark.parametrize(
    ("start", "imported", "expected"),
    [
        ("", "from nets import Net", "class lib/nets/nets.py:Net"),  # the folder itself is on the path of modules
        ("import torch", "from nets import Net", None),
        ("", "from nets import other", "module lib/nets/other.py"),
        ("", "from nets import missing as Net", None),
    ],
)
def test_a_package_with_nothing_in_it_stands_for_its_module_of_the_same_name(start, imported, expected):
    files = {"lib/nets/__init__.py": start, "lib/nets/nets.py": MAKE, "lib/nets/other.py": MAKE}
    files |= {"lib/main.py": imported}
    assert denotes(files, imported.split()[-1], "lib/main.py") == expected


def test_submodules_of_a_package_without_an_init_are_modules():
    index = index_of({"pkg/data.py": MAKE, "main.py": "import pkg.data"})
    assert index.module("pkg.data", "main.py") == "pkg/data.py"
    assert index.module("pkg.missing", "main.py") is None


def test_a_root_that_is_a_package_is_imported_by_its_own_name():
    files = {"__init__.py": "", "data.py": MAKE, "sub/main.py": "import pkg.data\nimport other.data"}
    outlines = {path: outline(path, text) for path, text in files.items()}
    inside = Index(outlines, root="pkg")
    assert inside.module("pkg.data", "sub/main.py") == "data.py"
    assert inside.module("pkg", "sub/main.py") == "__init__.py"
    assert inside.module("other.data", "sub/main.py") is None
    assert Index(outlines, root="torch").module("torch.data", "sub/main.py") is None


def test_a_module_does_not_import_itself_by_its_name():
    index = index_of({"pkg/logging.py": "import logging", "main.py": "x = 1"})
    assert named(index, index.member("pkg/logging.py", "logging")) == "external logging"


# -- classes ---------------------------------------------------------------------------------------

CLASSES = {
    "base.py": """
        import torch
        from torch import nn

        class Base(nn.Module):
            def forward(self, x):
                pass

            def shared(self):
                pass
        """,
    "main.py": """
        from typing import Generic
        import base
        from base import Base

        class Child(Base):
            def forward(self, x):
                pass

        class Other(base.Base, Generic[int]):
            pass

        class Grandchild(Child):
            def forward(self, x):
                pass

        class Loop(Loop):
            pass

        class Odd(make_base()):
            pass
        """,
}


def the_class(index, name, path="main.py"):
    position = next(i for i, record in enumerate(index.outlines[path].classes) if record.name == name)
    return Thing("class", path, position)


@pytest.mark.parametrize(
    ("name", "ancestry"),
    [
        ("Child", ["class main.py:Child", "class base.py:Base", "external torch.nn.Module"]),
        ("Other", ["class main.py:Other", "class base.py:Base", "external torch.nn.Module", "external typing.Generic"]),
        (
            "Grandchild",
            ["class main.py:Grandchild", "class main.py:Child", "class base.py:Base", "external torch.nn.Module"],
        ),
        ("Loop", ["class main.py:Loop"]),
        ("Odd", ["class main.py:Odd"]),
    ],
)
def test_the_ancestry_of_a_class(name, ancestry):
    index = index_of(CLASSES)
    assert [named(index, thing) for thing in index.ancestry(the_class(index, name))] == ancestry


def test_methods_are_found_in_bases_and_overridden_in_children():
    index = index_of(CLASSES)
    forward = index.method(the_class(index, "Child"), "forward")
    assert forward is not None and forward.path == "main.py"
    inherited = index.method(the_class(index, "Other"), "forward")
    assert inherited is not None and inherited.path == "base.py"
    assert index.method(the_class(index, "Child"), "shared") == index.method(
        the_class(index, "Base", "base.py"), "shared"
    )
    assert index.method(the_class(index, "Child"), "missing") is None


def test_overrides_are_those_of_all_descendants():
    index = index_of(CLASSES)
    base = index.method(the_class(index, "Base", "base.py"), "forward")
    assert base is not None
    found = [f"{key.path}:{index.function(key).qualname}" for key in index.overrides(base)]
    assert found == ["base.py:Base.forward", "main.py:Child.forward", "main.py:Grandchild.forward"]


def test_a_plain_function_has_no_overrides():
    index = index_of({"main.py": MAKE})
    key = FunctionKey("main.py", 1)
    assert index.overrides(key) == [key]


def test_external_bases_pass_through_the_project():
    index = index_of(CLASSES)
    assert index.external_bases(the_class(index, "Grandchild")) == ("torch.nn.Module",)
    assert index.external_bases(the_class(index, "Odd")) == ()


def test_the_class_of_a_method_and_of_what_is_nested_in_it():
    index = index_of(
        {"main.py": "class A:\n    def f(self):\n        def g():\n            pass\n\ndef h():\n    pass"}
    )
    names = {f.name: i for i, f in enumerate(index.outlines["main.py"].functions)}
    assert named(index, index.class_of("main.py", names["f"])) == "instance main.py:A"
    assert named(index, index.class_of("main.py", names["g"])) == "instance main.py:A"
    assert index.class_of("main.py", names["h"]) is None
    assert index.class_of("main.py", 0) is None


# -- names of torch --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dotted", "expected"),
    [
        ("torch.utils.data.dataloader.DataLoader", "torch.utils.data.DataLoader"),
        ("torch.nn.modules.Module", "torch.nn.Module"),
        ("torch.optim.optimizer.Optimizer", "torch.optim.Optimizer"),
        ("pytorch_lightning.LightningModule", "lightning.LightningModule"),
        ("lightning.pytorch.LightningModule", "lightning.LightningModule"),
        ("pytorch_lightning.callbacks.Callback", "lightning.Callback"),
        ("torch.zeros", "torch.zeros"),
        ("numpy.zeros", "numpy.zeros"),
        ("torch.optim.Adam().step", "torch.optim.Adam().step"),
    ],
)
def test_names_have_one_spelling(dotted, expected):
    assert canonical(dotted) == expected


@pytest.mark.parametrize(
    ("code", "mentions"),
    [
        ("x.cuda()", True),
        ("x.to(d)", True),
        ("import torch\nd = torch.device('cuda')", True),
        ("from lightning import LightningModule", True),
        ("import accelerate", True),
        ("import torch\ndef f(x):\n    return torch.zeros(3, device=x.device)", True),
        ("import torch\ndef f(x):\n    where = x.device\n    return torch.zeros(3, device=where)", True),
        ("import torch\ndef f(x):\n    where = x.devices", False),
        ("from pml import common as c\nc.to_device(x, device=d)", True),
        ("import numpy\ndef f(x):\n    return x.device", False),
        ("x = 1", False),
        ("import torch\nx = torch.zeros(3)", False),
        ("import accelerated", False),
        ("def f(accelerator, model):\n    return accelerator.prepare(model)", True),
        ("def f(storage):\n    return storage.prepare()", False),
        ("import torch\nseen = torch.cuda.is_available()", True),
        ("import torch.distributed as td\nseen = td.is_available()", False),
        ("import torch\n\ndef f(x):\n    kind = torch.cuda.FloatTensor\n    return x.type(kind)", True),
        ("import torch\n\ndef f(x):\n    kind = torch.FloatTensor\n    return x.type(kind)", False),
    ],
)
def test_whether_a_project_uses_an_accelerator(code, mentions):
    assert index_of({"main.py": code}).text_mentions_device is mentions


def test_the_order_of_files_does_not_matter():
    items = [(path, outline(path, text)) for path, text in texts(CLASSES, imports="").items()]
    one, other = Index(dict(items)), Index(dict(reversed(items)))
    assert list(one.outlines) == list(other.outlines)
    assert one.subclasses == other.subclasses


def test_a_package_that_is_the_root_itself_imports_its_own_parts_by_its_name():
    outlines = index_of(
        {"nets/parts.py": MAKE, "main.py": "from pkg.nets.parts import Net\nimport pkg.nets.parts"}
    ).outlines
    assert named(Index(outlines, root="pkg"), Index(outlines, root="pkg").member("main.py", "Net")) == (
        "class nets/parts.py:Net"
    )
    assert Index(outlines, root="other").module("pkg.nets.parts", "main.py") is None
    assert Index(outlines, root="torch").module("torch.nets.parts", "main.py") is None  # the library, whoever else


def test_each_link_of_a_long_chain_of_classes_is_read_a_few_times(monkeypatch):
    count = 200
    chain = "".join(f"class C{n}(C{n - 1}):\n    pass\n" for n in range(1, count))
    index = index_of({"main.py": f"class C0:\n    pass\n{chain}"})
    asked = []
    bases = index.bases
    monkeypatch.setattr(index, "bases", lambda cls: asked.append(cls) or bases(cls))
    for n in reversed(range(count)):
        assert len(list(index.ancestry(the_class(index, f"C{n}")))) == n + 1
    assert len(asked) <= 4 * count


@pytest.mark.parametrize(
    ("importer", "others", "found"),
    [
        ("import sys\nsys.path.append('models')\nimport helper\n", (), "lib/models/helper.py"),
        ("import helper\n", (), None),
        ("import _init_paths\nimport helper\n", (), "lib/models/helper.py"),
        ("import _init_paths\nimport models.helper\n", (), "lib/models/helper.py"),
        ("import sys\nsys.path.append('models')\nimport helper\n", ("lib/other/helper.py",), None),
    ],
)
def test_a_file_that_adds_to_the_path_finds_the_only_module_of_a_name(importer, others, found):
    paths = "import sys\nsys.path.insert(0, 'lib')\n"
    files = {
        "train.py": importer,
        "_init_paths.py": paths,
        "lib/models/helper.py": "x = 1\n",
        **dict.fromkeys(others, ""),
    }
    name = "models.helper" if "models.helper" in importer else "helper"
    assert index_of(files).module(name, "train.py") == found


def test_no_library_is_taken_for_a_folder_of_its_name():
    files = {"train.py": "import sys\nsys.path.append('a')\nimport torch\n", "a/__init__.py": "", "a/torch.py": ""}
    assert index_of(files).module("torch", "train.py") is None


# -- of the whole project --------------------------------------------------------------------------

CALLABLES = """
import torch
from tools import scale as s

class Net:
    def run(self, fn):
        self.act = torch.relu
        return fn(torch.zeros(1)).sum()

def make(device):
    net = Net()
    net.device = device
    net.inner.size, width = device.index, 2
"""


OWN = "Net make s self.act fn net.act self net.run Net.from_pretrained tools.scale make() fn()[0]".split()


@pytest.mark.parametrize("callee", OWN)
def test_chains_that_may_end_in_something_of_the_project(callee):
    """A definition, a binding, an import; a parameter by itself."""
    assert index_of({"main.py": CALLABLES, "tools.py": "def scale():\n    pass"}).own_names.may_end(callee)


@pytest.mark.parametrize("callee", ["torch.zeros", "x.sum", "relu", "torch.zeros()", "x.fn", "x.width"])
def test_chains_that_end_in_what_only_libraries_have(callee):
    """Nor in what a function calls its own: `x.width` is no local `width`."""
    assert not index_of({"main.py": CALLABLES, "tools.py": "def scale():\n    pass"}).own_names.may_end(callee)


def test_attributes_of_other_objects():
    """What is set of anything but `self`, by its name alone."""
    found = index_of({"main.py": CALLABLES}).attributes_of_others
    assert {"device", "size"} <= found
    assert "act" not in found


FAMILY = """
class Base:
    def run(self): pass

class Left(Base):
    def run(self): pass

class Below(Left):
    pass

class Other:
    def run(self): pass
"""


@pytest.mark.parametrize(
    ("cls", "expected"),
    [("Base", {"Base.run", "Left.run"}), ("Left", {"Left.run"}), ("Below", {"Left.run"}), ("Other", {"Other.run"})],
)
def test_methods_that_objects_of_a_class_may_run(cls, expected):
    """The class's own or inherited one, and the overrides of the classes below."""
    index = index_of({"main.py": FAMILY})
    own = index.member("main.py", cls)
    assert {index.function(key).qualname for key in index.run_below(own, "run")} == expected
    assert index.run_below(own, "walk") == frozenset()


def test_an_alias_of_a_type_is_the_class_that_it_stands_for():
    """`Rows: TypeAlias = torch.Tensor` binds the class, and no object of the class `TypeAlias`."""
    text = "import typing as t\nimport torch\nRows: t.TypeAlias = torch.Tensor\nkept: Rows = make()\n"
    bound = [(b.target, b.value) for b in outline("main.py", text).bindings]
    assert bound == [("Rows", "torch.Tensor"), ("kept", ":Rows"), ("kept", "make()")]


TWO_BRANCHES = """
if new:
    class Base:
        pass

    class Derived(Base):
        pass
else:
    class Base:
        pass

    class Derived(Base):
        pass

class Derived(Derived):
    pass
"""


def test_a_class_derives_from_the_namesake_above_it():
    index = index_of({"a.py": TWO_BRANCHES})
    classes = index.outlines["a.py"].classes
    lines = {
        record.line: [classes[base.index].line for base in index.bases(Thing("class", "a.py", number))]
        for number, record in enumerate(classes)
    }
    assert lines == {2: [], 5: [2], 8: [], 11: [8], 14: [11]}
