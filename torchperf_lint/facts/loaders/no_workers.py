"""Loaders whose number of workers is 0 unless somebody asks for more: by what callers give, or by an option's default.

    parser.add_argument("--threads", type=int, default=0)        def loader_of(data, num_workers=0):
    ...                                                              return DataLoader(data, num_workers=num_workers)
    DataLoader(data, num_workers=int(args.threads))              loader_of(train_set)

A parameter counts where the project calls the function and no call gives anything else; an option where nothing that
is written down sets it to another number. What a library leaves to its users is theirs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.bindings.hints import default_of
from torchperf_lint.facts.bindings.option_declarations import default, flag, flags
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey, Thing
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.constants.class_body import assigned_in_class
from torchperf_lint.facts.constants.declared_options import declarations
from torchperf_lint.facts.constants.given_by_partials import is_given_by_partials
from torchperf_lint.facts.constants.named_settings import is_bound_elsewhere
from torchperf_lint.facts.constants.options_set import is_set, is_set_on_objects
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.loaders.spread_arguments import each_written_out
from torchperf_lint.facts.syntax.arguments import keyword, unpacks
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Frame

NAME, POSITION = "num_workers", 5
"""Of `DataLoader(dataset, batch_size, shuffle, sampler, batch_sampler, num_workers)`."""
_HOPS = 4
"""Names, attributes and calls between a number and the loader."""
_TO_NUMBER = frozenset({"int"})


class Unasked(NamedTuple):
    """Why there are no workers."""

    because: str = ""
    """What is 0, in words; empty where the call itself says so, or says nothing."""
    by_option: bool = False
    """Whether who starts the program may ask for some."""


def no_workers(project: Project, call: ast.Call, frame: Frame) -> Unasked | None:
    """Why a loader is made without workers; None where it may have some."""
    found = [_of_call(project, each, frame) for each in each_written_out(project.values, call, frame)]
    known = [reason for reason in found if reason is not None]
    return _weakest(known) if len(known) == len(found) else None


def _of_call(project: Project, call: ast.Call, frame: Frame) -> Unasked | None:
    if unpacks(call):
        return None
    given = keyword(call, NAME)
    if given is None and len(call.args) > POSITION:
        given = call.args[POSITION]
    return Unasked() if given is None else _is_zero(project, given, frame, _HOPS)


def _weakest(found: list[Unasked]) -> Unasked | None:
    """The reason that says most of what somebody could change."""
    return max(found, key=lambda reason: (reason.by_option, bool(reason.because)), default=None)


def _is_zero(project: Project, node: ast.expr, frame: Frame, hops: int) -> Unasked | None:
    if isinstance(node, ast.Constant):
        return None if node.value else Unasked()
    if not hops:
        return None
    if isinstance(node, ast.Call):
        inner = node.args[0] if chain(node.func) in _TO_NUMBER and len(node.args) == 1 else None
        return _is_zero(project, inner, frame, hops) if inner is not None else None
    if isinstance(node, ast.Name):
        return _name(project, node.id, frame, hops)
    if isinstance(node, ast.Attribute):
        held = _held(project, node.attr, frame, hops) if chain(node.value) == "self" else None
        return held or _option(project, node, frame)
    return None


def _name(project: Project, name: str, frame: Frame, hops: int) -> Unasked | None:
    """What a parameter is given by all calls, or what a name is bound to once: in the function, or in its file."""
    body, key = project.body(frame.path), FunctionKey(frame.path, frame.function)
    if body is None:
        return None
    bound = body.definitions(frame.function).get(name, ())
    if name in {p.name for p in project.index.function(key).parameters}:
        return _parameter(project, key, name, hops) if not bound else None
    there = frame.function if bound else 0
    written = body.definitions(there).get(name, ())
    value = written[0].value if len(written) == 1 and written[0].how == "assign" else None
    if value is None or is_bound_elsewhere(project, frame.path, name, there):
        return None
    found = _is_zero(project, value, Frame(frame.path, there, body.at(value)), hops - 1)
    return found and (found if found.because else Unasked(f"`{name}` is 0 ({_place(frame.path, value)})"))


def _parameter(project: Project, key: FunctionKey, name: str, hops: int) -> Unasked | None:
    body = project.body(key.path)
    top = body.functions[key.index] if body is not None else None
    default = default_of(top, name) if top is not None else None
    if isinstance(top, ast.FunctionDef) and name in (ast.get_docstring(top, clean=False) or ""):
        return None  # it is offered to whoever calls: the project's own calls are not all there are
    if is_given_by_partials(project, project.index.function(key).name, name):
        return None
    found = []
    for site in project.hotness.callers.get(key, ()):
        reason = _given(project, key, site, name, default, hops)
        if reason is None:
            return None
        found.append(reason)
    reason = _weakest(found)
    return reason and (reason if reason.because else Unasked(f"no call gives `{name}` another value than 0"))


def _given(
    project: Project, key: FunctionKey, site: CallSite, name: str, default: ast.expr | None, hops: int
) -> Unasked | None:
    call = call_at(project.values, site)
    if call is None or unpacks(call):
        return None
    given = argument_for(call, project.index.function(key), name)
    if given is None:
        return Unasked() if isinstance(default, ast.Constant) and not default.value else None
    return _is_zero(project, given, Frame(site.path, site.call.function, (site.call.line, site.call.column)), hops - 1)


def _held(project: Project, name: str, frame: Frame, hops: int) -> Unasked | None:
    """`self.num_workers`, which one method of the class sets, in one place."""
    own, body = project.index.class_of(frame.path, frame.function), project.body(frame.path)
    if own is None or body is None or own.path != frame.path:
        return None
    values, family = project.values, {*project.index.ancestry(own), *project.index.below(own)}
    if is_set_on_objects(project, name) or any(assigned_in_class(values, cls, name) for cls in family):
        return None
    made = [place for cls in family if cls.kind == "class" for place in _assignments(project, cls, name)]
    if len(made) != 1 or made[0][0].path != frame.path:
        return None
    method, value = made[0]
    found = _is_zero(project, value, Frame(frame.path, method.index, body.at(value)), hops - 1)
    return found and (found if found.because else Unasked(f"`self.{name}` is 0 ({_place(frame.path, value)})"))


def _assignments(project: Project, cls: Thing, name: str) -> Iterator[tuple[FunctionKey, ast.expr]]:
    """(method, value) for each place in which the methods of a class set an attribute of their object."""
    body = project.body(cls.path)
    for method in project.index.record(cls).methods.values() if body is not None else ():
        for value, _ in body.self_assigned(method, name) if body is not None else ():
            yield FunctionKey(cls.path, method), value


# -- options ---------------------------------------------------------------------------------------


def _option(project: Project, node: ast.Attribute, frame: Frame) -> Unasked | None:
    """`args.workers`, where every parser that may have made it has 0 there by default, and nothing sets another."""
    name, own = node.attr, declarations(project, node, frame.path)
    if not own or any(not _is_none(default(call)) for _, call in own):
        return None
    if is_set(project, name, (one.lstrip("-") for _, call in own for one in flags(call) if one.startswith("--"))):
        return None
    path, call = own[0]
    return Unasked(f"`{flag(call, name)}` is 0 by default ({_place(path, call)})", by_option=True)


def _is_none(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value in (0, "0") and value.value is not False


def _place(path: str, node: ast.AST) -> str:
    return f"{path}:{getattr(node, 'lineno', 0)}"
