"""Hot calls of functions that only bring a tensor to the host."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.copies.reading_helpers import helper_reads, hot_callers
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

HELPER = """
def to_array(data):
    if isinstance(data, np.ndarray):
        return data
    return data.detach().cpu().numpy()


@torch.no_grad()
def evaluate(model, loader: DataLoader, seen):
    for x in loader:
        seen.append(to_array(model(x.cuda())))

"""
TRAIN = """
class Margin(nn.Module):
    def forward(self, x, meter, step=0):
        loss = F.relu(x).mean()
        {}
        return loss
"""


def found(helper, line):
    """What hot calls of the helper are handed."""
    files = texts(helper + TRAIN.format(line))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [file.brief(read.operand) for read in helper_reads(file)]


def test_a_hot_call_is_told_of():
    assert found(HELPER, "meter.add(to_array(loss))") == ["loss"]


def test_a_helper_may_name_the_host():
    assert found(HELPER.replace(".cpu()", ".to('cpu')"), "meter.add(to_array(loss))") == ["loss"]
    assert found(HELPER.replace(".cpu()", ".to(data)"), "meter.add(to_array(loss))") == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return data.detach().cpu().numpy()", "return data.detach().numpy()"),
        ("return data.detach().cpu().numpy()", "print(data.cpu())"),
        ("to_array", "to_image"),
    ],
)
def test_other_helpers(before, after):
    assert found(HELPER.replace(before, after), "meter.add(to_array(loss))".replace(before, after)) == []


@pytest.mark.parametrize("line", ["if step % 10 == 0: to_array(loss)", "meter.add(array(loss))"])
def test_other_calls(line):
    assert found(HELPER, line) == []


def test_where_the_helper_is_known_its_copy_names_the_calls():
    files = texts("def to_host(x):\n    return x.cpu()\n" + TRAIN.format("meter.add(to_host(loss))"))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert helper_reads(file) == ()
    copy = next(iter(file.hot_calls("cpu")))
    assert [file.lines[caller.call.line - 1].strip() for caller in hot_callers(file, copy)] == [
        "meter.add(to_host(loss))"
    ]
