"""Branches behind an option of the command line that is off unless somebody asks for it, and that nothing turns on.

    parser.add_argument("--log_wandb", action="store_true")
    for batch in loader:
        if args.log_wandb:              # who starts the program without it never comes here
            wandb.log({"mask": mask.cpu().numpy()})

Readers judge a file by the options that it has by default. Scripts and pages that start the program with the option
say otherwise.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from torchperf_lint.facts.bindings.option_declarations import flags, option_named
from torchperf_lint.facts.constants.declared_options import declarations, defaults
from torchperf_lint.facts.constants.options_set import files_with
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.syntax.syntax import children_of
from torchperf_lint.patterns import pattern

_COMMENTS = pattern(r"^[ \t]*#[^\n]*$", re.MULTILINE)
"""Of shells: what stands there is an offer."""
_REMARKS = pattern(r"^[ \t]*#(?!.*\.py\b)[^\n]*$", re.MULTILINE)
"""Of Python: `# only if --log-all is passed`, but not `# python train.py --log-all`."""
_asked: WeakKeyDictionary[Project, dict[str, bool]] = WeakKeyDictionary()


def option_off(project: Project, path: str, line: int) -> str | None:
    """The option, as written, that has to be asked for before a 1-based line of a file runs; None where there is none.

    Only of tests around the line in its own function, or in the file where it stands in none.
    """
    body = project.body(path)
    tests = _tests_around(body.functions[0], line) if body is not None else ()
    return next((ast.unparse(one) for one in tests if _is_off(project, path, one)), None)


def _tests_around(node: ast.AST, line: int) -> Iterator[ast.expr]:
    """What must be true for a line to run, by the tests of its own function."""
    found: list[ast.expr] = []
    inner: ast.AST | None = node
    while inner is not None:
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found.clear()
        elif isinstance(inner, ast.If):
            found += _true_for(inner, line)
        inner = next((child for child in children_of(inner) if _spans(child, line)), None)
    yield from found


def _true_for(branch: ast.If, line: int) -> Iterator[ast.expr]:
    if any(_spans(statement, line) for statement in branch.body):
        every = branch.test.values if _is_and(branch.test) else [branch.test]  # type: ignore[attr-defined]
        yield from (_asked_of(test) for test in every)
    elif any(_spans(statement, line) for statement in branch.orelse):
        test = branch.test
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            yield test.operand


def _is_and(test: ast.expr) -> bool:
    return isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)


def _asked_of(test: ast.expr) -> ast.expr:
    """`args.path` of `args.path is not None`."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot) and is_none(test.comparators[0]):
        return test.left
    return test


def _is_off(project: Project, path: str, option: ast.expr) -> bool:
    known = defaults(project, option, path) if option_named(option) else []
    declared = declarations(project, option, path) if known else ()
    written_out = all(_is_written_out(call) for _, call in declared)
    if not known or not written_out or any(known):
        return False
    answers = _asked.setdefault(project, {})
    name = option_named(option)
    if name not in answers:
        answers[name] = _is_asked_for(project, option, [f.lstrip("-") for _, call in declared for f in flags(call)])
    return not answers[name]


def _is_written_out(declaration: ast.Call) -> bool:
    """Whether a declaration says what the option is by default: without one of these it may be required."""
    said = {argument.arg: argument.value for argument in declaration.keywords}
    return None not in said and ("default" in said or isinstance(said.get("action"), ast.Constant))


def _is_asked_for(project: Project, option: ast.expr, given: list[str]) -> bool:
    """Whether code sets an option, or any command line in sight holds it."""
    name = option_named(option)
    stored = re.compile(rf"(?:\.{re.escape(name)}\s*=(?!=)|[\"']{re.escape(name)}[\"']\s*:)(?!\s*(?:False|None|0)\b)")
    texts = [project.text(path) for path in files_with(project, name)]
    if any(stored.search(text) for text in texts):
        return True
    spelled = ("[-_]".join(map(re.escape, re.split("[-_]", one))) for one in given)
    flag = re.compile("|".join(rf"--?{one}(?![\w-])" for one in spelled))
    shown = sum(len(flag.findall(_REMARKS.sub("", text))) for text in texts)
    everywhere = declarations(project, option, "")
    written = sum(len(flag.findall(ast.unparse(call))) for _, call in everywhere)
    beside = project.hotness.programs.beside
    named = re.search(rf"\b{re.escape(name)}\b", beside.settings or "") is not None
    return shown > written or named or flag.search(_COMMENTS.sub("", beside.commands)) is not None


def _spans(node: ast.AST, line: int) -> bool:
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    if first is None or last is None:
        return any(_spans(child, line) for child in children_of(node))
    return int(first) <= line <= int(last)
