"""What making a batch is made of: its samples one by one, and putting them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from torchperf_lint.amounts import line, ms, percent
from torchperf_lint.bounds import DEFAULT, Thresholds
from torchperf_lint.recorded import LoaderRun


class Part(NamedTuple):
    """Code that makes a part of a batch: `Leaves.__getitem__` at train.py:30."""

    name: str
    place: str | None
    """None where it is not the project's."""

    def __str__(self) -> str:
        return f"`{self.name}` ({self.place})" if self.place else f"`{self.name}`"


@dataclass(frozen=True)
class Making:
    """Where batches are made: in the training process, or in the workers."""

    loader: LoaderRun
    batch_ms: float
    """What a batch costs there."""
    collate_share: float
    """Of that time; the rest is taking the samples, one by one."""
    samples: float
    """In a batch."""
    computing: float
    """Of that time: CPU time, without waits for a core."""
    thresholds: Thresholds = DEFAULT

    @property
    def sample_us(self) -> float:
        """CPU time that one sample costs in all, its share of the collating too; in us."""
        return self.batch_ms * 1000 * self.computing / self.samples

    @property
    def only_overhead(self) -> bool:
        """Samples cost so little that going through them one by one is the work."""
        return self.samples >= self.thresholds.samples and self.sample_us <= self.thresholds.cheap_us

    @property
    def most(self) -> Part | None:
        """The code that most of the time goes to; None where its name is not known."""
        return self.collate if self.collate_share >= 0.5 else self.items

    @property
    def items(self) -> Part | None:
        """What gives one sample."""
        return _part(self.loader.settings.get("items"), self.loader.items_at)

    @property
    def collate(self) -> Part | None:
        """What puts samples together."""
        return _part(self.loader.settings.get("collate"), self.loader.collate_at)

    def said(self) -> str:
        """`of a batch's 351 ms, collating takes 81 % (pad at train.py:34) and its 64 samples take 19 %`."""
        collating = f"collating takes {percent(self.collate_share)}{_told(self.collate)}"
        samples = f"its {self.samples:.0f} samples take {percent(1 - self.collate_share)}{_told(self.items)}"
        parts = [collating, samples] if self.collate_share >= 0.5 else [samples, collating]
        return f"of a batch's {ms(self.batch_ms)}, {' and '.join(parts)}"


def _told(part: Part | None) -> str:
    return f" ({part.name} at {part.place})" if part and part.place else f" ({part.name})" if part else ""


def _part(name: object, at: tuple[str, int] | None) -> Part | None:
    return Part(str(name), line(*at) if at else None) if name else None


def making_of(
    loader: LoaderRun, batch_ms: float | None, computing: float | None, thresholds: Thresholds = DEFAULT
) -> Making | None:
    """What is known of it; None for old records, for data sets that give whole batches, and before the first batch."""
    figures = loader.worker if loader.workers else {**vars(loader), "wall_ms": loader.wait_ms}
    if not figures or batch_ms is None or computing is None:
        return None
    wall, collating, collated = (figures.get(name) for name in ("wall_ms", "collate_ms", "collated"))
    if not wall or collating is None or not collated or not loader.batches:
        return None
    batches = (figures.get("batches") if loader.workers else loader.batches) or 1
    return Making(loader, batch_ms, min(collating / wall, 1.0), collated / batches, computing, thresholds)
