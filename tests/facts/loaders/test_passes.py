"""What is known to be a loader, and which `next(...)` begins a pass for one batch."""

from __future__ import annotations

import pytest
from snippets import IMPORTS, texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.passes import known_loader, pass_for_one_batch, varies
from torchperf_lint.model import Confidence


def sites(snippet, callee):
    files = texts(snippet, f"from typing import Any, Iterable\n{IMPORTS}")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return list(file.hot_calls(callee))


def train(body, parameters="model, loader: DataLoader"):
    lines = "\n".join(f"            {line}" for line in body.strip().splitlines())
    return f"""
    def train({parameters}, steps, others):
        for i in range(steps):
{lines}
            model(x).mean().backward()
"""


@pytest.mark.parametrize(
    ("body", "begins"),
    [
        ("x = next(iter(loader))", True),
        ("x, y = next(iter(loader), None)", True),
        ("it = iter(loader)\nx = next(it)", True),
        ("it = loader.__iter__()\nwith torch.autograd.set_detect_anomaly(True):\n    x = next(it)", True),
        ("if i == 3:\n    it = iter(loader)\nx = next(it)", False),
        ("it = iter(loader)\nfor _ in range(99):\n    x = next(it)", False),
        ("it = iter(loader)\nx = next(it)\nrest = list(it)", False),
        ("x = next(loader)", False),
        ("x = next(iter(model.parameters()))", False),
        ("x = next(iter([i, steps]))", False),
        ("x = next(iter(loader.dataset))", False),
        ("x = next(iter(others))", False),
    ],
)
def test_a_pass_for_one_batch(body, begins):
    found = sites(train(body), "next")
    assert found
    assert [pass_for_one_batch(site) is not None for site in found] == [begins]


@pytest.mark.parametrize(
    ("name", "confidence"),
    [
        ("train_loader", Confidence.LIKELY),
        ("valid_dl", Confidence.LIKELY),
        ("dataLoader", Confidence.LIKELY),
        ("loader2", Confidence.LIKELY),
        ("loader_a", Confidence.LIKELY),
        ("loaders", None),
        ("loader_cls", None),
        ("loader_kwargs", None),
        ("batches", None),
        ("order", None),
        ("dataloaders", None),
        ("shuffled", None),
    ],
)
def test_loaders_by_name(name, confidence):
    (site,) = sites(train(f"x = next(iter({name}))", f"model, {name}"), "next")
    value = known_loader(site, site.call.args[0].args[0])
    assert (value.confidence if value else None) == confidence


def test_a_loader_by_value_needs_no_name():
    (site,) = sites(train("x = next(iter(it_is))", "model, it_is: DataLoader"), "next")
    value = known_loader(site, site.call.args[0].args[0])
    assert value is not None
    assert value.confidence is Confidence.CERTAIN


def test_what_is_known_not_to_be_a_loader_keeps_its_name_for_itself():
    (site,) = sites(train("a_loader = [1, 2]\nx = next(iter(a_loader))"), "next")
    assert known_loader(site, site.call.args[0].args[0]) is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x = next(iter(loader))", False),
        ("mine = DataLoader(others[i])\nx = next(iter(mine))", True),
        ("x = next(iter(DataLoader(others[i])))", True),
        ("for one_loader in others:\n    x = next(iter(one_loader))", False),
        ("for one_loader in others[i]:\n    x = next(iter(one_loader))", True),
    ],
)
def test_what_each_turn_sets_anew(body, expected):
    (site,) = sites(train(body), "next")
    begun = pass_for_one_batch(site)
    assert begun is not None
    assert varies(site, begun.loader) is expected


@pytest.mark.parametrize(
    ("annotation", "known"), [("Iterable", True), ("Any", True), ("list", False), ("dict[str, int]", False)]
)
def test_an_annotation_that_says_little_leaves_the_name_its_word(annotation, known):
    (site,) = sites(train("x = next(iter(my_loader))", f"model, my_loader: {annotation}"), "next")
    assert (known_loader(site, site.call.args[0].args[0]) is not None) is known
