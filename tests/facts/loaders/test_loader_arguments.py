"""What a call that makes a loader passes."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.loader_arguments import workers
from torchperf_lint.facts.syntax.arguments import unpacks


def site_of(made):
    snippet = f"""
    COUNT = 4

    def loader_of(data, args, none=0, some=2, any_number=None, **more):
        chosen = args.workers
        return DataLoader({made})
    """
    files = texts(snippet)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (site,) = file.calls_of("torch.utils.data.DataLoader")
    return site


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("data", None),
        ("data, num_workers=0", None),
        ("data, num_workers=none", None),
        ("data, num_workers=None", None),
        ("data, num_workers=4", (4, "4")),
        ("data, 8, True, None, None, 3", (3, "3")),
        ("data, num_workers=COUNT", (4, "COUNT")),
        ("data, num_workers=some", (2, "some")),
        ("data, num_workers=chosen", (None, "chosen")),
        ("data, num_workers=args.workers", (None, "args.workers")),
        ("data, num_workers=any_number", (None, "any_number")),
    ],
)
def test_workers(made, expected):
    assert workers(site_of(made)) == expected


@pytest.mark.parametrize(("made", "expected"), [("data", False), ("data, **more", True), ("*args", True)])
def test_what_nobody_sees(made, expected):
    assert unpacks(site_of(made).call) is expected
