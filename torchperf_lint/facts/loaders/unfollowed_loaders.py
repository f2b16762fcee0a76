"""Loaders that feed training, though the way of their batches to the device cannot be followed.

A function returns them, a dict holds them, a framework iterates them: what is known is what they are made of.
"""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.loaders.loaders import loaders_of
from torchperf_lint.facts.loaders.spread_arguments import written_out
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_true
from torchperf_lint.facts.values.datasets import batches_on_device, data_of, held, item_work
from torchperf_lint.patterns import pattern

_TRAINS = pattern(r"(?:^|[^a-z])(?:train|trn)(?:ing|er)?(?:[^a-z]|$)", re.IGNORECASE)
_OTHERWISE = pattern(r"(?:^|[^a-z])(?:val|valid|validation|test|eval|dev)(?:[^a-z]|$)", re.IGNORECASE)

_AT_RANDOM = pattern(r"^(?:Subset|Weighted)?RandomSampler$|^train(?:ing)?_sampler$")


def work_of_training_loader(project: Project, site: Site) -> str | None:
    """What each item costs that a loader for training loads from files, in words; None where that is not known."""
    data, told = data_of(site.call), written_out(project.values, site.call, site.frame)
    shuffled = is_true(keyword(told, "shuffle")) or _samples_at_random(keyword(told, "sampler"))
    if data is None or not project.uses_accelerator or not shuffled:
        return None
    where = site.file.outline.functions[site.function].qualname
    named = ast.unparse(data)
    if _OTHERWISE.search(named) or (_OTHERWISE.search(where) and not _TRAINS.search(named)):
        return None
    uses = loaders_of(project).uses((site.file.path, *site.start))
    if uses and all(use.hot.kind != "step" for use in uses):
        return None
    if _is_demo(site) or keyword(told, "collate_fn") is not None:
        return None  # A look at one batch; batches of texts are small, and what else is collated nobody knows.
    if held(project.values, site.call, site.frame) or batches_on_device(project.values, site.call, site.frame):
        return None
    return item_work(project.values, data, site.frame)


def _samples_at_random(sampler: ast.expr | None) -> bool:
    """`sampler=RandomSampler(data)`, `sampler=train_sampler`: what names itself after training, or after chance."""
    called = chain(sampler.func) if isinstance(sampler, ast.Call) else chain(sampler) if sampler is not None else ""
    return bool(_AT_RANDOM.search(last_part(called)))


def _is_demo(site: Site) -> bool:
    """Whether a file makes the loader only where it is run by itself, to try what it defines."""
    return site.function == 0 and site.file.project.hotness.demonstrations.holds(site.file.path, site.start[0])
