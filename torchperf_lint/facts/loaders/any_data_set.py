"""Loops of training that a library offers for whatever data set somebody has, and for no number of workers.

    class Trainer:
        def __init__(self, model, dataset: Dataset, batch_size: int):
            self.loader = DataLoader(dataset, batch_size=batch_size, shuffle=True)

What an item costs only its users know. Theirs may open files and decode images, and then nobody can ask for workers
without changing the library. Who may hand over a loader instead, or arguments for one, can; and where the project
itself says what the data set is, that tells more.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.hints import annotation_words
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.files.project import Project
    from torchperf_lint.facts.values.value import Frame

_CHOICES = pattern(r"workers|loader|(?:^|_)dl(?:_|$)|^(?:cfg|conf|config|args|hparams|opt|options|settings|params)$")
"""Parameters through which somebody may ask for workers, or hand over a loader that has some."""
_JUDGES = pattern(r"(?:^|_)(?:val|valid|validation|eval|evaluation|test|dev|holdout)(?:_|\d|set|$)")
_LOADERS = ("DataLoader", "Any", "TensorDataset")


def takes_any_data_set(project: Project, data: ast.expr, frame: Frame) -> str | None:
    """Why the users of a function would want workers in a loader of it, in words; None where that is not known."""
    key, body = FunctionKey(frame.path, frame.function), project.body(frame.path)
    function = project.index.function(key)
    if not isinstance(data, ast.Name) or body is None or _JUDGES.search(data.id):
        return None
    if body.definitions(frame.function).get(data.id) or project.hotness.callers.get(key):
        return None
    if any(_CHOICES.search(parameter.name) for parameter in function.parameters):
        return None
    node = body.functions.get(frame.function)
    if not isinstance(node, ast.FunctionDef) or node.args.kwarg is not None:
        return None
    words = annotation_words(body, frame.function, data.id) or frozenset()
    if "Dataset" not in words or words & {*_LOADERS}:
        return None
    owner = function.qualname.removesuffix(".__init__")
    return f"`{owner}` takes any data set as `{data.id}`, and no number of workers"
