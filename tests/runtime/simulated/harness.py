"""What every check shares: the device, the events it reported, and a tensor on it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch

CUDA = torch.device("cuda", 0)


class Events:
    """Every event with the thread it came on; reset before each check."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.bytes: list[int] = []

    def _note(self, what: str) -> None:
        self.seen.append((what, threading.current_thread().name))

    def sync(self, what: str) -> None:
        self._note(what)

    def copy(self, direction: str, nbytes: int, pinned: bool, blocking: bool) -> None:
        self.bytes.append(nbytes)
        self._note(direction + ("" if blocking else "-async") + ("-pinned" if pinned else ""))

    def unsupported(self, what: str) -> None:
        self._note(f"unsupported: {what}")

    def named(self, what: str) -> list[str]:
        """The threads on which it happened."""
        return [thread for name, thread in self.seen if name == what]


EVENTS = Events()


def on(shape: tuple[int, ...] = (3,)) -> torch.Tensor:
    return torch.ones(shape, device="cuda")


def raised(act: Callable[[], object]) -> str:
    try:
        act()
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    return "nothing"
