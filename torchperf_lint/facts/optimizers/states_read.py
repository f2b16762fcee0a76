"""States of optimizers that are put together for one entry of them.

    lr = optimizer.state_dict()["param_groups"][0]["lr"]          # optimizer.param_groups[0]["lr"]
    moments = optimizer.state_dict()["state"][0]["exp_avg"]       # optimizer.state[parameter]["exp_avg"]

`state_dict` goes through all parameters to number them, and makes new dicts of what it holds of each; what an optimizer
shares with it is there as attributes. A scheduler's and a scaler's state have no such parts.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.patterns import pattern

_OPTIMIZER = pattern(r"optim|(?:^|_)opt(?:_|$)|(?:^|_)opt\d?$")
_GROUPS, _STATE = "param_groups", "state"


def attribute_read_as_state(site: Site) -> str | None:
    """What to read instead of an entry of `state_dict()`, as code; None for what is no entry of an optimizer's."""
    entry = site.file.enclosing(site.function).parents.get(site.call)
    if site.call.args or site.call.keywords or site.receiver is None or not isinstance(entry, ast.Subscript):
        return None
    if entry.value is not site.call or not isinstance(entry.slice, ast.Constant):
        return None
    if not isinstance(entry.ctx, ast.Load):
        return None
    written = " ".join(site.file.source(site.receiver).split())
    if entry.slice.value == _GROUPS:
        return f"{written}.{_GROUPS}"
    name = last_part(site.record.callee.rpartition(".")[0])
    if entry.slice.value != _STATE or not _OPTIMIZER.search(name):
        return None
    return f"{written}.{_STATE}[parameter]"
