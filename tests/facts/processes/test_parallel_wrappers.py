"""Classes and functions of a project that stand in for `nn.DataParallel`."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.processes.parallel_wrappers import (
    is_given_a_model,
    told_at_its_calls,
    wrappings_inside,
    wraps,
    wraps_elsewhere,
)

COPY = "class P(nn.Module):\n" + "".join(
    f"    def {name}(self): ...\n" for name in ("forward", "replicate", "scatter", "parallel_apply", "gather")
)
WRAPPERS = {
    "derived": ("class MyParallel(nn.DataParallel): ...", "MyParallel(m)"),
    "copied": (COPY.replace("P(", "MyParallel("), "MyParallel(m)"),
    "given back": ("def data_parallel(m, ids=None):\n    return nn.DataParallel(m, ids)", "data_parallel(m)"),
    "given back by either way": (
        f"{COPY}def DataParallel(m, n=0):\n    if n: return P(m, n)\n    return nn.DataParallel(m)",
        "DataParallel(m)",
    ),
    "copied function": (
        "def data_parallel(m, x, ids):\n    r = nn.parallel.replicate(m, ids)\n    return r",
        "data_parallel(m, x, ids)",
    ),
}
OTHERS = {
    "of processes": ("def DataParallel(m):\n    return nn.parallel.DistributedDataParallel(m)", "DataParallel(m)"),
    "only sometimes": (
        "def DataParallel(m, n):\n    if n: return nn.DataParallel(m)\n    return m",
        "DataParallel(m, 2)",
    ),
    "a model's factory": ("def build(m):\n    return nn.DataParallel(m)", "build(m)"),
    "half a copy": (COPY.replace("P(", "MyParallel(").replace("replicate", "spread"), "MyParallel(m)"),
    "derived from the better one": (
        COPY.replace("P(nn.Module", "MyParallel(nn.parallel.DistributedDataParallel"),
        "MyParallel(m)",
    ),
    "nothing given": ("def data_parallel():\n    return nn.DataParallel(net())", "data_parallel()"),
}


def project_of(defined, called):
    return Project.of_texts(texts(f"{defined}\n\ndef main(m, x, ids):\n    w = {called}\n    return w\n"))


def call_of(project, written):
    calls = project.index.outlines["a.py"].calls
    return next(c for c in calls if c.callee == written.partition("(")[0] and c.function)


@pytest.mark.parametrize(("defined", "called"), WRAPPERS.values(), ids=WRAPPERS)
def test_a_stand_in(defined, called):
    project = project_of(defined, called)
    assert wraps(project, "a.py", call_of(project, called))


@pytest.mark.parametrize(("defined", "called"), OTHERS.values(), ids=OTHERS)
def test_no_stand_in(defined, called):
    project = project_of(defined, called)
    assert not wraps(project, "a.py", call_of(project, called))


@pytest.mark.parametrize(
    ("name", "called", "at_calls"),
    [
        ("DataParallel", "DataParallel(m)", True),
        ("DataParallel", "print(m)", True),  # torch's own by name, for others to call
        ("to_data_parallel", "to_data_parallel(m)", True),
        ("to_data_parallel", "print(m)", False),
    ],
)
def test_where_a_factory_is_told(name, called, at_calls):
    project = project_of(f"def {name}(m):\n    return nn.DataParallel(m)", called)
    assert told_at_its_calls(project, FunctionKey("a.py", 1)) is at_calls


def test_where_a_factory_constructs_torchs_class():
    defined, called = WRAPPERS["given back by either way"]
    project = project_of(defined, called)
    (site,) = wrappings_inside(project, "a.py", call_of(project, called))
    assert (site.path, site.call.callee) == ("a.py", "nn.DataParallel")


@pytest.mark.parametrize(
    ("first", "call", "expected"),
    [
        ("from nets.sync import DataParallelWithCallback", "DataParallelWithCallback(m, device_ids=ids)", True),
        ("from sync import DataParallelModel", "DataParallelModel(m)", True),
        ("import sync", "sync.DataParallelModel(m)", True),
        ("from sync import DataParallel", "DataParallel(m)", False),
        ("from sync import DistributedDataParallelModel", "DistributedDataParallelModel(m)", False),
        ("class DataParallelModel(nn.Module): ...", "DataParallelModel(m)", False),
        ("", "DataParallelModel(m)", False),
    ],
)
def test_classes_that_are_not_in_sight(first, call, expected):
    files = texts({"a.py": f"{first}\nm = {call}", "nets/__init__.py": ""})
    project = Project.of_texts(files)
    record = next(c for c in project.index.outlines["a.py"].calls if call.startswith(c.callee))
    assert wraps_elsewhere(project, "a.py", record) is expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("DataParallelWithCallback(model, device_ids=ids)", True),
        ("sync.DataParallelModel(Net().cuda(), device_ids=[0, 1])", True),
        ("DataParallelModel(device_ids=ids, module=model)", True),
        ("DataParallelModel(model)", False),
        ("DataParallelStrategy(device_ids=[0, 1])", False),
        ("DataParallelStrategy(model, device_ids=[0, 1])", False),
        ("DataParallelCriterion(criterion, device_ids=ids)", False),
        ("DataParallelCELoss(criterion, device_ids=ids)", False),
        ("DataParallelRunner('train', device_ids=ids)", False),
        ("DataParallelRunner([a, b], device_ids=ids)", False),
        ("DataParallelRunner(*parts, device_ids=ids)", False),
    ],
)
def test_given_a_model(call, expected):
    assert is_given_a_model(ast.parse(call, mode="eval").body) is expected
