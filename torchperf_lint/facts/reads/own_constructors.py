"""Constructors of the project's distributions that hand their parameters on to the class of torch's, which checks them.

    class Masked(torch.distributions.Categorical):
        def __init__(self, logits, mask, validate_args=None):
            super().__init__(logits=logits.masked_fill(~mask, -1e8), validate_args=validate_args)

What such a call says of `validate_args` it may leave to who makes the object, who says nothing of it either.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from torchperf_lint.facts.bindings.hints import default_of
from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.reads.own_distributions import checking_base
from torchperf_lint.facts.syntax.arguments import arguments, unpacks
from torchperf_lint.facts.syntax.literals import is_none, is_true

_FLAG = "validate_args"


def own_constructors(file: SourceFile, checking: Collection[str]) -> Iterator[tuple[Site, str]]:
    """The hot calls by which such a constructor makes what its class derives from, with why that checks."""
    for site in file.hot_calls("__init__"):
        record = file.outline.functions[site.function]
        own = Thing("class", file.path, record.class_index)
        if record.name != "__init__" or record.class_index < 0 or not _is_of_super(site.call):
            continue
        base = checking_base(file.project.values, own, checking, made_by=own)
        if base is not None and not _decides(site):
            yield site, f"`{file.outline.classes[own.index].name}` derives from `{base}`"


def hands_on_checks(call: ast.Call) -> bool:
    """Whether a call passes on, by its place or by name, what a constructor was told of the checks."""
    given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == _FLAG)]
    return any(isinstance(one, ast.Name) and one.id == _FLAG for one in given)


def _is_of_super(call: ast.Call) -> bool:
    of = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(of, ast.Call) and isinstance(of.func, ast.Name) and of.func.id == "super"


def _decides(site: Site) -> bool:
    """Whether a call, or who calls the constructor around it, may switch the checks off."""
    if unpacks(site.call):
        return True
    by_name = {given.value for given in site.call.keywords if given.arg == _FLAG}
    told = by_name | {given for given in site.call.args if isinstance(given, ast.Constant) and given.value is False}
    handed = {given for given in arguments(site.call) if isinstance(given, ast.Name) and given.id == _FLAG}
    settled = {given for given in told if is_none(given) or is_true(given)}
    return bool(told - handed - settled) or (bool(handed) and not _is_left_out_by_callers(site))


def _is_left_out_by_callers(site: Site) -> bool:
    """Whether `validate_args` is a parameter that says nothing by default, and that no call in sight passes."""
    project, key = site.file.project, FunctionKey(site.file.path, site.function)
    default = default_of(site.file.enclosing(site.function).top, _FLAG)
    if default is None or not (is_none(default) or is_true(default)):
        return False
    calls = [call_at(project.values, caller) for caller in project.hotness.callers.get(key, ())]
    record = site.file.outline.functions[site.function]
    return all(call is not None and not unpacks(call) and argument_for(call, record, _FLAG) is None for call in calls)
