"""TPL205."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_events, copies
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.copies.doubles_uploaded import DoublesUploaded, doubles_uploaded
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.loaders.widened import Widened, placed, widened
from torchperf_lint.facts.loaders.widened_integers import WidenedIntegers, widened_integers
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule

_PLACED = "arrays placed"
"""Of the calls of `torch.tensor` and `torch.as_tensor` that are told the device."""


class CastBeforeTransfer(SourceRule):
    """Bytes made into floats on the host, or narrow integers into wide ones, and then copied to the device.

    ## What it does
    Flags copies to the device (`.to(device)`, `.cuda()`) in code that runs every step, every batch or every input, of
    what the host has just made from bytes: `(x.float() / 255).to(device)`,
    `torch.from_numpy(image.astype(np.float32) / 255).cuda()`. That there were bytes must be evident: by the division
    by 255, or by what makes them (`np.uint8`, a decoder of images). Also `x.to(device, torch.float32) / 255` without
    `non_blocking=True`, where torch converts on the host first, as
    `torch.tensor(x, dtype=torch.float32, device=device) / 255` always does. Also `labels.long().cuda()`, where a data
    set of the project makes narrow integers of that name (`np.array(label).astype("int32")`). Info where no training
    step waits for it. And, as info, what numpy has made in float64, its default, and is copied so, to be converted on
    the device: `torch.from_numpy(np.zeros(shape)).to(device).float()`.

    ## Why it is slow
    A float takes four bytes, a double or a long eight: that much more is copied and sent across the bus, and the host
    computes what the device does in passing. What it has made is not pinned, even if the batch was.

    ## Example
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        for images, labels in loader:
            images = (images.float() / 255).to(device)
            loss = criterion(model(images), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        for images, labels in loader:
            images = images.to(device, non_blocking=True).float() / 255
            loss = criterion(model(images), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    Where what is copied is no larger than what was there, as half precision made of floats, and where the numbers
    change on the host in ways that the device does not know:
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        for signals, labels in loader:
            signals = signals.half().to(device, non_blocking=True)
            loss = criterion(model(signals), labels.float().to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Fix safety
    There is no automatic fix: what is between the bytes and the copy has to move behind it.

    ## Confirmed by
    A copy to the device at the line in at least half of the recorded steps, or a synchronisation where a factory
    copies. Its size is not compared.

    ## References
    - PyTorch source, `aten/src/ATen/native/cuda/Copy.cu`: conversions of a blocking copy run on the host.
    - talmolab/sleap-nn #406: transfer and normalisation of a batch from 14.9 to 1.0 ms.
    """

    code, name, since = "TPL205", "cast-before-transfer", "0.1.0"
    triggers = ("255", "uint8", ".long()", "numpy")
    probes = ("host-sync", "transfers")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot copy of floats that were bytes."""
        del project
        for site in file.hot_calls("tensor", "as_tensor"):
            found = placed(file, site) if site.hot is not None and site.hot.kind != "data" else None
            if found is not None:
                yield self._found(file, site, found, f"{self.code} {_PLACED} in function {site.function}")
        for site in file.hot_calls("to", "cuda"):
            if site.hot is None or site.hot.kind == "data":
                continue
            found = widened(file, site)
            if found is not None:
                yield self._found(file, site, found)
                continue
            doubles = doubles_uploaded(file, site)
            if doubles is not None:
                yield self._of_doubles(file, site, doubles)
                continue
            integers = widened_integers(file, site)
            if integers is not None and not site.hot.optional:
                yield self._of_integers(file, site, integers)

    def _found(self, file: SourceFile, site: Site, found: Widened, root_cause: str | None = None) -> Finding:
        assert site.hot is not None
        times, line = ("eight", "doubles") if found.double else ("four", "floats"), found.cast.lineno
        here = "this call" if found.cast is site.call else f"line {line}"
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` copies {times[1]} that {here} made of bytes on the host, {times[0]} "
            f"times as much, {site.hot.when}",
            instead=_instead(found, placed=root_cause is not None),
            hot=site.hot,
            root_cause=root_cause,
            confidence=max(found.confidence, site.hot.confidence, key=lambda c: c.rank),
            severity=Severity.INFO if site.hot.kind != "step" or site.hot.optional else None,
        )

    def _of_doubles(self, file: SourceFile, site: Site, found: DoublesUploaded) -> Finding:
        assert site.hot is not None
        cast = found.cast.func.attr if isinstance(found.cast.func, ast.Attribute) else ""
        made = [] if found.taken.lineno == site.record.line else [found.taken]
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` copies doubles, which `{cast}` halves on the device, {site.hot.when}",
            instead="convert before the copy: `torch.from_numpy(array.astype(np.float32)).to(device)`",
            value=Value("array", because=f"`{file.brief(found.made)}` makes it in float64, numpy's default"),
            hot=site.hot,
            severity=Severity.INFO,
            confidence=Confidence.POSSIBLE if site.hot.optional else Confidence.LIKELY,
            related=[file.related(file.path, *file.start(node), "makes the tensor") for node in made],
        )

    def _of_integers(self, file: SourceFile, site: Site, found: WidenedIntegers) -> Finding:
        assert site.hot is not None
        where = f"{file.shown_of(found.path)}:{found.line}"
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` copies integers of eight bytes that this line made of `{found.made}` "
            f"on the host, {found.times} as much, {site.hot.when}",
            instead="copy the narrow ones, and convert them on the device: `x.to(device, non_blocking=True).long()`",
            value=Value("tensor", because=f"a data set makes `{found.made}` of that name ({where})"),
            hot=site.hot,
            severity=Severity.INFO if site.hot.kind != "step" else None,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By copies to the device at the line."""
        seen = copies(run, finding, "h2d", lambda copy: True)
        if (finding.root_cause or "").startswith(f"{self.code} {_PLACED}"):  # what a factory copies shows as a wait
            seen = run.at(finding, "sync") or seen
            return by_events(finding, run, seen, "upload", probes=self.probes)
        return by_events(finding, run, seen, "copy to the device", probes=("transfers",))


def _instead(found: Widened, placed: bool) -> str:
    cast = "double()" if found.double else "float()"
    does, scaled = ("convert and scale", " / 255") if found.scaled else ("convert", "")
    copy = "torch.as_tensor(x, device=device)" if placed else "x.to(device, non_blocking=True)"
    return f"copy the bytes, and {does} them on the device: `{copy}.{cast}{scaled}`"
