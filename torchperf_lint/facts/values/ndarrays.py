"""Which expressions are numpy arrays, as opposed to numpy's scalars, and which lists hold them."""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.outlines.records import END_OF_FILE
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.compared_texts import is_mask_of_texts
from torchperf_lint.facts.values.moved_beside import is_moved_beside
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence

_MAX_DEPTH = 12
"""Operations and names from an expression to where an array is made: an angle of a distance of coordinates is ten."""
_MOST_NAMES = 8
_MAX_HOPS = 3
_MAKERS = frozenset(
    "array asarray asanyarray ascontiguousarray asfortranarray zeros ones empty full eye identity arange linspace "
    "logspace geomspace zeros_like ones_like empty_like full_like stack concatenate vstack hstack dstack "
    "column_stack tile repeat pad load loadtxt genfromtxt frombuffer fromfile fromstring fromiter copy diff "
    "cumsum cumprod argsort sort unique where nonzero reshape ravel transpose moveaxis swapaxes rollaxis "
    "expand_dims squeeze flip fliplr flipud rot90 roll meshgrid atleast_1d atleast_2d atleast_3d broadcast_to "
    "convolve outer append insert delete block indices histogram bincount digitize split array_split "
    "take_along_axis tri tril triu diag vander resize".split()
)
"""Functions of numpy that return an array (or several), whatever they are given."""
_ELEMENTWISE = frozenset(
    "abs absolute exp log log2 log10 log1p expm1 sqrt square cbrt sin cos tan arcsin arccos arctan arctan2 sinh cosh "
    "tanh hypot deg2rad rad2deg degrees radians fmod remainder clip sign maximum minimum add subtract "
    "multiply divide true_divide power mod floor ceil round rint nan_to_num negative float32 float64 int64 isnan "
    "logical_and logical_or logical_not".split()
)
"""Functions of numpy that return an array where they are given one."""
_SIZED_RANDOM = {
    "rand": 0, "randn": 0, "random": 0, "random_sample": 0, "standard_normal": 0, "permutation": 0,
    "randint": 2, "integers": 2, "uniform": 2, "normal": 2, "choice": 1, "binomial": 2, "poisson": 1, "beta": 2,
    "dirichlet": 0, "multivariate_normal": 0,
}  # fmt: skip
"""Functions of `numpy.random` -> the position of the argument that makes them return an array."""
_IMAGES = frozenset(
    "cv2.imread cv2.resize cv2.cvtColor cv2.imdecode cv2.warpAffine cv2.GaussianBlur cv2.flip cv2.copyMakeBorder "
    "skimage.io.imread imageio.imread imageio.v2.imread imageio.v3.imread matplotlib.image.imread "
    "skimage.transform.resize librosa.feature.melspectrogram librosa.feature.mfcc librosa.stft "
    "librosa.power_to_db scipy.ndimage.zoom scipy.io.wavfile.read".split()
)
_KEEPING = frozenset(
    "astype reshape copy transpose flatten ravel squeeze clip repeat swapaxes T view round cumsum argsort conj "
    "byteswap newbyteorder real imag".split()
)
"""Methods and attributes of arrays that give arrays."""
_REDUCING = frozenset("sum mean max min std var prod argmax argmin any all".split())


class Arrays(NamedTuple):
    """A list whose elements are arrays."""

    because: str
    line: int
    by_name: bool = False
    """Whether nothing but the elements' name says so."""
    confidence: Confidence = Confidence.CERTAIN


def is_array(values: Values, node: ast.expr, frame: Frame, depth: int = 0) -> str | None:
    """Why an expression is an array (not a scalar of numpy's), in a few words; None where that is not evident."""
    if depth > _MAX_DEPTH or frame.hops > _MOST_NAMES:
        return None
    if isinstance(node, ast.Call):
        return _called(values, node, frame, depth)
    if isinstance(node, ast.BinOp):
        left = is_array(values, node.left, frame, depth + 1)
        return left or is_array(values, node.right, frame, depth + 1)
    if isinstance(node, ast.Attribute):
        if is_mask_of_texts(node):
            return "a column of texts, compared with one"
        return is_array(values, node.value, frame, depth + 1) if node.attr in _KEEPING else None
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        sliced = any(isinstance(part, ast.Slice) for part in parts)
        row = len(parts) == 1 and _is_table(values, node.value, frame)  # `np.eye(classes)[label]`
        if not sliced and not row and len(parts) == 1:
            body = values.body(frame.path)
            row = body is not None and is_moved_beside(body, parts[0], frame)
        return is_array(values, node.value, frame, depth + 1) if sliced or row else None
    if isinstance(node, ast.IfExp):
        either = [is_array(values, part, frame, depth + 1) for part in (node.body, node.orelse)]
        return either[0] if all(either) else None
    return _named(values, node.id, frame, depth) if isinstance(node, ast.Name) else None


def holds_arrays(values: Values, node: ast.expr, frame: Frame, depth: int = 0) -> Arrays | None:
    """Why an expression is a list of arrays: literal, comprehension, or a name for a list that was filled with them."""
    body = values.body(frame.path)
    if depth > _MAX_DEPTH or body is None:
        return None
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        inner = frame._replace(at=body.at(node.elt))
        because = is_array(values, node.elt, inner)
        return Arrays(because, node.elt.lineno) if because else None
    if isinstance(node, ast.List | ast.Tuple) and node.elts:
        found = [is_array(values, element, frame) for element in node.elts]
        return Arrays(str(found[0]), node.elts[0].lineno) if all(found) else None
    if isinstance(node, ast.Call) and chain(node.func) in ("list", "tuple") and len(node.args) == 1:
        return holds_arrays(values, node.args[0], frame, depth + 1)
    if isinstance(node, ast.Call):
        return _given_back(values, node, (), frame, depth)
    return _named_list(values, node.id, frame, body, depth) if isinstance(node, ast.Name) else None


def _is_table(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether an expression has two dimensions: `np.eye(n)`."""
    thing = values.thing(node.func, frame) if isinstance(node, ast.Call) else None
    return thing is not None and thing.dotted in ("numpy.eye", "numpy.identity")


def _given_back(values: Values, node: ast.Call, index: tuple[int, ...], frame: Frame, depth: int) -> Arrays | None:
    """Why a function of the project gives back a list of arrays: alone, or as the `index`-th part of a tuple."""
    targets = values.types.targets(frame.path, frame.function, chain(node.func)) if frame.hops <= _MAX_HOPS else []
    key = targets[0] if len(targets) == 1 else None
    body = values.body(key.path) if key is not None else None
    returned = body.returns(key.index) if body is not None and key is not None else []
    found = []
    for part in returned:
        for position in index:
            part = part.elts[position] if isinstance(part, ast.Tuple) and position < len(part.elts) else None  # type: ignore[assignment]  # noqa: PLW2901
        if part is None or key is None or body is None:
            return None
        found.append(holds_arrays(values, part, frame.hop(key.path, key.index, body.at(part)), depth + 1))
    first = found[0] if found and all(found) else None
    if first is None or key is None:
        return None
    name = values.index.function(key).name
    return first._replace(because=f"`{name}(...)` returns a list of them: {first.because}", line=node.lineno)


def _named_list(values: Values, name: str, frame: Frame, body: Body, depth: int) -> Arrays | None:
    reaching = body.reaching(frame.function, name, frame.at)
    if not reaching or any(d.how not in ("assign", "item") or d.value is None for d in reaching):
        return None
    stored = body.stored_items(frame.function, name)
    found: list[Arrays | None] = []
    for definition in reaching:
        assert definition.value is not None
        begun = _part(definition.value, definition.index)
        if begun is not None and _is_empty(begun) and stored:
            continue
        if definition.how == "item":
            made = definition.value if isinstance(definition.value, ast.Call) else None
            at = frame.hop(frame.path, frame.function, definition.at)
            found.append(_given_back(values, made, definition.index, at, depth) if made is not None else None)
            continue
        found.append(
            holds_arrays(values, definition.value, frame.hop(frame.path, frame.function, definition.at), depth + 1)
        )
    for item in stored:
        because = is_array(values, item, frame._replace(at=body.at(item)))
        found.append(Arrays(because, item.lineno) if because else None)
    others = [attribute for attribute, _ in body.uses(frame.function, name) if attribute in ("extend", "insert")]
    return found[0] if found and all(found) and not others else None


def _part(node: ast.expr, index: tuple[int, ...]) -> ast.expr | None:
    """What an unpacked name is bound to of what is written out: `rows, labels = [], []`."""
    for position in index:
        if not isinstance(node, ast.Tuple | ast.List) or position >= len(node.elts):
            return None
        node = node.elts[position]
    return node


def _is_empty(node: ast.expr) -> bool:
    return (isinstance(node, ast.List) and not node.elts) or (isinstance(node, ast.Call) and chain(node.func) == "list")


def _called(values: Values, node: ast.Call, frame: Frame, depth: int) -> str | None:
    thing = values.thing(node.func, frame)
    if thing is not None and thing.kind == "external" and "()" not in thing.dotted:
        found = _by_library(values, node, thing.dotted, frame, depth)
        if found is not None or thing.dotted.startswith(("numpy.", "cv2.")):
            return found
    if thing is not None and thing.kind == "function":
        return _returned(values, thing, frame)
    if not isinstance(node.func, ast.Attribute):
        return None
    name = node.func.attr
    if name == "numpy" and not any(k.arg == "dtype" for k in node.keywords):
        return _of_a_tensor(values, node.func.value, frame)
    if name in _KEEPING or (name in _REDUCING and any(k.arg in ("axis", "keepdims") for k in node.keywords)):
        return is_array(values, node.func.value, frame, depth + 1)
    return None


def _of_a_tensor(values: Values, node: ast.expr, frame: Frame) -> str | None:
    value = values.of(node, frame)
    if value.kind in ("tensor", "batch"):
        return "`.numpy()` of a tensor"
    return "`.cpu().numpy()`" if chain(node).endswith((".cpu()", ".detach()")) else None


def _by_library(values: Values, node: ast.Call, dotted: str, frame: Frame, depth: int) -> str | None:
    head, _, rest = dotted.partition(".")
    written = f"`{dotted.replace('numpy.', 'np.', 1)}` makes an array"
    if dotted in _IMAGES:
        return written
    if head != "numpy":
        return None
    if rest in _MAKERS:
        return written
    if rest.startswith("random."):
        position = _SIZED_RANDOM.get(rest.removeprefix("random."))
        sized = position is not None and (len(node.args) > position or any(k.arg == "size" for k in node.keywords))
        return written if sized else None
    if rest in _ELEMENTWISE and node.args:
        return is_array(values, node.args[0], frame, depth + 1)
    reduced = rest in _REDUCING and any(k.arg in ("axis", "keepdims") for k in node.keywords)
    return is_array(values, node.args[0], frame, depth + 1) if reduced and node.args else None


def _returned(values: Values, thing: Thing, frame: Frame) -> str | None:
    """Whether all that a function of the project returns are arrays."""
    key = FunctionKey(thing.path, thing.index)
    body = values.body(key.path)
    returned = body.returns(key.index) if body is not None else []
    if body is None or not returned or frame.hops > 3:
        return None
    found = [is_array(values, node, frame.hop(key.path, key.index, body.at(node))) for node in returned[:4]]
    name = values.index.function(key).name
    return f"`{name}(...)` returns arrays" if all(found) else None


def _named(values: Values, name: str, frame: Frame, depth: int) -> str | None:
    body = values.body(frame.path)
    functions = values.index.outlines[frame.path].functions
    scope, at = frame.function, frame.at
    while body is not None and scope >= 0:
        reaching = body.reaching(scope, name, at)
        if reaching is not None:
            found = [_defined(values, d, frame, scope, body, depth) for d in reaching]
            return found[0] if found and all(found) else None
        parameter = next((p for p in functions[scope].parameters if p.name == name), None)
        if parameter is not None:
            return (
                f"`{name}` is annotated `{parameter.annotation}`"
                if _annotated(values, parameter.annotation, frame)
                else None
            )
        scope, at = functions[scope].parent, END_OF_FILE
    return None


def _annotated(values: Values, annotation: str, frame: Frame) -> bool:
    if not annotation:
        return False
    thing = values.types.thing(frame.path, 0, annotation)
    return thing is not None and thing.kind == "external" and thing.dotted in ("numpy.ndarray", "numpy.typing.NDArray")


def _defined(values: Values, d: Definition, frame: Frame, scope: int, body: Body, depth: int) -> str | None:
    if d.value is None:
        return None
    inner = frame.hop(frame.path, scope, body.at(d.value))
    if d.how == "assign":
        return is_array(values, d.value, inner, depth + 1)
    if d.how == "loop" and not d.index:
        held = holds_arrays(values, d.value, inner, depth + 1)
        return held.because if held is not None else None
    return None
