"""Loaders that are made anew where a pass has ended."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.own_loaders import never_pinned
from torchperf_lint.facts.loaders.rebuilt_at_end import rebuilt_at_end

ENDLESS = """
def endless(ds, size, other):
    batches = iter(DataLoader(ds, size))
    while True:
        try:
            {body}
        except {ends}:
            {handler}
"""
REBUILT = "batches = iter(DataLoader(ds, size))"


def found(fact, snippet):
    files = texts(snippet)
    return list(fact(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))


@pytest.mark.parametrize(
    ("body", "ends", "handler", "expected"),
    [
        ("yield next(batches)", "StopIteration", REBUILT, 1),
        ("x = next(batches)", "StopIteration", f"{REBUILT}\n            x = next(batches)", 1),
        ("yield next(batches)", "StopIteration", "batches = iter(other)", 0),
        ("yield next(batches)", "StopIteration", f"size += 1\n            {REBUILT}", 0),
        ("yield next(batches)", "StopIteration", f"if other:\n                {REBUILT}", 0),
        ("yield next(batches)", "OSError", REBUILT, 0),
        ("yield other()", "StopIteration", REBUILT, 0),
    ],
)
def test_a_loader_made_in_the_handler(body, ends, handler, expected):
    assert len(found(rebuilt_at_end, ENDLESS.format(body=body, ends=ends, handler=handler))) == expected


@pytest.mark.parametrize(
    ("base", "parameters", "passed", "expected"),
    [
        ("DataLoader", "ds, workers", "ds, num_workers=workers", 1),
        ("DataLoader", "ds, workers", "ds, num_workers=workers, pin_memory=True", 0),
        ("DataLoader", "ds, workers, pin", "ds, num_workers=workers", 0),
        ("DataLoader", "ds", "ds", 0),
        ("DataLoader", "ds, **others", "ds, num_workers=4, **others", 0),
        ("Other", "ds, workers", "ds, num_workers=workers", 0),
    ],
)
def test_a_class_of_loaders_that_never_pin(base, parameters, passed, expected):
    snippet = f"""
    from elsewhere import Other

    class Mine({base}):
        def __init__(self, {parameters}):
            super().__init__({passed})
    """
    assert len(found(never_pinned, snippet)) == expected
