"""Losses by their name among what callers pass to a function that asks each of it whether it is a tensor.

    def update(self, **kwargs):                       # of a logger
        for k, v in kwargs.items():
            if isinstance(v, torch.Tensor):
                v = v.item()

    logger.update(**loss_dict)                        # in a loop of training steps

What a step computes is on the device where nothing in sight reads it; that the function asks says that tensors come.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.rest import rest_by_keyword
from torchperf_lint.facts.values.value import ANYWHERE, HOST, PLAIN, Frame, Value, tensor
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.bindings.bodies import Body
    from torchperf_lint.facts.values.values import Values

_LOSSES = pattern(r"(?:^|_)loss(?:es)?(?:_dict)?(?:_reduced)?$")
_WALKS = frozenset({"items", "values"})
_MAX_CALLERS = 12


def is_given_by_a_step(values: Values, name: str, frame: Frame, body: Body) -> bool:
    """Whether a name is an item of a dict that the function is given, and a training step gives it one of losses.

    Or is itself what the function is given, and a training step gives it a tensor: decorators, which may call the
    function with other things, leave that open.
    """
    # Functions that hand on to themselves what they were given come to an end there, as all that is remembered does.
    given = ("given by a step", name, frame.path, frame.function, frame.at)
    return values.remembered(given, frame, lambda at: _GIVEN if _is_given(values, name, at, body) else PLAIN) is _GIVEN


_GIVEN = tensor(ANYWHERE, "given by a training step", Confidence.LIKELY)


def _is_given(values: Values, name: str, frame: Frame, body: Body) -> bool:
    if _is_given_a_tensor(values, name, frame):
        return True
    reaching = body.reaching(frame.function, name, frame.at) or ()
    walked = {_walked(d.value) if d.how == "loop" else "" for d in reaching}
    if len(walked) != 1 or walked == {""}:
        return False
    given = walked.pop()
    key = FunctionKey(frame.path, frame.function)
    sites = values.hotness.callers.get(key, ())[:_MAX_CALLERS]
    return any(_gives_losses(values, site, key, given, frame) for site in sites)


def _is_given_a_tensor(values: Values, name: str, frame: Frame) -> bool:
    """`return tensor2float(loss)` at the end of a training step."""
    key = FunctionKey(frame.path, frame.function)
    function = values.index.function(key)
    if name not in [parameter.name for parameter in function.parameters]:
        return False
    for site in values.hotness.callers.get(key, ())[:_MAX_CALLERS]:
        call, at = call_at(values, site), (site.call.line, site.call.column)
        given = argument_for(call, function, name) if call is not None else None
        hot = values.hotness.at(site.path, at) if given is not None else None
        if given is None or hot is None or hot.kind != "step" or hot.optional:
            continue
        value = values.of(given, frame.hop(site.path, site.call.function, at))
        if value.kind == "tensor" and value.device != HOST and value.confidence is not Confidence.POSSIBLE:
            return True
    return False


def _walked(node: ast.expr | None) -> str:
    """The name of the dict of `d.items()` and `d.values()`."""
    method = node.func if isinstance(node, ast.Call) and not node.args else None
    walks = isinstance(method, ast.Attribute) and method.attr in _WALKS and isinstance(method.value, ast.Name)
    return chain(method.value) if walks else ""  # type: ignore[union-attr]


def _gives_losses(values: Values, site: CallSite, key: FunctionKey, name: str, frame: Frame) -> bool:
    """Whether a call in a training step passes a dict by that name, of which nothing is known but that it is one."""
    call, body = call_at(values, site), values.body(key.path)
    if call is None or body is None:
        return False
    losses = [node for node in _passed(call, key, name, values, body) if _LOSSES.search(last_part(chain(node)))]
    norms = _norms(call, key, name, values, body)
    at = (site.call.line, site.call.column)
    hot = values.hotness.at(site.path, at) if losses or norms else None
    if hot is None or hot.kind != "step" or hot.optional:
        return False
    there = frame.hop(site.path, site.call.function, at)
    if any(values.of(node, there).kind in ("unknown", "tensor") for node in norms):
        return True
    return any(_is_open(values.of(node, there)) for node in losses)


def _norms(call: ast.Call, key: FunctionKey, name: str, values: Values, body: Body) -> list[ast.expr]:
    """The norm of all gradients that a call passes for `**name`: whatever clips, or only measures, gives a tensor."""
    if rest_by_keyword(body, key.index) != name:
        return []
    named = {parameter.name for parameter in values.index.function(key).parameters}
    return [k.value for k in call.keywords if k.arg in _NORMS - named and last_part(chain(k.value)) in _NORMS]


_NORMS = frozenset({"grad_norm", "gradient_norm", "total_norm"})


def _passed(call: ast.Call, key: FunctionKey, name: str, values: Values, body: Body) -> list[ast.expr]:
    """What a call passes for a parameter, or spreads where that is `**name`."""
    function = values.index.function(key)
    if any(parameter.name == name for parameter in function.parameters):
        argument = argument_for(call, function, name)
        return [argument] if argument is not None else []
    return [k.value for k in call.keywords if k.arg is None] if rest_by_keyword(body, key.index) == name else []


def _is_open(value: Value) -> bool:
    """Whether it is open what a dict holds: what is known to be numbers is none of the device."""
    items = [value.item] if value.item is not None else []
    held = [entry for _, entry in value.entries] or items
    return value.kind == "unknown" or (value.kind == "sequence" and all(one.kind == "unknown" for one in held))
