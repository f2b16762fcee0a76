"""Where the old spellings of mixed precision are imported, told once beside the first use."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.processes.amp import legacy_uses
from torchperf_lint.facts.processes.amp_imports import first_of_imports

TOP = "from torch.cuda.amp import GradScaler, autocast\n\n"


@pytest.mark.parametrize(
    ("snippet", "lines"),
    [
        (f"{TOP}with autocast():\n    s = GradScaler()\nwith autocast():\n    pass", [0, 0, None]),
        ("import torch.cuda.amp as amp\n\n\ns = amp.GradScaler()", [0]),
        ("from torch.cuda import amp\n\n\ndef f():\n    return amp.GradScaler()", [0]),
        ("def f():\n    from torch.cuda.amp import autocast\n\n    with autocast():\n        pass", [1]),
        ("s = torch.cuda.amp.GradScaler()", [None]),
        ("from apex import amp\namp.initialize(m, o)", [None]),
        ("try:\n    from torch.cuda.amp import GradScaler\nexcept ImportError:\n    class GradScaler: ...\n"
         "s = GradScaler()", [1]),
    ],
)  # fmt: skip
def test_an_import_belongs_to_the_first_use_of_its_name(snippet, lines):
    files = texts(snippet)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    first = files["a.py"].split("\n").index(snippet.split("\n")[0]) + 1
    found = [statement and statement.lineno - first for _, statement in first_of_imports(list(legacy_uses(file)))]
    assert found == lines
