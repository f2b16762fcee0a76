"""Actions for an environment, which the host steps: what chooses them is copied there, once a step."""

from __future__ import annotations

import ast

from torchperf_lint.facts.copies.handed_back import is_returned
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Place, Site
from torchperf_lint.facts.hotness.hot import Hot, called_at
from torchperf_lint.facts.roles.agents import ENV_STEP
from torchperf_lint.facts.roles.role import EACH_STEP
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.patterns import pattern

_CHOOSES = pattern(r"(?:^|_)(?:pick|select|choose|sample|get|compute|take)_actions?(?:_|$)|^act$")


def steps_an_environment(project: Project, hot: Hot) -> bool:
    """Whether the loop that makes a line hot steps an environment."""
    if hot.loop is None:
        return False
    return any(ENV_STEP.search(call.callee) for call in project.hotness.loops.calls.directly_in(*hot.loop))


def is_an_action(site: Site) -> bool:
    """Whether what a call gives is what such a loop steps the environment with, or what a function hands back to it."""
    if site.hot is None or not steps_an_environment(site.file.project, site.hot):
        return False
    return is_returned(site) if site.hot.depth else _taken_by_step(site)


def is_handed_to_one(place: Place) -> bool:
    """Whether a value is what an agent gives for a step of its environment: the action, on the host."""
    if place.hot is None or not (place.hot.when.startswith(EACH_STEP) or place.hot.depth == 1):
        return False
    return is_returned(place) and (place.hot.when.startswith(EACH_STEP) or _caller_steps_with(place, place.hot))


def chooses_an_action(place: Place) -> bool:
    """Whether a function is an agent's that chooses the action for a step of its environment: `get_action(state)`."""
    if place.hot is None:
        return False
    if not place.hot.when.startswith(EACH_STEP) and not steps_an_environment(place.file.project, place.hot):
        return False
    return _CHOOSES.search(place.file.outline.functions[place.function].name) is not None


def _caller_steps_with(place: Place, hot: Hot) -> bool:
    """Whether the loop that calls the function steps an environment with its result: `env.step(act(state))`.

    In another branch the action may be drawn at random.
    """
    at = called_at(hot)
    project = place.file.project
    if hot.loop is None or at is None or at[0] != hot.loop[0] or not steps_an_environment(project, hot):
        return False
    body = project.body(at[0])
    if body is None:
        return False
    function = project.index.outlines[at[0]].regions[hot.loop[1]].function
    around = Enclosing(body.functions[function])
    name = place.file.outline.functions[place.function].name
    given = _given_to_step(around)
    for node in around.of_kinds((ast.Call,)):
        if isinstance(node, ast.Call) and node.lineno == at[1] and last_part(chain(node.func)) == name:
            named = (part for part in given if isinstance(part, ast.Name))
            return node in given or any(node in body.assigned(function, n.id, body.at(n)) for n in named)
    return False


def _taken_by_step(site: Site) -> bool:
    """`env.step(a.cpu().numpy())`, and `action = a.cpu().numpy()` with `env.step(action)`."""
    around = site.file.enclosing(site.function)
    if any(_steps(parent) for parent in around.ancestors(site.call)):
        return True
    statement = around.statement(site.call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    named = {target.id for target in targets if isinstance(target, ast.Name)}
    return any(isinstance(node, ast.Name) and node.id in named for node in _given_to_step(around))


def _given_to_step(around: Enclosing) -> list[ast.AST]:
    calls = (node for node in around.of_kinds((ast.Call,)) if isinstance(node, ast.Call) and _steps(node))
    return [part for call in calls for argument in call.args for part in ast.walk(argument)]


def _steps(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ENV_STEP.search(chain(node.func)) is not None
