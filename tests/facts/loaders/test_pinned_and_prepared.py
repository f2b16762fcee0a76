"""Loaders that pin their batches and are given to accelerate."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.pinned_and_prepared import pinned_and_prepared

MAIN = """\
from accelerate import Accelerator
from torch.utils.data import DataLoader

from loading import build_loader

def main(data, options):
    accelerator = Accelerator()
    loader = {loader}
    loader = {prepare}(loader)
"""
BUILT = """\
from torch.utils.data import DataLoader

def build_loader(data, sampler=None, **options):
    if sampler is not None:
        return DataLoader(data, batch_sampler=sampler, pin_memory=True)
    return DataLoader(data, pin_memory={pinned}, **options)
"""
PREPARE = "accelerator.prepare"


@pytest.mark.parametrize(
    ("loader", "prepare", "pinned", "paths"),
    [
        ("DataLoader(data, pin_memory=True)", PREPARE, "True", ["a.py"]),
        ("DataLoader(data, pin_memory=options.pin)", PREPARE, "True", []),
        ("build_loader(data, data.sampler)", PREPARE, "True", ["loading.py", "loading.py"]),
        ("build_loader(data) if options.plain else build_loader(data, 3)", PREPARE, "True", ["loading.py"] * 2),
        ("build_loader(data)", PREPARE, "False", []),
        ("build_loader(data)", PREPARE, "options['pin']", []),
        ("build_loader(data)", "other.prepare", "True", []),
        ("build_loader(data)", "list", "True", []),
        ("data", PREPARE, "True", []),
    ],
)
def test_what_is_prepared(loader, prepare, pinned, paths):
    main = MAIN.format(loader=loader, prepare=prepare)
    files = texts({"a.py": main, "loading.py": BUILT.format(pinned=pinned)}, imports="")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [path for path, _, _ in pinned_and_prepared(file)] == paths
