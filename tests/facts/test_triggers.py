"""Triggers that a text cannot hold are told from its words; what it may hold is sought in the text itself."""

import random

import pytest

from torchperf_lint import catalog
from torchperf_lint.facts.project import Project
from torchperf_lint.facts.source import SourceFile
from torchperf_lint.facts.triggers import Triggers
from torchperf_lint.rule import SourceRule

TEXT = "from torch import nn\nfor x in loader:\n    loss = F.soft_max_loss(x).item()\n    naïve_cpu = x.cpu()\n"


@pytest.mark.parametrize(
    ("trigger", "is_there"),
    [
        (".item(", True),
        ("item", True),
        ("oader", True),
        ("max_loss(", True),
        ("from torch", True),
        ("x.cpu()", True),
        ("ve_cpu", True),
        ("ï", True),
        ("(x)", True),
        ("x", True),
        ("t nn\n", True),
        ("+=", False),
        ("[", False),
        ("items", False),
        ("item_", False),
        (".item)", False),
        ("loaders", False),
        ("(loss", False),
        ("import n(", False),
        ("from torch import nn, optim", False),
        ("numpy", False),
    ],
)
def test_whether_a_text_holds_a_trigger(trigger: str, is_there: bool) -> None:
    project = Project.of_texts({"a.py": TEXT, "b.py": "item = x.numpy()"})
    for path in ("a.py", "b.py", "a.py"):  # sought first, then learnt
        text = project.text(path)
        assert SourceFile(project, path, text).mentions((trigger,)) is (is_there if path == "a.py" else trigger in text)


@pytest.mark.parametrize("learnt_late", [False, True])
def test_only_what_is_not_there_is_absent_whatever_was_read_before(learnt_late: bool) -> None:
    rules = (rule for rule in catalog.rule_classes() if issubclass(rule, SourceRule))
    known = sorted({trigger for rule in rules for trigger in rule.triggers})
    triggers, seed = Triggers(), random.Random(0)
    for number in range(200):
        for trigger in known[number::200] if learnt_late else known if not number else ():
            triggers.learn(trigger)
        text = "".join(seed.choice(("", "_", " ", "(", "\n", "é")) + seed.choice(known) for _ in range(20))
        assert not [trigger for trigger in triggers.absent(text) if trigger in text]


def test_what_a_trigger_has_before_and_behind_a_word_counts() -> None:
    triggers = Triggers()
    for trigger in (".to(", "to(", "gc.", "import gc", "'dp'", "okeniz", "f'", "**2"):
        triggers.learn(trigger)
    absent = triggers.absent("import gcc\nagc.x = tokenizer.move_to(dpo)")
    assert list(absent) == [".to(", "'dp'", "f'", "**2"]
    assert list(triggers.absent("self")) == [".to(", "to(", "gc.", "import gc", "'dp'", "okeniz", "**2"]


def test_an_answer_is_the_callers_own() -> None:
    triggers = Triggers()
    triggers.learn("pin_memory")
    triggers.absent("a")["more"] = True
    assert triggers.absent("a") == {"pin_memory": False}
