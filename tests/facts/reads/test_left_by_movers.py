"""Entries of batches that a project's own movers leave on the host."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.reads.left_by_movers import left_by_movers

LOOP = """\
def {name}(batch, device):
    for key in batch:
        {test}
            {body}
        {rest}
    return batch
"""
MOVE = "batch[key] = batch[key].to(device)"


def left(code):
    return left_by_movers(Project.of_texts(texts(code)))


@pytest.mark.parametrize(
    ("test", "body", "rest", "keys"),
    [
        ("if key == 'meta':", "continue", MOVE, {"meta"}),
        ("if key in ('meta', 'name'):", "continue", MOVE, {"meta", "name"}),
        ("if key != 'meta':", MOVE, "pass", {"meta"}),
        ("if key not in ['meta']:", MOVE, "pass", {"meta"}),
        ("if key == 'image':", MOVE, "pass", set()),
        ("if key == 'meta':", "pass", f"else: {MOVE}", {"meta"}),
        ("if key == 'x':", MOVE, f"else: {MOVE}", set()),
        ("if key == name:", "continue", MOVE, set()),
        ("if key == 'meta':", "continue", "pass", set()),
    ],
)
def test_by_a_loop(test, body, rest, keys):
    assert left(LOOP.format(name="to_cuda", test=test, body=body, rest=rest)) == keys


def test_of_functions_that_move_by_their_name():
    given = {"test": "if key == 'meta':", "body": "continue", "rest": MOVE}
    assert left(LOOP.format(name="move_to_device", **given)) == {"meta"}
    assert left(LOOP.format(name="collate", **given)) == set()


def test_by_a_choice():
    code = """
def to_cuda(batch):
    if isinstance(batch, dict):
        return {k: (to_cuda(v) if k != "meta" else v) for k, v in batch.items()}
    return batch.cuda()
"""
    assert left(code) == {"meta"}
    assert left(code.replace("!=", "==")) == set()


def test_a_device_is_no_key():
    code = """
def to_device(batch, device):
    if device != "cpu":
        batch = batch.to(device)
    return {k: v for k, v in batch.items()}
"""
    assert left(code) == set()
