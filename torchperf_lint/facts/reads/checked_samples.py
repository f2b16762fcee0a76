"""Values that a distribution made before checks in each step: `prior.log_prob(z)`, whose answer the host waits for.

    prior = MultivariateNormal(zeros, covariance)          # once, or of numbers: nothing waits here
    for x in loader:
        loss = -prior.log_prob(flow(x)).mean()             # is `z` real? a wait

What is made in hot code of device tensors waits there already, and is validating.py's business.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.devices.distributions import distribution_made
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.reads.validating import CHECKED, is_switched_off, says_so
from torchperf_lint.facts.values.value import Value
from torchperf_lint.patterns import pattern

_SWITCHED = pattern(r"(?<!\w)_validate_args\s*=(?!=)")
"""`prior._validate_args = False`, after it was made."""
_CHECKED = frozenset(dotted.rpartition(".")[2] for dotted in CHECKED) | {"TransformedDistribution"}


class CheckedSample(NamedTuple):
    """A call of `log_prob` that waits."""

    site: Site
    value: Value
    """What is checked."""
    made: ast.Call
    path: str
    """Where the distribution is made."""


def checked_samples(file: SourceFile, told: Collection[ast.AST]) -> Iterator[CheckedSample]:
    """The hot calls of `log_prob` on distributions that leave their checks on and are not `told` of themselves."""
    if _SWITCHED.search(file.text):
        return
    for site in file.hot_calls("log_prob"):
        hot, given = site.hot, site.call.args
        if hot is None or hot.kind == "data" or site.receiver is None or len(given) != 1 or site.call.keywords:
            continue
        found = distribution_made(file.project.values, site.receiver, site.frame)
        if found is None or found[2] not in _CHECKED or says_so(found[0]) or found[0] in told:
            continue
        value = on_device(file, site, given[0])
        if value is None or value.kind != "tensor" or is_switched_off(file):
            continue
        if not _SWITCHED.search(file.project.text(found[1].path)):
            yield CheckedSample(site, value, found[0], found[1].path)
