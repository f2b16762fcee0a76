"""Which calls make the optimizer that a name holds, where another function makes it: in whatever file.

    def build(net, cfg):                          def train(net, optimizer, scaler, loader):
        if cfg.name == "Adam":                        for x in loader:
            optimizer = Adam(net.parameters())            ...
        else:                                             scaler.step(optimizer)
            raise NotImplementedError
        return optimizer                          train(net, build(net, cfg), scaler, loader)

Parameters are what all callers give, names what is assigned to them, calls what their functions return, an element of a
tuple too. What a function gives back as it got it is that: `optimizer = resume(path, optimizer)`.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_Value = tuple[FunctionKey, ast.expr, int | None]
"""Where an expression stands, and which element of it is meant."""
_RESUMES = pattern(r"^(?:prepare|resume|restore|load)(?:_|$)")
_HOPS = 5
_MANY = 8
"""Callers of one function, or ways to make an optimizer."""


class Made(NamedTuple):
    """A call that makes an optimizer."""

    path: str
    call: ast.Call
    dotted: str
    """The class, `torch.optim.Adam`."""


def optimizers_given(project: Project, path: str, function: int, held: str) -> list[Made]:
    """All calls of torch's optimizers that may make what a name holds; empty where one of them is not in sight."""
    found = _Search(project).of_name(FunctionKey(path, function), held, None, _HOPS) or []
    return list({(made.path, made.call.lineno, made.call.col_offset): made for made in found}.values())


class _Search:
    """None stands for what is not in sight."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.seen: set[tuple[FunctionKey, str, int | None]] = set()

    def of_name(self, key: FunctionKey, held: str, index: int | None, hops: int) -> list[Made] | None:
        """What a name or an attribute of `self` holds; the element of it with a number."""
        if hops == 0 or (key, held, index) in self.seen:
            return None
        self.seen.add((key, held, index))
        record = self.project.index.function(key)
        if held.startswith("self."):
            methods = self.project.index.outlines[key.path].functions if record.class_index >= 0 else ()
            own = [n for n, method in enumerate(methods) if method.class_index == record.class_index]
            return self._all([one for n in own for one in self._assigned(FunctionKey(key.path, n), held)], index, hops)
        if "." in held:
            return None
        assigned = self._assigned(key, held)
        given = held in [parameter.name for parameter in record.parameters]
        if assigned and not given:
            return self._all(assigned, index, hops)
        if given and not assigned:
            return self._of_parameter(key, held, index, hops)
        if key.index and not assigned and not given:
            return self.of_name(FunctionKey(key.path, max(record.parent, 0)), held, index, hops - 1)
        return None

    def _of_parameter(self, key: FunctionKey, held: str, index: int | None, hops: int) -> list[Made] | None:
        sites = self.project.hotness.callers.get(key, ())
        if not 0 < len(sites) <= _MANY:
            return None
        found: list[Made] = []
        for site in sites:
            node = call_at(self.project.values, site)
            given = argument_for(node, self.project.index.function(key), held) if node is not None else None
            made = self._of(FunctionKey(site.path, site.call.function), given, index, hops - 1) if given else None
            if made is None:
                return None
            found += made
        return found

    def _all(self, values: list[_Value], index: int | None, hops: int) -> list[Made] | None:
        found: list[Made] = []
        told = [one for one in values if not isinstance(one[1], ast.Constant)]
        if not 0 < len(told) <= _MANY:
            return None
        for key, value, part in told:
            made = self._of(key, value, part if part is not None else index, hops)
            if made is None:
                return None
            found += made
        return found

    def _of(self, key: FunctionKey, value: ast.expr, index: int | None, hops: int) -> list[Made] | None:
        if isinstance(value, ast.Tuple) and index is not None and index < len(value.elts):
            return self._of(key, value.elts[index], None, hops)
        if isinstance(value, ast.Name | ast.Attribute):
            return self.of_name(key, chain(value), index, hops - 1)
        if not isinstance(value, ast.Call):
            return None
        callee = chain(value.func)
        thing = self.project.types.thing(key.path, key.index, callee)
        if thing is not None and thing.kind == "external":
            is_one = index is None and thing.dotted.startswith("torch.optim.") and thing.dotted.count(".") == 2
            return [Made(key.path, value, thing.dotted)] if is_one else None
        targets = self.project.types.targets(key.path, key.index, callee)
        if len(targets) != 1 or hops == 0:
            return None
        body = self.project.body(targets[0].path)
        returned = body.returns(targets[0].index) if body is not None else []
        return self._all([(targets[0], one, None) for one in returned], index, hops - 1)

    def _assigned(self, key: FunctionKey, held: str) -> list[_Value]:
        """What a function assigns to a name, and which element of it; not what is given the name's own value."""
        body = self.project.body(key.path)
        found: list[_Value] = []
        for statement in body.statements(key.index) if body is not None else ():
            if not isinstance(statement, ast.Assign) or self._hands_back(key, statement.value, held):
                continue
            for target in statement.targets:
                if chain(target) == held:
                    found.append((key, statement.value, None))
                elif isinstance(target, ast.Tuple):
                    found += [(key, statement.value, n) for n, part in enumerate(target.elts) if chain(part) == held]
        return found

    def _hands_back(self, key: FunctionKey, value: ast.expr, held: str) -> bool:
        """Whether a call gives back what a name holds: `resume(path, optimizer)`, `prepare(model, optimizer)`.

        Not what wraps it: `Lookahead(optimizer)`, `DistributedOptimizer(optimizer)`.
        """
        if not isinstance(value, ast.Call) or all(chain(given) != held for given in value.args):
            return False
        callee = chain(value.func)
        if _RESUMES.search(last_part(callee)):
            return True
        targets = self.project.types.targets(key.path, key.index, callee)
        body = self.project.body(targets[0].path) if len(targets) == 1 else None
        if body is None:
            return False
        record, bound = self.project.index.function(targets[0]), body.definitions(targets[0].index)
        given = {p.name: argument_for(value, record, p.name) for p in record.parameters if p.name not in bound}
        same = {name for name, argument in given.items() if argument is not None and chain(argument) == held}
        returned = body.returns(targets[0].index)
        parts = [{chain(p) for p in (one.elts if isinstance(one, ast.Tuple) else [one])} for one in returned]
        return bool(parts) and all(same & names for names in parts)
