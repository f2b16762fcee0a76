"""Batches that the pinning thread of a loader does not know: it hands them on as they are."""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.loaders.loader_arguments import given
from torchperf_lint.facts.values.results import returned
from torchperf_lint.facts.values.value import Value

_BARE = ("object", "typing.", "abc.", "builtins.object")
"""Bases that are no container and bring no `pin_memory`."""


def unpinned_batch(project: Project, site: Site) -> str | None:
    """What the `collate_fn` of a loader hands out that no thread can pin, in words; None where it may."""
    collate = given(site.call, "collate_fn")
    if collate is None or isinstance(collate, ast.Lambda):
        return None
    key = function_of(project, project.values.thing(collate, site.frame))
    if key is None:
        return None
    name = project.index.function(key).qualname
    things = project.types.returned(key)
    if any(thing.kind != "external" for thing in things):
        body = project.body(key.path)
        only = body is not None and len(body.returns(key.index)) == 1
        found = [_class(project, thing) for thing in things]
        return f"`{name}` returns a `{found[0]}`" if only and all(found) else None
    what = _arrays(returned(project.values, key, site.frame))
    return f"`{name}` returns {what}" if what is not None else None


def function_of(project: Project, thing: Thing | None) -> FunctionKey | None:
    """The function of the project that such a `collate_fn` runs; None for any other."""
    if thing is None:
        return None
    if thing.kind == "function":
        return FunctionKey(thing.path, thing.index)
    return project.index.method(thing, "__call__") if thing.kind == "instance" else None


def _class(project: Project, thing: Thing) -> str | None:
    """The name of a class of the project whose instances are neither containers nor know how to pin themselves."""
    index = project.index
    if thing.kind != "instance":
        return None
    bases = [base for cls in index.ancestry(thing) if cls.kind != "external" for base in index.record(cls).bases]
    known = [base for base in bases if base.rpartition(".")[2] not in ("object", "ABC", "Protocol")]
    project_classes = sum(cls.kind != "external" for cls in index.ancestry(thing)) - 1
    plain = all(base.startswith(_BARE) for base in index.external_bases(thing))
    if not plain or len(known) > project_classes or index.method(thing, "pin_memory") is not None:
        return None
    containers = ("__getitem__", "keys", "to_tensors")
    return None if any(index.method(thing, name) for name in containers) else index.record(thing).name


def _arrays(value: Value) -> str | None:
    """Arrays of numpy, alone or as all that a tuple holds."""
    if value.kind == "array":
        return "an array of numpy"
    if value.items and all(item.kind == "array" for item in value.items):
        return "arrays of numpy"
    return None
