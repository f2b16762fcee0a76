"""Which files may run in one process."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.call_graph.together import Together
from torchperf_lint.facts.files.project import Project

PACKAGE = {
    "pkg/__init__.py": "from .models import Net\n",
    "pkg/models.py": "class Net: ...\n",
    "pkg/data/__init__.py": "",
    "pkg/data/loaders.py": "from ..models import Net\n",
    "pkg/data/unused.py": "",
    "tools/train.py": "from pkg.data.loaders import make\nimport options\n",
    "tools/options.py": "",
    "tools/test.py": "import options\nimport torch.utils.data\n",
    "alone.py": "import torch\nfrom torch.utils.data import DataLoader\n",
    "stars.py": "from pkg.data.unused import *\n",
    "parts.py": "import pkg.data.unused\n",
}
TRAIN = {"tools/train.py", "tools/options.py", "pkg/__init__.py", "pkg/models.py", "pkg/data/__init__.py"} | {
    "pkg/data/loaders.py"
}


def beside(path, texts=PACKAGE):
    project = Project.of_texts(texts)
    return Together(project.index, lambda: project.hotness.callers).with_file(path)


@pytest.mark.parametrize(
    ("path", "files"),
    [
        ("alone.py", {"alone.py"}),
        ("tools/test.py", {"tools/test.py", "tools/options.py"}),
        ("tools/train.py", TRAIN),
        ("tools/options.py", TRAIN | {"tools/test.py"}),
        ("stars.py", {"stars.py", "pkg/data/unused.py", "pkg/data/__init__.py", "pkg/__init__.py", "pkg/models.py"}),
    ],
)
def test_files_that_something_imports_together(path, files):
    assert set(beside(path)) == files


def test_the_order_is_that_of_the_project():
    assert beside("tools/train.py") == sorted(TRAIN)


def test_of_a_package_imported_by_its_first_name_any_part_may_be_meant():
    assert "pkg/data/loaders.py" in beside("parts.py")


def test_both_ways_from_what_is_imported():
    assert "parts.py" in beside("pkg/models.py")


def test_a_module_beside_the_package_that_imports_from_itself():
    texts = {"pkg/__init__.py": "", "pkg/a.py": "from . import b\n", "pkg/b.py": "", "pkg/c.py": ""}
    assert beside("pkg/a.py", texts) == ["pkg/__init__.py", "pkg/a.py", "pkg/b.py"]


def test_what_is_called_without_an_import():
    texts = {
        "main.py": "def run(engine):\n    engine.fit_whole()\n",
        "plain.py": "class Engine:\n    def fit_whole(self):\n        pass\n",
        "other.py": "",
    }
    assert beside("plain.py", texts) == beside("main.py", texts) == ["main.py", "plain.py"]
