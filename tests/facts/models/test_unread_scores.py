"""Scores that `generate` is asked to keep and that nothing reads."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.models.unread_scores import unread_scores

ASKED = "return_dict_in_generate=True, output_scores=True"
CALLED = "def f(model, ids, see):\n    out = model.generate(ids, {})\n    {}\n"
SETTINGS = "def f(model, ids, see):\n    how = {}\n    out = model.generate(ids, **how)\n    {}\n"


def found(snippet: str) -> list[str]:
    files = texts(snippet)
    return [one.read for one in unread_scores(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))]


@pytest.mark.parametrize(
    ("asked", "then", "read"),
    [
        (ASKED, "return out.sequences[0]", ["all that is read of the result is `sequences`"]),
        (ASKED, 'see(out["sequences"])', ["all that is read of the result is `sequences`"]),
        (ASKED, "return out[0]", ["all that is read of the result is `[0]`"]),
        (ASKED, "return out.sequences, out.scores", []),
        (ASKED, "return model.compute_transition_scores(out.sequences, out.scores)", []),
        (ASKED, "return out.sequences_scores", []),
        (ASKED, "return out", []),
        ("output_scores=True", "return out[0]", []),
        ("return_dict_in_generate=True, output_scores=see", "return out.sequences", []),
    ],
)
def test_a_call(asked, then, read):
    assert found(CALLED.format(asked, then)) == read


@pytest.mark.parametrize(
    ("settings", "then", "many"),
    [
        (f"dict({ASKED})", "return out.sequences", 1),
        (f"GenerationConfig({ASKED}, num_beams=4)", "return out.sequences", 1),
        ('{"return_dict_in_generate": True, "output_scores": True}', "return out.sequences", 1),
        ('{"return_dict_in_generate": False, "output_scores": True}', "return out.sequences", 0),
        (f"dict({ASKED})", "return out", 0),
        (f"dict({ASKED})", "return out.sequences, see(out.sequences).scores", 0),
        (f"other({ASKED})", "return out.sequences", 0),
    ],
)
def test_settings(settings, then, many):
    assert len(found(SETTINGS.format(settings, then))) == many


def test_settings_that_nothing_here_generates_with():
    assert found(f"how = dict({ASKED})") == []


def test_settings_handed_on_to_what_drops_the_result():
    assert found(f"def f(m, ids):\n    def g(**how):\n        m.generate(**how)\n    g(**dict({ASKED}))") == [
        "nothing of the result is read"
    ]
