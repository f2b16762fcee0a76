"""Transforms of audio that hot code makes anew: `T.Resample(rate, 16000).to(x.device)(x)`.

Their constructors compute a window, a filter bank or a kernel on the host, and the move copies it, as large as it is.
Also where the settings differ from call to call one for each of them could be kept; hardly any program has many.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.facts.values.value import HOST, Value
from torchperf_lint.model import Confidence

_WITH_TABLES = frozenset(
    "Spectrogram InverseSpectrogram GriffinLim MelScale InverseMelScale MelSpectrogram MFCC LFCC Resample TimeStretch "
    "PitchShift SpectralCentroid Speed".split()
)
"""Transforms of torchaudio that compute something when they are made, which is moved with them."""


def made_transform(site: Site, made: ast.Call) -> Value | None:
    """The transform that a call makes and `site` moves, where that is for this turn only; None for others.

    What is made only where two rates differ is made for what seldom comes.
    """
    thing = site.file.project.values.thing(made.func, site.frame)
    name = last_part(thing.dotted) if thing is not None and thing.dotted.startswith("torchaudio.transforms.") else ""
    if name not in _WITH_TABLES or _where_they_differ(site, made):
        return None
    because = f"`{name}` of torchaudio computes its tables on the host when it is made (line {made.lineno})"
    return Value("module", HOST, because, Confidence.LIKELY)


def _where_they_differ(site: Site, made: ast.Call) -> bool:
    """Whether a test around asks for the settings: `if rate != self.rate: x = Resample(rate, self.rate).to(...)(x)`."""
    settings = {name for argument in (*made.args, *(k.value for k in made.keywords)) for name in names_of(argument)}
    parents = site.file.enclosing(site.function).parents
    node = parents.get(site.call)
    while node is not None:
        if isinstance(node, ast.If | ast.IfExp) and names_of(node.test) & (settings - {"self"}):
            return True
        node = parents.get(node)
    return False
