"""Whether a loop changes a tensor, also by a view or another name of it."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.constants.tracing import changed_in
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

CODE = """
def train(clip, out, table, key, log, ops):
    {before}
    for j in range(3):
        {inside}
"""


def is_changed(before: str, inside: str, whole: str = "clip") -> bool:
    files = texts(CODE.format(before=before, inside=inside))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    function = next(i for i, made in enumerate(file.outline.functions) if made.name == "train")
    (loop,) = (node for node in file.enclosing(function).parents if isinstance(node, ast.For) and node.body)
    return changed_in(file, function, loop, ast.parse(whole, mode="eval").body, trained=False)


@pytest.mark.parametrize(
    ("before", "inside"),
    [
        ("pass", "clip.mul_(0.9)"),
        ("pass", "clip.data.mul_(0.9)"),
        ("pass", "clip.data *= 0.9"),
        ("pass", "clip.data = clip * 0.9"),
        ("pass", "clip.data[0] = 0.9"),
        ("pass", "clip[0][j] = 0.9"),
        ("pass", "clip.detach().view(-1)[j] = 0.9"),
        ("pass", "clip.T[0].mul_(0.9)"),
        ("pass", "ops.count(clip.view(-1))"),
        ("pass", "torch.add(clip, 1, out=clip.view(-1))"),
        ("flat = clip.view(-1)", "flat.mul_(0.9)"),
        ("flat = clip.view(-1)", "flat *= 0.9"),
        ("flat = clip.view(-1)", "flat[j] = 0.9"),
        ("flat = clip.view(-1)", "flat.data.mul_(0.9)"),
        ("flat: torch.Tensor = clip.data", "flat.mul_(0.9)"),
        ("log((flat := clip.view(-1)))", "flat.mul_(0.9)"),
        ("flat = clip\n    first = flat[0]", "first.zero_()"),
        ("low, high = clip.chunk(2)", "high.zero_()"),
        ("low, high = table, clip[1]", "high.zero_()"),
        ("log.flat = clip.view(-1)", "log.flat.zero_()"),
        ("pass", "row = clip[j]; row.zero_()"),
        ("pass", "[row] = clip[j:]; row[0] = 1"),
    ],
)
def test_what_is_written_by_way_of_a_view_is_changed(before: str, inside: str):
    assert is_changed(before, inside)


@pytest.mark.parametrize(
    ("before", "inside"),
    [
        ("wide = clip + 1", "wide.mul_(0.9)"),
        ("wide = clip.clone()", "wide.mul_(0.9)"),
        ("flat = clip.view(-1)", "flat = flat * 0.9"),
        ("flat = clip.view(-1)", "table[flat[j]] = 1"),
        ("low, high = table, clip[1]", "low.zero_()"),
        ("pass", "clip.view(-1).mul(0.9)"),
        ("pass", "clip.grad = None"),
        ("log.clip = clip", "log.lines += 1"),
        ("pass", "row = clip[j]; ops.save(row)"),
    ],
)
def test_what_is_made_anew_of_it_is_not_it(before: str, inside: str):
    assert not is_changed(before, inside)


def test_another_entry_of_a_dict_is_another_tensor():
    assert not is_changed("pass", "out['scores'][j] = 1", "out['boxes']")
    assert is_changed("pass", "out['boxes'][j] = 1", "out['boxes']")
    assert is_changed("pass", "out[key][j] = 1", "out['boxes']")


def test_the_attribute_data_of_an_object_is_no_view_of_the_object():
    assert not is_changed("pass", "self.data[0] = 1", "self.rows")
    assert is_changed("pass", "self.data[0] = 1", "self.data")
