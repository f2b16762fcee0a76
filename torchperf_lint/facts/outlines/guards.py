"""Which blocks run rarely: interval guards, debug switches, blocks that leave the loop.

All of it is decided from one file's syntax, so outlines can hold the answer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from torchperf_lint.facts.outlines.anomalies import NOT_FINITE, counts_anomalies, is_finite_check
from torchperf_lint.facts.outlines.counted_turns import (
    fills_a_batch,
    gathers_a_handful,
    is_among_the_first,
    is_any_other_turn,
    is_at_the_end,
    is_single_turn,
    is_unequal_modulus,
    outgrows_a_cache,
    waits_for_a_count,
)
from torchperf_lint.facts.outlines.device_tests import (
    ELSEWHERE_NAME,
    is_negative,
    is_option,
    moved_by_an_option,
    names_another_device,
    says_cuda,
    without_not,
)
from torchperf_lint.facts.outlines.intervals import is_no_interval
from torchperf_lint.facts.outlines.reached_lengths import is_one_length
from torchperf_lint.facts.outlines.states import is_rare_state
from torchperf_lint.facts.outlines.torch_versions import runs_with_old_torch
from torchperf_lint.facts.syntax.conditions import has_modulus, name_of, names_among, short, walked, words
from torchperf_lint.facts.syntax.expressions_written import plainly_written
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.patterns import pattern


class Guard(NamedTuple):
    """Why a block is rare. `otherwise`: it is the else branch that is rare."""

    kind: str
    text: str
    otherwise: bool = False


_CADENCE_NAME = pattern(
    r"(?:^|_)(?:should|need|needs|do|is|to|can|will|would|time_to|ready_to)_(?:log|print|save|eval|evaluate|validate|vis|"
    r"visuali[sz]e|plot|display|report|checkpoint|ckpt|dump|write|record|sync|gc|backup|snapshot|flush)(?:_|$)"
    r"|(?:^|_)(?:log|print|save|eval|val|report|display|vis|summary|ckpt|checkpoint|logging|refresh|sync|update)_"
    r"(?:this|now|freq|frequency|interval|every|step|steps|iter|iters|period|due|time)"
    r"|(?:^|_)(?:freq|interval|every|cadence|periodic)(?:_|$)|^_?check_frequency$"
    r"|(?:^|_)(?:steps|iters|iterations|batches|epochs)_per_(?:log|print|save|eval|val|test|vis|plot|report|summary|"
    r"checkpoint|ckpt|sample|display)(?:_|$)"
    r"|(?:^|_)(?:is_)?(?:last|first|final)_(?:batch|step|iter|iteration)$|^is_(?:last|first)$",
    re.IGNORECASE,
)
_LOG_FLAGS = frozenset({"log", "do_log", "log_flag"})
"""Flags by which a step's caller says that this one is to be logged: `log=step % self.every == 0`."""
_DEBUG_NAME = pattern(
    r"^_?(?:debug\w*|is_debug|\w+_debug|verbose|verbosity|disp|profil\w*|do_profile|dry_run|sanity_check|smoke_test|visuali[sz]e|"
    r"save_(?:\w+_)?(?:scans|ima?ge?s?|pictures?|pics?|fig(?:ure)?s?|plots?|vis\w*|videos?|renders?)|do_vis|collect_\w+|track_\w+|record_\w+|\w*is_(?:tracing|scripting|exporting|in_onnx_export)(?:_or_\w+)?|export\w*|onnx\w*|plot\w*|show_plots?|(?:\w+_)?gui|(?:\w+_)?viewer|benchmark\w*|do_bench\w*|"
    r"log_grad(?:ient)?s?(?:_norms?)?|speed_?tests?|(?:nan|anomaly)_detect(?:ion)?|detect_(?:nans?|anomal(?:y|ies))|isEnabledFor)$",
    re.IGNORECASE,
)
_MEMORY_NAME = pattern(
    r"offload|(?:^|_)on_cpu$|low_?v?ram|cpu_cache|save_memory|low_mem|memory_efficient|(?:empty|clear|free)_?\w*cache|"
    r"memory_(?:allocated|reserved|usage|info|stats|threshold|limit)|mem_get_info|virtual_memory",
    re.IGNORECASE,
)
_OUT_OF_MEMORY = pattern(r"(?:^|_)(?:oom|out_of_memory)(?:_|$)|^is_oom|OutOfMemory", re.IGNORECASE)
_CLOCKS = {"time", "perf_counter", "monotonic", "process_time", "now", "due", "is_due"}
"""What asks for the time, and what keeps a schedule: `plan.due(step)`."""
_EXITS = {"exit", "_exit", "quit", "abort"}


def guard(test: ast.expr) -> Guard | None:
    """Whether a test makes its block rare: a modulus, a throttle by time, a cadence flag, a debug switch."""
    try:
        written = plainly_written(test)
    except RecursionError:
        written = ""
    if not written:
        return _guard(test)
    if written not in _OF_WRITTEN:
        if len(_OF_WRITTEN) >= _MOST_WRITTEN:
            _OF_WRITTEN.clear()
        _OF_WRITTEN[written] = _guard(test)
    return _OF_WRITTEN[written]


_OF_WRITTEN: dict[str, Guard | None] = {}
"""Test -> its guard: the tests of a project are asked again and again, and many are in several of its files."""
_MOST_WRITTEN = 1 << 15
"""Three times the tests of a large project."""


def by_an_option(branch: ast.If) -> Guard | None:
    """`if use_cuda: x = x.cuda()`: the other branch runs elsewhere."""
    otherwise = moved_by_an_option(branch)
    return None if otherwise is None else Guard("elsewhere", short(words(branch.test)), otherwise)


def is_cuda_asked_for(test: ast.expr, off_by_default: frozenset[str]) -> bool:
    """`not use_cuda`, of a parameter that is False unless a caller asks for it: that decides nothing by the device."""
    bare, _ = without_not(test)
    return optional(bare, off_by_default) and (is_option(bare) or says_cuda(bare))


def _guard(test: ast.expr) -> Guard | None:
    if isinstance(test, ast.Constant):
        return Guard("raise", short(words(test)), otherwise=bool(test.value))
    bare, negated = without_not(test)
    found = _of_turns(test) if isinstance(bare, _COUNTING) else None
    if found is not None:
        return found
    if isinstance(bare, ast.Call) and is_finite_check(test):
        return Guard("except", short(words(test)), otherwise=not isinstance(test, ast.UnaryOp))
    test = bare
    if counts_anomalies(test):
        return Guard("except", short(words(test)), negated)
    if says_cuda(test):
        return Guard("elsewhere", short(words(test)), otherwise=negated == is_negative(test))
    if names_another_device(test):
        return Guard("elsewhere", short(words(test)), otherwise=negated != is_negative(test))
    kind = _kind(test)
    if kind is None:
        return None
    if is_unequal_modulus(test) or (kind == "elsewhere" and is_negative(test)):
        negated = not negated
    return Guard(kind, short(words(test)), negated)


_COUNTING = (ast.Compare, ast.BoolOp)


def _of_turns(test: ast.expr) -> Guard | None:
    """What a comparison with a count, or with the version of torch, makes of its block."""
    waits = waits_for_a_count(test)
    if waits is not None:
        return Guard("cadence", short(words(test)), otherwise=waits)
    old = runs_with_old_torch(test)
    if old is not None:
        return Guard("elsewhere", short(words(test)), otherwise=not old)
    other = is_any_other_turn(test)
    return Guard("cadence", short(words(test)), otherwise=other) if other is not None else None


def tests_itself(test: ast.expr) -> Guard | None:
    """`if __name__ == "__main__":` inside a function: the file's own test of itself."""
    left = test.left if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq) else None
    main = isinstance(left, ast.Name) and left.id == "__name__"
    return Guard("debug", short(words(test))) if main else None


def is_cadence(test: ast.expr) -> bool:
    """Whether a test holds on a few turns of a loop only."""
    found = guard(test)
    return found is not None and found.kind == "cadence" and not found.otherwise


def optional(test: ast.expr, off_by_default: frozenset[str]) -> bool:
    """Whether a branch is taken only when a caller passes something: a parameter whose default is None or False."""
    if not off_by_default:
        return False
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_asked_for(part) in off_by_default for part in test.values)
    return _asked_for(test) in off_by_default


def holds_by_default(test: ast.expr, on: Mapping[str, object]) -> bool:
    """Whether a switch is on unless a caller turns it off: `verbose=1` and `if verbose > 0:`."""
    if isinstance(test, ast.Name):
        return test.id in on
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.left, ast.Name):
        return False
    default, bound = on.get(test.left.id), test.comparators[0]
    least = bound.value if isinstance(bound, ast.Constant) else None
    if not isinstance(default, int) or not isinstance(least, int):
        return False
    return {ast.Gt: default > least, ast.GtE: default >= least, ast.Eq: default == least}.get(type(test.ops[0]), False)


def _asked_for(test: ast.expr) -> str:
    if isinstance(test, ast.Name):
        return test.id
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], _NOT_THAT):
        right = test.comparators[0]
        if isinstance(test.left, ast.Name) and is_none(right):
            return test.left.id
    return ""


_NOT_THAT = (ast.IsNot, ast.NotEq)
_ENDS = (ast.Raise, ast.Return, ast.Continue, ast.Break)
_SKIPS = (ast.Continue, ast.Return)
_WITH = (ast.With, ast.AsyncWith)


def guards_the_rest(statement: ast.stmt) -> Guard | None:
    """`if step % n != 0: continue` makes the rest of its block rare; after `raise` and `assert False` nothing runs.

    After `with ignored(...): return f(x)` something runs only where an exception was swallowed.
    """
    if isinstance(statement, _ENDS):
        return Guard("raise", f"after `{type(statement).__name__.lower()}`")
    if isinstance(statement, _WITH):
        return Guard("except", "after a `with` that returns") if isinstance(statement.body[-1], ast.Return) else None
    if isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Constant) and not statement.test.value:
        return Guard("raise", "assert False")
    if not isinstance(statement, ast.If) or statement.orelse:
        return None
    if not isinstance(statement.body[-1], _SKIPS):
        return None
    # What comes after `if a or b: return` runs only where neither holds.
    either = statement.test.values if isinstance(statement.test, ast.BoolOp) else [statement.test]
    alone = isinstance(statement.test, ast.BoolOp) and isinstance(statement.test.op, ast.And)
    tests = [statement.test] if alone else either
    found = next((g for g in map(guard, tests) if g is not None and g.otherwise), None)
    # A long body that returns is one of two ways through a function, unless it is the way for other devices.
    if found is None or (len(statement.body) > 2 and found.kind != "elsewhere"):
        return None
    return found._replace(otherwise=False)


def _kind(test: ast.expr) -> str | None:
    if not isinstance(test, ast.BoolOp):
        return _kind_of_one(test)
    if isinstance(test.op, ast.And):
        return next(filter(None, map(_kind_of_one, test.values)), None)
    # `step % n == 0 or last_batch`: rare only when every way in is rare.
    kinds = [_kind_of_one(part) for part in test.values]
    return kinds[0] if all(kinds) else _dominant_or(test, kinds)


def _dominant_or(test: ast.BoolOp, kinds: Sequence[str | None]) -> str | None:
    """`i % n == 0 or i == total`: a comparison of a counter beside a modulus is one more rare way in, as is `done`.

    So is that nothing is there yet, `i % n == 0 or self.buffer is None`; but not that a batch is full,
    `len(texts) == batch_size or i == total`.
    """
    others = [part for part, kind in zip(test.values, kinds, strict=True) if kind is None]
    if any(map(fills_a_batch, others)):
        return None
    rare = all(
        _DONE.search(name_of(part))
        or (isinstance(part, ast.Compare) and isinstance(part.ops[0], _REACHES))
        or _is_missing_still(part)
        for part in others
    )
    return "cadence" if "cadence" in kinds and rare else None


def _is_missing_still(test: ast.expr) -> bool:
    """`self.buffer is None`."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Is) or not is_none(test.comparators[0]):
        return False
    return isinstance(test.left, ast.Attribute) and isinstance(test.left.value, ast.Name)


_REACHES = (ast.Eq, ast.GtE, ast.Gt)
_DONE = pattern(r"^(?:is_|training_)?(?:done|finished|complete[d]?|at_end)$")


_NAMED = (ast.Name, ast.Attribute)


def _kind_of_one(test: ast.expr) -> str | None:
    if isinstance(test, ast.BoolOp):
        return _kind(test)
    if isinstance(test, ast.UnaryOp):
        kind = _kind_of_one(test.operand)
        # `main and not debug` is what runs every day, and so is `main and not is_first_step`; `main and not step % n`
        # is as rare as `step % n == 0`.
        off = kind in _SWITCHED_OFF or (kind == "cadence" and isinstance(test.operand, _NAMED))
        return None if isinstance(test.op, ast.Not) and off else kind
    if is_no_interval(test):
        return None
    if isinstance(test, ast.Name) and test.id in _LOG_FLAGS:
        return "cadence"
    if isinstance(test, ast.Compare) and names_another_device(test):
        return None if is_negative(test) else "elsewhere"
    nodes = walked(test)
    told = set(map(_kind_by_name, names_among(nodes)))
    if has_modulus(nodes) or _is_met_seldom(test) or (_is_throttle(nodes) and not _is_time_left(test)):
        told.add("cadence")
    told.discard(None)
    return min(told, key=_KINDS.index, default=None)


def _is_met_seldom(test: ast.expr) -> bool:
    """Whether a comparison holds on few turns of a loop, each of its own kind: `step == 0`, `step < 5`."""
    asked = _SELDOM.get(type(test.ops[0]), ()) if isinstance(test, ast.Compare) else ()
    return any(holds(test) for holds in asked) if asked else False


_EQUAL = (is_single_turn, is_one_length, is_rare_state)
_GREATER = (is_at_the_end, outgrows_a_cache, is_among_the_first)
_LESS = (outgrows_a_cache, gathers_a_handful, is_among_the_first)
_SELDOM: dict[type[ast.cmpop], tuple[Callable[[ast.expr], bool], ...]] = {
    ast.Eq: _EQUAL,
    ast.In: (is_single_turn,),
    ast.Is: (is_rare_state,),
    ast.Gt: _GREATER,
    ast.GtE: _GREATER,
    ast.Lt: _LESS,
    ast.LtE: _LESS,
}
"""Operator of a comparison -> the tests that it may be."""


_PROFILED = pattern(r"profil\w*(\.\w+)?\(\)$|^cProfile|emit_nvtx\(\)$")
_SWITCHED_FIRST = pattern(r"(?:^|\.)(?:autograd\.(?:profiler\.)?\w+|emit_(?:nvtx|itt))\(\)$")
"""Profilers that take first whether they record at all."""
_LABELLED = pattern(r"(?:^|\.)record_function\(\)$|(?:^|\.)(?:self|trainer)\.(?:\w+\.)*profiler\.\w+\(\)$")
"""Labels for what a profiler may see: the code runs whether there is one or not."""
_KINDS = ("elsewhere", "except", "cadence", "debug", "memory")
"""What decides first stands first."""
_SWITCHED_OFF = ("debug", "memory", "elsewhere")
"""Kinds of switches: what asks that one be off does not make its block rare."""


@lru_cache(maxsize=1 << 14)
def _kind_by_name(name: str) -> str | None:
    """Which kind of test a name in it makes; tests go by the same few names, and four patterns are dear."""
    if ELSEWHERE_NAME.search(name):
        return "elsewhere"
    if name in NOT_FINITE or _OUT_OF_MEMORY.search(name):
        return "except"
    if _CADENCE_NAME.search(name):
        return "cadence"
    if _DEBUG_NAME.match(name):
        return "debug"
    return "memory" if _MEMORY_NAME.search(name) else None


def _is_throttle(nodes: Sequence[ast.AST]) -> bool:
    calls = [node for node in nodes if type(node) is ast.Call]
    return any(name_of(call.func) in _CLOCKS for call in calls) if calls else False


def _is_time_left(test: ast.expr) -> bool:
    """`time.time() < self.end`: what runs until a deadline, and every time until then."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Lt | ast.LtE):
        return False
    return isinstance(test.left, ast.Call)


_LEAVES: dict[type[ast.stmt], str] = {ast.Break: "break", ast.Return: "return", ast.Raise: "raise"}


def exit_kind(statements: Sequence[ast.stmt]) -> str | None:
    """break, return or raise when the block ends so (`sys.exit()` counts as raise), else None."""
    if not statements:
        return None
    last = statements[-1]
    if not isinstance(last, ast.Expr):
        return _LEAVES.get(type(last))
    if isinstance(last.value, ast.Call):
        function = last.value.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return "raise" if name in _EXITS else None
    return None


def with_kind(name: str, manager: ast.expr) -> str | None:
    """What a `with` block means for the code inside, by its context manager and the chain of that."""
    if name.endswith((".no_grad()", ".inference_mode()")) or name in ("no_grad()", "inference_mode()"):
        return "grad-off"
    if _PROFILED.search(name) and not _LABELLED.search(name):
        return None if _has_a_switch(name, manager) else "profile"
    return None


def _has_a_switch(name: str, manager: ast.expr) -> bool:
    """`profiler.profile(enabled=args.profile)`: what is inside runs in any case, and is seldom profiled."""
    if not isinstance(manager, ast.Call):
        return False
    given = [k.value for k in manager.keywords if k.arg == "enabled"]
    given += manager.args[:1] if _SWITCHED_FIRST.search(name) else []
    return any(not isinstance(switch, ast.Constant) for switch in given)


def literal_turns(iterable: ast.expr) -> int | None:
    """How often a loop over a literal turns: `range(3)`, `(a, b)`, `enumerate([a, b])`; else None."""
    if isinstance(iterable, ast.Tuple | ast.List | ast.Set):
        return None if any(isinstance(e, ast.Starred) for e in iterable.elts) else len(iterable.elts)
    if not isinstance(iterable, ast.Call) or not isinstance(iterable.func, ast.Name) or not iterable.args:
        return None
    if iterable.func.id in ("enumerate", "reversed", "tqdm", "trange"):
        return literal_turns(iterable.args[0])
    if iterable.func.id != "range":
        return None
    try:
        bounds = [ast.literal_eval(argument) for argument in iterable.args]
    except ValueError:
        return None
    if not all(type(bound) is int for bound in bounds) or 0 in bounds[2:] or len(bounds) > 3:
        return None
    return len(range(*bounds))
