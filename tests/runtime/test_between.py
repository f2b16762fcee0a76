"""What lies between steps, and between calls, where no loader says what a turn is: on scripts as they run."""

import json
import sys

import pytest
from builders import run

LOOPS = """
import json, threading, time, torch, torchperf_lint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
found, loss = {}, nn.MSELoss()
def small():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))

def phases(seen):
    kept = {}
    for s in seen.evidence.segments:
        lines = [place and place[1] for place in (s.start, s.end)]
        kept.setdefault(s.phase, []).append([*lines, s.times, s.ms])
    return kept

def step(models, optimizers, x):
    for model, optimizer in zip(models, optimizers):
        out = model(x)  # the call
        optimizer.zero_grad()
        loss(out, x[:, :1]).backward()
        optimizer.step()  # the step

def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.01)

def trains(how_many, times=60):
    models = [small() for _ in range(how_many)]
    optimizers = [sgd(model) for model in models]
    with torchperf_lint.watch(warmup=4) as seen:
        for _ in range(times):
            step(models, optimizers, torch.randn(8, 4))
            time.sleep(0.002)
            loss(torch.ones(2), torch.zeros(2))
    return phases(seen)

def with_loader():
    model = small()
    optimizer = sgd(model)
    with torchperf_lint.watch(warmup=4) as seen:
        for (x,) in DataLoader(TensorDataset(torch.randn(160, 4)), batch_size=8):
            step([model], [optimizer], x)
    return phases(seen)

def burns(seconds):
    ends = time.thread_time() + seconds
    while time.thread_time() < ends:
        pass

class Generates(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = small()
    def generate(self):
        for _ in range(4):
            self.inner(torch.ones(1, 4))
            burns(0.001)

def answers(model, between, times=40):
    with torchperf_lint.watch(warmup=4) as seen, torch.no_grad():
        for _ in range(times):
            model(torch.ones(1, 4)) if isinstance(model, nn.Sequential) else model.generate()
            between(0.003)
    between = seen.evidence.requests.between
    return between.cpu_ms, between.times, [[s.start[1], s.end[1]] for s in between.stretches]

found["one"], found["two"], found["loader"] = trains(1), trains(2), with_loader()
found["computes"], found["sleeps"] = answers(small(), burns), answers(small(), time.sleep)
found["generates"] = answers(Generates(), lambda _: None, 20)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    directory = tmp_path_factory.mktemp("loops")
    (directory / "loops.py").write_text(LOOPS.lstrip(), encoding="utf-8")
    done = run([sys.executable, "loops.py"], directory)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_time_from_a_step_to_the_call_of_the_model_has_its_lines(found):
    ((start, end, times, ms),) = found["one"]["between steps"]
    lines = LOOPS.lstrip().split("\n")
    call, step = (number for number, line in enumerate(lines, 1) if line.endswith(("# the call", "# the step")))
    assert (start, end, times) == (step, call, 56)
    assert ms > 56 * 2
    assert sum(row[3] for row in found["one"]["forward"]) < ms


def test_each_of_two_optimizers_is_followed_by_a_call(found):
    # The first optimizer closes the steps, so the last of the other counts as well.
    assert sum(row[2] for row in found["two"]["between steps"]) == 2 * 56 + 1
    assert sum(row[2] for row in found["two"]["forward"]) == 2 * 56 + 1


def test_with_a_loader_nothing_changes(found):
    assert "between steps" not in found["loader"]
    assert {"data", "forward", "backward", "optimizer", "after the step"} <= set(found["loader"])


def test_computing_between_calls_is_told_from_sleeping(found):
    cpu_ms, times, lines = found["computes"]
    assert times == 36
    assert 36 * 3 <= cpu_ms < 36 * 9
    assert len(lines) == 1
    assert found["sleeps"][1] == 36
    assert found["sleeps"][0] < 0.5 * cpu_ms


def test_what_a_model_generates_is_its_own(found):
    cpu_ms, _, _ = found["generates"]
    assert cpu_ms < 20
