"""What a program does with a truth value or number that it read from the device."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence

from torchperf_lint.facts.bindings.deciding import keeps_extreme
from torchperf_lint.facts.bindings.effects import statements
from torchperf_lint.facts.constants.counters import counter_of
from torchperf_lint.facts.constants.laid_out import is_laid_out
from torchperf_lint.facts.constants.set_up import set_up_before
from torchperf_lint.facts.constants.settled import settled_entry
from torchperf_lint.facts.copies.packed_lengths import handed_on_as_lengths
from torchperf_lint.facts.element_loops.scanned import walks_along
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.outlines.complaints import complains_otherwise, leaves, only_reports, only_says, only_speaks
from torchperf_lint.facts.outlines.masking import Known, asks_if_empty
from torchperf_lint.facts.outlines.zero_divisors import asks_a_divisor
from torchperf_lint.facts.reads.answers import is_answer
from torchperf_lint.facts.reads.at_extremes import is_at_extreme
from torchperf_lint.facts.reads.chosen_numbers import chooses_a_number
from torchperf_lint.facts.reads.chosen_tensors import chooses_tensors
from torchperf_lint.facts.reads.counted_answers import is_only_counted
from torchperf_lint.facts.reads.decided_by import decides_itself
from torchperf_lint.facts.reads.dropped_masks import drops_an_empty_mask, makes_a_mask_of_some
from torchperf_lint.facts.reads.emptiness import asks_emptiness
from torchperf_lint.facts.reads.named_divisors import is_named_divisor
from torchperf_lint.facts.reads.padding_sides import asks_padding_side
from torchperf_lint.facts.reads.raised_later import only_raised
from torchperf_lint.facts.reads.reread import read_before
from torchperf_lint.facts.reads.retested import asked_before
from torchperf_lint.facts.reads.same_tensor import asks_if_same
from torchperf_lint.facts.reads.sample_counts import counts_samples
from torchperf_lint.facts.reads.scaled_down import scales_down
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.facts.syntax.syntax import Assignment, targets_of
from torchperf_lint.facts.values.value import HOST, UNKNOWN
from torchperf_lint.patterns import pattern

RAISES, REPLACES, DECIDES, RECORDS = "raises", "replaces", "decides", "records"
"""It only raises; it chooses between values, as `torch.where` would; it decides what runs next; it is kept."""
SPARES, KEEPS, DIVIDES = "spares", "keeps", "divides"
"""It leaves out writes through a mask that has no element set; it keeps the larger or smaller of two numbers; it
keeps a division from being one by zero."""
COUNTED = "counted"
"""Whatever it decides, no wait is needed: only the host ever wrote it."""
AGAIN = "again"
"""Whatever it decides, no further wait is needed: the host has asked the same before."""
SET_UP = "set up"
"""Whatever it decides, no step computes it: the object has set it up before, and could keep the numbers."""
LAID_OUT = "laid out"
"""Whatever it decides, the host knew it: it has laid the numbers out, and knows which of them it reads."""
READ = "read"
"""Whatever it decides, no further wait is needed: a line before has fetched the same tensor."""
PADDED, CHOSEN, EXTREME = "padded", "chosen", "extreme"
"""Whatever it decides, the host knew it: the side that a batch is padded on; it chooses a number for arithmetic on the
device; it is the element at a place of which a line before has read where it is."""
SELECTS = "selects"
"""It chooses between tensors of one shape that are cheap to compute, both."""
DROPPED = "dropped"
"""It leaves a mask out that has no element set."""
EMPTY = "empty"
"""It asks whether a mask is empty before the same mask selects, which waits for its elements in any case."""
SAMPLES = "samples"
"""Whatever it decides, the host knew it: how many samples a batch has."""
CLIPS = "clips"
"""It scales down what is larger than a limit."""
SAME, SCANNED = "same", "scanned"
"""Whatever it decides, the host can tell whether a caller passes one tensor twice; whatever it decides, one copy before
the loop answers all its turns, which walk along a tensor."""
COUNTS = "counts"
"""It only counts how often the answer holds, for statistics."""
EXCUSED = frozenset({DECIDES, REPLACES})
"""Where the program's next action needs the answer, reviewers disagree whether to ask for a change."""

INSTEAD = {
    RAISES: "check where the data is made, under `if step % n == 0:`, or in a debug mode only",
    SPARES: "leave the test out: `x = torch.where(mask, a, x)` changes nothing where the mask has no element set",
    KEEPS: "keep the larger or smaller one on the device (`torch.maximum`, `torch.minimum`), read it in the end",
    DIVIDES: "do not ask: `total / n.clamp(min=1)`, or `torch.where(n > 0, total / n, 0.0)`, keeps it on the device",
    AGAIN: "ask once: bind `bool(t)` to a name before the first test, and test that",
    READ: "bind what the line before has read to a name, and take it from there",
    SET_UP: "no step changes it: keep its numbers, `numbers = t.tolist()`, beside it where it is set, and read those",
    LAID_OUT: "the host laid these numbers out, and knows which one it is: decide by the counter (`i == n - 1`), or "
    "keep a list of them, `steps.tolist()`, beside the tensor",
    PADDED: "ask the tokenizer (`padding_side`), or test the mask before it is copied to the device",
    CHOSEN: "choose on the device: `torch.where(test, a, b)` takes numbers as well as tensors",
    SELECTS: "let the device choose between the two, which are cheap to compute and need no wait: "
    "`torch.where(test, a, b)`, or for a bound `x.clamp(...)`",
    EXTREME: "take both from one reduction, `value, place = x.min(0)`, and read them in one copy",
    DROPPED: "ask where the batch is padded, before it is copied to the device; or pass the mask as it is, which masks "
    "nothing then",
    EMPTY: "find the elements once, `rows = mask.nonzero(as_tuple=True)`: the host knows `rows[0].numel()` then, and "
    "`x[rows]` waits no more",
    SAMPLES: "hand on how many samples the batch has from where it is put together (`batch.num_graphs`, the length of "
    "a target with one row a sample): the host knows that",
    CLIPS: "do not ask: `x * (limit / norm).clamp(max=1)` leaves what is within the limit as it is, on the device",
    SAME: "ask `a is b` first, which waits for nothing: `a is b or torch.equal(a, b)` compares elements only where a "
    "caller does not pass the same tensor twice, as for self-attention",
    SCANNED: "answer all turns of the loop by one copy before it (`filled = (boxes.sum(-1) != 0).tolist()`), and step "
    "along the list",
    COUNTS: "count on the device, `count += test` (or `count += torch.where(test, x, 0)`), and read the count where it "
    "is shown",
    COUNTED: "keep it as a Python number too, and read the buffer once, after a checkpoint is loaded",
}
"""What to write instead where a rule's own advice would not help."""

_SIZES = pattern(
    r"^(?:dim_size|num_(?:graphs|segments)|minlength|total_length|max_(?:seq_?)?len(?:gth)?(?:_[qk]v?)?|max_seqlens?(?:_\w+)?)$"
)
"""Names of sizes that graph and attention kernels take on the host."""
_WANTS_HOST = frozenset({"pack_padded_sequence"})
"""Functions of torch that take anything but their first argument on the host only."""
_WORDS = pattern(
    r"^(?:i|id|ids|idx|index|int|ix|tok|token|label)_?(?:2|to)_?(?:s|str|w|word|token|char|label|name|cls|class)s?$"
    r"|(?:^|_)(?:itos|vocab|vocabulary|alphabet|class_?names|label_?names|id2\w+|index2\w+|idx2\w+|ix2\w+)$",
    re.IGNORECASE,
)
"""Tables of words: what one looks up there is read or shown, and takes no part in the computation."""
_LOOKS_UP = frozenset({"get", "pop", "setdefault"})
"""Methods of a dict that take a key first, which is a number of the host's."""
_COPIES = frozenset({"cpu", "numpy", "to"})
_ACTS = frozenset("backward step zero_grad update unscale_ manual_backward".split())


def consequence(place: Place) -> str:
    """What is done with what is read: one of the words above."""
    if counts_samples(place):
        return SAMPLES
    then = _consequence(place)
    if then not in EXCUSED:
        if then != RECORDS:
            return then
        return DECIDES if is_answer(place) else DIVIDES if is_named_divisor(place) else RECORDS
    return _spared(place) or then


def _spared(place: Place) -> str | None:
    """Why a wait is not needed though the answer decides what runs next; None where it is."""
    if not isinstance(place.expression, ast.expr):
        return None
    if _host_had_it(place, place.expression):
        return COUNTED
    if set_up_before(place, place.expression):
        return SET_UP
    if is_laid_out(place, place.expression):
        return LAID_OUT
    return next((then for holds, then in _SPARED if holds(place)), None)


_SPARED: tuple[tuple[Callable[[Place], bool], str], ...] = (
    (read_before, READ),
    (asked_before, AGAIN),
    (asks_padding_side, PADDED),
    (chooses_a_number, CHOSEN),
    (asks_emptiness, EMPTY),
    (asks_if_same, SAME),
    (walks_along, SCANNED),
    (is_at_extreme, EXTREME),
    (is_only_counted, COUNTS),
    (chooses_tensors, SELECTS),
)
"""What makes a wait needless by what stands around it, the first that holds."""


def _host_had_it(place: Place, node: ast.expr) -> bool:
    return counter_of(place, node) is not None or settled_entry(place, node)


def _consequence(place: Place) -> str:
    node: ast.AST = place.expression
    for parent in place.file.enclosing(place.function).ancestors(place.expression):
        found = _of_part(place, parent, node)
        if found is not None:
            return found
        node = parent
    return RECORDS


def _of_part(place: Place, parent: ast.AST, node: ast.AST) -> str | None:
    """What it means that a value is in `node`, which is a part of `parent`."""
    if isinstance(parent, ast.BoolOp) and _asked_for_by_word(parent, node):
        return DECIDES
    if isinstance(parent, ast.If) and parent.test is node:
        return _of_test(place, parent)
    if isinstance(parent, ast.While) and parent.test is node:
        return DECIDES
    if isinstance(parent, ast.Assert):
        return RAISES
    if isinstance(parent, ast.Yield):
        return DECIDES  # who draws from a generator goes on with what it has got
    if isinstance(parent, ast.IfExp) and parent.test is node:
        if drops_an_empty_mask(parent, place.file.enclosing(place.function).statement(parent)):
            return DROPPED
        return DIVIDES if _of_divisor(place, parent) else _of_choice(parent)
    if isinstance(parent, ast.Subscript) and parent.slice is node:
        return None if _is_key(place, parent) or _picks_on_host(place, parent) else DECIDES
    if isinstance(parent, ast.Call):
        wanted = _wants_a_number(parent, node) or handed_on_as_lengths(place, parent, node)
        return DECIDES if wanted else None
    if isinstance(parent, ast.comprehension) and any(node is test for test in parent.ifs):
        return DECIDES
    if isinstance(parent, ast.For | ast.AsyncFor | ast.comprehension) and parent.iter is node:
        # In a training step such a loop gathers statistics; elsewhere it lays out what runs next.
        return DECIDES if place.hot is not None and place.hot.kind in ("forward", "rollout") else RECORDS
    return _of_binding(place, parent)


def _of_binding(place: Place, parent: ast.AST) -> str | None:
    """What it means that a value is given a name, as a parameter or by an assignment."""
    if isinstance(parent, ast.keyword):
        return DECIDES if _SIZES.search(parent.arg or "") else None
    if isinstance(parent, Assignment):
        sizes = any(_SIZES.search(last_part(chain(target))) for target in targets_of(parent))
        if not sizes and only_raised(place, parent):
            return RAISES
        return DECIDES if sizes or _assigned_decides(place, parent) else RECORDS
    return DECIDES if isinstance(parent, ast.AugAssign) and _bounds_a_loop(place, parent) else None


def _bounds_a_loop(place: Place, changed: ast.AugAssign) -> bool:
    """`left -= int(kept.sum())` in a loop `while left > 0:`."""
    loops = (n for n in place.file.enclosing(place.function).around(changed) if isinstance(n, ast.While))
    return any(chain(changed.target) in {chain(part) for part in ast.walk(loop.test)} for loop in loops)


def _wants_a_number(call: ast.Call, node: ast.AST) -> bool:
    """`range(n)`, `pack_padded_sequence(x, n)`, and `kept.pop(n)` of anything but a table of words."""
    if isinstance(call.func, ast.Name) and call.func.id == "range":
        return True
    first = node in call.args[:1]
    if isinstance(call.func, ast.Attribute) and call.func.attr in _LOOKS_UP:
        return first and not _is_table(call.func.value)
    return last_part(chain(call.func)) in _WANTS_HOST and not first


def _is_key(place: Place, entry: ast.Subscript) -> bool:
    """Whether an entry is one of a table of words, or is put into a dict: the key only names it."""
    if isinstance(entry.ctx, ast.Store):
        return place.file.value(entry.value, place).kind == "sequence"
    return _is_table(entry.value)


def _picks_on_host(place: Place, entry: ast.Subscript) -> bool:
    """`torch.eye(n)[labels.cpu()]`: a whole copy picks elements of a tensor on the host, and no mask says how many."""
    if not isinstance(entry.ctx, ast.Load) or not _copies_whole(place) or isinstance(entry.slice, ast.Compare):
        return False
    table = place.file.value(entry.value, place)
    return table.kind in ("tensor", "array") and table.device == HOST


def _copies_whole(place: Place) -> bool:
    """Whether a whole tensor is copied to the host, by a function of the project perhaps, and no number read."""
    read = place.expression
    if not isinstance(read, ast.Call):
        return False
    return last_part(chain(read.func)) in _COPIES or place.file.value(read, place).kind == "array"


def _is_table(node: ast.expr) -> bool:
    return _WORDS.search(last_part(chain(node))) is not None


def _of_test(place: Place, branch: ast.If) -> str:
    known = Known(_bound_in(place), lambda node: place.file.value(node, place).kind == "plain")
    asked = place.expression
    if isinstance(asked, ast.expr) and asks_if_empty(branch, asked, known, _rest(place, branch)):
        return SPARES
    if drops_an_empty_mask(branch, None) or makes_a_mask_of_some(branch, known.bound):
        return DROPPED
    if isinstance(asked, ast.expr) and scales_down(branch, asked):
        return CLIPS
    found = _of_branch(branch, _reads_around(place))
    if found in EXCUSED and not branch.orelse and complains_otherwise(branch.body, _rest(place, branch)):
        return RAISES
    return DIVIDES if found in EXCUSED and _of_divisor(place, branch) else found


def _of_divisor(place: Place, branch: ast.If | ast.IfExp) -> bool:
    known = Known(_bound_in(place), lambda node: place.file.value(node, place).kind == "plain")
    return asks_a_divisor(branch, known, _rest(place, branch) if isinstance(branch, ast.If) else ())


def _assigned_decides(place: Place, assignment: Assignment) -> bool:
    """`n = int(mask.sum())`, and then `if n > 3:`, `x[:n]`, `torch.zeros(n)`."""
    if _joins_a_tensor(place, assignment):
        return False
    body = place.file.project.body(place.file.path)
    assert body is not None
    indices = not _copies_whole(place)
    decisive = body.decisive(place.function, indices)
    targets = targets_of(assignment)
    parts = [e for t in targets if isinstance(t, ast.Tuple | ast.List) for e in t.elts]
    if all(chain(part) not in decisive for part in [*parts, *targets]):
        return False
    return decides_itself(place, assignment, decisive, indices)


def _joins_a_tensor(place: Place, assignment: Assignment) -> bool:
    """`inside = boxes < float(size)`: what is assigned is a tensor again, and whoever asks for that reads it anew."""
    read = place.expression
    made = place.file.value(assignment.value, place) if assignment.value is not None else UNKNOWN
    return isinstance(read, ast.expr) and made.on_device and place.file.value(read, place).kind == "plain"


def _asked_for_by_word(test: ast.BoolOp, node: ast.AST) -> bool:
    """`mode == "warn" and (x < 0).any()`: only a caller that asks for it gets there."""
    before = test.values[: next(i for i, value in enumerate(test.values) if value is node)]
    words = (c for part in before if isinstance(part, ast.Compare) for c in part.comparators)
    return any(is_text(word) for word in words)


def _rest(place: Place, branch: ast.If) -> Sequence[ast.stmt]:
    """What runs next where a branch is not taken and leaves its turn of a loop, or its function."""
    around = place.file.enclosing(place.function)
    if isinstance(branch.body[0], ast.Continue) and not isinstance(around.parents.get(branch), ast.For | ast.While):
        return ()
    return around.suite(branch)[around.place_in_suite(branch) + 1 :]


def _bound_in(place: Place) -> Callable[[ast.Name], ast.expr]:
    """What gives the expression that a name is bound to where a place is, or the name itself where that is not sure."""

    def bound(name: ast.Name) -> ast.expr:
        body = place.file.project.body(place.file.path)
        reaching = body.reaching(place.function, name.id, place.frame.at) if body is not None else None
        values = [d.value for d in reaching or () if d.how == "assign"]
        return values[0] if len(values) == 1 and values[0] is not None else name

    return bound


def _reads_around(place: Place) -> Callable[[str], Iterable[ast.Name]]:
    """Where the function around a place reads a name; one that is not its own others read, too."""
    body = place.file.project.body(place.file.path)

    def reads(name: str) -> Iterable[ast.Name]:
        outer = place.file.enclosing(place.function).of_kinds((ast.Global, ast.Nonlocal))
        shared = any(name in node.names for node in outer if isinstance(node, ast.Global | ast.Nonlocal))
        return (ast.Name(name),) if body is None or shared else body.reads(place.function, name)

    return reads


def _of_branch(node: ast.If, reads: Callable[[str], Iterable[ast.Name]]) -> str:
    if keeps_extreme(node):
        return KEEPS
    if leaves(node.body) or (not node.orelse and (only_speaks(node.body) or only_reports(node.body, reads))):
        return RAISES
    return REPLACES if _only_replaces(node.body) and _only_replaces(node.orelse) else DECIDES


def _of_choice(node: ast.IfExp) -> str:
    """`a if test else b`: torch.where chooses too, where both are at hand."""
    parts = [n for side in (node.body, node.orelse) for n in ast.walk(side) if isinstance(n, ast.Call)]
    return REPLACES if not any(last_part(chain(call.func)) in _ACTS for call in parts) else DECIDES


def _only_replaces(body: Sequence[ast.stmt]) -> bool:
    """Whether a block only gives names and elements other values: no call that trains, no jump, no loop."""
    for statement in statements(body):
        if only_says(statement):
            continue
        if not isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
            return False
        calls = (n for n in ast.walk(statement) if isinstance(n, ast.Call))
        if any(last_part(chain(call.func)) in _ACTS or chain(call.func).startswith("self.") for call in calls):
            return False
    return True
