"""Where a run's time went, as a bar with a legend, and what the machine did meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from torchperf_lint.amounts import ms, often, percent, size
from torchperf_lint.bounds import (
    AFTER,
    BACKWARD,
    BETWEEN,
    COMPILING,
    DATA,
    DEFAULT,
    FORWARD,
    OPTIMIZER,
    OTHER,
    ROLLOUT,
    WAITING,
    Phase,
    loop_of,
)
from torchperf_lint.evidence import Evidence
from torchperf_lint.loading import loader_of
from torchperf_lint.machine import Machine, machine_of
from torchperf_lint.reporters._bars import cells
from torchperf_lint.reporters._page import INDENT, Page
from torchperf_lint.reporters._requests import requests_said
from torchperf_lint.run_report import RunReport
from torchperf_lint.whole_run import division_said
from torchperf_lint.window import kernels_of

_FILLS = {
    ROLLOUT: "~",
    BETWEEN: "^",
    DATA: "#",
    FORWARD: "=",
    BACKWARD: "%",
    OPTIMIZER: "+",
    COMPILING: "@",
    WAITING: ".",
    AFTER: "*",
    OTHER: "-",
}
"""A character for each phase, so that the bar reads without colour."""
_COLORS = {
    ROLLOUT: "bright_green",
    BETWEEN: "bright_yellow",
    DATA: "magenta",
    FORWARD: "green",
    BACKWARD: "blue",
    OPTIMIZER: "cyan",
    COMPILING: "bright_magenta",
    WAITING: "red",
    AFTER: "yellow",
    OTHER: "white",
}
_ENTRY = 40
"""Columns of one entry of the legend, the gap of two to the next included."""
_ROOM = 6
"""Columns of `GPU` with the space after it."""
_MOST_GPUS = 2


def show_breakdown(sheet: Page, report: RunReport) -> None:
    """One bar of the page's width, and what its parts are; nothing where no time was measured. Requests are counted."""
    answered = requests_said(report.run)
    if answered is not None:
        sheet.heading("Requests")
        sheet.paragraph("", answered)
    phases, loop = report.breakdown, loop_of(report.run)
    if not phases or loop is None:
        return
    sheet.heading(f"Where the {loop.unit} goes (host time, after the warm-up)")
    bar = Text(" " * INDENT + "[")
    counts = cells([phase.share for phase in phases], sheet.width - INDENT - 2)
    for phase, count in zip(phases, counts, strict=True):
        bar.append(_FILLS[phase.phase] * count, _COLORS[phase.phase])
    sheet.line(bar.append("]"))
    _legend(sheet, phases, loop.unit)
    divided = division_said(report.run)
    if divided is not None:
        sheet.paragraph("", divided, "dim")


def _legend(sheet: Page, phases: tuple[Phase, ...], unit: str) -> None:
    abreast = (sheet.width - INDENT + 2) // _ENTRY
    for start in range(0, len(phases), abreast):
        line = Text(" " * INDENT)
        for phase in phases[start : start + abreast]:
            entry = Text.assemble((_FILLS[phase.phase], _COLORS[phase.phase]), f" {phase.phase:<22}")
            time = ms(phase.ms) if phase.ms >= 0.01 else "<0.01 ms"
            entry.append(f"{_short(phase.share):>5} {time:>8}")
            entry.pad_right(_ENTRY - entry.cell_len)
            line.append_text(entry)
        sheet.line(line)
    whole = sum(phase.ms for phase in phases)
    sheet.paragraph("", f"means per {unit}, {ms(whole)} in all", "dim")


def _short(share: float) -> str:
    return percent(share).replace("under 1 %", "<1 %")


def show_utilisation(sheet: Page, run: Evidence) -> None:
    """GPU, CPU and disk, a line each; nothing of a simulated run, whose machine does other work."""
    if run.simulated:
        return
    sheet.heading("Meanwhile (means over the run)")
    for label, text in meanwhile(run):
        sheet.paragraph(label, text, room=_ROOM)


def meanwhile(run: Evidence) -> Iterator[tuple[str, str]]:
    """(what, what it did) of GPU, CPU and disk, or why nothing is known, without a label."""
    machine = machine_of(run.utilisation)
    if not machine.record:
        not_here = "not measured: only `torchperf-lint --runtime` samples GPU, CPU and disk"
        yield "", not_here if run.in_process else "nothing was sampled"
        return
    for text in (*_profiled(run), *_gpus(machine), *_room(run, machine)):
        yield "GPU", text
    yield "CPU", _cpu(machine)
    yield "disk", _disk(machine)


def _profiled(run: Evidence) -> Iterator[str]:
    """What a profiler's window says, which is nearer to the truth than NVML's rate."""
    kernels = kernels_of(run.state)
    if kernels is None:
        return
    parts = [f"some kernel ran {percent(kernels.busy)} of the time", f"{often(kernels.per_step)} kernels a step"]
    parts.append(f"the median one {kernels.median_us:.3g} us")
    if kernels.short is not None:
        parts.append(f"{percent(kernels.short)} of their time in ones under 10 us")
    if kernels.tensor_cores is not None:
        parts.append(f"{percent(kernels.tensor_cores)} in ones that name tensor cores")
    yield f"in {kernels.steps} profiled steps {', '.join(parts)}"


def _room(run: Evidence, machine: Machine) -> Iterator[str]:
    """Whether a larger batch would fit, where no device is busy and the memory of none is half used."""
    loader, busy = loader_of(run), machine.gpu_busy
    batch = loader.settings.get("batch_size") if loader is not None else None
    used = [
        (machine.most(f"gpu.{gpu.get('index')}.memory_bytes"), gpu.get("memory_total_bytes")) for gpu in machine.gpus
    ]
    known = [(most, total) for most, total in used if most is not None and total]
    if not batch or busy is None or busy >= DEFAULT.busy_device or not known or len(known) < len(used):
        return
    most, total = max(known, key=lambda one: one[0] / one[1])
    if most <= DEFAULT.room * total:
        yield (
            f"at batch size {batch} at most {size(most)} of {size(total)} were in use: larger batches may fit, which "
            f"are another training (learning rate, number of steps)"
        )


def _gpus(machine: Machine) -> Iterator[str]:
    if not machine.gpus:
        yield f"unavailable: {machine.missing('gpu')}"
        return
    for gpu in machine.gpus[:_MOST_GPUS]:
        index = gpu.get("index")
        name = f"{index}: " if len(machine.gpus) > 1 else ""
        busy, memory = machine.mean(f"gpu.{index}.busy_share"), machine.mean(f"gpu.{index}.memory_bytes")
        if busy is None:
            text = f"unavailable: {machine.missing(f'gpu.{index}.busy')}"
        else:
            text = f"some kernel ran {percent(busy)} of the time (NVML, upper bound)"
        total = gpu.get("memory_total_bytes")
        yield f"{name}{text}{f', {size(memory)} of {size(total)}' if memory is not None and total else ''}"
    left, busy = len(machine.gpus) - _MOST_GPUS, machine.gpu_busy
    if left > 0:
        least = f"; the least busy of all ran some kernel {percent(busy)} of the time" if busy is not None else ""
        yield f"and {left} more{least}"


def _cpu(machine: Machine) -> str:
    main, others = machine.mean("cpu.main_cores"), machine.mean("cpu.others_cores")
    if main is None:
        return f"unavailable: {machine.missing('processes')}"
    allowed = f", of {machine.cores:g} allowed" if machine.cores is not None else ""
    children = f", its children {others:.2f}" if others else ""
    whole = machine.mean("cpu.machine_share")
    busy = f"; the machine {percent(whole)} busy" if whole is not None else ""
    return f"the script used {main:.2f} cores{children}{allowed}{busy}"


def _disk(machine: Machine) -> str:
    read, written = machine.mean("disk.read_bytes_per_s"), machine.mean("disk.written_bytes_per_s")
    if read is None or written is None:
        return f"unavailable: {machine.missing('disk')}"
    own = machine.mean("disk.tree_read_bytes_per_s")
    ours = f" (the script {size(own)}/s)" if own is not None else ""
    return f"the machine read {size(read)}/s{ours}, wrote {size(written)}/s"
