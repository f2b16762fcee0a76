"""One project opened for questions: outlines made, index built, hotness and values ready to be asked."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TypeVar, cast

from torchperf_lint.errors import CannotCheck
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.demonstrations import Demonstrations
from torchperf_lint.facts.call_graph.ever_given import EverGiven
from torchperf_lint.facts.call_graph.given_functions import GivenFunctions
from torchperf_lint.facts.call_graph.index import Index
from torchperf_lint.facts.call_graph.programs import NOTHING_BESIDE, Beside
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.files.torch_bounds import ANY_TORCH, TorchBounds
from torchperf_lint.facts.hotness.hotness import Hotness, Reach
from torchperf_lint.facts.hotness.left_off import LeftOff
from torchperf_lint.facts.outlines.outline import outline
from torchperf_lint.facts.outlines.records import Outline
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.syntax.syntax import parse
from torchperf_lint.facts.values.grads import Grads
from torchperf_lint.facts.values.values import Values

T = TypeVar("T")

_STEPS = {"backward", "step", "zero_grad"}


class Project:
    """What all files of a project say together. Built once, asked often, never changed."""

    def __init__(
        self,
        outlines: Iterable[Outline],
        read: Callable[[str], str],
        complete: bool = True,
        kept: Callable[[Mapping[str, Outline]], Reach | None] = lambda _: None,
        trees: dict[str, ast.Module] | None = None,
        torch: TorchBounds = ANY_TORCH,
        root: str = "",
        beside: Beside = NOTHING_BESIDE,
    ) -> None:
        self.index = Index({found.path: found for found in outlines}, complete, root)
        self.types = Types(self.index, GivenFunctions(self.index))
        self.hotness = Hotness(self.index, self.types, lambda: kept(self.index.outlines), self.body, self.text, beside)
        self.values = Values(self.index, self.types, self.hotness, self.body)
        self.grads = Grads(self.values)
        self.torch = torch
        self._read = read
        self._texts: dict[str, str] = {}
        self._trees = {} if trees is None else trees
        """Path -> what was parsed for the outline already; each is taken once."""
        self._bodies: dict[str, Body | None] = {}
        self._answers: dict[object, object] = {}

    @classmethod
    def of_texts(cls, texts: dict[str, str], complete: bool = True, root: str = "") -> Project:
        """A project held in memory: project-relative POSIX path -> text. Raises CannotCheck."""
        outlines = [outline(path, text) for path, text in sorted(texts.items())]
        return cls(outlines, texts.__getitem__, complete, root=root)

    def once(self, ask: Callable[[Project], T]) -> T:
        """What a question has for an answer about this project; asked once, however many files want to know."""
        if ask not in self._answers:
            self._answers[ask] = ask(self)
        return cast("T", self._answers[ask])

    def text(self, path: str) -> str:
        """The text of a project file."""
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def body(self, path: str) -> Body | None:
        """The bindings of a file, parsed on first need; None when the file changed under us."""
        found = self._bodies.get(path)
        if found is None and path not in self._bodies:
            found = self._bodies[path] = self._parsed(path)
        return found

    def _parsed(self, path: str) -> Body | None:
        found = self.index.outlines.get(path)
        if found is None:
            return None
        try:
            text = self.text(path)
            tree = self._trees.pop(path, None)
            return Body(parse(text) if tree is None else tree, found, text)
        except CannotCheck:
            return None

    def is_left_off(self, path: str, line: int, column: int) -> bool:
        """Whether code at a 1-based place runs only for a value that nothing in the project's programs gives."""
        body, programs = self.body(path), self.hotness.programs
        if body is None or not programs.are_beside(path) or programs.is_offered(path):
            return False
        byte = column - 1 if body.ascii else len(body.lines[line - 1][: column - 1].encode("utf-8", "replace"))
        return self._left_off.holds(path, (line, byte))

    @cached_property
    def _left_off(self) -> LeftOff:
        programs = self.hotness.programs
        given = EverGiven(programs.telling, self.text, self.body, programs.beside.settings)
        return LeftOff(given, self.body, self.hotness.is_left)

    def must_run_before(self, major: int, minor: int) -> bool:
        """Whether the code must run on a torch that is older than this release."""
        return self.torch.oldest is not None and self.torch.oldest < (major, minor)

    def may_run_before(self, major: int, minor: int) -> bool:
        """Whether the project says that it may be installed with a torch that is older than this release."""
        admitted = self.torch.admitted
        return self.must_run_before(major, minor) or (admitted is not None and admitted < (major, minor))

    @property
    def uses_accelerator(self) -> bool:
        """Whether anything in the project runs on, or moves something to, an accelerator, as far as it tells.

        Where it has no program, whoever uses it decides that, and none of its files need speak of a device.
        """
        return self.index.text_mentions_device or not self.hotness.programs.paths

    def may_be_on_device(self, kind: str) -> bool:
        """Whether tensors of code that is hot in such a way may be on an accelerator, where nothing else tells."""
        return self.uses_accelerator and not (kind in ("step", "eval") and self.trains_on_host)

    @cached_property
    def trains_on_host(self) -> bool:
        """Whether the project trains models in loops of its own, in no example or test, and speaks of no device.

        Its modules may be used elsewhere; what those loops are given is on the host, and so is what they train.
        """
        if self.index.text_mentions_device:
            return False
        outlines = (o for path, o in self.index.outlines.items() if not Demonstrations.only_shows(path))
        return any({last_part(call.callee) for call in outline.calls} >= _STEPS for outline in outlines)
