"""Calls of progress bars and experiment trackers, and what they read from the device."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.constants.held import CHANGES
from torchperf_lint.facts.copies.on_device import holds_on_device, on_device
from torchperf_lint.facts.files.source import Place, Site, SourceFile
from torchperf_lint.facts.reads.formatting import given_to_format, written_into
from torchperf_lint.facts.reads.reads import conversion_readings, copy_readings, item_readings
from torchperf_lint.facts.roles.fabrics import is_fabric
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

BAR, TRACKER = "bar", "tracker"

_BARS = ("set_postfix", "set_postfix_str", "set_description", "set_description_str", "set_desc")
_WRITERS = ("add_scalar", "add_scalars", "add_histogram", "report_scalar")
"""Methods that only the writers of TensorBoard and the loggers of ClearML have. A histogram copies the whole tensor."""
_TRACKERS = ("log_metric", "log_metrics")
_TRACKER_NAME = pattern(r"^_?(?:\w+_)?(?:mlflow|comet\w*|logger|experiment|tracker|run|client|writer)$", re.IGNORECASE)
_OF_FABRIC = ("log", "log_dict")
"""Methods of Fabric that make numbers of tensors, though there may be no logger."""
_LOG = ("wandb.log", "wandb.run.log", "wandb.init().log", "accelerate.Accelerator().log", "swanlab.log")


class Logged(NamedTuple):
    """A call that shows or tracks numbers."""

    site: Site
    kind: str
    """BAR or TRACKER."""
    reads: tuple[ast.expr, ...]
    """What among its arguments waits for the device: `loss.item()`, or a tensor that the callee reads."""


def logged(file: SourceFile) -> tuple[Logged, ...]:
    """The hot calls of progress bars and trackers, in order."""
    return file.once(_logged)


def in_logger(file: SourceFile, place: Place) -> bool:
    """Whether a place is within the statement of such a call."""
    enclosing = file.enclosing(place.function)
    statement = enclosing.statement(place.expression)
    return any(
        call.site.function == place.function and enclosing.statement(call.site.call) is statement
        for call in logged(file)
        if call.reads
    )


def _logged(file: SourceFile) -> tuple[Logged, ...]:
    readings = (*item_readings(file), *conversion_readings(file), *copy_readings(file))
    calls = {reading.site.call for reading in readings}
    found = []
    for site in file.hot_calls(*_BARS, *_WRITERS, *_TRACKERS, *_OF_FABRIC):
        kind = _kind(file, site)
        if kind is not None:
            found.append(Logged(site, kind, tuple(_reads(file, site, calls))))
    return tuple(found)


def _kind(file: SourceFile, site: Site) -> str | None:
    name = last_part(site.record.callee)
    if site.receiver is None:
        return None
    if name in _BARS:
        return BAR
    if name in _WRITERS or (name in _TRACKERS and _TRACKER_NAME.match(last_part(chain(site.receiver)))):
        return TRACKER
    if name in _OF_FABRIC and is_fabric(site.receiver):
        return TRACKER
    return TRACKER if file.denotes(site.call.func, site) in _LOG else None


def _reads(file: SourceFile, site: Site, calls: set[ast.Call]) -> Iterator[ast.expr]:
    """The reads among the arguments, in order; of a dict with a name only what it holds of tensors."""
    for argument in arguments(site.call):
        kept = _kept(file, site, argument)
        if kept is not None:  # what was read to fill it was read there
            yield from (part for part in _parts(kept) if _is_tensor(file, site, part))
            continue
        for part in _parts(argument):
            inner = next((n for n in ast.walk(part) if isinstance(n, ast.Call) and n in calls), None)
            if inner is not None:
                yield inner
            elif _is_tensor(file, site, part):
                yield part


def _kept(file: SourceFile, site: Site, argument: ast.expr) -> ast.Dict | None:
    """The dict that a name was given, and nothing changes: `losses = {"loss": loss}`, `wandb.log(losses)`."""
    body = file.project.body(file.path)
    if body is None or not isinstance(argument, ast.Name) or _is_changed(body, site, argument.id):
        return None
    made = body.assigned_once(site.function, argument.id, body.at(argument))
    return made if isinstance(made, ast.Dict) else None


def _is_changed(body: Body, site: Site, name: str) -> bool:
    """Whether a function puts entries into a list or mapping, or takes some out: `shown["loss"] = loss.item()`."""
    methods = (method for method, _ in body.uses(site.function, name))
    return bool(body.stored_items(site.function, name)) or any(method in CHANGES for method in methods)


def _is_tensor(file: SourceFile, site: Site, node: ast.expr) -> bool:
    """Whether a part is a tensor of the device, or by its name a mapping of such, which nothing changes."""
    value, body = on_device(file, site, node), file.project.body(file.path)
    if value is not None and value.kind == "tensor":
        return True
    if body is None or not isinstance(node, ast.Name) or _is_changed(body, site, node.id):
        return False
    return holds_on_device(file, site, node) is not None


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """The single values that an argument is made of: of a dict its values, of a text what is written into it."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, ast.Dict):
            stack += reversed(current.values)
        elif isinstance(current, ast.List | ast.Tuple):
            stack += reversed(current.elts)
        elif (written := written_into(current) or given_to_format(current)) is not None:
            stack += reversed(written)
        elif isinstance(current, ast.Call) and isinstance(current.func, ast.Name) and current.func.id in _MAKERS:
            stack += reversed(arguments(current))
        else:
            yield current


_MAKERS = frozenset({"dict", "OrderedDict", "str", "repr", "format"})
