"""Masks given to `nn.TransformerEncoder`, `nn.TransformerDecoder`, `nn.Transformer` without saying if they are causal.

Without the flag torch builds a causal mask and compares, `bool((mask == reference).all())`, where the sizes agree. The
layers themselves (`nn.TransformerEncoderLayer`) do not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.arguments import keyword, unpacks_keywords
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.facts.values.bound_to import Bound, attribute_bound_to, name_bound_to
from torchperf_lint.facts.values.value import ANYWHERE, Frame, Value, tensor
from torchperf_lint.model import Confidence

_STACKS: dict[str, tuple[tuple[str, int, str, int], ...]] = {
    "TransformerEncoder": (("mask", 1, "is_causal", 3),),
    "TransformerDecoder": (("tgt_mask", 2, "tgt_is_causal", 6),),
    "Transformer": (("src_mask", 2, "src_is_causal", 8), ("tgt_mask", 3, "tgt_is_causal", 9)),
}
"""Class -> the masks it compares: parameter, position, and the same of the flag that keeps it from that."""
_MODULES = ("torch.nn.", "torch.nn.modules.", "torch.nn.modules.transformer.")
_TORCHS = "generate_square_subsequent_mask"
_CASTS = frozenset(
    {"to", "cuda", "bool", "float", "type_as", "type", "masked_fill", "transpose", "t", "contiguous", "half"}
)
_HOPS = 4


class Masked(NamedTuple):
    """A mask that is compared with a causal one."""

    site: Site
    parameter: str
    flag: str
    mask: ast.expr
    value: Value
    causal: bool
    """Whether the code shows that it is causal, which makes it a square as well."""
    exact: bool
    """Whether it can be nothing else: torch's own, or `triu` above the diagonal; not None, and no caller's."""


def compared(file: SourceFile) -> Iterator[Masked]:
    """The masks of hot calls that torch has to look at."""
    names = _names(file)
    for site in file.hot_calls(*names, "forward"):
        if last_part(site.record.callee) == "forward" and last_part(_before(site)) not in names:
            continue
        if site.hot is None or site.hot.kind == "data" or unpacks_keywords(site.call):
            continue
        if not any(isinstance(argument, ast.Starred) for argument in site.call.args):
            yield from _masks(file, site)


def _before(site: Site) -> str:
    """`self.encoder` of `self.encoder.forward`."""
    return site.record.callee.rpartition(".")[0]


def _names(file: SourceFile) -> tuple[str, ...]:
    """What the file calls the stacks that it makes; `encoder` and `decoder` in what inherits from `nn.Transformer`."""
    made = {name for name, full in file.outline.imports.items() if last_part(full) in _STACKS} | set(_STACKS)
    bound = (b.target for b in file.outline.bindings if any(f"{name}()" in b.value for name in made))
    inherits = any(last_part(base) == "Transformer" for cls in file.outline.classes for base in cls.bases)
    return tuple(sorted({last_part(name) for name in bound} | ({"encoder", "decoder"} if inherits else set())))


def _masks(file: SourceFile, site: Site) -> Iterator[Masked]:
    for parameter, position, flag, flag_position in _STACKS.get(_stack(file, site) or "", ()):
        mask = _argument(site.call, parameter, position)
        if mask is None or isinstance(mask, ast.Constant) or _argument(site.call, flag, flag_position) is not None:
            continue
        causal = _is_causal(file, mask, site.frame, _HOPS)
        value = on_device(file, site, mask)
        if value is None and causal and _may_be_on_device(file, site, mask):
            value = tensor(ANYWHERE, "a causal mask, which has to be where the model is", Confidence.LIKELY)
        if value is not None and value.kind == "tensor":
            yield Masked(site, parameter, flag, mask, value, causal, causal and _is_exact(file, site, mask))


def _may_be_on_device(file: SourceFile, site: Site, mask: ast.expr) -> bool:
    """Whether a mask is where the model is, as it has to be, though nothing is known of what made it."""
    return file.project.uses_accelerator and file.value(mask, site).kind in ("unknown", "object")


def _stack(file: SourceFile, site: Site) -> str | None:
    func = site.call.func
    if isinstance(func, ast.Attribute) and func.attr == "forward":
        func = func.value
    dotted = file.denotes(func, site) or ""
    for prefix in _MODULES:
        name = dotted.removeprefix(prefix)
        if name.endswith("()") and name[:-2] in _STACKS:
            return name[:-2]
    cls = file.project.index.class_of(file.path, site.function)
    if cls is None or not {f"{m}Transformer" for m in _MODULES} & set(file.project.index.external_bases(cls)):
        return None
    return {"self.encoder": "TransformerEncoder", "self.decoder": "TransformerDecoder"}.get(
        site.record.callee.removesuffix(".forward")
    )


def _argument(call: ast.Call, name: str, position: int) -> ast.expr | None:
    given = keyword(call, name)
    return given if given is not None else call.args[position] if position < len(call.args) else None


def _is_causal(file: SourceFile, node: ast.expr, frame: Frame, hops: int) -> bool:
    """Whether an expression is a causal mask in one of the usual spellings, followed through names and attributes."""
    if hops <= 0:
        return False
    if isinstance(node, ast.Call):
        return _makes_causal(file, node, frame, hops)
    if isinstance(node, ast.Compare):
        return _is_causal(file, node.left, frame, hops)
    if isinstance(node, ast.UnaryOp):
        return _is_causal(file, node.operand, frame, hops)
    if isinstance(node, ast.Subscript):  # `self.mask[:n, :n]`
        return _is_causal(file, node.value, frame, hops)
    if isinstance(node, ast.Name | ast.Attribute):
        return any(
            b.value is not None and _is_causal(file, b.value, b.frame, hops - 1) for b in _bound(file, node, frame)
        )
    return False


def _makes_causal(file: SourceFile, node: ast.Call, frame: Frame, hops: int) -> bool:
    name = last_part(chain(node.func))
    if name.strip("_").endswith(_TORCHS.removeprefix("generate_")):
        return True
    if name in ("triu", "tril"):
        inner = node.args[0] if node.args else node.func.value if isinstance(node.func, ast.Attribute) else None
        return isinstance(inner, ast.Call) and last_part(chain(inner.func)) in ("ones", "full")
    if name in _CASTS and isinstance(node.func, ast.Attribute):
        return _is_causal(file, node.func.value, frame, hops)
    return False


def _bound(file: SourceFile, node: ast.Name | ast.Attribute, frame: Frame) -> Iterator[Bound]:
    values = file.project.values
    if isinstance(node, ast.Name):
        yield from name_bound_to(values, node.id, frame)
        return
    cls = values.index.class_of(frame.path, frame.function)
    if cls is not None and isinstance(node.value, ast.Name) and values.thing(node.value, frame) == cls:
        yield from attribute_bound_to(values, cls, node.attr, frame)


def _is_exact(file: SourceFile, site: Site, node: ast.expr, hops: int = _HOPS) -> bool:
    if isinstance(node, ast.Name):
        body = file.project.body(file.path)
        reaching = body.reaching(site.function, node.id, site.start) if body is not None else None
        only = reaching[0] if reaching is not None and len(reaching) == 1 else None
        if only is None or only.block or only.how != "assign" or only.value is None or hops <= 0:
            return False
        return _is_exact(file, site, only.value, hops - 1)
    if not isinstance(node, ast.Call):
        return False
    dotted = file.denotes(node.func, site) or ""
    if dotted.startswith("torch.nn.") and last_part(dotted) == _TORCHS:
        return True
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "cuda", "bool"):
        inner = node.func.value
        return _is_upper(inner, "ones") if node.func.attr == "bool" else _is_exact(file, site, inner, hops - 1)
    return _is_upper(node, "full")


def _is_upper(node: ast.expr, of: str) -> bool:
    """`torch.triu(torch.ones(n, n), diagonal=1)`: what lies above the diagonal, nothing of the diagonal itself."""
    if not isinstance(node, ast.Call) or chain(node.func) != "torch.triu" or not node.args:
        return False
    diagonal = _argument(node, "diagonal", 1)
    inner = node.args[0]
    above = is_literal(diagonal, 1)
    return above and isinstance(inner, ast.Call) and chain(inner.func) == f"torch.{of}"
