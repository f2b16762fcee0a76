"""Tests of counters: which hold on one turn of a loop, on every n-th, or since something was done last."""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.syntax.conditions import counts_accumulated, has_modulus, name_of, names_in
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.patterns import pattern

_COUNTER_NAME = pattern(
    r"(?:^|_)(?:i|j|k|n|t|it|iter|iters|iteration|idx|index|ind|step|steps|batch|batch_id|batchidx|epoch|count|counter|"
    r"num_updates|itr|niter|nb_batch|batch_i|iter_num|n_iter|cur_iter|epoch_num|batch_num|step_num)$",
    re.IGNORECASE,
)
_NUMBER_OF_TURNS = pattern(
    r"(?:^|_)(?:steps?|iters?|iterations?|batches|updates)_per_epoch$"
    r"|^(?:n|num|max|total|nb|last|final|len)_?(?:\w*_)?(?:iters?|iterations?|steps?|batch(?:es)?|updates?)$",
    re.IGNORECASE,
)
_PART_NAME = pattern(r"(?:^|_)(?:layer|block|stage|level|scale|head|depth|hook)s?(?:_|$)", re.IGNORECASE)

_SINCE = pattern(r"(?:^|_)(?:start|last|prev|previous)(?:_|$)|^(?:tick|start|last)", re.IGNORECASE)
_SO_MANY = pattern(r"(?:^|_)(?:interval|every|freq|period|per)(?:_|$)", re.IGNORECASE)

_BELOW = (ast.Lt, ast.LtE)
_ABOVE = (ast.Gt, ast.GtE)
_ORDERS = (*_BELOW, *_ABOVE)
_ONE_OF = (ast.Eq, ast.In)
_OTHER_THAN = (ast.NotEq, ast.NotIn)


def waits_for_a_count(test: ast.expr) -> bool | None:
    """Whether a branch is taken until a count is reached (True) or once it is.

    `n < tick_start + images_per_tick`; `step - self.last_step >= self.interval`.
    """
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    for part in parts:
        if not isinstance(part, ast.Compare) or not isinstance(part.ops[0], _ORDERS):
            continue
        if _since(part.comparators[0], ast.Add) or _since(part.left, ast.Sub, part.comparators[0]):
            return isinstance(part.ops[0], _BELOW)
    return None


def _since(node: ast.expr, operation: type[ast.operator], bound: ast.expr | None = None) -> bool:
    """Whether an expression counts from where something was done last; `bound`: what holds so many, if not itself."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, operation):
        return False
    names = names_in(node)
    many = names if bound is None else names_in(bound)
    return any(map(_SINCE.search, names)) and any(map(_SO_MANY.search, many))


def is_unequal_modulus(test: ast.expr) -> bool:
    """`x % n != 0`, `x % n > 0` and a bare `x % n` hold on all turns but every n-th."""
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod):
        return True
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.NotEq | ast.Gt)
        and isinstance(test.left, ast.BinOp)
        and isinstance(test.left.op, ast.Mod)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value == 0
    )


def is_single_turn(test: ast.expr) -> bool:
    """`step == 0`, `i == len(loader) - 1`, `step in milestones`: a counter compared for equality."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    left, operator, right = test.left, test.ops[0], test.comparators[0]
    if not isinstance(operator, _ONE_OF) or counts_accumulated(test):
        return False
    if isinstance(left, ast.BinOp):
        if isinstance(left.op, ast.Mod) and not has_modulus([left]):
            return False
        left = left.left
    if isinstance(left, ast.Call) and not left.args and not left.keywords:
        left = left.func  # `trainer.get_num_updates() == 0`
    of_state = isinstance(left, ast.Subscript) and any(is_literal(left.slice, key) for key in ("step", "steps"))
    counter = "step" if of_state else name_of(left)  # `group["step"] == 0` of an optimizer
    if not _COUNTER_NAME.search(counter) or (_counts_parts(right) and not _OF_THE_RUN.search(counter)):
        return False
    if isinstance(right, ast.Constant) and isinstance(right.value, str | None):
        return False  # `padding_index == "last"`: a choice of the configuration; `index == None`: no counter is None
    if isinstance(operator, ast.In) or isinstance(right, ast.Constant | ast.BinOp | ast.Call | ast.Attribute):
        return True
    return bool(_NUMBER_OF_TURNS.search(name_of(right)))  # `i == steps_per_epoch`


def is_at_the_end(test: ast.expr) -> bool:
    """`state.global_step >= state.max_steps`, or `max_steps - 1`: training is over then."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], _ABOVE):
        return False
    last = test.comparators[0]
    if isinstance(last, ast.BinOp) and isinstance(last.op, ast.Sub) and isinstance(last.right, ast.Constant):
        last = last.left
    return bool(_COUNTER_NAME.search(name_of(test.left)) and _ALL_TURNS.search(name_of(last)))


def is_among_the_first(test: ast.expr) -> bool:
    """`trainer.global_step < 5`, `batch_idx < 3`: a handful of steps out of all, which are counted for a whole run."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    counted, most = test.left, test.comparators[0]
    if isinstance(test.ops[0], _ABOVE):
        counted, most = most, counted
    elif not isinstance(test.ops[0], _BELOW):
        return False
    few = isinstance(most, ast.Constant) and type(most.value) is int and 0 < most.value <= _HANDFUL
    return few and bool(_OF_THE_RUN.search(name_of(counted)))


_OF_THE_RUN = pattern(
    r"^_?(?:global|total|train(?:ing)?|cur(?:rent)?)_?(?:steps?|iters?|iterations?|updates)$|"
    r"^_?batch_?(?:idx|index|i|id|no|nb|num)$|^i_?batch$|^idx_batch$"
)
_ALL_TURNS = pattern(r"^(?:max|total|num_train(?:ing)?)_(?:train(?:ing)?_)?(?:steps|iters?|iterations|updates)$")


def outgrows_a_cache(test: ast.expr) -> bool:
    """`seq_len > self.max_seq_len_cached`: true while what is kept is still too small, and seldom after."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    small, large = test.comparators[0], test.left
    if isinstance(test.ops[0], _BELOW):
        small, large = large, small
    elif not isinstance(test.ops[0], _ABOVE):
        return False
    kept = isinstance(small, ast.Attribute) and isinstance(large, ast.Name)
    return bool(_KEPT_SIZE.search(name_of(small)) or (kept and _CURRENT_SIZE.search(name_of(small))))


_KEPT_SIZE = pattern(r"(?:^|_)(?:len|length|size|positions?)_cached$|^_?cached?_(?:\w+_)?(?:len|length|size)$")
_CURRENT_SIZE = pattern(r"^_?(?:current|cur)_(?:\w+_)?(?:len|length|size|capacity)$")


def gathers_a_handful(test: ast.expr) -> bool:
    """`len(images) < 20`: until enough pictures or texts are together to show them."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], _BELOW) or len(test.ops) != 1:
        return False
    size, most = test.left, test.comparators[0]
    if not isinstance(size, ast.Call) or name_of(size.func) != "len" or len(size.args) != 1:
        return False
    few = isinstance(most, ast.Constant) and isinstance(most.value, int) and most.value <= _HANDFUL
    return few and bool(_SHOWN.search(name_of(size.args[0])))


_HANDFUL = 100
_SHOWN = pattern(r"(?:^|_)(?:images?|imgs?|pictures?|plots?|figs?|figures?|videos?|tables?|examples?|previews?)$")


def fills_a_batch(test: ast.expr) -> bool:
    """`len(texts) == batch_size`: what was gathered turn by turn makes a batch, one of many."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq | ast.GtE) or len(test.ops) != 1:
        return False
    size, most = test.left, test.comparators[0]
    counted = isinstance(size, ast.Call) and name_of(size.func) == "len" and len(size.args) == 1
    return counted and bool(_OF_A_BATCH.search(name_of(most)))


_OF_A_BATCH = pattern(r"(?:^|_)(?:batch_?size|bsz?|num_batch|batch_num|chunk_?size)$", re.IGNORECASE)


def is_any_other_turn(test: ast.expr) -> bool | None:
    """True for a test that holds in all turns but one, `step != SAVE_STEP`; False for its opposite."""
    negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    test = test.operand if isinstance(test, ast.UnaryOp) and negated else test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], _OTHER_THAN):
        return None
    counted, bound = test.left, test.comparators[0]
    one = (isinstance(bound, ast.Constant) and type(bound.value) is int) or bool(_STEP_NAME.search(name_of(bound)))
    return not negated if one and _STEP_NAME.search(name_of(counted)) else None


_STEP_NAME = pattern(r"(?:^|_)(?:step|iter|iteration|epoch|batch_idx|steps|iters|epochs)$", re.IGNORECASE)
"""Counters of steps, and the one of them that something is done at: `i` and `n` may count anything."""


def _counts_parts(node: ast.expr) -> bool:
    """`i in self.out_layers`: what counts are the parts of a model, and one of them is met in every step.

    `global_step in cfg.scale_at` counts the steps of a run, whatever is done at them.
    """
    return bool(_PART_NAME.search(name_of(node)))


def only_counts(test: ast.expr, counters: frozenset[str]) -> bool:
    """Whether a test compares a counter of one of some loops with a number, and asks nothing else."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.comparators[0], ast.Constant):
        return False
    left = test.left
    if isinstance(left, ast.BinOp) and isinstance(left.right, ast.Constant):  # `i % 2`, and no `i % log_every`
        left = left.left
    return isinstance(left, ast.Name) and left.id in counters
