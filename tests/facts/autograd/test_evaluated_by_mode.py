"""Evaluation passes through a function that trains as well, by what a call gives it."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.autograd.evaluated_by_mode import evaluated_by_mode
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

METHOD = """\
class Trainer:
    def __init__(self, model: nn.Module, optimizer, criterion, loader, valid):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.loader, self.valid = loader, valid

    def run_epoch(self, loader, {parameter}):
        for x, y in loader:
            {forward}
            if {test}:
                loss.backward()
                self.optimizer.step()

    def fit(self):
        for epoch in range(9):
            self.model.train()
            self.run_epoch(self.loader, {training})
            {mode}
            {evaluation}
"""
FORWARD = "loss = self.criterion(self.model(x), y)"
EVAL = "self.model.eval()"


def _found(text: str) -> list[str]:
    files = texts(text)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [found.flag for found in evaluated_by_mode(file)]


GIVEN = "self.run_epoch(self.valid, False)"
UNDER = f"with torch.set_grad_enabled(train): {FORWARD}"


@pytest.mark.parametrize(
    ("parameter", "test", "training", "evaluation", "flags"),
    [
        ("mode='train'", "mode == 'train'", "'train'", "self.run_epoch(self.valid, mode='val')", ["mode == 'train'"]),
        ("train", "train", "True", GIVEN, ["train"]),
        ("train=True", "train and x is not None", "True", GIVEN, ["train"]),
        ("opt=None", "opt is not None", "self.optimizer", "self.run_epoch(self.valid)", ["opt is not None"]),
        ("train=True", "train", "True", "self.run_epoch(self.valid, epoch > 3)", []),  # not known
        ("train=True", "train", "True", "self.run_epoch(self.valid, True)", []),
        ("train=True", "y is not None", "True", GIVEN, []),
        ("train", "train", "True", f"with torch.no_grad(): {GIVEN}", []),
        ("train", "train", "True", "torch.no_grad()(self.run_epoch)(self.valid, False)", []),
    ],
)
def test_what_a_call_gives(parameter, test, training, evaluation, flags):
    given = {"parameter": parameter, "test": test, "training": training, "evaluation": evaluation}
    assert _found(METHOD.format(forward=FORWARD, mode=EVAL, **given)) == flags


@pytest.mark.parametrize(
    ("forward", "mode", "count"),
    [
        (FORWARD, EVAL, 1),
        (FORWARD, "pass", 0),  # in training mode still
        (UNDER, EVAL, 0),
        ("loss = self.criterion(x, y)", EVAL, 0),
        (f"loss = 0\n            if train:\n                {FORWARD}", EVAL, 0),
    ],
)
def test_what_the_method_does(forward, mode, count):
    given = {"parameter": "train", "test": "train", "training": "True", "evaluation": GIVEN}
    assert len(_found(METHOD.format(forward=forward, mode=mode, **given))) == count


BESIDE = """
    def explain(self, loss):
        {does}

    def shown(self, loss):
        self.explain(loss)
"""


@pytest.mark.parametrize(
    ("forward", "does", "count"),
    [
        (f"{FORWARD}; self.explain(loss)", "loss.backward(retain_graph=True)", 0),
        (f"{FORWARD}; self.shown(loss)", "self.maps = torch.autograd.grad(loss, self.inputs)", 0),
        (f"{FORWARD}; self.explain(loss)", "print(loss.detach())", 1),
        (f"{FORWARD}; force = grad(loss, x)[0]", "pass", 0),
        (f"{FORWARD}; self.optimizer.zero_grad()", "pass", 1),
    ],
)
def test_gradients_that_the_loop_uses_in_any_case(forward, does, count):
    given = {"parameter": "train", "test": "train", "training": "True", "evaluation": GIVEN}
    assert len(_found(METHOD.format(forward=forward, mode=EVAL, **given) + BESIDE.format(does=does))) == count


FUNCTION = """\
def run(model: nn.Module, loader, criterion, optimizer=None):
    {mode}
    for x, y in loader:
        loss = criterion(model(x), y)
        if optimizer is not None:
            loss.backward()
            optimizer.step()

{decorator}
def main(net: nn.Module, other: nn.Module, train_loader, valid_loader, criterion, optimizer):
    for epoch in range(9):
        net.train()
        run(net, train_loader, criterion, optimizer)
        {before}
        run(net, valid_loader, criterion)
"""


@pytest.mark.parametrize(
    ("mode", "decorator", "before", "count"),
    [
        ("pass", "", "net.eval()", 1),
        ("model.train() if optimizer is not None else model.eval()", "", "pass", 1),
        ("pass", "", "other.eval()", 0),
        ("pass", "", "net.eval(); net.train()", 0),
        ("pass", "@torch.no_grad()", "net.eval()", 0),
        ("for p in model.parameters(): p.requires_grad_(False)", "", "net.eval()", 0),
    ],
)
def test_a_function(mode, decorator, before, count):
    assert len(_found(FUNCTION.format(mode=mode, decorator=decorator, before=before))) == count


WHOLE = """\
class Trainer:
    def __init__(self, net: nn.Module, optimizer):
        self.net, self.optimizer = net, optimizer

    def maybe(self, train):
        return nullcontext() if train else other_mode()

    def train_on(self, loss):
        loss.backward()

    def run_epoch(self, loader, train=True):
        total, kept = 0, []
        with {context}:
            for x, y in loader:
                out = self.net(x)
                loss = F.cross_entropy(out, y)
                {turn}
                if train:
                    loss.backward()
                    self.optimizer.step()
                {otherwise}
        {end}

    def fit(self, loader, valid):
        self.run_epoch(loader)
        self.net.eval()
        with {around}:
            self.run_epoch(valid, train=False)
"""


def _whole(context="open('log')", turn="pass", otherwise="pass", end="pass", around="open('log')") -> int:
    given = {"context": context, "turn": turn, "otherwise": otherwise, "end": end, "around": around}
    return len(_found("from contextlib import nullcontext\n" + WHOLE.format(**given)))


@pytest.mark.parametrize(
    ("turn", "end", "count"),
    [
        ("total += loss.item()", "return total", 1),
        ("total += float(loss)", "return {'loss': total}", 1),
        ("kept.append(out.detach().cpu())", "return torch.cat(kept)", 1),
        ("total += (out.argmax(1) == y).sum()", "return total / len(loader)", 1),
        ("total = total + loss", "return total", 0),
        ("total += loss.float()", "return {'loss': total}", 0),
        ("kept.append(out)", "return torch.cat(kept)", 0),
        ("kept.append(loss)", "pass", 1),
        ("measure, count = self.measure(out, y); kept.append(measure)", "return sum(kept)", 1),
        ("more = self.weigh(loss)", "return more", 0),
        ("kept.append(out.view(-1))", "return torch.cat(kept)", 0),
        ("yield out", "pass", 0),
        ("self.last = loss", "pass", 0),
        ("self.last['loss'] = loss", "pass", 0),
        ("self.last = loss.item()", "pass", 1),
    ],
)
def test_who_gets_the_graph(turn, end, count):
    assert _whole(turn=turn, end=end) == count


@pytest.mark.parametrize(
    ("otherwise", "count"),
    [
        ("self.optimizer.zero_grad()", 1),
        ("self.train_on(loss)", 0),
        ("if not train: self.train_on(loss)", 0),
        ("if train: self.train_on(loss)", 1),
        ("if not train: loss_scaler(loss, self.optimizer)", 0),
    ],
)
def test_other_backward_passes(otherwise, count):
    assert _whole(otherwise=otherwise) == count


@pytest.mark.parametrize(
    ("context", "around", "count"),
    [
        ("torch.autocast('cuda')", "nullcontext()", 1),
        ("self.maybe(train)", "nullcontext()", 0),
        ("torch.autocast('cuda')", "self.maybe(False)", 0),
        ("loader.mode", "nullcontext()", 0),
    ],
)
def test_contexts_that_may_switch(context, around, count):
    assert _whole(context=context, around=around) == count
