"""Bytes that the host makes into floats before they cross the bus, four at a time.

    image = torch.from_numpy(np.array(picture)).permute(2, 0, 1).float() / 255
    image = image.to(device)

Told by the cast, and by what shows that there were bytes: a division by 255, or what only makes bytes. A factory
that is given a device and `dtype=torch.float32` converts on the host, too, before it copies.
"""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from torchperf_lint.facts.devices.devices import moves_to_device, target_device
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import DEVICE
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_HOPS = 12
_WIDE = pattern(r"(?:^|\.)(?:float(?:32|64)?|double)$")
_BYTES = pattern(r"(?:^|\.)(?:uint8|ubyte|ByteTensor)$")
_KEEPS = frozenset(
    "permute transpose unsqueeze squeeze view reshape contiguous flip clone copy detach expand repeat swapaxes "
    "moveaxis flatten pin_memory".split()
)
"""Methods that leave the numbers and their type as they are."""
_MAKES = frozenset(
    "torch.from_numpy torch.as_tensor torch.tensor torch.stack numpy.ascontiguousarray numpy.transpose "
    "numpy.expand_dims numpy.moveaxis numpy.rollaxis numpy.stack numpy.flip numpy.array numpy.asarray "
    "numpy.squeeze torch.unsqueeze torch.permute cv2.resize cv2.cvtColor".split()
)
"""Functions whose first argument's numbers are those of the result."""
_PLACED = frozenset({"torch.tensor", "torch.as_tensor"})
_IMAGES = pattern(
    r"^(?:cv2\.(?:imread|imdecode)|PIL\.Image\.\w+(?:\(\).*)?|imageio(?:\.v[23])?\.imread|"
    r"skimage\.io\.imread|torchvision\.io\.(?:read_image|decode_image|decode_jpeg|decode_png))$"
)
_TO_TENSOR = pattern(r"(?:img|image|array|numpy|np|im)_?(?:2|to)_?tensor$|^to_tensor$", re.IGNORECASE)
"""Helpers that make tensors of arrays, in the order of axes that torch wants."""
_FULL = (255, 255.0, 256, 256.0)


class Widened(NamedTuple):
    """A copy to the device of floats that the host made of bytes."""

    cast: ast.expr
    """What makes them floats."""
    double: bool
    because: str
    """What shows that there were bytes."""
    scaled: bool
    """Whether they are divided by 255."""
    confidence: Confidence


class _Seen:
    """What is known of an expression so far, from the copy inwards."""

    def __init__(self) -> None:
        self.cast: ast.expr | None = None
        self.double: bool | None = None
        """Whether doubles cross the bus, once a cast says so."""
        self.because = ""
        self.scaled = False
        self.on_host = False
        """Whether numpy has had a hand in it."""

    def converts(self, node: ast.expr, double: bool | None) -> None:
        """Note a cast: the innermost is where bytes become floats, the outermost tells what crosses the bus.

        `double`: None for a division, which keeps the type of floats.
        """
        self.double = double if self.double is None else self.double
        self.cast = node


def widened(file: SourceFile, site: Site) -> Widened | None:
    """The conversion on the host before the copy that a call of `to` or `cuda` makes; None where there is none."""
    if site.receiver is None or not moves_to_device(file.project.values, site.call, site.frame):
        return None
    seen = _Seen()
    if _is_scaled(file, site):
        seen.because, seen.scaled = "divided by 255 afterwards", True
    if any(_wide(part) for part in _arguments(site.call)) and not _asynchronous(site):
        seen.converts(site.call, any("64" in _dtype(p) or "double" in _dtype(p) for p in _arguments(site.call)))
    return _told(file, site, seen, _follow(file, site, seen, site.receiver))


def placed(file: SourceFile, site: Site) -> Widened | None:
    """The same before the copy that `torch.tensor(frames, dtype=torch.float32, device=device)` makes of an array."""
    data = site.call.args[0] if site.call.args else None
    if data is None or file.denotes(site.call.func, site) not in _PLACED:
        return None
    if site.keyword("device") is None or target_device(file.project.values, site.call, site.frame) != DEVICE:
        return None
    seen = _Seen()
    seen.on_host = _is_cut_like_an_array(data) and last_part(chain(site.call.func)) == "tensor"
    if _is_scaled(file, site):
        seen.because, seen.scaled = "divided by 255 afterwards", True
    dtype = site.keyword("dtype")
    if dtype is not None and not _wide(dtype):
        return None
    if dtype is not None:
        seen.converts(site.call, "64" in _dtype(dtype) or "double" in _dtype(dtype))
    return _told(file, site, seen, _follow(file, site, seen, data))


def _is_cut_like_an_array(node: ast.expr) -> bool:
    """`frames[:, :4]`: no list can be asked for that, and nobody makes a tensor of a tensor with `torch.tensor`."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple)


def _told(file: SourceFile, site: Site, seen: _Seen, bottom: ast.expr | None) -> Widened | None:
    if seen.cast is None or not seen.because or bottom is None:
        return None
    value = file.value(bottom, site)
    if value.device == DEVICE or value.kind in ("module", "plain"):
        return None
    known = seen.on_host or (value.kind in ("tensor", "batch", "array") and not value.on_device)
    confidence = Confidence.LIKELY if known else Confidence.POSSIBLE
    return Widened(seen.cast, bool(seen.double), seen.because, seen.scaled, confidence)


def _follow(file: SourceFile, site: Site, seen: _Seen, node: ast.expr | None) -> ast.expr | None:
    """Go from what is copied to where the numbers come from; None where what is between cannot be read."""
    at = site.start
    for _ in range(_HOPS):
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.Div) and _is_full(node.right):
                seen.because, seen.scaled = "divided by 255", True
                seen.converts(node, None)
            elif not isinstance(node.op, ast.Sub | ast.Div | ast.Mult):
                return None
            node = node.left
        elif isinstance(node, ast.Name):
            body = file.project.body(file.path)
            reaching = body.reaching(site.function, node.id, at) if body is not None else None
            if not reaching or len(reaching) != 1 or reaching[0].how != "assign" or reaching[0].value is None:
                return node
            node, at = reaching[0].value, reaching[0].at
        elif isinstance(node, ast.Call):
            inner = _through(file, site, node, seen)
            if inner is None or inner is node:
                return inner
            node = inner
        else:
            return node
    return None


def _through(file: SourceFile, site: Site, node: ast.Call, seen: _Seen) -> ast.expr | None:
    """The operand of a call that keeps the numbers; the call itself where they come from it; None for others."""
    arguments = _arguments(node)
    denoted = file.denotes(node.func, site) or ""
    seen.on_host |= denoted.startswith(("numpy.", "torch.from_numpy"))
    if any(_BYTES.search(_dtype(part)) for part in arguments) or _IMAGES.match(denoted):
        seen.because = f"bytes, from `{file.brief(node.func)}(...)`" if seen.cast is not None else ""
        return node
    if denoted in _MAKES:
        if any(_wide(part) for part in arguments):
            seen.converts(node, any("64" in _dtype(part) for part in arguments))
        return node.args[0] if node.args else None
    if node.args and _TO_TENSOR.search(last_part(chain(node.func))):
        seen.on_host = True
        return node.args[0]
    if not isinstance(node.func, ast.Attribute):
        return node if not denoted else None
    name, base = node.func.attr, node.func.value
    if name in ("float", "double") or (name in ("astype", "to", "type") and any(map(_wide, arguments))):
        seen.converts(node, name == "double" or any("64" in _dtype(part) for part in arguments))
        return base
    if name in ("div", "div_") and arguments and _is_full(arguments[0]):
        seen.because = "divided by 255"
        seen.converts(node, None)
        return base
    if name in ("sub", "sub_", "div", "div_", "mul", "mul_") or name in _KEEPS:
        return base
    return node


def _arguments(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(k.value for k in node.keywords if k.arg is not None)]


def _dtype(node: ast.expr) -> str:
    """A dtype as written: `torch.float32`, `np.uint8`, `"float32"`."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return chain(node) if isinstance(node, ast.Name | ast.Attribute) else ""


def _wide(node: ast.expr) -> bool:
    return bool(_WIDE.search(_dtype(node)))


def _asynchronous(site: Site) -> bool:
    """Whether the copy is asked not to wait: then torch converts on the device."""
    given = site.keyword("non_blocking")
    return given is not None and not (isinstance(given, ast.Constant) and not given.value)


def _is_full(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in _FULL


def _is_scaled(file: SourceFile, site: Site) -> bool:
    """Whether the copy is divided by 255 at once: it holds what were bytes."""
    around = file.enclosing(site.function)
    parent = around.parents.get(site.call)
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        name, line = parent.targets[0].id, site.record.line
        nodes = around.of_kinds((ast.BinOp, ast.Call))
        return any(_scales(node, name) for node in nodes if isinstance(node, ast.expr) and node.lineno > line)
    return any(_scales(node, site.call) for node in (parent, around.parents.get(parent) if parent else None) if node)


def _scales(node: ast.AST, what: ast.expr | str) -> bool:
    """`what / 255`, `what.div(255)`; `what`: an expression, or a name."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Div) and _is(node.left, what) and _is_full(node.right)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in ("div", "div_") and _is(node.func.value, what) and any(map(_is_full, node.args))


def _is(node: ast.expr, what: ast.expr | str) -> bool:
    return node is what or (isinstance(node, ast.Name) and node.id == what)
