"""Narrow integers that are widened before they are copied."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.widened_integers import widened_integers

SET = """\
class {name}(torch.utils.data.Dataset):
    def __getitem__(self, index):
        label = self.labels[index]
        return self.images[index], {item}

"""
TRAIN = """\
def train(model: nn.Module, data, criterion, optimizer, device):
    for images, labels in torch.utils.data.DataLoader(data):
        {copy}
        criterion(model(images), labels).backward()
        optimizer.step()
"""


def _found(*parts: str) -> list[tuple[str, str]]:
    files = texts("".join(parts))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    found = [widened_integers(file, site) for site in file.hot_calls("to", "cuda")]
    return [(each.made, each.times) for each in found if each is not None]


@pytest.mark.parametrize(
    ("item", "copy", "expected"),
    [
        ("label.astype('int32')", "labels = labels.long().cuda()", [("int32", "twice")]),
        ("np.array(label, dtype=np.uint8)", "labels = labels.long().to(device)", [("uint8", "eight times")]),
        ("label.to(torch.int16)", "labels = labels.long().to(device)", [("int16", "four times")]),
        ("label.astype('int64')", "labels = labels.long().cuda()", []),
        ("label", "labels = labels.long().cuda()", []),
        ("label.astype('int32')", "labels = labels.cuda().long()", []),
        ("label.astype('int32')", "labels = labels.float().cuda()", []),
        ("label.astype('int32')", "labels = labels.long().to(torch.float32)", []),
        ("label.astype('int32')", "images = images.long().cuda()", []),
    ],
)
def test_labels_of_a_data_set(item, copy, expected):
    assert _found(SET.format(name="Data", item=item), TRAIN.format(copy=copy)) == expected


def test_data_sets_that_disagree():
    narrow, wide = SET.format(name="A", item="label.astype('int32')"), SET.format(name="B", item="label")
    assert not _found(narrow, wide, TRAIN.format(copy="labels = labels.long().cuda()"))


def test_a_data_set_derived_from_the_narrow_one():
    derived = "class B(A):\n    def pick(self, label):\n        return label\n\n"
    found = _found(
        SET.format(name="A", item="label.astype('int32')"), derived, TRAIN.format(copy="labels.long().cuda()")
    )
    assert len(found) == 1
