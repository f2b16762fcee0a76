"""What the reading itself shows of a value that little else tells: `.item()` and `.cpu()` are asked of tensors.

numpy's scalars have `.item()` too, and modules `.cpu()`; in code that runs every step and computes with torch, what no
array, module or number is known to be is most often what the step has computed.
"""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.bindings.bindings import Narrowing
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.module_calls import MODEL_NAME
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.reads.left_by_movers import left_by_movers
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.facts.values.value import ANYWHERE, Value, tensor
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_ASKED = frozenset({"item", "cpu"})
_COMPUTES = frozenset({"step", "forward", "update", "rollout"})
"""Kinds of hot code whose values are computed there; an evaluation's are as often labels from the host."""
ON_HOST = pattern(
    r"(?:^|_)(?:np|numpy|array|env|reward|done|df|frame|dataframe|table|row|column|config|cfg|host|sigma)s?(?:_|\d|$)",
    re.IGNORECASE,
)
"""Names of data, settings, and of what schedulers and environments keep on the host."""
_NO_TENSOR = pattern(
    r"(?:^|_)(?:model|net|network|module|encoder|decoder|pipe|pipeline|batch|inputs?|encodings?|sample)s?(?:_|\d|$)",
    re.IGNORECASE,
)
"""Names of modules, and of containers of tensors, which have `.cpu()` too."""
_LOSSES = pattern(r"(?:^|_)(?:loss|losses|loss_dict|log_vars|batch_metrics)$", re.IGNORECASE)
"""What a step computes and somebody wants to see, tensors by name where `float(...)` is made of its items."""
_JOINS = frozenset({"torch.stack", "torch.cat", "torch.concat", "torch.hstack", "torch.vstack"})
_ELSEWHERE = frozenset(api.ARRAY_MODULES + api.PLAIN_MODULES)


def shown_by_read(file: SourceFile, site: Site, operand: ast.expr) -> Value | None:
    """The tensor that `operand` must be, as hot code reads it as tensors are read; None where that shows nothing."""
    asked = last_part(site.record.callee)
    hot = site.hot
    if hot is None or hot.optional or hot.kind not in _COMPUTES or not file.project.uses_accelerator:
        return None
    if asked == "float" and hot.kind == "step" and isinstance(operand, ast.Name):
        return _loss_item(file, site, operand)
    if asked == "float":
        return _entry_of_output(file, site, operand)
    asked = "cpu" if asked == "to" else asked  # `.to("cpu")`
    if asked not in _ASKED:
        return None
    if asked == "cpu" and hot.kind not in ("step", "update") and not _is_joined(file, site):
        return None  # a forward pass or sampler hands containers to the host as well, and parks what it needs later
    return _unknown(file, site, operand, asked)


def _is_joined(file: SourceFile, site: Site) -> bool:
    """`torch.stack([entry.score.cpu() for entry in bank])`: torch joins nothing but tensors."""
    above = file.enclosing(site.function).ancestors(site.call)
    listed, joined = next(above, None), next(above, None)
    if not isinstance(listed, ast.ListComp) or listed.elt is not site.call or not isinstance(joined, ast.Call):
        return False
    return listed in joined.args[:1] and (file.denotes(joined.func, site) or "") in _JOINS


def _unknown(file: SourceFile, site: Site, operand: ast.expr, asked: str) -> Value | None:
    if not _computes_with_torch(file, site) or _otherwise(file, site, operand):
        return None
    if file.value(operand, site).kind != "unknown":
        return None
    if isinstance(file.enclosing(site.function).parents.get(site.call), ast.Expr):
        return None  # `self.encoder.cpu()`, for what it does to a module
    parts = re.split(r"[.\[\]]+", chain(operand))
    if api.BATCH_SIZES in parts or not left_by_movers(file.project).isdisjoint(parts):
        return None
    because = f"`{file.brief(operand)}` is read as tensors are: `.{asked}()` (line {operand.lineno})"
    return tensor(ANYWHERE, because, Confidence.LIKELY)


def _computes_with_torch(file: SourceFile, site: Site) -> bool:
    """Whether a file imports torch, or a place is in a method of a module, whose base class does."""
    if file.outline.imports_from("torch"):
        return True
    own = file.project.index.class_of(file.path, site.function)
    return own is not None and file.project.types.is_module_class(own)


def _loss_item(file: SourceFile, site: Site, operand: ast.expr) -> Value | None:
    """`float(v) for k, v in losses.items()`: an item of a dict of losses."""
    body = file.project.body(file.path)
    if body is None or not isinstance(operand, ast.Name) or file.value(operand, site).kind != "unknown":
        return None
    reaching = body.reaching(site.function, operand.id, file.span(operand)[0]) or ()
    walked = [_walked(d.value) if d.how == "loop" else None for d in reaching]
    if any(node is None or not _holds_losses(file, site, node) for node in walked):
        return None
    because = f"`{operand.id}` is one of some losses, by their name (line {operand.lineno})"
    return tensor(ANYWHERE, because, Confidence.LIKELY) if walked else None


def _entry_of_output(file: SourceFile, site: Site, operand: ast.expr) -> Value | None:
    """`float(output["perplexity"])` of `output = model(**batch)`: what a pass of the model has computed."""
    body = file.project.body(file.path)
    if body is None or not isinstance(operand, ast.Subscript) or not isinstance(operand.value, ast.Name):
        return None
    if isinstance(operand.slice, ast.Slice) or file.value(operand, site).kind != "unknown":
        return None
    if _is_put_there(file, site, body, operand):
        return None
    reaching = body.reaching(site.function, operand.value.id, file.span(operand)[0]) or ()
    passes = [d.value for d in reaching if d.how == "assign" and isinstance(d.value, ast.Call)]
    if not passes or len(passes) != len(reaching) or not all(MODEL_NAME.search(chain(p.func)) for p in passes):
        return None
    because = f"`{file.brief(operand)}` is of the output of `{chain(passes[0].func)}(...)` (line {passes[0].lineno})"
    return tensor(ANYWHERE, because, Confidence.LIKELY)


def _is_put_there(file: SourceFile, site: Site, body: Body, entry: ast.Subscript) -> bool:
    """Whether the function itself puts something of the host where it reads: `self.state["k"] = torch.tensor([0])`."""
    stored = body.stored_items(site.function, chain(entry.value))
    values = [file.value(node, site) for node in stored]
    return any(value.kind in ("plain", "array") or (value.kind == "tensor" and not value.on_device) for value in values)


def _holds_losses(file: SourceFile, site: Site, node: ast.expr) -> bool:
    """Whether a dict is one of losses by its name, and nothing in sight puts numbers into it."""
    if not _LOSSES.search(last_part(chain(node))):
        return False
    value = file.value(node, site)
    # An attribute may begin as an empty dict that others fill.
    empty = value.kind == "sequence" and (value.item is None or value.item.kind == "unknown")
    return value.kind == "unknown" or (empty and isinstance(node, ast.Attribute))


def _walked(node: ast.expr | None) -> ast.expr | None:
    """The dict of `d.items()` and `d.values()`."""
    method = node.func if isinstance(node, ast.Call) else None
    return method.value if isinstance(method, ast.Attribute) and method.attr in ("items", "values") else None


def _otherwise(file: SourceFile, site: Site, operand: ast.expr) -> bool:
    """Whether a name in the operand is that of something else, or a test has shown it to be something else."""
    body = file.project.body(file.path)
    names = names_of(operand)
    parts = chain(operand).replace("[", ".").replace("]", "").replace("()", "").split(".")
    if body is None or any(map(ON_HOST.search, parts)):
        return True
    if not isinstance(operand, ast.Call) and _NO_TENSOR.search(parts[-1]):
        return True
    if any(file.outline.imports.get(name, "").partition(".")[0] in _ELSEWHERE for name in names):
        return True
    if isinstance(operand, ast.Subscript) and _is_put_there(file, site, body, operand):
        return True
    at = file.span(operand)[0]
    return any(_is_no_tensor(body.narrowing(site.function, name, at)) for name in (*names, chain(operand)))


def _is_no_tensor(tested: Narrowing | None) -> bool:
    """Whether a test shows that a name is none; what is no float, `x if isinstance(x, float) else ...`, may be one."""
    return tested is not None and tested.holds is not ("Tensor" in tested.classes)
