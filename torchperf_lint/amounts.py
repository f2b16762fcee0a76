"""Numbers in words, the same in diagnoses and reports. A measured number never reads as 0 unless it is 0."""

from __future__ import annotations

from math import floor, log10

NOT_MEASURED = "-"


def ms(value: float) -> str:
    """`12.3 ms`, three significant digits; seconds from 10,000 ms on."""
    return f"{_digits(value / 1000)} s" if value >= 10_000 else f"{number(value)} ms"


def number(value: float) -> str:
    """Milliseconds without their unit: `0.042`, `1.20`, `34.5`, `120`; `<0.001` for less."""
    return "<0.001" if 0 < value < 0.001 else _digits(value)


def us(value_ms: float) -> str:
    """A time in ms, in microseconds up to a thousand of them: `5.2 us`, `120 us`, `1.33 ms`."""
    return f"{value_ms * 1000:.3g} us" if value_ms < 0.9995 else ms(value_ms)


def percent(share: float) -> str:
    """`37 %`; `under 1 %` for what would read as 0."""
    if 0 < share < 0.01:
        return "under 1 %"
    # 99.6 % is not all.
    return f"{min(round(share * 100), 99) if share < 1 else round(share * 100)} %"


def often(times: float) -> str:
    """How many per step: `1`, `2.5`, `0.1`, `13.3`, `<0.01`."""
    if 0 < times < 0.01:
        return "<0.01"
    decimals = 2 if times < 10 else 1 if times < 100 else 0
    text = f"{times:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def size(count: float) -> str:
    """Bytes: `512 B`, `1.5 MB`."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{_digits(count)} {unit}" if unit != "B" else f"{count:.0f} B"
        count /= 1000
    return f"{_digits(count)} GB"


def line(path: str | None, number: int | None) -> str:
    """`train.py:12`."""
    return f"{path}:{number}" if path is not None and number is not None else "an unknown line"


def _digits(value: float) -> str:
    if not value:
        return "0"
    decimals = max(0, 2 - floor(log10(abs(value))))
    return f"{value:.{min(decimals, 3)}f}"
