"""Loaders that accelerate was given to set up, whose steps compute with the images, videos or sounds of their batches.

    model, loader = accelerator.prepare(model, loader)
    for batch in loader:                                    # accelerate has copied it, and waited
        latents = vae.encode(batch["pixel_values"].to(dtype=dtype))

Without pinned memory each copy goes through a buffer of the driver, on the thread that launches the step (accelerate
1.15, `DataLoaderShard.__iter__`; `non_blocking` of `DataLoaderConfiguration`, since 0.30, is off by default).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.loaders.loaders import Origin, loaders_of
from torchperf_lint.facts.outlines.signatures import ACCELERATOR_NAME
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.values.iteration import over_loaders
from torchperf_lint.facts.values.value import DEVICE, Frame
from torchperf_lint.patterns import pattern

_LARGE = pattern(r"(?:^|_)(?:pixel_values|images?|imgs?|pixels|videos?|waveforms?|audios?|mels?|spectrograms?)$")
_SETTINGS = "DataLoaderConfiguration"
_CONVERTED = frozenset({"to", "float", "half", "bfloat16", "type", "permute", "contiguous"})
"""What is done first with images that are to be computed with; a list of paths has none of these."""


class Prepared(NamedTuple):
    """A step loop over a loader that accelerate has set up."""

    path: str
    line: int
    """Of the loop."""
    hot: Hot
    entry: str
    """What the step computes with, as written: `batch["pixel_values"]`."""


def prepared_images(project: Project, origin: Origin) -> Prepared | None:
    """The step loop that gets large batches of the loader made at `origin` from accelerate; None where none is seen."""
    for use in loaders_of(project).uses(origin):
        body = project.body(use.path) if use.hot.kind == "step" else None
        if body is None or not _is_set_up_by_accelerate(project, use.path):
            continue
        for function, loop in _loops_at(project, body, use.path, use.line):
            frame = Frame(use.path, function, body.at(loop.iter))
            values = project.values
            batches = over_loaders(values, values.of(loop.iter, frame), frame)
            entry = _large_entry(loop) if any(b.device == DEVICE and origin in b.origins for b in batches) else None
            if entry is not None:
                return Prepared(use.path, use.line, use.hot, entry)
    return None


def _is_set_up_by_accelerate(project: Project, path: str) -> bool:
    """Whether accelerate moves a file's batches, and nothing tells it not to wait for them."""
    parts = [call.callee.rpartition(".") for call in project.index.outlines[path].calls]
    if not any(name == "prepare" and ACCELERATOR_NAME.search(base) for base, _, name in parts):
        return False
    told = (p for p, o in project.index.outlines.items() if any(last_part(c.callee) == _SETTINGS for c in o.calls))
    return not any("non_blocking" in project.text(other) for other in told)


def _loops_at(project: Project, body: Body, path: str, line: int) -> Iterator[tuple[int, ast.For]]:
    for region in project.index.outlines[path].regions:
        if region.kind == "loop" and region.head == line:
            node = body.functions.get(region.function)
            inside = ast.walk(node) if node is not None else ()
            yield from ((region.function, n) for n in inside if isinstance(n, ast.For) and n.lineno == line)


def _large_entry(loop: ast.For) -> str | None:
    """An entry of the loop's batch that holds images or sounds, by its key, and is computed with."""
    names = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    for node in (part for statement in loop.body for part in ast.walk(statement)):
        if not isinstance(node, ast.Attribute) or node.attr not in _CONVERTED:
            continue
        entry = node.value
        of_batch = isinstance(entry, ast.Subscript) and isinstance(entry.value, ast.Name) and entry.value.id in names
        key = entry.slice if isinstance(entry, ast.Subscript) and of_batch else None
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and _LARGE.search(key.value):
            return ast.unparse(entry).replace("'", '"')
    return None
