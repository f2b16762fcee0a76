"""What answers a request without gradients, and what it calls."""

from __future__ import annotations

import pytest
from snippets import marked, texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.hotness.hot import Hot

PIPELINE = """
    class Pipeline:
        def prepare(self, n):
            return torch.zeros(n, 3).to(self.device)  # <-

        @torch.no_grad()
        def __call__(self, prompts):
            return self.net(self.prepare(len(prompts)))
"""


def served_at(snippet: str | dict[str, str]) -> Hot | None:
    """Why the marked line runs with each request."""
    files = texts(snippet)
    project = Project.of_texts(files)
    path, position = marked(files)
    assert project.hotness.at(path, position) is None
    return project.hotness.served.at(path, project.hotness.innermost(path, position))


def test_what_a_request_calls_is_told_with_the_calls():
    hot = served_at(PIPELINE)
    assert hot is not None
    assert hot.when == "for every call of `Pipeline.__call__`"
    assert hot.because == (
        "`Pipeline.__call__` (line 13) computes without gradients, once for each request; "
        "called at line 14 by `Pipeline.__call__`"
    )


@pytest.mark.parametrize("name", ["generate", "sample", "predict_proba", "encode_image"])
def test_methods_that_answer_are_known_by_their_names(name):
    assert served_at(PIPELINE.replace("__call__", name)) is not None


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        ("@torch.no_grad()\n", "@timed\n"),  # may train
        ("__call__", "evaluate"),  # a whole data set
        ("__call__", "benchmark"),
    ],
)
def test_what_is_no_request(what, instead):
    assert served_at(PIPELINE.replace(what, instead)) is None


def test_a_guard_on_the_way_holds_it_back():
    guarded = "if self.debug:\n                return self.net(self.prepare(1))\n            return self.net(prompts)"
    assert served_at(PIPELINE.replace("return self.net(self.prepare(len(prompts)))", guarded)) is None


def test_what_sets_up_is_no_part_of_the_answer():
    assert served_at(PIPELINE.replace("prepare", "set_timesteps")) is None


def test_a_program_answers_nobody_else():
    started = PIPELINE + "\n    if __name__ == '__main__':\n        Pipeline()('a')\n"
    assert served_at(started) is None


def test_functions_that_call_each_other_come_to_an_end():
    tree = """
        class Tree:
            def left(self, n):
                return self.right(n - 1)

            def right(self, n):
                x = torch.zeros(3).to(self.device)  # <-
                return self.left(n) + x
    """
    assert served_at(tree) is None
