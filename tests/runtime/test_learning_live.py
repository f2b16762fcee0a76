"""Real backward passes, steps and zero_grad(): which batches of a run are training's, and which evaluation's."""

import textwrap

import pytest
from builders import watch_all

HEAD = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    def loader(batches=6):
        return DataLoader(TensorDataset(torch.randn(4 * batches, 3)), batch_size=4)
    def train(net, batches):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for x, in batches:
            optimizer.zero_grad()
            net(x).square().mean().backward()
            optimizer.step()
    def attack(net, batches):
        for x, in batches:
            net(x.requires_grad_()).square().mean().backward()
    train_loader, test_loader = loader(), loader(4)
    net = nn.Linear(3, 1)
"""
BY_HAND = """
    train(net, train_loader)
    other = nn.Linear(3, 1)
    for x, in test_loader:
        other.zero_grad()
        other(x).square().mean().backward()
        with torch.no_grad():
            for p in other.parameters():
                p -= 0.01 * p.grad
"""
ATTACKED = """
    for _ in range(3):
        train(net, train_loader)
        attack(net, test_loader)
"""
FROZEN = """
    train(net, train_loader)
    attack(net.requires_grad_(False), test_loader)
"""
TASKS = """
    nets = [nn.Linear(3, 1) for _ in range(3)]
    optimizers = [torch.optim.SGD(net.parameters(), lr=0.01) for net in nets]
    loaders = [loader() for _ in nets]
    for _ in range(4):
        for net, batches in zip(nets, loaders):
            net.zero_grad()
            net(next(iter(batches))[0]).square().mean().backward()
        for optimizer in optimizers:
            optimizer.step()
    attack(net, test_loader)
"""
NO_LOADER = """
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(3):
        for _ in range(5):
            net(torch.ones(2, 3)).square().mean().backward()
            optimizer.step()
            net.zero_grad()
        attack(net, test_loader)
        net.zero_grad()
"""
EXPECTED = {"by hand": (10, 0), "attacked": (18, 12), "frozen": (6, 4), "tasks": (12, 4), "no loader": (0, 12)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("learning")
    paths = {}
    bodies = (BY_HAND, ATTACKED, FROZEN, TASKS, NO_LOADER)
    for name, body in zip(EXPECTED, bodies, strict=True):
        path = directory / f"{name}.py"
        path.write_text(textwrap.dedent(HEAD + body), encoding="utf-8")
        paths[name] = (path,)
    return watch_all(directory, paths)


@pytest.mark.parametrize("name", EXPECTED)
def test_batches_of_training_and_evaluation(runs, name):
    run = runs[name].record
    assert not [probe for probe in run.probes.values() if probe["state"] == "failed"]
    assert (run.steps["train_batches"], run.steps["eval_batches"]) == EXPECTED[name]
