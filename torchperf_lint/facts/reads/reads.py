"""Hot reads of device values on the host: what the synchronisation rules share."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from torchperf_lint.facts.constants.tracing import parts_of
from torchperf_lint.facts.copies.arriving import hot_by_arrival
from torchperf_lint.facts.copies.environments import is_an_action, is_handed_to_one
from torchperf_lint.facts.copies.filled_by_batches import filled_by_batches, one_by_one
from torchperf_lint.facts.copies.handed_back import (
    is_an_array_result,
    is_handed_back,
    is_sent_away,
    is_stored_by_meter,
    is_stored_by_module,
)
from torchperf_lint.facts.copies.host_only import feeds_host_only
from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.copies.reading_helpers import helper_reads
from torchperf_lint.facts.copies.reduced_on_host import reduced_on_host
from torchperf_lint.facts.copies.replay_priorities import sets_priorities
from torchperf_lint.facts.copies.retyped import retyped
from torchperf_lint.facts.copies.round_trips import (
    comes_back,
    comes_back_as_index,
    comes_back_as_picked,
    comes_back_at_callers,
    comes_back_at_once,
    comes_back_in_table,
    is_packed,
)
from torchperf_lint.facts.copies.saved_at_once import saved_at_once
from torchperf_lint.facts.copies.stored_by_others import stored_by_others
from torchperf_lint.facts.copies.uploaded import uploaded_on
from torchperf_lint.facts.copies.uploaded_by_callers import uploaded_here_or_before
from torchperf_lint.facts.copies.uploaded_by_iterators import had_before
from torchperf_lint.facts.element_loops.each_class import asks_each_class
from torchperf_lint.facts.element_loops.output_elements import element_of_output
from torchperf_lint.facts.element_loops.repeated import Repeated, reason, repeated
from torchperf_lint.facts.element_loops.row_by_row import row_by_row
from torchperf_lint.facts.element_loops.turn_by_turn import of_cut_parts, together
from torchperf_lint.facts.files.source import Place, Site, SourceFile
from torchperf_lint.facts.hotness.hot import Hot, is_offered
from torchperf_lint.facts.outlines.records import END_OF_FILE
from torchperf_lint.facts.reads.consequences import EXCUSED, consequence
from torchperf_lint.facts.reads.copied_for_nothing import is_for_nothing
from torchperf_lint.facts.reads.kept_by_metrics import by_default
from torchperf_lint.facts.reads.read_shows import shown_by_read
from torchperf_lint.facts.reads.tested_then_told import tells_what_was_tested
from torchperf_lint.facts.syntax.arguments import moved_to
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.syntax.literals import is_literal, is_true
from torchperf_lint.facts.values.value import ANYWHERE, Value
from torchperf_lint.model import Confidence, Severity

_ANNOTATED = " is annotated "
"""In the reason why a value is a tensor."""
_NUMBERS = frozenset({"float", "int", "bool", "complex"})
_LONG = "long"
"""Of Python 2; files that run with both bind it to `int`."""
_MATH = tuple(name for name in dir(math) if not name.startswith("_"))


class Read(NamedTuple):
    """A host read of a device value on a hot line."""

    value: Value
    hot: Hot
    severity: Severity
    """Info once an evaluation batch. Where the program's next action needs the value, or only a caller that asks for
    it gets there, reviewers would disagree: such a read is `possible` as well, and not shown by default."""
    repeated: Repeated | None = None
    """What one copy before a loop would fetch, where a loop reads it bit by bit, or the same each turn."""
    had: int | None = None
    """The line that has uploaded, from the host, what is read to decide something: the host could ask before it."""


ITEM, NUMBER, LIST, COPY = "item", "number", "list", "copy"


class Reading(NamedTuple):
    """A call that reads `operand` on the host."""

    site: Site
    operand: ast.expr
    read: Read

    @property
    def form(self) -> str:
        """ITEM for `.item()`, NUMBER for `float(t)` and `math.exp(t)`, LIST for `.tolist()`, else COPY."""
        name = last_part(self.site.record.callee)
        if name in ("item", "tolist"):
            return ITEM if name == "item" else LIST
        return NUMBER if name in _NUMBERS or name in _MATH or name == _LONG else COPY


def hot_read(file: SourceFile, place: Place, receiver: ast.expr, shown: Value | None = None) -> Read | None:
    """The read that `place` is of `receiver`, or None when it is not hot or the value not (known to be) on a device.

    `shown`: what the reading itself shows the receiver to be.
    """
    hot = place.hot
    if hot is None or hot.kind == "data":
        return None
    value = shown or on_device(file, place, receiver)
    hot = hot_by_arrival(file, place, receiver) if value is not None else None
    if value is None or hot is None or tells_what_was_tested(place, receiver):
        return None
    mild = Severity.INFO if _in_evaluation(hot) else Severity.WARNING
    if hot.optional or consequence(place) in EXCUSED or is_handed_to_one(place):
        again = (
            repeated(file, place, receiver)
            or together(file, place, receiver, value, shown is not None)
            or asks_each_class(file, place, receiver, value)
            or row_by_row(file, place, receiver, value)
            if not hot.optional
            else None
        )
        had = again is None and not hot.optional and uploaded_here_or_before(file, place, receiver)
        if again is None:
            doubted = Read(value.weaker(Confidence.POSSIBLE), hot, Severity.INFO)
            return Read(value, hot, mild, had=had) if had else doubted
        return Read(again.value, hot, Severity.INFO, again)  # the list decides as well as its elements one by one
    again = repeated(file, place, receiver)
    lists = isinstance(place, Site) and place.record.callee.endswith(".tolist")
    if again is None and (mild is Severity.INFO or lists):
        again = row_by_row(file, place, receiver, value) or element_of_output(file, place, receiver)
    return Read(value, hot, mild, again)


def repeated_read(file: SourceFile, place: Place, receiver: ast.expr) -> Read | None:
    """The read of `receiver` that a loop repeats for nothing, in code of which nothing else says that it is hot."""
    found = repeated(file, place, receiver) or of_cut_parts(file, place, receiver)
    if found is None:
        return _of_filled_list(file, place, receiver)
    hot = reason(file, place, found)
    if hot is None:
        return None
    return Read(_as_sure_as_shown(found.value), hot, Severity.INFO, found)


def _as_sure_as_shown(value: Value) -> Value:
    """Weaker where an annotation alone says that a value is a tensor, of which nothing says where it is.

    In code of which nothing says that it is hot, that is a guess upon a guess: texts and messages are tensors on the
    host as often as not.
    """
    resting = value.device == ANYWHERE and _ANNOTATED in value.because
    return value.weaker(Confidence.POSSIBLE) if resting else value


def _of_filled_list(file: SourceFile, place: Place, receiver: ast.expr) -> Read | None:
    """The read of one row of a list that a loop over batches has filled with what it computed."""
    loop = next(file.enclosing(place.function).loops(place.expression), None)
    if loop is None or not isinstance(receiver, ast.Name):
        return None
    whole = next((part for name, part in parts_of(loop.target, loop.iter) if name == receiver.id), None)
    found = filled_by_batches(file, place, whole) if whole is not None else None
    if whole is None or found is None:
        return None
    again = Repeated(whole, True, found.value, loop, filled=found.line)
    return Read(found.value, one_by_one(file, whole, found), Severity.INFO, again)


def is_the_result(file: SourceFile, site: Site, read: Read) -> bool:
    """Whether a call brings what a batch is evaluated for to the host, once, in one piece, to stay there."""
    if read.hot.kind == "eval" and (is_for_nothing(file, site) or reduced_on_host(file, site) is not None):
        return False
    wanted = is_stored_by_meter(site) or is_stored_by_module(site) or is_sent_away(site)
    if read.repeated is not None or not (wanted or _in_evaluation(read.hot) or is_handed_back(site)):
        return False
    return not had_before(file, site) and comes_back(file, site) is None


def uploaded_before(file: SourceFile, site: Site) -> int | None:
    """The line on which the function around has uploaded what a call copies to the host; None for results."""
    return uploaded_on(file, site, site.receiver) if site.receiver is not None else None


def _in_evaluation(hot: Hot) -> bool:
    return hot.kind == "eval" or hot.evaluates


def cause(place: Place) -> str:
    """The root cause that all reads of one statement share: whatever rules see them, they are one finding."""
    statement = place.file.enclosing(place.function).statement(place.expression)
    line = statement.lineno if statement is not None else place.expression.lineno
    return f"read on line {line} of function {place.function}"


def one_copy(file: SourceFile, read: Read) -> str | None:
    """What to write instead of a read that a loop repeats, or of what the host had: in words, None for others."""
    found = read.repeated
    if read.had is not None:
        return (
            f"ask for it before line {read.had} uploads what it is read from: the host has it there, and need not wait"
        )
    if found is None:
        return None
    whole, line = file.brief(found.whole), found.loop.target.lineno
    if found.filled:
        return f"copy to the host what line {found.filled} adds, once a batch and before it is split into rows"
    if found.stacked:
        return (
            f"gather what the loop on line {line} reads of `{whole}` on the device, and read all of it at once: "
            "`torch.stack([...]).tolist()`"
        )
    if found.output:
        return (
            f"copy all of `{whole}` before the loop on line {line}, by one `.cpu()`, or if it is a list of tensors by "
            '`[t.to("cpu", non_blocking=True) for t in ...]` and one `torch.cuda.synchronize()`'
        )
    if found.looked_up:
        return (
            f"pick the elements of `{whole}` on the device, all turns of the loop on line {line} at once "
            "(an index of each dimension, or `.gather`), and copy what was picked (`.tolist()`)"
        )
    if found.element:
        return (
            f"copy `{whole}` once before the loop on line {line} (`.tolist()`, `.cpu()`), and take the elements of that"
        )
    return f"read `{whole}` once before the loop on line {line}, which does not change it"


def item_readings(file: SourceFile) -> tuple[Reading, ...]:
    """The hot `.item()` of device tensors."""
    return file.once(_item_readings)


def conversion_readings(file: SourceFile) -> tuple[Reading, ...]:
    """The hot `float(t)`, `int(t)`, `t.tolist()`, `math.exp(t)` of device tensors."""
    return file.once(_conversion_readings)


def copy_readings(file: SourceFile) -> tuple[Reading, ...]:
    """The hot, blocking `.cpu()`, `.to("cpu")`, `.numpy(force=True)` of device tensors; and what `retyped` asks for."""
    return file.once(_copy_readings)


def items_in_loops(file: SourceFile) -> tuple[Reading, ...]:
    """The `.item()` that loops repeat for nothing in code that is not known to be hot."""
    return tuple(_in_loops(file, ("item",), lambda site: None if site.call.args else site.receiver))


def conversions_in_loops(file: SourceFile) -> tuple[Reading, ...]:
    """The `float(t)`, `int(t)`, `t.tolist()` that loops repeat for nothing in code that is not known to be hot."""
    return tuple(_in_loops(file, (*_NUMBERS, "tolist"), lambda site: _converted(file, site)))


def copies_in_loops(file: SourceFile) -> tuple[Reading, ...]:
    """The blocking `.cpu()` that loops repeat for nothing in code that is not known to be hot."""
    return tuple(_in_loops(file, ("cpu", "numpy", "to"), _copied))


def _in_loops(
    file: SourceFile, names: tuple[str, ...], operand: Callable[[Site], ast.expr | None]
) -> Iterator[Reading]:
    for site in file.looped_calls(*names):
        read_of = operand(site)
        read = repeated_read(file, site, read_of) if read_of is not None else None
        if read_of is not None and read is not None:
            yield Reading(site, read_of, read)


def _item_readings(file: SourceFile) -> tuple[Reading, ...]:
    read = _readings(file, ("item",), lambda site: None if site.call.args else site.receiver)
    return tuple(_returning(file, one, in_table=True) for one in read)


def _conversion_readings(file: SourceFile) -> tuple[Reading, ...]:
    found = _readings(file, (*_NUMBERS, _LONG, "tolist", *_MATH), lambda site: _converted(file, site))
    found = tuple(_returning(file, reading) if reading.form == LIST else reading for reading in found)
    return tuple(reading for reading in found if reading.read.value.kind != "batch")


def _copy_readings(file: SourceFile) -> tuple[Reading, ...]:
    copied = _readings(file, ("cpu", "numpy", "to"), _copied)
    found = (*copied, *_readings(file, ("type",), retyped), *_helper_readings(file))
    return tuple(_as_needed(file, reading) for reading in found if reading.read.value.kind != "batch")


def _helper_readings(file: SourceFile) -> Iterator[Reading]:
    for site, operand, *_ in helper_reads(file):
        read = hot_read(file, site, operand)
        if read is not None:
            yield Reading(site, operand, read)


def _as_needed(file: SourceFile, reading: Reading) -> Reading:
    """A copy for an algorithm of the host, an environment, a memory or a file is needed there, as what decides is.

    What decides nothing but which elements of a device tensor are taken need never have left the device.
    """
    read = reading.read
    acts = read.repeated is None and (is_an_action(reading.site) or sets_priorities(reading.site))
    back = comes_back_in_table(file, reading.site) or comes_back_as_picked(file, reading.site)
    stays = back or had_before(file, reading.site)  # it could have, here or there
    site = reading.site
    given = is_offered(read.hot) or is_an_array_result(site) or saved_at_once(file, site) or stored_by_others(site)
    if not acts and (stays or not ((given and read.repeated is None) or feeds_host_only(file, reading.site))):
        return _returning(file, reading)
    return reading._replace(read=Read(read.value.weaker(Confidence.POSSIBLE), read.hot, Severity.INFO))


def _returning(file: SourceFile, reading: Reading, in_table: bool = False) -> Reading:
    site, read = reading.site, reading.read
    if read.value.confidence is not Confidence.POSSIBLE or read.hot.optional:
        return reading
    ways = _WAYS_BACK[-1:] if in_table else _WAYS_BACK
    needed = not had_before(file, site)  # else the host had it all along, whatever it decides
    if needed and (is_packed(file, site) or not any(comes(file, site) for comes in ways)):
        return reading
    value = on_device(file, site, reading.operand)
    return reading._replace(read=Read(value, read.hot, read.severity)) if value is not None else reading


_WAYS_BACK = (
    comes_back_as_index, comes_back_as_picked, comes_back_at_once, comes_back_at_callers, comes_back_in_table,
)  # fmt: skip


def _readings(
    file: SourceFile, names: tuple[str, ...], operand: Callable[[Site], ast.expr | None]
) -> tuple[Reading, ...]:
    found = []
    for site in file.hot_calls(*names):
        read_of = operand(site)
        read = hot_read(file, site, read_of, shown_by_read(file, site, read_of)) if read_of is not None else None
        if read_of is not None and read is not None:
            found.append(Reading(site, read_of, read))
    return tuple(found)


def _converted(file: SourceFile, site: Site) -> ast.expr | None:
    """What a call converts to a Python number, or None when it converts nothing."""
    call = site.call
    if site.receiver is not None and site.record.callee.endswith(".tolist"):
        return site.receiver if not call.args else None
    if not call.args or call.keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    one = len(call.args) == 1
    if isinstance(call.func, ast.Name) and (call.func.id in _NUMBERS or _is_int(file, call.func.id)):
        return call.args[0] if one else None
    if not (file.denotes(call.func, site) or "").startswith("math."):
        return None
    return next((given for given in call.args if one or file.value(given, site).kind == "tensor"), None)


def _is_int(file: SourceFile, name: str) -> bool:
    return name == _LONG and any(b.function == 0 and b[1:3] == (_LONG, "int") for b in file.outline.bindings)


def _copied(site: Site) -> ast.expr | None:
    """What a call copies to the host and waits for, or None.

    A plain `.numpy()` copies nothing: on a device tensor it raises, so the tensor is on the host already.
    """
    flag = site.keyword("non_blocking")
    if is_true(flag):
        return None
    if site.record.callee.endswith(".numpy"):
        force = site.keyword("force")
        return site.receiver if is_true(force) else None
    if not site.record.callee.endswith(".to"):
        return site.receiver
    target = moved_to(site.call)
    on_host = _is_cpu(site, target) or by_default(site)
    return site.receiver if on_host else None


def _is_cpu(site: Site, node: ast.expr | None) -> bool:
    if isinstance(node, ast.Name):
        return _stands_for_cpu(site, node.id)
    if isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Attribute) and node.func.attr == "device":
        node = node.args[0]
    return is_literal(node, "cpu")


def _stands_for_cpu(site: Site, name: str) -> bool:
    """Whether a name is bound to nothing but the CPU: `cpu = torch.device("cpu")`, here or for the whole file."""
    file = site.file
    body = file.project.body(file.path)
    if body is None or any(p.name == name for p in file.outline.functions[site.function].parameters):
        return False
    bound = body.reaching(site.function, name, site.start)
    if bound is None:
        bound = body.reaching(0, name, END_OF_FILE)
    values = [d.value for d in bound or () if d.how == "assign" and not isinstance(d.value, ast.Name)]
    return 0 < len(values) == len(bound or ()) and all(_is_cpu(site, value) for value in values)
