"""Tables that a module's `forward` fills on the host and gives back: rotary embeddings, position ids, masks.

    def forward(self, hidden_states):                 # on the device
        angles = torch.outer(torch.arange(hidden_states.shape[1]), frequencies)
        return angles.cos(), angles.sin()             # on the host: whoever multiplies by them has to copy them

The move stands elsewhere, once for each layer as often as not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.copies.computed import computed_on_host
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.values.value import HOST, Frame

_TABLES = ("arange", "linspace")
MENTIONED = tuple(f"{name}(" for name in _TABLES)
_PREPARES = ("oader", "ataset", "ransform", "ugment", "rocess", "ampler", "enerator")
"""In names of classes that may work on the host, for it."""


def tables_given_back(file: SourceFile) -> Iterator[tuple[Site, str]]:
    """The first factory of each such `forward`, with the parameter beside which the table could be made."""
    asked: set[int] = set()
    for site in file.hot_calls(*_TABLES):
        if site.function in asked or any(k.arg in ("device", None) for k in site.call.keywords):
            continue
        asked.add(site.function)
        if site.hot is None or site.hot.kind in ("data", "eval") or not file.project.uses_accelerator:
            continue
        given = _beside(file, site)
        if given is not None and _gives_back_tables(file, site):
            yield site, given


def _beside(file: SourceFile, site: Site) -> str | None:
    """The first parameter of a module's `forward` that is a tensor where the model is."""
    record = file.outline.functions[site.function]
    own = file.project.index.class_of(file.path, site.function)
    if record.name != "forward" or own is None or not file.project.types.is_module_class(own):
        return None
    if any(word in file.project.index.record(own).name for word in _PREPARES):
        return None
    for parameter in record.parameters[1:]:
        value = file.project.values.of(ast.Name(parameter.name, ast.Load()), site.frame)
        if value.kind == "tensor" and value.device != HOST:
            return parameter.name
    return None


def _gives_back_tables(file: SourceFile, site: Site) -> bool:
    """Whether all that a function returns is computed on the host, from nothing but factories and numbers."""
    body = file.project.body(file.path)
    returned = body.returns(site.function) if body is not None else []
    if body is None or not returned:
        return False
    for node in returned:
        frame = Frame(file.path, site.function, body.at(node))
        parts = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
        for part in parts:
            found = computed_on_host(file.project.values, part, frame)
            if found is None or found.held or any(one.factory in api.HOST_DATA for one in found.made):
                return False
    return True
