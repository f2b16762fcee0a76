"""Distributions of the project that derive from one of torch's, and leave its constructor as it is.

    class FixedCategorical(torch.distributions.Categorical):
        def log_probs(self, actions):
            return super().log_prob(actions.squeeze(-1)).unsqueeze(-1)

    return FixedCategorical(logits=self.linear(x))        # checks its parameters as a `Categorical` does
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.constants.class_body import assigned_in_class
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.values.values import Values

_MAKES = frozenset({"__init__", "__new__"})
_SWITCHES = ("_validate_args", "arg_constraints")
"""What a class's body turns the checks off with, or leaves nothing to check."""
_OF_TORCH = "torch.distributions."
_ASKS = "super().log_prob"


def own_distributions(file: SourceFile, checking: Collection[str]) -> Iterator[tuple[Site, str]]:
    """The hot calls that make such a distribution, with why: what its class derives from is one of those that check."""
    names = {last_part(call.callee) for call in file.outline.calls}
    for site in file.hot_calls(*sorted(name for name in names if name[:1].isupper())):
        cls = _class_of(site)
        base = checking_base(file.project.values, cls, checking) if cls is not None else None
        if cls is not None and base is not None:
            yield site, f"`{file.project.index.record(cls).name}` derives from `{base}`"


def _class_of(site: Site) -> Thing | None:
    thing = site.file.project.values.thing(site.call.func, site.frame)
    return thing if thing is not None and thing.kind == "class" else None


def checking_base(values: Values, cls: Thing, checking: Collection[str], made_by: Thing | None = None) -> str | None:
    """What checks in a class's place; None where the class decides about that itself.

    `made_by`: the class whose constructor is looked at already.
    """
    external = values.index.external_bases(cls)
    base = next((one for one in external if one in checking), None)
    if base is not None and not all(one.startswith(_OF_TORCH) for one in external[: external.index(base)]):
        return None  # `class Field(nn.Module, Normal)`: the constructor is another's
    for one in values.index.ancestry(cls) if base is not None else ():
        if one.kind != "class":
            continue
        if one != made_by and not _MAKES.isdisjoint(values.index.record(one).methods):
            return None
        if any(assigned_in_class(values, one, name) for name in _SWITCHES):
            return None
    return base


def asked_within(site: Site) -> Iterator[tuple[str, Position]]:
    """Where methods of the class that is made ask what it derives from for the probability of values, which are
    checked as well: path and place."""
    cls = _class_of(site)
    body = site.file.project.body(cls.path) if cls is not None else None
    if cls is None or body is None:
        return
    for call in body.outline.calls:
        if call.callee != _ASKS or body.outline.functions[call.function].class_index != cls.index:
            continue
        node = body.node_of(call)
        if node is not None and isinstance(node.func, ast.Attribute):
            line, column = body.at(node.func, end=True)
            yield cls.path, (line, column - len(node.func.attr))
