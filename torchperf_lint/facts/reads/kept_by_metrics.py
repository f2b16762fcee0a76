"""What a metric adds up on a device of its own, by default the host: `self.total += x.sum().to(self._device)`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.devices.metric_devices import rests_on_host
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.arguments import moved_to
from torchperf_lint.facts.syntax.chains import chain


def by_default(site: Site) -> bool:
    """Whether what a metric adds up is moved to a device of its own that is the host unless somebody gives another one.

    Whole batches that it gathers for the end need not fit on the device.
    """
    target = moved_to(site.call)
    if target is None or not rests_on_host(site.file.project.values, target, site.frame):
        return False
    statement = site.file.enclosing(site.function).statement(site.call)
    if isinstance(statement, ast.Assign):
        return all(chain(kept).startswith("self.") for kept in statement.targets)
    return isinstance(statement, ast.AugAssign) and chain(statement.target).startswith("self.")
