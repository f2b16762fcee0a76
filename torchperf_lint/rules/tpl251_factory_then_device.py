"""TPL251."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import all_copies, by_events, copies
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.copies.computed import computed_fresh
from torchperf_lint.facts.copies.drawn_by_default import drawn_by_default
from torchperf_lint.facts.copies.fresh import Fresh, fresh_on_host, just_made
from torchperf_lint.facts.copies.host_types import host_types
from torchperf_lint.facts.copies.made_for_methods import MadeForMethods, made_for_methods
from torchperf_lint.facts.copies.moves import made_each_turn
from torchperf_lint.facts.copies.tables_given_back import MENTIONED as TABLES
from torchperf_lint.facts.copies.tables_given_back import tables_given_back
from torchperf_lint.facts.devices.distributions import DISTRIBUTIONS
from torchperf_lint.facts.devices.movers import COPIERS, MOVERS, copied_beside, moved_by_function, movers_called
from torchperf_lint.facts.files.made_anew import made_anew
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Place, Site, SourceFile
from torchperf_lint.facts.fixes.moved_if_asked import device_by_test
from torchperf_lint.facts.fixes.onto_device import onto_device
from torchperf_lint.facts.reads.tables_in_trips import is_told_as_trip
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.values.value import HOST, tensor
from torchperf_lint.model import Confidence, Finding, Outcome, Related, Severity, Verdict
from torchperf_lint.rule import SourceRule


class FactoryThenDevice(SourceRule):
    """A tensor made on the host and then moved to the device, in code that runs every step.

    ## What it does
    Flags `torch.zeros(...).to(device)`, `torch.arange(n).cuda()`, `torch.eye(n).type_as(x)` and their like (also
    through `.float()`, `.view()` and other methods in between, over several statements that fill it in place, by a
    type of old, `.type(torch.cuda.FloatTensor)`, and by a function such as `to_device(torch.arange(n), x)`) where the
    line runs every training step or forward pass; also `x.new_tensor(torch.rand(n))`, and what a factory makes unless
    a flag that is off by default puts other numbers in its place, and what one method of a class keeps in an attribute
    every step for another to move. And the tables that a module's `forward` makes with `torch.arange(n)` on the host
    and gives back, as rotary embeddings are: whoever computes with them moves them. As information: where a method
    that answers one request without gradients (`__call__`, `generate`, `sample` of a pipeline) gets there once a call.

    ## Why it is slow
    The host fills the tensor, copies it from pageable memory and waits for the copy, where one asynchronous kernel
    would have filled it on the device.

    ## Example
    ```python
    import torch
    from torch import nn

    class Positions(nn.Module):
        def __init__(self, size: int, width: int):
            super().__init__()
            self.embed = nn.Embedding(size, width)

        def forward(self, x):
            positions = torch.arange(x.size(1)).to(x.device)
            return x + self.embed(positions)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    class Positions(nn.Module):
        def __init__(self, size: int, width: int):
            super().__init__()
            self.embed = nn.Embedding(size, width)

        def forward(self, x):
            positions = torch.arange(x.size(1), device=x.device)
            return x + self.embed(positions)
    ```

    ## When it is fine
    Once, in set-up code; for data that comes from the host; and where a generator on the host must give the same
    numbers on every machine:
    ```python
    import torch
    from torch import nn

    class Noise(nn.Module):
        def __init__(self, device):
            super().__init__()
            self.scale = torch.ones(3).to(device)

        def forward(self, x, generator):
            return x + torch.randn(x.shape, generator=generator).to(x.device)
    ```

    ## Fix safety
    Safe for `zeros`, `ones`, `empty`, `full`, `eye`, `arange` in whole steps, `tril_indices`, `triu_indices` and their
    `_like`s, followed by nothing but conversions and views: the device fills in the very same numbers. Unsafe for
    random factories (the device's generator gives other numbers than the host's), for `linspace`, `logspace` and
    arithmetic (rounded otherwise in the last digit), after `expand` (it stays a view), and with `requires_grad`.
    No fix where the device may be None, for the constructors that take no `device`, and where a conversion names a
    type of the host, `.type(torch.ByteTensor)`: that would copy it back there. A dtype that the move gives
    goes into `zeros`, `ones` and `empty`, and is given behind the others.

    ## Confirmed by
    A copy to the device at the line in at least half of the recorded steps.

    ## References
    - PyTorch performance tuning guide, "Create tensors directly on the target device".
    - torch.profiler, ExtraCUDACopyPattern.
    """

    code, name, since = "TPL251", "factory-then-device", "0.1.0"
    triggers = ("_to(", ".to(", ".cuda(", ".type_as(", ".type(", *(f"{name}(" for name in (*MOVERS, *COPIERS)), *TABLES)
    probes = ("transfers",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each tensor that is made on the host and moved on a hot line."""
        named = movers_called(file.called_names)
        for site in file.hot_calls("to", "cuda", "type_as", "type", *MOVERS, *COPIERS, *named):
            if site.hot is None or site.hot.kind == "data":
                continue
            fresh = _fresh(project, site)
            if fresh is None or is_told_as_trip(file, site.call):
                continue  # TPL106 says both: alone it would be given indices on the host
            told = device_by_test(site, fresh.call) if last_part(site.record.callee) == "cuda" else None
            fresh = fresh._replace(device=told or fresh.device)
            key = FunctionKey(file.path, site.function)
            seldom = project.hotness.seldom.is_seldom(key)
            seldom = seldom or project.hotness.beside.holds(file.path, site.record.region, site.hot)
            hot = project.hotness.unmentioned.whoever_runs_it(site.hot, key, seldom)
            yield self.found(
                site,
                message=f"`torch.{fresh.factory}(...)` fills host memory, then copies it to the device {hot.when}",
                instead=_instead(fresh) + _no_type_of_the_host(site, fresh),
                value=fresh.value,
                hot=hot,
                related=[*_made_elsewhere(file, site, fresh), *made_anew(site)],
                fix=onto_device(site, fresh) if _is_method(site) and last_part(site.record.callee) != "type" else None,
            )

        for site in file.served_calls("to", "cuda", "type_as"):
            fresh = _fresh(project, site)
            if fresh is not None:
                yield self._for_each_request(file, site, fresh)

        for made in made_for_methods(file):
            yield self._for_another_method(file, made)

        for site, beside in tables_given_back(file) if file.mentions(TABLES) else ():
            yield self._given_back(file, site, beside)

    def _for_each_request(self, file: SourceFile, site: Site, fresh: Fresh) -> Finding:
        assert site.hot is not None
        return self.found(
            site,
            message=f"`torch.{fresh.factory}(...)` fills host memory, then copies it to the device {site.hot.when}",
            instead=_instead(fresh) + _no_type_of_the_host(site, fresh),
            value=fresh.value,
            hot=site.hot,
            severity=Severity.INFO,
            related=[*_made_elsewhere(file, site, fresh), *made_anew(site)],
            fix=onto_device(site, fresh),
        )

    def _for_another_method(self, file: SourceFile, made: MadeForMethods) -> Finding:
        site, fresh, move = made
        assert site.hot is not None
        line = move.record.line
        return self.found(
            site,
            message=f"`torch.{fresh.factory}(...)` fills host memory, and line {line} copies it to the device, "
            f"{site.hot.when}",
            instead=f"{_instead(fresh)}; line {line} has nothing to copy then",
            value=fresh.value.weaker(Confidence.LIKELY),
            hot=site.hot,
            related=[file.related(file.path, line, move.record.column, "is copied to the device here")],
            root_cause=f"{self.code} {_LATER} {site.function} and {move.function}",
        )

    def _given_back(self, file: SourceFile, site: Site, beside: str) -> Finding:
        assert site.hot is not None
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` fills host memory {site.hot.when}, and what is computed of it is given "
            f"back there: whoever computes with it beside `{beside}` copies it to the device first",
            instead=f"make the table on the device, `device={beside}.device`, or once, as a buffer",
            value=tensor(HOST, "made by a factory without a `device`, and returned without a move", Confidence.LIKELY),
            hot=site.hot,
            severity=Severity.INFO if site.hot.optional else None,
            root_cause=f"{self.code} tables given back by function {site.function}",
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By copies to the device at the line."""
        if (finding.root_cause or "").startswith(f"{self.code} tables"):
            return Verdict(Outcome.UNOBSERVABLE, "the tables are copied to the device elsewhere, by who uses them")
        later = _LATER in (finding.root_cause or "")
        seen = (all_copies if later else copies)(run, finding, "h2d", lambda copy: True)
        return by_events(finding, run, seen, "copy to the device", probes=self.probes)


_LATER = "moved by another method:"
"""Of such findings the copy is at the related place."""


def _is_method(site: Site) -> bool:
    """`x.to(device)`; else `to_device(x, device)`."""
    return last_part(site.record.callee) in ("to", "cuda", "type_as", "type")


def _fresh(project: Project, site: Site) -> Fresh | None:
    """What a site moves, where it was just made on the host."""
    if _is_method(site):
        if site.receiver is None:
            return None
        found = fresh_on_host(project.values, site.call, site.frame)
        if found is None:
            found = computed_fresh(project.values, site.call, site.frame)
            found = found if found is not None and made_each_turn(site, found.path, found.call) else None
        return found or drawn_by_default(site)
    asked = copied_beside if last_part(site.record.callee) in COPIERS else moved_by_function
    moved = asked(project.values, site.call, site.frame)
    if moved is None:
        return None
    found = just_made(project.values, moved.data, site.frame, moved.device)
    return found._replace(value=found.value.weaker(Confidence.LIKELY)) if found is not None else None


def _made_elsewhere(file: SourceFile, place: Place, fresh: Fresh) -> list[Related]:
    """Where the tensor is made, when that is not the line that moves it."""
    line = fresh.call.lineno
    if fresh.path == file.path and place.expression.lineno <= line <= (place.expression.end_lineno or line):
        return []
    body = file.project.body(fresh.path)
    assert body is not None
    return [file.related(fresh.path, *body.at(fresh.call), f"`torch.{fresh.factory}` makes it on the host")]


def _instead(fresh: Fresh) -> str:
    if fresh.factory.startswith(DISTRIBUTIONS):
        return (
            f"make the distribution of tensors that are on the device, `torch.tensor(number, device={fresh.device})`: "
            "what it draws is there then (the device's generator gives other random numbers)"
        )
    # The constructors of old, `torch.FloatTensor(n, m)`, take no other device than the host.
    factory = "empty" if fresh.factory.endswith("Tensor") else fresh.factory
    dtype = f"dtype={api.LEGACY_DTYPES[fresh.factory]}, " if fresh.factory in api.LEGACY_DTYPES else ""
    made = f"make it on the device: `torch.{factory}(..., {dtype}device={fresh.device})`"
    return made + (" (the device's generator gives other random numbers)" if fresh.random else "")


def _no_type_of_the_host(site: Site, fresh: Fresh) -> str:
    """What to write for conversions to types of the host: with these left, what is made on the device is copied down
    and up again."""
    found = dict.fromkeys(host_types(site, fresh) if _is_method(site) else ())
    if not found:
        return ""
    instead = " and ".join(f"`.to({one.dtype})` for `.type({one.type})`" for one in found)
    return f", and write {instead}, which would copy it back to the host"
