"""Target networks and averages that are blended on a cadence."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.optimizers.parameter_loops import updates

BLEND = """\
def {name}(target: nn.Module, source: nn.Module, {share}):
    for q, p in zip(target.parameters(), source.parameters()):
        q.data.copy_(q.data * (1 - {share}) + p.data * {share})

"""
AGENT = """\
class Agent:
    def __init__(self, net: nn.Module, target: nn.Module, loader, period=2):
        self.net, self.target, self.loader, self.steps = net, target, loader, 0
        self.optimizer = torch.optim.Adam(net.parameters())
        self.interval = {interval}

    def follow(self):
        {follow}

    def train(self):
        for x in self.loader:
            self.steps += 1
            self.net(x).sum().backward()
            self.optimizer.step()
            if {test}:
                {call}
"""
DIRECT = "update(self.target, self.net, 0.005)"
EVERY = "self.steps % self.interval == 0"


def _whens(name: str, share: str, follow: str, test: str, call: str, interval: str = "2") -> list[str]:
    agent = AGENT.format(follow=follow.replace("update", name), test=test, call=call, interval=interval)
    files = texts(BLEND.format(name=name, share=share) + agent.replace(f" {DIRECT}", f" {name}{DIRECT[6:]}"))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [update.spot.hot.when for update in updates(file)]


@pytest.mark.parametrize(
    ("name", "share", "follow", "test", "call", "interval", "found"),
    [
        ("soft_update", "tau", "pass", EVERY, DIRECT, "2", True),
        ("soft_update", "tau", DIRECT, EVERY, "self.follow()", "2", True),
        ("soft_target_update", "rate", f"with torch.no_grad():\n            {DIRECT}", EVERY, "self.follow()", "2", 1),
        ("soft_update", "tau", DIRECT, EVERY, "self.follow()", "1000", False),
        ("soft_update", "tau", DIRECT, "self.steps % 500 == 0", "self.follow()", "2", False),
        ("soft_update", "tau", f"if self.steps % 9 == 0:\n            {DIRECT}", EVERY, "self.follow()", "2", False),
        ("update_ema", "rate", "pass", EVERY, DIRECT, "2", True),
        ("update_model_average", "beta", "pass", f"self.steps > 9 and {EVERY}", DIRECT, "2", True),
        ("update_ema", "rate", "pass", EVERY, DIRECT, "100", False),
        ("soft_update", "tau", DIRECT, EVERY, "self.follow()", "period", True),
        ("soft_update", "tau", DIRECT, EVERY, "self.follow()", "period  # n = 1000", True),
        ("soft_update", "tau", DIRECT, EVERY, "self.follow()", "10_000", False),
        ("soft_update", "tau", DIRECT, EVERY, "self.follow()", "given()", True),  # not seen: the share is small
        ("soft_update", "tau", DIRECT, EVERY, "self.follow()", "loader.interval", True),
        ("soft_update", "tau", DIRECT, EVERY, "self.follow()", "2; self.interval = 5000", False),
        ("soft_update", "tau", DIRECT, "self.steps % max(self.interval // 2, 1) == 0", "self.follow()", "2", True),
        ("soft_update", "tau", DIRECT, "self.steps % len(self.loader) == 0", "self.follow()", "2", False),
        ("soft_update", "tau", DIRECT, "self.steps % loader['every'] == 0", "self.follow()", "2", True),
        ("update_ema", "decay", "pass", EVERY, DIRECT, "given()", False),  # `decay` is no small share
        ("refresh", "rate", DIRECT, EVERY, "self.follow()", "2", False),  # by no name an average that is kept up
    ],
)
def test_on_a_cadence(name, share, follow, test, call, interval, found):
    whens = _whens(name, share, follow, test, call, interval)
    assert bool(whens) == bool(found)
    assert all("self.steps %" in when for when in whens)


@pytest.mark.parametrize(
    ("parameter", "given", "found"),
    [
        ("every=2", "", True),
        ("every=2", ", every=4", True),
        ("every=2", ", every=5000", False),
        ("every=2", ", **net.options", False),
        ("every=10000", "", False),
        ("every", ", 2", True),
        ("every", "", False),
    ],
)
def test_an_interval_that_is_a_parameter(parameter, given, found):
    train = f"""\
def train(net: nn.Module, ema: nn.Module, loader, optimizer, {parameter}):
    for i, x in enumerate(loader):
        net(x).sum().backward()
        optimizer.step()
        if i % every == 0:
            soft_update(ema, net, 0.5)

def other(n):
    for _ in range(n):
        every = _
    return every

def main(net: nn.Module, ema: nn.Module, loader, optimizer):
    train(net, ema, loader, optimizer{given})
"""
    files = texts(BLEND.format(name="soft_update", share="tau") + train)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert bool(list(updates(file))) is found


@pytest.mark.parametrize(
    ("turn", "found"),
    [
        ("q.mul_(0.9).add_(p.data, alpha=0.1)", True),
        ("q.data = 0.999 * q.data + 0.001 * p.data", True),
        ("q.data *= 0.9; q.data += 0.1 * p.data", True),
        ("q.data = 0.5 * q.data + 0.5 * p.data", False),  # the mean of two
        ("q.data = 0.9 * q.data + 0.2 * p.data", False),
        ("q.mul_(0.9).add_(p.grad, alpha=0.1)", False),  # momentum of a gradient
    ],
)
def test_weights_written_as_numbers(turn, found):
    text = f"""\
def train(net: nn.Module, ema: nn.Module, loader, optimizer):
    for x in loader:
        net(x).sum().backward()
        optimizer.step()
        for q, p in zip(ema.parameters(), net.parameters()):
            {turn}
"""
    files = texts(text)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert bool(list(updates(file))) is found


@pytest.mark.parametrize(
    ("default", "asked", "found"),
    [
        ("default=1", "args.every", True),
        ("type=int, default=2", "args.every", True),
        ("default=5000", "args.every", False),
        ("type=int", "args.every", False),
        ("default=1", "args.other", False),
        ("default=1", "loader.every", False),
            ],
)
def test_an_interval_that_is_an_option(default, asked, found):
    train = f"""\
parser.add_argument("--every", {default})
args = parser.parse_args()

def train(net: nn.Module, ema: nn.Module, loader, optimizer):
    for i, x in enumerate(loader):
        net(x).sum().backward()
        optimizer.step()
        if i % {asked} == 0:
            soft_update(ema, net, 0.5)
"""
    parser = "import argparse\nparser = argparse.ArgumentParser()\n"
    files = texts(parser + BLEND.format(name="soft_update", share="tau") + train)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert bool(list(updates(file))) is found


@pytest.mark.parametrize(
    ("set_to", "given", "found"),
    [("0.005", "agent.tau", True), ("1.0", "agent.tau", False), ("made()", "agent.tau", True), ("1.0", "0.01", True)],
)
def test_a_small_share_says_that_there_are_many_updates(set_to, given, found):
    agent = f"""\
class Agent:
    def __init__(self, net: nn.Module, target: nn.Module, options):
        self.net, self.target, self.options = net, target, options
        self.tau = {set_to}

    def train(self, loader, optimizer):
        for step, x in enumerate(loader):
            self.net(x).sum().backward()
            optimizer.step()
            if step % self.options.interval == 0:
                soft_update(self.target, self.net, {given.replace("agent", "self")})
"""
    files = texts(BLEND.format(name="soft_update", share="tau") + agent)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert bool(list(updates(file))) is found


@pytest.mark.parametrize(
    ("default", "made", "found"),
    [
        (1, "", True),
        (100, "", False),
        (1, "average = Average(net, update_every=50)", False),
        (3, "average = Average(net, update_every=2)", True),
        (100, "average = Average(net, update_every=2)", False),
        (1, "average = Average.of(net, update_every=50)", False),
        (1, "average = Average.of(net, decay=0.9)", True),
        (1, "average = Average(net, update_every=every)", False),
    ],
)
def test_an_average_that_counts_its_calls(default, made, found):
    text = f"""\
class Average:
    def __init__(self, net, decay=0.99, update_every={default}):
        self.shadow = copy.deepcopy(net)
        self.decay, self.every, self.steps = decay, update_every, 0

    @classmethod
    def of(cls, net, **rest):
        return cls(net, **rest)

    def update(self, net: nn.Module):
        self.steps += 1
        if self.steps % self.every:
            return
        for q, p in zip(self.shadow.parameters(), net.parameters()):
            q.data.lerp_(p.data, 1 - self.decay)

{made}
"""
    files = texts(text)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert bool(list(updates(file))) is found


def test_the_interval_is_told():
    text = """\
class Average:
    def __init__(self, net, every=2):
        self.shadow, self.every, self.steps = copy.deepcopy(net), every, 0

    def step(self, net: nn.Module):
        self.steps += 1
        if self.steps % self.every == 0:
            for q, p in zip(self.shadow.parameters(), net.parameters()):
                q.data.lerp_(p.data, 0.01)

def train(net: nn.Module, average: Average, loader, optimizer):
    for x in loader:
        net(x).sum().backward()
        optimizer.step()
        average.step(net)
"""
    files = texts(text)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [update.spot.hot.when.partition(", at ")[2] for update in updates(file)] == ["intervals of `self.every`"]
