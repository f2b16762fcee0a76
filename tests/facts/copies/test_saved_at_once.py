"""Copies to the host that a file gets in the same turn."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.copies.saved_at_once import saved_at_once
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

CODE = """
import pickle

def extract(model, loader, folder, log):
    model.cuda()
    for step, x in enumerate(loader):
        found = model(x.cuda())
        kept = found.cpu().numpy()
        {rest}
"""


@pytest.mark.parametrize(
    ("rest", "saved"),
    [
        ("np.save(f'{folder}/{step}', kept)", True),
        ("for i, row in enumerate(kept): np.save(f'{folder}/{i}', row)", True),
        ("row = kept[0]; torch.save({'row': row}, folder)", True),
        ("kept.tofile(folder)", True),
        ("if step % 100 == 0: np.save(f'{folder}/{step}', kept)", False),
        ("np.save(f'{folder}/{step}', x)", False),
        ("log.save(kept)", False),
        ("np.save(folder, found.cpu())", True),
        ("log.save(found.cpu())", False),
        ("picture = Image.fromarray(kept); picture.save(folder)", True),
        ("picture = Image.fromarray(kept)\n        if step % 100 == 0: picture.save(folder)", False),
        ("print(kept)", False),
    ],
)
def test_what_a_turn_writes(rest, saved):
    files = texts(CODE.format(rest=rest))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    *_, site = file.hot_calls("cpu")
    assert saved_at_once(file, site) is saved
