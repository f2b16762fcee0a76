"""Whether the backward passes of a step go through one graph."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.autograd.separate_graphs import retained_for_others
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

LOOP = """
    def train(net: nn.Module, critic: nn.Module, loader: DataLoader, opt, state, other):
        for x in loader:
            {statements}
            opt.step()
"""
GIVEN = """
    class Loss:
        def __init__(self, per_sample, module, optimizer):
            self.per_sample, self.module, self.optimizer = per_sample, module, optimizer

        def backward(self, x: torch.Tensor):
            if len(x) == 0:
                raise ValueError("nothing to do")
            whole = {whole}
            whole.backward(retain_graph=True)
            self.optimizer.zero_grad()
            second = (self.module.coefficients() * self.per_sample).sum()
            second.backward()
            self.optimizer.step()
"""
CLASS = """
    class Trainer:
        def first(self):
            self.loss = self.net(self.x).mean()
            self.loss.backward(retain_graph=True)

        def second(self, given):
            {second}

        def step(self, x):
            self.x = x.cuda()
            self.out = self.net(self.x)
            self.first()
            {between}
            self.second(self.out)
            self.opt.step()

        def train(self, loader):
            for x in loader:
                self.step(x)
"""


def found(code):
    files = texts(code)
    return len(list(retained_for_others(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))))


@pytest.mark.parametrize(
    ("statements", "separate"),
    [
        (("a = net(x)", "a.sum().backward(retain_graph=True)", "net(x).mean().backward()"), True),
        (("a = net(x)", "critic(a.detach()).sum().backward(retain_graph=True)", "critic(a).sum().backward()"), True),
        (
            (
                *("a = net(x)", "with torch.no_grad():", "    b = net(x)", "a.sum().backward(retain_graph=True)"),
                "critic(b).sum().backward()",
            ),
            True,
        ),
        (("a = net(x)", "b = a.mean()", "a.sum().backward(retain_graph=True)", "b.backward()"), False),
        (("a = net(x)", "a.sum().backward(retain_graph=True)", "critic(a).sum().backward()"), False),
        (("a, b = net(x)", "a.sum().backward(retain_graph=True)", "b.sum().backward()"), False),
        (
            (
                *("a = net(x)", "if other:", "    b = critic(x)", "else:", "    b = a"),
                *("a.sum().backward(retain_graph=True)", "b.sum().backward()"),
            ),
            False,
        ),
        (
            (
                *("a = [net(x)]", "c = []", "c.append(a[0])", "a[0].sum().backward(retain_graph=True)"),
                "c[0].sum().backward()",
            ),
            False,
        ),
        (("state = net(x, state)", "state.sum().backward(retain_graph=True)", "net(x).mean().backward()"), False),
        (("a = net(x)", "a.sum().backward(retain_graph=True)", "torch.autograd.grad(a.sum(), x)"), False),
        (("a = net(x)", "a.sum().backward(retain_graph=True)", "for y in a:", "    net(y).backward()"), False),
        (("a = net(x)", "a.sum().backward(retain_graph=True)"), False),
        (
            (
                *("if other.ended:", "    break", "a = net(x)", "a.sum().backward(retain_graph=True)"),
                *('other.put("a", lambda f: other.save(f, a))', "net(x).mean().backward()"),
            ),
            True,
        ),
        (("a = net(x)", "b = lambda: a.mean()", "a.sum().backward(retain_graph=True)", "b().backward()"), False),
        (
            ("a = net(x)", "a.sum().backward(retain_graph=True)", "opt.step(lambda: a.mean().backward())"),
            False,
        ),
        (
            (
                *("a = net(x)", "a.sum().backward(retain_graph=True)", "net(x).mean().backward()"),
                *("if other.bad:", "    continue"),
            ),
            False,
        ),
    ],
)
def test_passes_of_one_loop(statements, separate):
    assert found(LOOP.format(statements="\n            ".join(statements))) == separate


@pytest.mark.parametrize(
    ("second", "between", "separate"),
    [
        ("given.sum().backward()", "pass", True),
        ("given.sum().backward()", "self.out = self.out + self.loss", False),
        ("self.net(self.x).sum().backward()", "pass", True),
        ("self.loss.sum().backward()", "pass", False),
        ("self.loss.detach().sum().backward()", "pass", True),
        ("(given.sum() + self.kept).backward()", "self.kept = self.loss", False),
        ("other(self)", "pass", False),
    ],
)
def test_passes_of_methods_that_are_called_one_after_the_other(second, between, separate):
    assert found(CLASS.format(second=second, between=between)) == separate


@pytest.mark.parametrize(
    ("whole", "separate"), [("self.per_sample.mean()", False), ("self.module(torch.zeros(3).cuda()).sum()", True)]
)
def test_what_another_has_computed_may_lie_behind_both_passes_of_a_method(whole, separate):
    assert found(GIVEN.format(whole=whole)) == separate
