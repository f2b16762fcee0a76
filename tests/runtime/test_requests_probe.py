"""The probe of calls: what it leaves alone, when it goes to sleep, what Dynamo sees of it."""

import json
import sys

import pytest
from builders import run, watch

BLOCKS = """
import json, torch, torchperf_lint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
original, entered = nn.Module.__call__, torch.no_grad.__enter__
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
import torch._dynamo.utils as utils

def train():
    for (x,) in DataLoader(TensorDataset(torch.randn(64, 4)), batch_size=4):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        found.setdefault("given back at once", nn.Module.__call__ is original)
        optimizer.step()

def serve(times=8):
    for _ in range(times):
        with torch.inference_mode():
            model(torch.ones(1, 4)), model(torch.ones(1, 4))

def fails():
    for _ in range(4):
        try:
            model(torch.ones(1, 3))
        except RuntimeError as error:
            said.append(type(error).__name__)

said, found = [], {}
with torchperf_lint.watch(warmup=2) as seen:
    found["put"] = nn.Module.__call__ is not original
    found["dynamo knows"] = utils.unpatched_nn_module_call is nn.Module.__call__
    train()
    seen.evidence
    found["given back"] = nn.Module.__call__ is original and torch.no_grad.__enter__ is entered
    found["dynamo knows again"] = utils.unpatched_nn_module_call is original
    serve()
    found["trained"] = (seen.evidence.steps, seen.evidence.requests is None)
with torchperf_lint.watch(warmup=2) as seen:
    serve()
    requests = seen.evidence.requests
    found["served"] = (requests.unit, requests.count, requests.calls)
serve()
with torchperf_lint.watch(warmup=2) as seen:
    fails()
    found["raised"] = (said, seen.evidence.requests.calls)
    found["problems"] = [name for name in seen.evidence.unwatched if name == "requests"]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    directory = tmp_path_factory.mktemp("blocks")
    (directory / "blocks.py").write_text(BLOCKS, encoding="utf-8")
    done = run([sys.executable, "-W", "error", "blocks.py"], directory)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_methods_are_given_back_once_a_loader_feeds_training(found):
    assert (found["put"], found["given back"]) == (True, True)
    assert found["given back at once"]
    assert found["trained"] == [16, True]


def test_dynamo_takes_ours_for_the_original_as_long_as_it_is_there(found):
    assert (found["dynamo knows"], found["dynamo knows again"]) == (True, True)


def test_the_next_block_is_watched_again(found):
    assert found["served"] == ["request", 8, 16]


def test_a_call_that_raises_is_a_call(found):
    assert found["raised"] == [["RuntimeError"] * 4, 4]
    assert found["problems"] == []


COMPILED = """
import torch
from torch import nn
from torch._dynamo.utils import counters

class Model(nn.Module):
    def __init__(self, breaks=False):
        super().__init__()
        self.first, self.second, self.breaks = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()), breaks
    def forward(self, x):
        x = self.first(x)
        if self.breaks:
            print("broken", end=" ")
        return self.second(x)

def backend(graph, inputs):
    print([getattr(node.target, "__name__", str(node.target)) for node in graph.graph.nodes])
    return graph.forward

def hooked(breaks=False):
    model = Model(breaks)
    model.first.register_forward_hook(lambda module, given, made: made * 2)
    return model

for model in (hooked(), Model(True)):
    torch._dynamo.reset()
    for compiled in (torch.compile(model, backend=backend), torch.compile(lambda x: model(x), backend=backend)):
        for _ in range(2):
            compiled(torch.ones(2, 4)).sum().backward()
            with torch.no_grad():
                compiled(torch.ones(2, 4))
    print(sorted((name, sum(found.values())) for name, found in counters.items() if name != "inline_call"))
"""


def test_what_is_compiled_stays_as_it_is(tmp_path):
    watched = watch(tmp_path, COMPILED)
    plain = run([sys.executable, "run.py"], tmp_path)
    assert plain.returncode == 0, plain.stderr
    assert "'mul'" in plain.stdout
    assert watched.out == plain.stdout
    assert watched.record.probes["requests"]["state"] == "watching"


LISTED = """
import torch
from torch import nn

class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.vars = nn.ParameterList([nn.Parameter(torch.ones(3, 3))])
    def forward(self, x):
        return x @ self.vars[0]
    def parameters(self):
        return self.vars

model = Learner()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(6):
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
with torch.no_grad():
    model(torch.ones(2, 3))
"""


def test_a_module_may_return_its_parameters_as_a_list(tmp_path):
    watched = watch(tmp_path, LISTED)
    assert watched.record.probes["requests"]["state"] == "watching"
