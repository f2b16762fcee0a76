"""What a file is asked before any rule looks at it."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

TEXT = "import torch\nx[i] = torch.ones(3)\nf(a ,b)\n"


@pytest.mark.parametrize(
    ("triggers", "answer"),
    [
        (("orch.on",), True),
        (("] = ",), True),
        (("]=",), False),
        (("(a,b",), False),
        (("a b",), False),
        ((".item(", "import torch"), True),
        (("torch.ones(3)f",), False),
    ],
)
def test_a_trigger_is_mentioned_where_the_text_holds_it(triggers, answer):
    file = SourceFile(Project.of_texts({"a.py": TEXT}), "a.py", TEXT)
    assert file.mentions(triggers) is answer is any(trigger in TEXT for trigger in triggers)
