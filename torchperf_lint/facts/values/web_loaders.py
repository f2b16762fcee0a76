"""Loaders of the library webdataset: a DataLoader inside, around a pipeline that reads, shuffles and decodes samples.

    data = wds.WebDataset(shards).shuffle(1000).decode("pilrgb").to_tuple("jpg", "cls").batched(64)
    loader = wds.WebLoader(data, batch_size=None, num_workers=4)        # hands all it is given to DataLoader

`loader.unbatched().shuffle(1000).batched(64)` puts batches together anew in the training process, where nothing pins
them (webdataset 0.2, `compat.py`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.bindings.bodies import Body
    from torchperf_lint.facts.files.source import Site
    from torchperf_lint.facts.values.value import Value

WEB_LOADER = "webdataset.WebLoader"
KEEPS = frozenset({"with_epoch", "with_length"})
"""Methods of such a loader after which its batches are what they were."""
_IMAGES = frozenset("pil pilrgb pilrgba pill pilla rgb rgb8 rgba torch torchrgb torchrgb8 torchl".split())
"""What `decode` is told to make of pictures."""
_SHUFFLES = pattern(r"shuffle\d*$|^(?:Resampled|Simple)Shards$|^ResampledShardList$")
_OTHERWISE = pattern(r"(?:^|_)(?:val|valid|validation|test|eval|dev)(?:_|$)", re.IGNORECASE)


def is_web_loader(value: Value) -> bool:
    """Whether a loader is webdataset's, which accelerate and Fabric leave as it is: it is no DataLoader to them."""
    return value.thing is not None and value.thing.dotted == f"{WEB_LOADER}()"


def decoded_images(site: Site) -> str | None:
    """That the pipeline of a loader made at a place shuffles, and decodes images, in words; None where it does not."""
    file, body = site.file, site.file.project.body(site.file.path)
    if body is None or file.denotes(site.call.func, site) != WEB_LOADER:
        return None
    if _OTHERWISE.search(file.outline.functions[site.function].name) or _is_put_together_anew(site, body):
        return None
    calls = [call for call in file.enclosing(site.function).of_kinds((ast.Call,)) if isinstance(call, ast.Call)]
    decoding = next(_decoding(calls), None)
    if decoding is None or not any(_SHUFFLES.search(last_part(chain(call.func))) for call in calls):
        return None
    return f"the pipeline decodes images, `decode({ast.unparse(decoding.args[0])})` on line {decoding.lineno}"


def _decoding(calls: list[ast.Call]) -> Iterator[ast.Call]:
    for call in calls:
        told = call.args[0] if call.args and last_part(chain(call.func)) == "decode" else None
        if isinstance(told, ast.Constant) and told.value in _IMAGES:
            yield call


def _is_put_together_anew(site: Site, body: Body) -> bool:
    """Whether the function takes the loader's batches apart, at once or by the name that it binds the loader to."""
    parents = site.file.enclosing(site.function).parents
    around = parents.get(site.call)
    if isinstance(around, ast.Attribute):
        return around.attr not in KEEPS
    names = [target.id for target in getattr(around, "targets", ()) if isinstance(target, ast.Name)]
    used = {method for name in names for method, _ in body.uses(site.function, name)}
    return "unbatched" in used or "batched" in used
