"""Lambdas that a module or a function gives a name run where the name is called."""

from __future__ import annotations

import pytest
from calls_in import site_of

HELPERS = "to_number = lambda x: x.item()\ntwice = lambda x: 2 * to_number(x)\n"
LOOP = """
{imports}

def train(model, loader, optimizer, {given}):
    for x, y in loader:
        loss = model(x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {run}
"""


def hot(run, imports="from helpers import to_number", given="criterion", helpers=HELPERS):
    files = {"helpers.py": helpers, "train.py": LOOP.format(imports=imports, given=given, run=run)}
    return site_of(files, "x.item()").hot


@pytest.mark.parametrize(
    ("run", "imports"),
    [
        ("seen = to_number(loss)", "from helpers import to_number"),
        ("seen = to_number(loss)", "from helpers import *"),
        ("seen = to_number(loss)", "from .helpers import to_number"),
        ("seen = number(loss)", "from helpers import to_number as number"),
        ("seen = helpers.to_number(loss)", "import helpers"),
        ("seen = H.to_number(loss)", "from . import helpers as H"),
        ("seen = twice(loss)", "from helpers import twice"),
    ],
)
def test_a_step_calls_it(run, imports):
    found = hot(run, imports)
    assert (found.kind, found.depth > 0) == ("step", True)
    assert "train.py:" in found.because


def test_the_module_itself_calls_it():
    snippet = "show = lambda x: x.item()\n" + LOOP.format(imports="", given="criterion", run="seen = show(loss)")
    assert site_of(snippet, "x.item()").hot.kind == "step"


def test_training_is_the_reason_where_an_evaluation_calls_it_as_well():
    text = LOOP.format(imports="from helpers import *", given="criterion", run="seen = to_number(loss)")
    first = "@torch.no_grad()\ndef evaluate(model, loader):\n    for x, y in loader:\n        to_number(model(x, y))\n"
    assert site_of({"helpers.py": HELPERS, "train.py": first + text}, "x.item()").hot.kind == "step"


@pytest.mark.parametrize(
    ("run", "imports", "given"),
    [
        ("seen = loss.detach()", "from helpers import to_number", "criterion"),
        ("seen = to_number(loss) if step % 100 == 0 else None", "from helpers import to_number", "step"),
        ("seen = to_number(loss)", "from helpers import to_number", "to_number"),  # what the caller gives
        ("seen = to_number(loss)", "from others import to_number", "criterion"),
        ("seen = to_number(loss)", "from helpers import *\nfrom others import to_number", "criterion"),
        ("seen = to_number(loss)", "from helpers import *\ndef to_number(x): return x", "criterion"),
        ("seen = to_number(loss)", "from helpers import *\nto_number = torch.detach", "criterion"),
        ("seen = model.to_number(loss)", "from helpers import to_number", "criterion"),
        ("seen = [to_number]", "from helpers import to_number", "criterion"),
        ("seen = helpers.to_number(loss)", "import others as helpers", "criterion"),
    ],
)
def test_no_step_calls_it(run, imports, given):
    assert hot(run, imports, given) is None


@pytest.mark.parametrize(
    "helpers",
    [
        "to_number = lambda x: x.item()\nif torch.cuda.is_available():\n    to_number = torch.detach\n",
        "def make():\n    to_number = lambda x: x.item()\n    return to_number\n",
    ],
    ids=["one of several", "of a function"],
)
def test_other_lambdas(helpers):
    assert hot("seen = to_number(loss)", helpers=helpers) is None


def test_lambdas_that_call_each_other():
    helpers = "even = lambda x: odd(x.item())\nodd = lambda x: even(x)\n"
    assert hot("seen = odd(loss)", "from helpers import odd", helpers=helpers).kind == "step"
    assert hot("seen = 1", "from helpers import odd", helpers=helpers) is None


ATTACK = """
def attack(model, x, optimizer, steps):
    {before}
    gap = lambda a: torch.max(a, torch.tensor(0.0).to(a.device))
    {after}
    for _ in range(steps):
        loss = {run}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def hot_within(run="gap(model(x)).sum()", before="pass", after="pass"):
    return site_of(ATTACK.format(run=run, before=before, after=after), "torch.tensor(0.0).to(a.device)").hot


def test_a_loop_of_the_same_function_calls_it():
    found = hot_within()
    assert (found.kind, found.loop is not None) == ("step", True)
    inner = "def value(x):\n        return gap(model(x)).sum()"
    assert hot_within("value(x)", after=inner).kind == "step"


@pytest.mark.parametrize(
    "parts",
    [
        {"run": "model(x).sum()"},
        {"run": "model(x, gap).sum()"},
        {"run": "model(x).sum()", "after": "gap(x)"},
        {"before": "gap = torch.relu"},
        {"run": "value(x)", "after": "def value(x, gap=torch.relu):\n        return gap(model(x)).sum()"},
        {"run": "model.gap(x).sum()"},
    ],
)
def test_no_loop_of_the_function_calls_it(parts):
    assert hot_within(**parts) is None
