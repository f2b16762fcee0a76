"""Where a helper runs the model that a call hands it: `save_one(image, model, path)`, and `model(x)` in there."""

from __future__ import annotations

from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax.chains import chain


def run_by_helper(site: Site, model: str) -> tuple[str, Call] | None:
    """The first call, with its path, of the parameter for which a call of a project's function is given a model.

    Of a model of the object, `self.model`, the call in a method that runs it, `self.score(cluster)`.
    """
    project = site.file.project
    for key in project.types.targets(site.file.path, site.function, chain(site.call.func)):
        function = project.index.function(key)
        names = [parameter.name for parameter in function.parameters[function.bound :]]
        given = dict(zip(names, site.call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in site.call.keywords if keyword.arg}
        own = next((name for name, value in given.items() if chain(value) == model), None)
        if own is None and model.startswith("self.") and chain(site.call.func).startswith("self."):
            own = model
        run = next((call for call in project.index.calls_in(key) if call.callee == own), None)
        if run is not None:
            return key.path, run
    return None
