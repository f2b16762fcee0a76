"""The type of a tensor that a setting names as text: `x.type(args.type)`, of which the default is one of CUDA.

    parser.add_argument("--type", default="torch.cuda.FloatTensor")
    def train(loader, kind="torch.cuda.FloatTensor"): ...

A default says where a program runs unless somebody asks for something else.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.hints import default_of
from torchperf_lint.facts.bindings.option_declarations import declared_in, default, option_named
from torchperf_lint.facts.outlines.records import END_OF_FILE
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.bindings.bodies import Body
    from torchperf_lint.facts.values.values import Values

_TYPE = pattern(r"^torch\.(?:cuda\.)?\w*Tensor$")


def type_named(values: Values, node: ast.expr, frame: Frame) -> str | None:
    """The text of a type, `torch.cuda.FloatTensor`, that an expression stands for unless somebody asks for another."""
    body = values.body(frame.path)
    text: ast.expr | None = node
    if isinstance(node, ast.Name) and body is not None:
        text = _of_name(values, body, node.id, frame)
    elif isinstance(node, ast.Attribute) and body is not None:
        text = _of_setting(values, body, node, frame)
    written = text.value if isinstance(text, ast.Constant) else None
    return written if isinstance(written, str) and _TYPE.match(written) else None


def _of_name(values: Values, body: Body, name: str, frame: Frame) -> ast.expr | None:
    """What alone a name is bound to, where it is read or in a function around; of a parameter, the default."""
    functions = values.index.outlines[frame.path].functions
    function, at = frame.function, frame.at
    while function >= 0:
        if body.reaching(function, name, at) is not None:
            return body.assigned_once(function, name, at)
        if any(parameter.name == name for parameter in functions[function].parameters):
            return default_of(body.functions.get(function), name)
        function, at = functions[function].parent, END_OF_FILE
    return None


def _of_setting(values: Values, body: Body, node: ast.Attribute, frame: Frame) -> ast.expr | None:
    """The default of the option that the file's parser is told of; None where the file sets it to something else."""
    outline, name = values.index.outlines[frame.path], option_named(node)
    if not name or any(binding.target == chain(node) for binding in outline.bindings):
        return None
    declared = next(declared_in(outline, body, name), None)
    return default(declared) if declared is not None else None
