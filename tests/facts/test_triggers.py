"""Triggers that a text cannot hold are told from its words; what it may hold is sought in the text itself."""

import random

import pytest

from torchperf_lint import catalog
from torchperf_lint.facts.project import Project
from torchperf_lint.facts.source import SourceFile
from torchperf_lint.facts.triggers import NO_TRIGGERS, Triggers
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
        ("+=", False),
        ("[", False),
        ("x", True),
        ("items", False),
        ("item_", False),
        (".item)", False),
        ("loaders", False),
        ("from torch import nn, optim", False),
        ("numpy", False),
    ],
)
def test_whether_a_text_holds_a_trigger(trigger: str, is_there: bool) -> None:
    project = Project.of_texts({"a.py": TEXT})
    for triggers in (NO_TRIGGERS, Triggers([trigger]), Triggers([trigger, "item", "zero_grad("])):
        assert SourceFile(project, "a.py", TEXT, triggers=triggers).mentions((trigger,)) is is_there


def test_only_what_is_not_there_is_absent_whatever_was_read_before() -> None:
    rules = (rule for rule in catalog.rule_classes() if issubclass(rule, SourceRule))
    known = sorted({trigger for rule in rules for trigger in rule.triggers})
    triggers, seed = Triggers(known), random.Random(0)
    for _ in range(200):
        text = "".join(seed.choice(("", "_", " ", "(", "\n", "é")) + seed.choice(known) for _ in range(20))
        assert not [trigger for trigger in triggers.absent(text) if trigger in text]


def test_most_triggers_are_absent_from_a_small_text() -> None:
    assert Triggers([".item(", "zero_grad(", "pin_memory"]).absent("loss.item()") == {
        "zero_grad(": False,
        "pin_memory": False,
    }


def test_an_answer_is_the_callers_own() -> None:
    triggers = Triggers(["pin_memory"])
    triggers.absent("a")["more"] = True
    assert triggers.absent("a") == {"pin_memory": False}
