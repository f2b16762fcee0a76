"""Steps, backward passes and batches of real training loops, each in a forked child of one watched process."""

import json
import shutil

import pytest
from builders import TRAIN, watch, watch_all

from torchperf_lint.events import SUFFIX, read

LOOPS = """
    import os, sys, json
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.set_num_threads(1)

    def data(n=64):
        return DataLoader(TensorDataset(torch.randn(n, 4)), batch_size=4)

    def loop(optimizer, model, batches=None):
        for (x,) in batches or data():
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()

    class Custom(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.1})
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.data.add_(p.grad, alpha=-group["lr"])

    def sgd():
        model = nn.Linear(4, 1)
        loop(torch.optim.SGD(model.parameters(), lr=0.1), model)

    def adamw():
        model = nn.Linear(4, 1)
        loop(torch.optim.AdamW(model.parameters()), model)

    def custom():
        model = nn.Linear(4, 1)
        loop(Custom(model.parameters()), model)

    def compiled():
        model = torch.compile(nn.Linear(4, 1), backend="eager")
        loop(torch.optim.SGD(model.parameters(), lr=0.1), model)

    def lbfgs():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3, tolerance_grad=0, tolerance_change=0)
        for (x,) in data():
            def closure():
                optimizer.zero_grad()
                loss = (model(x) - 1).square().mean() + 1
                loss.backward()
                return loss
            optimizer.step(closure)

    def accumulated():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for index, (x,) in enumerate(data()):
            model(x).mean().backward()
            if index % 4 == 3:
                optimizer.step()

    def scaled():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu")
        for (x,) in data():
            scaler.scale(model(x).mean()).backward()
            scaler.step(optimizer)
            scaler.update()

    def scheduled():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
        for epoch in range(3):
            loop(optimizer, model, data(16))
            scheduler.step()

    def replaced():
        for _ in range(3):
            model = nn.Linear(4, 1)
            loop(torch.optim.SGD(model.parameters(), lr=0.1), model, data(16))

    def functional():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for (x,) in data():
            grads = torch.autograd.grad(model(x).mean(), list(model.parameters()))
            for p, g in zip(model.parameters(), grads):
                p.grad = g
            optimizer.step()

    def fails():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for (x,) in data():
            loss = model(x).mean()
            loss.backward()
            optimizer.step()
            try:
                loss.backward()
            except RuntimeError:
                pass

    def accelerated():
        from accelerate import Accelerator
        model = nn.Linear(4, 1)
        accelerator = Accelerator(cpu=True)
        made = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1), data(32))
        model, optimizer, loader = made
        for _ in range(2):
            for (x,) in loader:
                accelerator.backward(model(x).mean())
                optimizer.step()

    def evaluated():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        test = data(16)
        for _ in range(2):
            loop(optimizer, model, data(32))
            with torch.no_grad():
                for (x,) in test:
                    model(x)

    def short_epochs():
        # Passes that are over, and iterators that are gone, long before the next flush.
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        train, test = data(16), data(64)
        for _ in range(40):
            loop(optimizer, model, train)
            with torch.no_grad():
                for index, (x,) in enumerate(test):
                    model(x)
                    if index == 2:
                        break

    def fresh_iterators():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        train = data(16)
        for _ in range(80):
            loop(optimizer, model, [next(iter(train))])

    ALL = (sgd, adamw, custom, compiled, lbfgs, accumulated, scaled, scheduled, replaced, functional, fails,
           accelerated, evaluated, short_epochs, fresh_iterators)
    pids = {}
    for number, action in enumerate(ALL):
        pid = os.fork()
        if not pid:
            try:
                action()
                code = 0
            except BaseException:
                import traceback
                traceback.print_exc()
                code = 1
            os._exit(code)
        pids[action.__name__] = pid
    print(json.dumps({name: (pid, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])) for name, pid in pids.items()}))
"""

EXPECTED = {
    # steps, backward passes, training batches, evaluation batches, first optimizer
    "sgd": (16, 16, 16, 0, "SGD"),
    "adamw": (16, 16, 16, 0, "AdamW"),
    "custom": (16, 16, 16, 0, "Custom"),
    "compiled": (16, 16, 16, 0, "SGD"),
    "lbfgs": (16, 48, 16, 0, "LBFGS"),
    "accumulated": (4, 16, 16, 0, "SGD"),
    "scaled": (16, 16, 16, 0, "SGD"),
    "scheduled": (12, 12, 12, 0, "SGD"),
    "replaced": (12, 12, 12, 0, "SGD"),
    "functional": (16, 0, 16, 0, "SGD"),
    "fails": (16, 32, 16, 0, "SGD"),
    "accelerated": (16, 16, 16, 0, "SGD"),
    "evaluated": (16, 16, 16, 8, "SGD"),
    "short_epochs": (160, 160, 160, 120, "SGD"),
    "fresh_iterators": (80, 80, 80, 0, "SGD"),
}


@pytest.fixture(scope="module")
def loops(tmp_path_factory):
    directory = tmp_path_factory.mktemp("loops")
    ran = watch(directory, LOOPS)
    assert ran.returncode == 0, ran.err
    pids = json.loads(ran.out.splitlines()[0])
    assert {name: code for name, (_, code) in pids.items()} == dict.fromkeys(EXPECTED, 0), ran.err
    return {name: read(str(directory / f"run.{pid}{SUFFIX}")) for name, (pid, _) in pids.items()}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_was_counted(loops, name):
    run = loops[name]
    steps = run.steps
    found = (steps["steps"], steps["backwards"], steps["train_batches"], steps["eval_batches"])
    assert (*found, run.state["optimizers"][0]["class"]) == EXPECTED[name]


def test_nothing_failed_in_any_loop(loops):
    failed = {(name, p["name"], p["reason"]) for name, run in loops.items() for p in run.probes.values()}
    assert {row for row in failed if row[2] and "CUDA" not in row[2] and row[1] != "lines"} == set()


def test_an_optimizer_is_described(loops):
    described = loops["adamw"].state["optimizers"]
    assert len(described) == 1
    assert described[0]["devices"] == ["cpu"]
    assert described[0]["dtypes"] == ["torch.float32"]
    assert (described[0]["tensors"], described[0]["parameters"]) == (2, 5)
    assert described[0]["switches"] == {"foreach": None, "fused": None, "capturable": False}
    assert (described[0]["module"], described[0]["step"]) == ("torch.optim.adamw", None)


def test_optimizers_that_follow_each_other_are_told_apart(loops):
    assert loops["replaced"].steps["optimizer_calls"] == [4, 4, 4]


def test_facts_about_the_process(loops):
    state = loops["sgd"].state
    assert (state["threads"], state["gpus"], state["anomaly_mode"]) == (1, [], False)


def test_times_have_places(loops):
    run = loops["sgd"]
    rows = {row[0]: row for row in run.time["train"]}
    assert {"data", "forward", "backward", "optimizer"} <= set(rows)
    begins, ends = (run.sites[rows["backward"][at]] for at in (1, 2))
    assert begins["path"] == ends["path"] == "run.py"
    assert begins["function"] == "loop"


FIXTURES = {
    # steps, training batches, evaluation batches, loaders, exit code
    "mnist_like.py": (60, 60, 12, 2, 0),
    "crashes.py": (30, 0, 0, 0, 1),
    "gan.py": (60, 60, 0, 1, 0),
    "accumulation.py": (50, 200, 0, 1, 0),
    "inference.py": (0, 0, 80, 1, 0),
    "reads_argv.py --steps 40": (40, 0, 0, 0, 0),
    "compute_bound.py 12": (12, 0, 0, 0, 0),
    "loader_bound.py 0 12": (12, 12, 0, 1, 0),
    "logging_bound.py 12": (12, 12, 0, 1, 0),
    "storage_bound.py 0 4": (4, 4, 0, 1, 0),
}
ALONE = ("mnist_like.py", "crashes.py")
"""Started by `torchperf-lint --runtime` itself; the others in forked children of one process that imports torch."""

HOST = """
    import json, os, runpy, sys
    import torch

    def run(words):
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")
        sys.stdout.flush()

    seen = {}
    for line in sys.argv[1:]:
        pid = os.fork()
        if not pid:
            try:
                run(line.split())
            except BaseException:
                import traceback
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        seen[line] = pid
    ends = {line: (pid, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])) for line, pid in seen.items()}
    print("SEEN", json.dumps(ends))
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    directory = tmp_path_factory.mktemp("alone")
    return watch_all(directory, {name: (TRAIN / name,) for name in ALONE})


@pytest.fixture(scope="module")
def forked(tmp_path_factory):
    """What was said, and name -> (record, exit code)."""
    directory = tmp_path_factory.mktemp("forked")
    shutil.copytree(TRAIN, directory, dirs_exist_ok=True)
    ran = watch(directory, HOST, *(name for name in FIXTURES if name not in ALONE))
    assert ran.returncode == 0, ran.err
    seen = json.loads(next(line for line in ran.out.splitlines() if line.startswith("SEEN "))[5:])
    records = {name: (read(str(directory / f"run.{pid}{SUFFIX}")), code) for name, (pid, code) in seen.items()}
    return ran.out, records


@pytest.mark.parametrize("name", FIXTURES)
def test_the_fixtures_numbers(alone, forked, name):
    record, code = (alone[name].record, alone[name].returncode) if name in ALONE else forked[1][name]
    steps = record.steps
    found = (steps["steps"], steps["train_batches"], steps["eval_batches"], len(record.loaders), code)
    assert found == FIXTURES[name]


def test_the_fixtures_own_output_and_end(alone, forked):
    out, records = forked
    assert "run: 40 steps at 0.1" in out
    assert "200 batches, loss " in out
    assert out.count("done") == 4
    assert "RuntimeError: the loss is not finite" in alone["crashes.py"].err
    assert alone["crashes.py"].record.ended["returncode"] == 1
    assert records["gan.py"][0].steps["optimizer_calls"] == [60, 60]


def test_loaders_of_a_fixture_and_their_settings(alone):
    run = alone["mnist_like.py"].record
    train, test = run.loaders[1], run.loaders[2]
    assert (train["batches"], train["epochs"], train["samples"], train["batch_size"]) == (60, 3, 640, 32)
    assert (test["batches"], test["epochs"], test["samples"]) == (12, 3, 128)
    assert (train["num_workers"], train["pin_memory"], train["dataset"]) == (0, False, "TensorDataset")
    assert [run.sites[loader["site"]]["line"] for loader in (train, test)] == [10, 11]
