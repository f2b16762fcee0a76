"""Optimizers that other functions make, and that a scaler steps."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.optimizers.optimizers_given import optimizers_given
from torchperf_lint.facts.optimizers.scaled_steps import stepped_unfused

MAKERS = """\
from torch.optim import SGD, Adam, AdamW, LBFGS, RMSprop, Rprop

def one(net, cfg) -> Adam:
    if cfg.name == "adam":
        optimizer = Adam(net.parameters(), cfg.lr)
    else:
        raise NotImplementedError
    return optimizer

def several(net, cfg):
    if cfg.name == "adam":
        optimizer = Adam(net.parameters())
    elif cfg.name == "adamw":
        optimizer = AdamW(net.parameters())
    elif cfg.name == "sgd":
        optimizer = SGD(net.parameters(), 0.1)
    else:
        optimizer = RMSprop(net.parameters())
    optimizer.add_param_group({"params": []})
    return optimizer

def pair(net, cfg):
    first = Adam(net.parameters())
    second = SGD(net.parameters(), 0.1)
    return first, second

def rare(net, cfg):
    return {"rprop": 1}.get(cfg.name) or Rprop(net.parameters())

def few(net, cfg):
    if cfg.name == "adam":
        return Adam(net.parameters())
    if cfg.name == "rprop":
        return Rprop(net.parameters())
    return LBFGS(net.parameters())

def chosen(net, cfg):
    return Adam(net.parameters(), foreach=True)

def unpacked(net, cfg):
    return Adam(net.parameters(), **cfg.more)

def unknown(net, cfg):
    if cfg.name == "adam":
        return Adam(net.parameters())
    return getattr(torch.optim, cfg.name)(net.parameters())
"""
TRAIN = """\
import horovod.torch as hvd
from a import *
from a import {names}
from lookahead import Lookahead

def resume(path, optimizer):
    optimizer.load_state_dict(torch.load(path))
    return optimizer

def moved(optimizer, net):
    return net.cuda(), optimizer

def slow(optimizer):
    return Lookahead(optimizer)

def shadowed(optimizer):
    optimizer = Lookahead(optimizer)
    return optimizer

class Slow:
    def __init__(self, optimizer):
        self.optimizer = optimizer

def train(net, optimizer, scaler: torch.amp.GradScaler, loader):
    for x in loader:
        optimizer.zero_grad()
        scaler.scale(net(x).mean()).backward()
        scaler.step(optimizer)
        scaler.update()

def main(net, cfg, loader):
    scaler = torch.amp.GradScaler("cuda")
    {made}
    train(net, opt, scaler, loader)
"""
NAMES = "one, several, pair, rare, few, chosen, unpacked, unknown"


def _stepped(files: dict[str, str]) -> list[tuple[str, str]]:
    given = texts(files)
    file = SourceFile(Project.of_texts(given), "b.py", given["b.py"])
    return [(stepped.made.record.callee, stepped.made.file.path) for stepped in stepped_unfused(file)]


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("opt = one(net, cfg)", [("Adam", "a.py")]),
        ("opt = several(net, cfg)", [("Adam", "a.py")]),
        ("opt, other = pair(net, cfg)", [("Adam", "a.py")]),
        ("other, opt = pair(net, cfg)", [("SGD", "a.py")]),
        ("opt = pair(net, cfg)[1]", []),  # not followed
        ("opt = one(net, cfg); opt = resume('a.pt', opt)", [("Adam", "a.py")]),
        ("opt = one(net, cfg); net, opt = moved(opt, net)", [("Adam", "a.py")]),
        ("opt = one(net, cfg); net, opt = cfg.accelerator.prepare(net, opt)", [("Adam", "a.py")]),
        ("opt = one(net, cfg); opt = Lookahead(opt)", []),
        ("opt = one(net, cfg); opt = hvd.DistributedOptimizer(opt, net)", []),
        ("opt = one(net, cfg); opt = Slow(opt)", []),
        ("opt = one(net, cfg); opt = slow(opt)", []),
        ("opt = one(net, cfg); opt = shadowed(opt)", []),
        ("opt = torch.optim.Adam(net.parameters())", [("torch.optim.Adam", "b.py")]),
        ("opt = torch.optim.Adam(net.parameters(), foreach=False)", []),
        ("opt = rare(net, cfg)", []),
        ("opt = few(net, cfg)", []),
        ("opt = chosen(net, cfg)", []),
        ("opt = unpacked(net, cfg)", []),
        ("opt = unknown(net, cfg)", []),
        ("opt = elsewhere(net, cfg)", []),
        ("opt = one(net, cfg)\n    train(net, given(), scaler, loader)", []),  # one of two callers
    ],
)
def test_made_by_another_function(made, found):
    assert _stepped({"a.py": MAKERS, "b.py": TRAIN.format(names=NAMES, made=made)}) == found


def test_who_says_how_to_update_somewhere_has_thought_of_it():
    makers = MAKERS + "\nNOTE = 'a fused one is slower here'\n"
    assert _stepped({"a.py": makers, "b.py": TRAIN.format(names=NAMES, made="opt = one(net, cfg)")}) == []


CLASS = """\
from a import one

class Trainer:
    def __init__(self, net, optimizer, loader):
        self.net, self.loader = net, loader
        self.optimizer = optimizer
        self.own = one(net, None)
        self.scaler = torch.amp.GradScaler("cuda")

    def train(self):
        for x in self.loader:
            self.scaler.scale(self.net(x).mean()).backward()
            self.scaler.step(self.{held})
            self.scaler.update()

def main(net, cfg, loader):
    Trainer(net, {given}, loader).train()
"""


@pytest.mark.parametrize(
    ("held", "given", "count"),
    [
        ("own", "None", 1),
        ("optimizer", "one(net, cfg)", 1),
        ("optimizer", "net", 0),
        ("optimizer", "elsewhere(cfg)", 0),
        ("other", "one(net, cfg)", 0),
    ],
)
def test_held_by_an_object(held, given, count):
    assert len(_stepped({"a.py": MAKERS, "b.py": CLASS.format(held=held, given=given)})) == count


def test_each_place_once():
    files = texts({"a.py": MAKERS, "b.py": TRAIN.format(names=NAMES, made="opt = several(net, cfg)")})
    project = Project.of_texts(files)
    file = SourceFile(project, "b.py", files["b.py"])
    (step,) = (call for call in file.outline.calls if call.callee == "scaler.step")
    made = optimizers_given(project, "b.py", step.function, "optimizer")
    assert [one.dotted.rpartition(".")[2] for one in made] == ["Adam", "AdamW", "SGD", "RMSprop"]
