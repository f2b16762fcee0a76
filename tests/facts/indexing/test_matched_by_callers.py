"""Indices of a matcher that several functions hand on before they are used."""

from __future__ import annotations

import ast
from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.host_indices import host_indices

CODE = """
    from scipy.optimize import linear_sum_assignment

    class Matcher(nn.Module):
        def forward(self, outputs, targets):
            costs = outputs["logits"].cpu()
            found = [linear_sum_assignment(c) for c in costs]
            return [(torch.as_tensor(i), torch.as_tensor(j)) for i, j in found]

    def build_matcher(args):
        return Matcher()

    class Criterion(nn.Module):
        def __init__(self, matcher, losses):
            super().__init__()
            self.matcher, self.losses = matcher, losses

        def rows_of(self, pairs):
            rows = torch.cat([i for i, _ in pairs])
            return torch.cat([torch.full_like(i, n) for n, (i, _) in enumerate(pairs)]), rows{moved}

        def get_loss(self, kind, outputs, targets, pairs, **kwargs):
            losses = {{"labels": self.loss_labels}}
            return losses[kind](outputs, targets, pairs, **kwargs)

        def forward(self, outputs, targets):
            pairs = {pairs}
            found = [self.get_loss(kind, outputs, targets, pairs) for kind in self.losses]
            for each in outputs["others"]:
                pairs = self.matcher(each, targets)
                found += [self.get_loss(kind, each, targets, pairs) for kind in self.losses]
            return found

        def loss_labels(self, outputs, targets, pairs):
            logits = outputs["logits"]
            wanted = torch.zeros(logits.shape[:2], device=logits.device)
"""
END = """
def build(args):
    matcher = build_matcher(args)
    return Criterion(matcher, ["labels"])
"""
USES = "at = self.rows_of(pairs)\nwanted[at] = 1\nreturn (logits.log_softmax(-1)[at] * wanted[at]).mean()"


def told(uses=USES, pairs="self.matcher(outputs, targets)", moved=""):
    code = CODE.format(pairs=pairs, moved=moved) + indent(uses, " " * 12) + "\n" + indent(END, " " * 4)
    files = texts(code)
    found = host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    return [ast.unparse(index.spot.expression) for index in found]


def test_what_a_far_matcher_found():
    assert told() == ["at", "at", "at"]
    several = "wanted[0] = 1\nreturn [(logits.log_softmax(-1)[i], wanted[0][i]) for i, _ in pairs]"
    assert "i" in told(several)


@pytest.mark.parametrize(
    ("pairs", "moved"),
    [
        ("[(i.cuda(), j.cuda()) for i, j in self.matcher(outputs, targets)]", ""),
        ("self.matcher(outputs, targets)", ".cuda()"),
    ],
)
def test_what_some_caller_moves(pairs, moved):
    assert told(pairs=pairs, moved=moved) == []


def test_of_callers_one_of_which_nobody_knows_the_other_tells():
    assert told(pairs="outputs['pairs']") == ["at", "at", "at"]


def test_one_use_is_one_copy():
    assert told("at = self.rows_of(pairs)\nreturn logits.log_softmax(-1)[at].mean()") == []
