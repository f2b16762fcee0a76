"""What the call that makes a DataLoader passes: each argument by its name, and whole numbers as far as they show."""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.hints import default_of
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.literals import is_none

_POSITIONS = {
    name: position
    for position, name in enumerate(
        "dataset batch_size shuffle sampler batch_sampler num_workers collate_fn pin_memory drop_last timeout "
        "worker_init_fn multiprocessing_context generator".split()
    )
}
"""What `DataLoader` takes by position, too."""


def given(call: ast.Call, name: str) -> ast.expr | None:
    """The argument of that name that a loader is made with; None where it is left out or a literal None."""
    found = keyword(call, name)
    position = _POSITIONS.get(name, len(call.args))
    if found is None and position < len(call.args):
        found = call.args[position]
    return None if is_none(found) else found


def whole_number(site: Site, node: ast.expr | None) -> int | None:
    """The number that an expression is: a literal, a constant of the function or module, a parameter's default."""
    body = site.file.project.body(site.file.path)
    for _ in range(3):
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int else None
        if not isinstance(node, ast.Name) or body is None:
            return None
        definitions = [d for f in {site.function, 0} for d in body.definitions(f).get(node.id, ())]
        default = default_of(body.functions[site.function], node.id)
        if default is None and (len(definitions) != 1 or definitions[0].how != "assign"):
            return None
        node = definitions[0].value if default is None else None if definitions else default
    return None


def workers(site: Site) -> tuple[int | None, str] | None:
    """How many workers a loader has: the number, None where only a run knows it, and as written.

    None where it has none, or where what is unpacked may say it.
    """
    node = given(site.call, "num_workers")
    if node is None:
        return None
    number = whole_number(site, node)
    return None if number == 0 else (number, site.file.brief(node))
