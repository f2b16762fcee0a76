"""The constants that an expression is seen to be: written, given by its class or by callers, an option's default.

def __init__(self, args, every=2):       parser.add_argument("--tau", type=float, default=0.005)
    self.every = every                   # 2, and what calls give
    self.tau = args.tau                  # 0.005, unless somebody asks
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.hints import default_of
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.constants.declared_options import defaults
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.syntax.arguments import keyword, unpacks, unpacks_keywords
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_text

Constants = frozenset[object]
"""Constants, texts, True and False; None is one, and stands for what is not seen as well."""
_HOPS = 3
"""Names, attributes and calls between an expression and a constant."""
_UNSEEN: Constants = frozenset({None})


def constants(project: Project, node: ast.expr, key: FunctionKey, hops: int = _HOPS) -> Constants:
    """What an expression of a function may be."""
    if isinstance(node, ast.Constant):
        return frozenset({node.value})
    declared = defaults(project, node, key.path)
    if declared:
        return frozenset(declared)
    if isinstance(node, ast.Call):
        return _of_rest(project, node, key, hops)
    body, name = project.body(key.path), chain(node)
    if body is None or hops == 0 or not name.removeprefix("self.").isidentifier():
        return _UNSEEN
    if name.startswith("self."):
        return _together(constants(project, v, m, hops - 1) for m, v in _held(project, body, key, name[5:]))
    return _of_name(project, body, name, key, hops)


def of_parameter(project: Project, key: FunctionKey, name: str, hops: int = _HOPS) -> Constants:
    """What a parameter may be: what calls give for it, and its default where one gives nothing or none is seen."""
    record, body = project.index.function(key), project.body(key.path)
    default = default_of(body.functions.get(key.index), name) if body is not None else None
    own = frozenset({default.value}) if isinstance(default, ast.Constant) else _UNSEEN
    found: list[Constants] = []
    for site in project.hotness.callers.get(key, ()):
        call, caller = call_at(project.values, site), FunctionKey(site.path, site.call.function)
        if call is None or (unpacks(call) and not _hands_on_the_rest(project, call, caller)):
            return _UNSEEN
        given = argument_for(call, record, name)
        if given is None and unpacks_keywords(call):
            found.append(_by_keyword(project, caller, name, own, hops - 1))
        else:
            found.append(own if given is None else constants(project, given, caller, hops - 1))
    return _together(found or [own])


def _hands_on_the_rest(project: Project, call: ast.Call, caller: FunctionKey) -> bool:
    """Whether all that a call unpacks are the keywords that its function was given, as they were: `cls(**kwargs)`."""
    rest = _rest_of(project, caller)
    if not rest or any(isinstance(given, ast.Starred) for given in call.args):
        return False
    body = project.body(caller.path)
    node = body.functions.get(caller.index) if body is not None else None
    handed = all(chain(given.value) == rest for given in call.keywords if given.arg is None)
    inside = [*ast.walk(node)] if node is not None else []
    uses = sum(isinstance(n, ast.Name) and n.id == rest for n in inside)
    spread = (n.value for n in inside if isinstance(n, ast.keyword) and n.arg is None)
    return handed and uses == sum(chain(value) == rest for value in spread)


def _rest_of(project: Project, key: FunctionKey) -> str:
    """The name under which a function takes any keywords; empty where it takes none."""
    body = project.body(key.path)
    function = body.functions.get(key.index) if body is not None else None
    rest = function.args.kwarg if isinstance(function, ast.FunctionDef) else None
    return rest.arg if rest is not None else ""


def _of_rest(project: Project, node: ast.Call, key: FunctionKey, hops: int) -> Constants:
    """`kwargs.get("fp16", False)`: what calls give by that name, and the default where one gives nothing."""
    rest = _rest_of(project, key)
    if not rest or chain(node.func) != f"{rest}.get" or len(node.args) != 2 or not is_text(node.args[0]):
        return _UNSEEN
    name, own = ast.literal_eval(node.args[0]), constants(project, node.args[1], key, hops - 1)
    return _by_keyword(project, key, name, own, hops)


def _by_keyword(project: Project, key: FunctionKey, name: str, own: Constants, hops: int) -> Constants:
    """What the calls of a function give by a keyword; `own` where one gives nothing, or none is seen."""
    found: list[Constants] = []
    for site in project.hotness.callers.get(key, ()):
        call = call_at(project.values, site)
        if call is None or unpacks(call):
            return _UNSEEN
        given, caller = keyword(call, name), FunctionKey(site.path, site.call.function)
        found.append(own if given is None else constants(project, given, caller, hops - 1))
    return _together(found or [own])


def _of_name(project: Project, body: Body, name: str, key: FunctionKey, hops: int) -> Constants:
    record = project.index.function(key)
    bound = body.definitions(key.index).get(name, ())
    is_parameter = any(parameter.name == name for parameter in record.parameters)
    if bound:
        plain = not is_parameter and all(d.how == "assign" and not d.index for d in bound)
        values = [d.value for d in bound if d.value is not None] if plain else []
        return _together(constants(project, value, key, hops - 1) for value in values)
    if is_parameter:
        return of_parameter(project, key, name, hops)
    return _of_name(project, body, name, FunctionKey(key.path, record.parent), hops) if key.index else _UNSEEN


def _held(project: Project, body: Body, key: FunctionKey, name: str) -> list[tuple[FunctionKey, ast.expr]]:
    """(method, value) where the methods of a class in this file set an attribute of their object."""
    functions = project.index.outlines[key.path].functions
    own = functions[key.index].class_index
    methods = [FunctionKey(key.path, n) for n, f in enumerate(functions) if f.class_index == own >= 0]
    return [(method, value) for method in methods for value, _ in body.self_assigned(method.index, name)]


def _together(found: Iterable[Constants]) -> Constants:
    return frozenset().union(*found) or _UNSEEN
