"""Lists that batches fill with rows on the device, which are copied one by one later."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.reads import conversions_in_loops, copies_in_loops, one_copy

TEXT = """\
def trim(hidden, mask):
    kept = []
    for row, m in zip(hidden, mask):
        kept.append(row[: len(m)])
    return kept


@torch.no_grad()
def encode(model: nn.Module, loader: DataLoader, order):
    model.cuda().eval()
    rows = []
    for x, lengths in loader:
        out = model(x.cuda(non_blocking=True)).float()
        {fill}
{read}
"""


def advice(fill, read):
    """What the reads after the loop should give way to."""
    files = texts(TEXT.format(fill=fill, read=indent(read, " " * 4)))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [one_copy(file, r.read) for r in (*copies_in_loops(file), *conversions_in_loops(file))]


@pytest.mark.parametrize("read", ["return [r.cpu().numpy() for r in rows]", "for r in rows:\n    print(r.tolist())"])
@pytest.mark.parametrize("fill", ["rows.extend(out.split(lengths))", "rows.extend(out)", "rows.extend(trim(out, x))"])
def test_rows_are_copied_one_by_one(fill, read):
    (found,) = advice(fill, read)
    assert "once a batch" in found


def test_another_order_changes_nothing():
    assert advice("rows.extend(out)", "rows = [rows[i] for i in order]\nreturn [r.cpu() for r in rows]")


@pytest.mark.parametrize("fill", ["rows.append(out)", "rows.extend(out.cpu())", "rows.extend(lengths.tolist())"])
def test_what_is_there_once_a_batch_or_on_the_host_is_fine(fill):
    assert advice(fill, "return [r.cpu() for r in rows]") == []
