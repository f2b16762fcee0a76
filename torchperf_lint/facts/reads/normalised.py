"""Images on the device that torchvision normalises with lists: `Normalize(mean, std)(x)`, `F.normalize(x, mean, std)`.

torchvision makes tensors of both lists beside the image at each call, and asks whether a standard deviation is zero:
two uploads and a read, each of which waits.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchperf_lint.facts.constants.class_body import assigned_in_class
from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.outlines.records import END_OF_FILE
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.values.attributes import setters
from torchperf_lint.facts.values.value import ANYWHERE, Frame, Value
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

MENTIONED = ("ormalize(",)
_KEPT = pattern(r"(?m)(\w+)\s*(?::[^=\n]+)?=\s*[\w.]*(?:Normalize|Compose|Sequential)\(")
"""`self.normalize = transforms.Normalize(`, `preprocess = Compose([`."""
_CLASSES = frozenset({"torchvision.transforms.Normalize", "torchvision.transforms.v2.Normalize"})
_FUNCTIONS = frozenset(
    {
        "torchvision.transforms.functional.normalize",
        "torchvision.transforms.functional_tensor.normalize",
        "torchvision.transforms.v2.functional.normalize",
    }
)
_COMPOSED = frozenset({"torchvision.transforms.Compose", "torchvision.transforms.v2.Compose", "torch.nn.Sequential"})
_OF_IMAGES = frozenset({"ToTensor", "PILToTensor", "ToPILImage"})
"""Steps after or before which the image is none on the device."""
_FOR_LOADERS = pattern(r"Transform|Augment|Process|Dataset|Loader|Collat", re.IGNORECASE)
"""Modules that may prepare samples in the loader's workers, on the host."""
_MAX_STEPS = 4


def normalised(file: SourceFile) -> Iterator[tuple[Site, Value]]:
    """The hot calls that normalise an image on the device with lists, each with the image."""
    if "torchvision" not in file.text:
        return
    names = {match.group(1) for match in _KEPT.finditer(file.text)}
    for site in file.hot_calls("normalize", "Normalize", *sorted(names)):
        if site.hot is None or site.hot.kind == "data":
            continue
        call = _application(file, site)
        image = _image(file, site, call) if call is not None else None
        if image is not None:
            yield site, image


def _application(file: SourceFile, site: Site) -> ast.Call | None:
    """The call that is handed the image: `normalize(x, mean, std)`, the outer one of `Normalize(mean, std)(x)`."""
    values = file.project.values
    call = site.call
    if isinstance(call.func, ast.Name | ast.Attribute) and _is_external(values, call.func, site.frame, _FUNCTIONS):
        given = [*call.args[1:3], *(k.value for k in call.keywords)]
        lists = [values.of(part, site.frame).kind not in ("tensor", "batch") for part in given]
        return call if lists and all(lists) else None
    if _makes(values, call, site.frame, _MAX_STEPS):
        outer = (n for n in file.enclosing(site.function).parents if isinstance(n, ast.Call) and n.func is call)
        return next(outer, None)
    kept = isinstance(call.func, ast.Name | ast.Attribute) and _is_kept(values, call.func, site.frame)
    return call if kept else None


def _is_external(values: Values, node: ast.expr, frame: Frame, dotted: frozenset[str]) -> bool:
    thing = values.thing(node, frame)
    return thing is not None and thing.kind == "external" and thing.dotted in dotted


def _makes(values: Values, node: ast.expr, frame: Frame, steps: int) -> bool:
    """Whether an expression makes a `Normalize` of lists, by itself or last among transforms of tensors."""
    if not isinstance(node, ast.Call) or steps <= 0:
        return False
    if _is_external(values, node.func, frame, _CLASSES):
        given = arguments(node)
        return bool(given) and all(values.of(part, frame).kind not in ("tensor", "batch") for part in given)
    if not _is_external(values, node.func, frame, _COMPOSED) or not node.args:
        return False
    parts = [e for a in node.args for e in (a.elts if isinstance(a, ast.List | ast.Tuple) else [a])]
    if any(isinstance(part, ast.Call) and chain(part.func).rpartition(".")[2] in _OF_IMAGES for part in parts):
        return False
    return any(_makes(values, part, frame, steps - 1) for part in parts)


def _is_kept(values: Values, node: ast.Name | ast.Attribute, frame: Frame) -> bool:
    """Whether a name, or an attribute of the object, was set to such a transform and to nothing else."""
    body = values.body(frame.path)
    if body is None:
        return False
    if isinstance(node, ast.Name):
        found = [(frame.path, f, v) for f, v in _bound(values, node.id, frame)]
        return bool(found) and all(_made_at(values, *one) for one in found)
    own = values.index.class_of(frame.path, frame.function)
    if own is None or chain(node.value) not in ("self", "cls"):
        return False
    for cls in values.index.ancestry(own):
        if cls.kind != "class":
            continue
        found = [(cls.path, f, v) for f, v, _ in setters(values, cls, node.attr) if not is_none(v)]
        found += [(cls.path, 0, v) for v in assigned_in_class(values, cls, node.attr) if not is_none(v)]
        if found:
            return all(_made_at(values, *one) for one in found)
    return False


def _bound(values: Values, name: str, frame: Frame) -> Iterator[tuple[int, ast.expr]]:
    """What a name is bound to in the function, or in the module."""
    body = values.body(frame.path)
    assert body is not None
    for scope, at in ((frame.function, frame.at), (0, END_OF_FILE)):
        reaching = body.reaching(scope, name, at)
        if reaching:
            yield from ((scope, d.value) for d in reaching if d.value is not None and d.how == "assign")
            return


def _made_at(values: Values, path: str, function: int, node: ast.expr) -> bool:
    body = values.body(path)
    return body is not None and _makes(values, node, Frame(path, function, body.at(node)), _MAX_STEPS)


def _image(file: SourceFile, site: Site, call: ast.Call) -> Value | None:
    """The image that is normalised, where it is a tensor on the device."""
    if not call.args or isinstance(call.args[0], ast.Starred):
        return None
    value = on_device(file, site, call.args[0])
    if value is None and file.value(call.args[0], site).kind == "unknown":
        value = _of_a_module(file, site)
    return value if value is not None and value.confidence is not Confidence.POSSIBLE else None


def _of_a_module(file: SourceFile, site: Site) -> Value | None:
    """What a module normalises: torchvision takes nothing but tensors there, and the module's are where it is."""
    project = file.project
    own = project.index.class_of(file.path, site.function)
    if own is None or not project.types.is_module_class(own) or not project.uses_accelerator:
        return None
    if _FOR_LOADERS.search(project.index.record(own).name):
        return None
    return Value("tensor", ANYWHERE, "`Normalize` takes tensors only, here those of a module", Confidence.LIKELY)
