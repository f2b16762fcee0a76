"""Numbers that are read to be logged at every step and for nothing else."""

from __future__ import annotations

import ast

import pytest
from calls_in import site_of

from torchperf_lint.facts.reads.only_logged import logged_at

CODE = """
    import wandb

    class Agent:
        def __init__(self, net: nn.Module, optimizer):
            self.net, self.optimizer = net, optimizer

        def learn(self, x):
            loss = self.net(x).mean()
            loss.backward()
            self.optimizer.step()
            return loss.item()

        def step(self, x):
            loss = self.learn(x)
            {given}

    def train(net: nn.Module, data, optimizer, rate):
        agent, loader = Agent(net, optimizer), DataLoader(data, 8, num_workers=4)
        for step, x in enumerate(loader):
            found = agent.step(x.cuda(non_blocking=True))
            {logs}
"""
GIVEN, LOGS = 'return {"loss": loss}', 'found["rate"] = rate; wandb.log(found, step=step)'


def where(given: str = GIVEN, logs: str = LOGS) -> list[str]:
    site = site_of(CODE.replace("{given}", given).replace("{logs}", logs), "loss.item()")
    return [ast.unparse(call.site.call) for call in logged_at(site.file, site)]


@pytest.mark.parametrize(
    ("given", "logs", "call"),
    [
        (GIVEN, LOGS, "wandb.log(found, step=step)"),
        ('shown = {}; shown["loss"] = round(loss, 3); return shown', "wandb.log(found)", "wandb.log(found)"),
        (GIVEN, "more = {}; more.update(found); wandb.log(more)", "wandb.log(more)"),
        ("return loss", 'wandb.log({"loss": found / 2})', "wandb.log({'loss': found / 2})"),
        (GIVEN, 'wandb.log(found); found = {"rate": rate}; print(found)', "wandb.log(found)"),
    ],
)
def test_what_goes_to_a_log_alone(given, logs, call):
    assert where(given, logs) == [call]


def test_two_calls_that_log_it():
    assert where(logs="wandb.log(found); bar.set_postfix(**found)") == ["wandb.log(found)", "bar.set_postfix(**found)"]


@pytest.mark.parametrize(
    ("given", "logs"),
    [
        (GIVEN, "if step % 100 == 0: wandb.log(found)"),  # it may be read there
        (GIVEN, "wandb.log(found); print(found)"),
        (GIVEN, 'wandb.log(found); rate = rate * found["loss"]'),
        ("self.last = loss; return {'loss': loss}", LOGS),
        ("return {'loss': loss} if loss < 3 else {}", LOGS),
        (GIVEN, "pass"),
    ],
)
def test_what_others_need_too(given, logs):
    assert where(given, logs) == []
