"""Functions that may run without gradients through an object that nobody can follow."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.autograd.off_by_name import may_be_off_by_name
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.project import Project

AGENT = """\
class Agent:
    def choose(self, state):
        return self.net(state)

    def explore(self, env):
        return self.choose(env.state)

    def step(self, env):
        return self.choose(env)

def collect(agents, env):
    {body}
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("with torch.no_grad():\n        return agents[0].explore(env)", True),
        ("with torch.no_grad():\n        return agents[0].choose(env)", False),
        ("return agents[0].explore(env)", False),
        ("with torch.no_grad():\n        return agents[0].rest(env)", False),
        ("with torch.no_grad():\n        return agents[0].step(env)", False),
        ("torch.set_grad_enabled(False)\n    return agents[0].explore(env)", True),
    ],
)
def test_of_a_method(body, expected):
    project = Project.of_texts(texts(AGENT.format(body=body)))
    functions = project.index.outlines["a.py"].functions
    key = FunctionKey("a.py", next(n for n, function in enumerate(functions) if function.name == "choose"))
    assert may_be_off_by_name(project, key) is expected


OTHERS = """\
class Pilot:
    def explore(self, env):
        return env.state

def explore(env):
    return env.state

class Runner:
    def __init__(self):
        self.pilot: Pilot = make()

    def run(self, env):
        with torch.no_grad():
            return {0}.explore(env)
"""


@pytest.mark.parametrize(("called", "expected"), [("self.pilot", True), ("helpers", False)])
def test_who_runs_another_class_without_gradients_may_get_this_one(called, expected):
    code = f"{AGENT.format(body='return agents')}\n{OTHERS.format(called)}".replace("helpers.explore", "explore")
    project = Project.of_texts(texts(code))
    functions = project.index.outlines["a.py"].functions
    key = FunctionKey("a.py", next(n for n, function in enumerate(functions) if function.name == "choose"))
    assert may_be_off_by_name(project, key) is expected
