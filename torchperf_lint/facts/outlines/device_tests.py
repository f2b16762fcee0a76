"""Tests for the device that code runs on: what they keep for other devices never runs on CUDA.

    if "cuda" in str(x.device):          if torch.cuda.is_available():          if use_gpu:
        scale = self.scale                   model = model.cuda()                   x = x.cuda()
    else:                                else:                                  else:
        scale = self.scale.cpu()             model = DataParallel(model)            x = x.cpu()
"""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.syntax.conditions import name_of
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.patterns import pattern

_OTHER_DEVICES = frozenset({"mps", "npu", "cpu", "xla", "hpu", "mlu", "neuron", "tpu", "meta"})
_CUDA_NAME = pattern(
    r"^_?(?:(?:is|on|has|have)_(?:on_)?(?:cuda|gpu)|(?:is_)?(?:cuda|gpu)_(?:is_)?available)$", re.IGNORECASE
)
_CUDA_OPTION = pattern(r"^_?(?:(?:use|with)_?(?:cuda|gpu)|cuda)$", re.IGNORECASE)
"""Not `gpu`, which may be the number of one, nor what asks for a library of kernels, `use_cuda_kernel`."""
_NO_OPTIONS = frozenset({"torch", "version", "backends"})
"""What has a part named `cuda` that nobody turns on: `torch.version.cuda` tells CUDA from ROCm."""
_OF_A_DEVICE = pattern(r"^_?(?:is|on)_")
_CUDA_CONSTANTS = frozenset({"CUDA", "GPU", "cuda", "gpu"})
"""Members of enumerations of devices."""
ELSEWHERE_NAME = pattern(
    r"^_?is_(?:on_)?(?:mps|npu|xla|tpu|hpu|cpu|xpu)(?:_|$)|_is_(?:mps|cpu|xpu|npu)(?:_|$)", re.IGNORECASE
)
_DEVICE_NAME = pattern(r"(?:^|_)(?:device|dev)(?:_?(?:type|name|str|id))?$|^type$", re.IGNORECASE)


_NAMED = (ast.Name, ast.Attribute)
_SEVERAL = (ast.Tuple, ast.List, ast.Set)
_SAME = (ast.Eq, ast.NotEq)
_AMONG = (ast.In, ast.NotIn)
_SAME_OR_AMONG = (*_SAME, *_AMONG)
_NEGATIVE = (ast.NotEq, ast.NotIn)


def names_another_device(test: ast.expr) -> bool:
    """`x.device.type == "mps"`: what follows does not run on a CUDA device."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], _SAME_OR_AMONG):
        return False
    other = test.comparators[0]
    if isinstance(test.left, ast.Constant):  # `"mps" in str(x.device)`
        return isinstance(test.ops[0], _AMONG) and test.left.value in _OTHER_DEVICES and _is_a_device(other)
    words = other.elts if isinstance(other, _SEVERAL) else [other]
    return all(isinstance(word, ast.Constant) and word.value in _OTHER_DEVICES for word in words) and bool(words)


def says_cuda(test: ast.expr) -> bool:
    """`x.is_cuda`, `device.type == "cuda"`: where it does not hold the code runs elsewhere."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return all(says_cuda(part) and not is_negative(part) for part in test.values)
    if isinstance(test, _NAMED):
        return bool(_CUDA_NAME.search(test.attr if isinstance(test, ast.Attribute) else test.id))
    if isinstance(test, ast.Call):
        return _asks_for_cuda(test)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    kind, other = test.left, test.comparators[0]
    if isinstance(test.ops[0], _AMONG) and is_literal(kind, "cuda"):
        return _is_a_device(other)  # `"cuda" in str(x.device)`
    if isinstance(test.ops[0], _AMONG):  # `x.device.type in ("cuda", "npu")`
        several = other.elts if isinstance(other, _SEVERAL) else []
        return any(is_literal(each, "cuda") for each in several) and isinstance(kind, ast.Attribute)
    if not isinstance(test.ops[0], _SAME):
        return False
    if isinstance(other, ast.Attribute):
        return other.attr in _CUDA_CONSTANTS and name_of(kind).endswith(("device", "device_type"))  # `Device.CUDA`
    return is_literal(other, "cuda") and isinstance(kind, ast.Attribute | ast.Call)


def moved_by_an_option(branch: ast.If) -> bool | None:
    """Whether it is the else of `if use_cuda: x = x.cuda()` that runs elsewhere; None where no option moves anything.

    Such options also turn on kernels or libraries, whose tensors are on the device either way.
    """
    test, negated = without_not(branch.test)
    moves = is_option(test) and any(_moves(node) for part in _on(branch, negated) for node in ast.walk(part))
    return not negated if moves else None


def without_not(test: ast.expr) -> tuple[ast.expr, bool]:
    """A test without the `not`s before it, and whether those turn it round."""
    negated = False
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, negated = test.operand, not negated
    return test, negated


def _on(branch: ast.If, negated: bool) -> list[ast.stmt]:
    return branch.orelse if negated else branch.body


def is_option(test: ast.expr) -> bool:
    """`use_cuda`, `args.cuda`, `use_gpu and torch.cuda.is_available()`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        others = [part for part in test.values if not is_option(part)]
        asked = all(isinstance(part, ast.Call) and _asks_for_cuda(part) for part in others)
        return asked and len(others) < len(test.values)
    if isinstance(test, ast.Attribute) and name_of(test.value) in _NO_OPTIONS:
        return False
    return isinstance(test, _NAMED) and _CUDA_OPTION.search(name_of(test)) is not None


def _moves(node: ast.AST) -> bool:
    """`x.cuda()`, `x.to("cuda:0")`, `x.to(device)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr == "cuda":
        return True
    place = node.args[0] if node.func.attr == "to" and node.args else None
    if isinstance(place, ast.Constant):
        return isinstance(place.value, str) and place.value.startswith("cuda")
    return place is not None and _is_a_device(place)


def _asks_a_device(test: ast.expr) -> bool:
    """Whether a test asks a tensor or a device what it is; an option, or what the machine has, makes both choices."""
    if isinstance(test, ast.Name | ast.Attribute):
        return _OF_A_DEVICE.search(name_of(test)) is not None
    return not isinstance(test, ast.Call)


def _asks_for_cuda(test: ast.Call) -> bool:
    """`torch.cuda.is_available()`, `device.type.startswith("cuda")`."""
    if not isinstance(test.func, ast.Attribute):
        return False
    if test.func.attr == "is_available":
        return name_of(test.func.value) == "cuda" and not test.args
    begins = test.func.attr == "startswith" and len(test.args) == 1 and is_literal(test.args[0], "cuda")
    return begins and _is_a_device(test.func.value)


def _is_a_device(node: ast.expr) -> bool:
    """`device`, `x.device.type`, `str(x.device)`, and the type of a tensor as text, `x.type()`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "str" and len(node.args) == 1 and _is_a_device(node.args[0])
    if isinstance(node, ast.Call):
        return name_of(node.func) == "type" and not node.args
    return _DEVICE_NAME.search(name_of(node)) is not None


def on_cuda(choice: ast.IfExp) -> ast.expr | None:
    """What a choice by the device is on CUDA: `f_gpu` of `f_gpu if x.is_cuda else f_cpu`; None for other choices."""
    test, negated = without_not(choice.test)
    if not says_cuda(test) or not _asks_a_device(test):
        return None
    return choice.orelse if negated != is_negative(test) else choice.body


def is_negative(test: ast.expr) -> bool:
    """Whether a comparison holds where its sides differ: `!=`, `not in`."""
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], _NEGATIVE)
