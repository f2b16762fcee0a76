"""How programs declare options, and what each is unless somebody asks for something else. Of one file's syntax.

    parser.add_argument("--num-threads", type=int, default=0)      args.num_threads is 0
    parser.add_argument("--amp", action="store_true")              args.amp is False
    flags.DEFINE_integer("workers", 0, "...")                      FLAGS.workers is 0
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.outlines.records import Outline
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_POSITIONAL = "DEFINE_integer"
_DECLARES = frozenset({"add_argument", "add_arg", _POSITIONAL})
_SETTINGS = pattern(
    r"(?:^|_)(?:args?|opts?|options?|params?|hparams?|hps?|cfg|conf|config|flags|namespace)$", re.IGNORECASE
)
"""Names of what the command line was read into."""
_SWITCHES = {"store_true": False, "store_false": True}


def option_named(node: ast.expr) -> str:
    """The name of the option that an expression may be, `workers` of `self.args.workers`; empty for others."""
    asked = isinstance(node, ast.Attribute) and _SETTINGS.search(last_part(chain(node.value)))
    return node.attr if asked and isinstance(node, ast.Attribute) else ""


def declared_in(outline: Outline, body: Body, name: str) -> Iterator[ast.Call]:
    """The calls of a file that declare an option."""
    for call in outline.calls:
        node = body.node_of(call) if last_part(call.callee) in _DECLARES else None
        if node is not None and _declares(node, name):
            yield node


def may_declare(outline: Outline) -> bool:
    """Whether a file declares any option, before it is parsed."""
    return any(last_part(call.callee) in _DECLARES for call in outline.calls)


def default(declaration: ast.Call) -> ast.expr | None:
    """What an option is unless somebody asks for something else."""
    given = keyword(declaration, "default")
    if given is not None:
        return given
    if last_part(chain(declaration.func)) == _POSITIONAL:
        return declaration.args[1] if len(declaration.args) > 1 else None
    action = keyword(declaration, "action")
    known = action.value if isinstance(action, ast.Constant) and isinstance(action.value, str) else ""
    return ast.Constant(_SWITCHES[known]) if known in _SWITCHES else None


def flags(declaration: ast.Call) -> list[str]:
    """The ways to write an option, as its declaration gives them: `-n`, `--num-threads`."""
    return [a.value for a in declaration.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]


def flag(declaration: ast.Call, name: str) -> str:
    """The longest way to write an option, as the command line takes it; its name where that is not written out."""
    written = flags(declaration)
    if not written:
        return name
    longest = max(written, key=len) if last_part(chain(declaration.func)) != _POSITIONAL else written[0]
    return longest if longest.startswith("-") else f"--{longest}"


def _declares(call: ast.Call, name: str) -> bool:
    stored = keyword(call, "dest")
    if isinstance(stored, ast.Constant):
        return stored.value == name
    return any(written.lstrip("-").replace("-", "_") == name for written in flags(call))
