"""Host reads that a loop repeats though one would do: of one element after the other, or of the same numbers each turn.

Such a loop is a reason of its own: whatever calls the function, one copy before the loop fetches what every turn waits
for. Only set-up, export and the preparing of data, which run once and on the host most often, are left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.constants.tracing import Loop, Step, bound_by, changed_in, counted_in, parts_of, traced
from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.element_loops.cut_by_turn import cut_by_turn, picked_by_turn
from torchperf_lint.facts.element_loops.given_as_one import is_given_one_tensor
from torchperf_lint.facts.element_loops.single import is_one_tensor
from torchperf_lint.facts.element_loops.turns import HANDFUL
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.roles.cold import NOT_TRAINING_NAME, is_cold
from torchperf_lint.facts.roles.meters import ONCE_PER_EPOCH
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.conditions import short, words
from torchperf_lint.facts.syntax.syntax import first_part, names_of
from torchperf_lint.facts.values.value import ANYWHERE, HOST, Value
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_PREPARES = pattern(
    r"(?:^|_)(?:prepare|preprocess\w*|transforms?|augment\w*|datasets?|collate\w*|(?:parse|read)(?!_(?:pred|output|result|detection|ground|target))|build|make|create|convert|"
    r"tokeni[sz]e|tojson|write|draw|show|plot|render|display|animate|visuali[sz]e|print|format|main|demo|download|summary|summari[sz]e|inspect|annotate|"
    r"compress|quanti[sz]e|calibrate|sanitize|crop|resize|flip|rotate)(?:_|$)|_table$",
    re.IGNORECASE,
)
_DATA_CLASS = pattern(
    r"Dataset|Transform|Augment|Sampler|Tokenizer|(?<!Logits)Processor|Reader|Writer|Visuali[sz](?:er|ation)"
)

_ABOVE = 1
"""How many callers above a function are asked whether they run now and then."""
_ON_SAMPLES = pattern(r"Dataset|Transform|Augment|Reader|Writer|(?:^|\.)torch\.utils\.data\.")


class Repeated(NamedTuple):
    """A read that one copy before a loop would make once."""

    whole: ast.expr
    """What that copy would fetch."""
    element: bool
    """Whether each turn reads another element of it; else every turn reads the same numbers."""
    value: Value
    """The tensor."""
    loop: Loop
    stacked: bool = False
    """Whether what the turns read has to be stacked first: it is several tensors, or computed of them."""
    filled: int = 0
    """The line on which a loop over batches puts the tensors into the list that is gone through; 0 for other reads."""
    output: bool = False
    """Whether it is what a model gives, which may be one tensor or a list of them."""
    looked_up: bool = False
    """Whether each turn takes an element that something else beside its number picks: `scores[t, ids[t]]`."""


Telling = Callable[[SourceFile, Place, ast.expr], "Value | None"]


def repeated(file: SourceFile, place: Place, read: ast.expr, tensor: Telling | None = None) -> Repeated | None:
    """What one copy before a loop around the read of an expression would fetch; None where none would do.

    :param tensor: tells the value of what is read bit by bit, where that is to be told; by default one tensor is
    """
    inner: frozenset[str] = frozenset()
    if _is_copied(file, place, read):
        return None
    for loop in file.enclosing(place.function).loops(place.expression):
        bound, inner = inner, inner | names_of(loop.target)
        turns = literal_turns(loop.iter)
        if (turns is not None and turns <= FEW_TURNS) or _handful(loop) or _in_one_turn(file, place, loop):
            continue
        steps = traced(file, place, read, loop)
        if any(_is_sorted_out(file, place, step) for step in steps):
            return None  # before the loop the host would have to do that
        for whole, element in _candidates(file, place, loop, steps):
            if changed_in(file, place.function, loop, whole) or names_of(whole) & bound:
                continue
            value = (tensor or _tensor)(file, place, whole)
            if value is None and tensor is None and isinstance(read, ast.Compare) and isinstance(whole, ast.Name):
                value = None if element else _number(file, place, whole)
            if value is not None:
                return Repeated(whole, element, value, loop, looked_up=element and _is_looked_up(read))
    return None


def _is_copied(file: SourceFile, place: Place, read: ast.expr) -> bool:
    """Whether what is read was brought to the host before, in whatever loop: `ids = all_ids[i].cpu()`, `ids[t]`."""
    value = file.value(read, place)
    return value.kind == "tensor" and value.device == HOST


def _is_looked_up(read: ast.expr) -> bool:
    """Whether an index has two parts or more that are no numbers written out, and is one element of them."""
    while isinstance(read, ast.Call | ast.Attribute):
        read = read.func if isinstance(read, ast.Call) else read.value
    if not isinstance(read, ast.Subscript) or not isinstance(read.slice, ast.Tuple):
        return False
    open_yet = [part for part in read.slice.elts if not isinstance(part, ast.Constant)]
    return len(open_yet) > 1 and not any(isinstance(part, ast.Slice) for part in open_yet)


def _is_sorted_out(file: SourceFile, place: Place, step: Step) -> bool:
    """Whether a part is what the suppression of overlapping boxes leaves: `boxes[keep]`."""
    body = file.project.body(file.path)
    if body is None or not isinstance(step.node, ast.Subscript):
        return False
    for name in names_of(step.node.slice):
        made = body.assigned_once(place.function, name, body.at(step.node))
        if isinstance(made, ast.Call) and "nms" in last_part(chain(made.func)):
            return True
    return False


def reason(file: SourceFile, place: Place, found: Repeated) -> Hot | None:
    """Why a repeated read matters in code that is not known to be hot; None in code that runs once, or for data."""
    if not may_run_often(
        file, place.function, found.stacked or (found.value.borrowed and found.value.device != ANYWHERE)
    ):
        return None
    written = short(f"for {words(found.loop.target)} in {words(found.loop.iter)}")
    line = found.loop.target.lineno
    what = file.brief(found.whole)
    when = f"for each element of `{what}`" if found.element else f"in every turn of the loop on line {line}"
    because = f"it runs {when}: in the loop `{written}` (line {line})"
    if not found.element:
        because += f", which leaves `{what}` as it is"
    return Hot("elements", because, when, Confidence.LIKELY, file.path, line)


def _handful(loop: Loop) -> bool:
    names = names_of(loop.target, loop.iter)
    return any(HANDFUL.search(name) for name in names)


def _in_one_turn(file: SourceFile, place: Place, loop: Loop) -> bool:
    """Whether only the turn gets there in which the loop's variable is what a test names: `if i == dim:`."""
    variables = names_of(loop.target)
    node: ast.AST = place.expression
    for parent in file.enclosing(place.function).around(place.expression):
        if parent is loop:
            return False
        test = parent.test if isinstance(parent, ast.If) and node in parent.body else None
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq) and chain(test.left) in variables:
            counted = _counts(loop) and chain(test.left) == _counter(loop)  # no two turns have one number
            same = not names_of(test.comparators[0]) & variables
            return isinstance(test.comparators[0], ast.Constant) or (counted and same)
        node = parent
    return False


def _candidates(file: SourceFile, place: Place, loop: Loop, steps: list[Step]) -> Iterator[tuple[ast.expr, bool]]:
    """(what a copy would fetch, whether turns read elements of it), for what a read is made of."""
    variables = names_of(loop.target)
    for step in steps:
        if isinstance(step.node, ast.Name) and step.node.id in variables:
            whole = _walked(file, place, loop, step.node.id)
            if whole is not None:
                yield whole, True
            return
        if isinstance(step.node, ast.Subscript) and _counts(loop) and _by(step.node.slice, _counter(loop)):
            yield step.node.value, True
            return
        if isinstance(step.node, ast.Subscript) and (
            counted_in(file, place.function, loop, step.node.slice)
            or cut_by_turn(file, place, loop, step.node.slice)
            or picked_by_turn(file, place, loop, step.node.slice)
        ):
            yield step.node.value, True
            return
    asked = _compared_anew(file, place, loop, steps)
    if asked is not None:
        yield asked, False
        return
    bottom = steps[-1] if steps else None
    if bottom is not None and bottom.same and isinstance(bottom.node, ast.Name):
        yield steps[0].node, False


def _compared_anew(file: SourceFile, place: Place, loop: Loop, steps: list[Step]) -> ast.expr | None:
    """A number that each turn compares with one of its own, `if i != label:`, and that no turn changes."""
    if len(steps) < 2 or not isinstance(steps[0].node, ast.Compare) or steps[-1].same:
        return None
    side = steps[1].node
    return side if isinstance(side, ast.Name) and side.id not in bound_by(file, place.function, loop) else None


def _counts(loop: Loop) -> bool:
    """Whether a loop gives its turns a number: `range(n)`, `enumerate(x)`."""
    return isinstance(loop.iter, ast.Call) and last_part(chain(loop.iter.func)) in ("range", "enumerate", "trange")


def _counter(loop: Loop) -> str:
    first = first_part(loop.target)
    return first.id if isinstance(first, ast.Name) else ""


def _by(index: ast.expr, counter: str) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(isinstance(part, ast.Name) and part.id == counter for part in parts)


def _walked(file: SourceFile, place: Place, loop: Loop, name: str) -> ast.expr | None:
    """The tensor whose rows a variable of the loop is."""
    iterated = _zipped(file, place, loop.iter)
    return next((part for target, part in parts_of(loop.target, iterated) if target == name), None)


def _zipped(file: SourceFile, place: Place, iterated: ast.expr) -> ast.expr:
    """What a loop goes through, spelled out: `enumerate(pairs)` of `pairs = list(zip(xs[:-1], xs[1:]))`."""
    if isinstance(iterated, ast.Call) and iterated.args:
        inner = _zipped(file, place, iterated.args[0])
        same = inner is iterated.args[0]
        return iterated if same else ast.Call(iterated.func, [inner, *iterated.args[1:]], iterated.keywords)
    body = file.project.body(file.path)
    if body is None or not isinstance(iterated, ast.Name):
        return iterated
    made = body.assigned_once(place.function, iterated.id, body.at(iterated))
    if isinstance(made, ast.Call) and chain(made.func) in ("list", "tuple") and len(made.args) == 1:
        made = made.args[0]
    return made if isinstance(made, ast.Call) and chain(made.func) == "zip" else iterated


def _tensor(file: SourceFile, place: Place, whole: ast.expr) -> Value | None:
    """The value of what is read bit by bit, where it is a tensor that may be on the device."""
    value = file.value(whole, place)
    if value.kind != "tensor" or not value.on_device or not file.project.uses_accelerator:
        return None
    if _tested(file, place, whole):
        # What a test shows to be a tensor is one; a list of it costs less than its elements wherever it lives.
        return value._replace(confidence=Confidence.LIKELY)
    one = is_one_tensor(file, place, whole) or is_given_one_tensor(file, place, whole)
    return value.weaker(Confidence.LIKELY) if one else None


def _number(file: SourceFile, place: Place, whole: ast.Name) -> Value | None:
    """The value of what is compared with a number: no list of tensors is."""
    value = on_device(file, place, whole)
    one = value is not None and value.kind == "tensor" and value.confidence is not Confidence.POSSIBLE
    return value.weaker(Confidence.LIKELY) if value is not None and one else None


def _tested(file: SourceFile, place: Place, whole: ast.expr) -> bool:
    body = file.project.body(file.path)
    if body is None or not isinstance(whole, ast.Name):
        return False
    held = body.narrowing(place.function, whole.id, place.frame.at)
    return held is not None and held.holds and "Tensor" in held.classes


def may_run_often(file: SourceFile, function: int, moved: bool = False) -> bool:
    """Whether a function may be called again and again: no set-up, no export, nothing that prepares data.

    `moved`: whether it is shown to get what has been moved to the device: preparing that is a part of the inference,
    and what a metric reads of all that it has gathered, it reads element by element.
    """
    index, outline = file.project.index, file.outline
    key = FunctionKey(file.path, function)
    if function <= 0 or _is_set_up(file, key, moved):
        return False
    record = outline.functions[function]
    if record.class_index >= 0 and _handles_data(file, record.class_index):
        return False
    callers = file.project.hotness.callers.get(key, ())
    own = [FunctionKey(site.path, site.call.function) for site in callers]
    if not own:
        return not any(part.startswith("_") and part != "__call__" for part in record.qualname.split("."))
    if _now_and_then(file, key, _ABOVE):
        return False
    return not all(caller.index <= 0 or is_cold(index, caller) for caller in own)


def _now_and_then(file: SourceFile, key: FunctionKey, hops: int) -> bool:
    """Whether what calls a function does so in a branch that a hot loop takes now and then, to log what it has.

    After that loop it may do so as well, but nowhere that is hot.
    """
    hotness, found = file.project.hotness, False
    for site in hotness.callers.get(key, ()):
        if hotness.of_region(site.path, site.call.region) is not None:
            return False
        aside = hotness.around.loop_now_and_then(site.path, site.call.region) is not None
        above = FunctionKey(site.path, site.call.function)
        found = found or aside or (hops > 0 and _now_and_then(file, above, hops - 1))
    return found


def handles_data(file: SourceFile, function: int) -> bool:
    """Whether a function is a method of a data set, a transform or the like, which run on the host."""
    number = file.outline.functions[function].class_index
    if number < 0:
        return False
    bases = file.project.index.ancestry(Thing("class", file.path, number))
    named = (b.dotted if b.kind == "external" else file.project.index.record(b).name for b in bases)
    return any(map(_ON_SAMPLES.search, named))


def _handles_data(file: SourceFile, number: int) -> bool:
    bases = file.project.index.external_bases(Thing("class", file.path, number))
    named_so = _DATA_CLASS.search(file.outline.classes[number].name) is not None
    return named_so or any(base.startswith("torch.utils.data.") for base in bases)


def _is_set_up(file: SourceFile, key: FunctionKey, moved: bool) -> bool:
    number = key.index
    while number > 0:
        name = file.outline.functions[number].name
        once = moved and name in ONCE_PER_EPOCH
        cold = is_cold(file.project.index, FunctionKey(file.path, number)) and not once
        if cold or NOT_TRAINING_NAME.search(name) or (_PREPARES.search(name) and not moved):
            return True
        number = file.outline.functions[number].parent
    return False
