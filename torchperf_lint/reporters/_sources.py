"""The lines that findings point at, read once a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torchperf_lint.errors import CannotCheck
from torchperf_lint.facts.files.notebook import NotebookSource, to_source
from torchperf_lint.facts.syntax.text import read, split_lines
from torchperf_lint.model import Location
from torchperf_lint.reporters import View


@dataclass
class Sources:
    """Source text by the paths of a report."""

    view: View
    _read: dict[str, tuple[list[str], NotebookSource | None]] = field(default_factory=dict)

    def lines(self, at: Location) -> Sequence[str]:
        """The lines that `at` counts in: of the file, or of its cell. None where the file is gone by now."""
        if at.path not in self._read:
            self._read[at.path] = self._load(at.path)
        lines, notebook = self._read[at.path]
        if notebook is None or at.cell is None:
            return lines
        starts = (*notebook.starts, len(lines) + 1)
        return lines[starts[at.cell - 1] - 1 : starts[at.cell] - 1] if at.cell < len(starts) else []

    def _load(self, path: str) -> tuple[list[str], NotebookSource | None]:
        try:
            text = self.view.texts[path] if path in self.view.texts else read(self.view.cwd / path)
            notebook = to_source(text) if path.endswith(".ipynb") else None
        except CannotCheck:
            return [], None
        return split_lines(notebook.text if notebook else text), notebook
