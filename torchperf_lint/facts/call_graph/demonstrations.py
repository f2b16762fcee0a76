"""Calls that show or check what a function does, and say nothing of how often it runs in earnest.

Tests call what a library offers; a file of networks tries them below `if __name__ == "__main__"`. What only such code
calls is as good as not called: who uses it is elsewhere. And what stands below there itself, a loop over the data set
that the file defines, or training on random numbers, nobody waits for.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import lru_cache

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey, Thing
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.named_like_tests import TRAINS_AND_TESTS
from torchperf_lint.patterns import pattern

_TEST_FILE = rf"test_\w+|(?!{TRAINS_AND_TESTS})\w+_test"
"""Modules of tests, by their names."""
_SHOWS = pattern(
    r"(?:^|/)(?:tests?|unit_?tests?|(?:\w+_)?examples?|demos?|docs?|benchmarks?|notebooks?|tutorials?)/"
    rf"|(?:^|/)(?:{_TEST_FILE}|conftest|unittest|demo)\.py$"
)
"""Files of tests and examples."""
_DEMOS = pattern(r"(?:^|/)(?:demos?|docs?)/|(?:^|/|_)(?:gradio|streamlit)(?:_\w+)?(?:\.py$|/)")
_TEST_FOLDER = pattern(r"(?:^|/)(?:unit_?)?tests?/")
_TESTS = pattern(rf"{_TEST_FOLDER.pattern}|(?:^|/)(?:{_TEST_FILE}|tests|conftest|(?:\w+_)?smoke)\.py$")
_TEST_RUNNERS = ("pytest", "unittest")
_CHECKS = pattern(rf"{_TESTS.pattern}|(?:^|/)(?:benchmarks?|docs?)/|(?:^|/)unittest\.py$")
_SCRIPT = pattern(
    r"(?:^|/|_)(?:train\w*|main|run|test|eval\w*|infer\w*|predict\w*|sample|generate|finetune|fit|cli|app|demo|bench\w*)"
    r"(?:_\w*)?\.py$"
)
_ARGUMENTS = (".add_argument", ".add_arguments")
_COMMANDS = ("click", "fire", "hydra", "absl", "tyro", "typer", "simple_parsing", "sacred", "plac", "docopt")
"""What programs are started with."""
_TRAINS = (".backward", ".step", ".train", ".fit", ".run", ".learn", ".evaluate", ".generate", ".predict", ".launch")
_DRAWS = frozenset({"torch.rand", "torch.randn", "torch.randint", "th.rand", "th.randn", "th.randint"})
_READS = ("Loader", ".make", ".load", "open", "load_dataset", "imread", "read_csv", "from_pretrained")
_CONFIGURATIONS = ("OmegaConf.", "omegaconf.", "yaml.", "json.", "toml.", "tomllib.")
_DATA = frozenset({"__getitem__", "__iter__"})


class Demonstrations:
    """Answers for one project."""

    def __init__(self, types: Types, body: Callable[[str], Body | None] = lambda path: None) -> None:
        self.types = types
        self._body = body
        self._of_networks: dict[str, bool] = {}
        self._blocks: dict[str, list[tuple[int, int]]] = {}

    def holds(self, path: str, line: int) -> bool:
        """Whether a line of a file's own, in no function, is below `if __name__ == ...` and tries what it defines."""
        if path not in self._blocks:
            blocks = self._entries(path) if self._offers(path) else []
            self._blocks[path] = [block for block in blocks if self._tries(path, block)]
        return any(first <= line <= last for first, last in self._blocks[path])

    def _entries(self, path: str) -> list[tuple[int, int]]:
        """The lines of each block that runs only where the file is started by itself."""
        body = self._body(path)
        return [
            (block.lineno, block.end_lineno or block.lineno)
            for block in (body.functions[0].body if body is not None else ())
            if isinstance(block, ast.If) and "__name__" in names_of(block.test)
        ]

    def _offers(self, path: str) -> bool:
        """Whether a file defines modules or data sets for others, and is no program."""
        outline, index = self.types.index.outlines[path], self.types.index
        if _SCRIPT.search(path) or outline.imports_from(*_COMMANDS):
            return False
        if any(call.callee.endswith(_ARGUMENTS) for call in outline.calls):
            return False
        classes = [Thing("class", path, number) for number in range(len(outline.classes))]
        return any(
            self.types.is_module_class(cls)
            or _DATA & index.record(cls).methods.keys()
            or "torch.autograd.Function" in index.external_bases(cls)
            for cls in classes
        )

    def _tries(self, path: str, block: tuple[int, int]) -> bool:
        """Whether a block does not train, or trains on random numbers."""
        calls = self._calls_in(path, block)
        return not any(callee.endswith(_TRAINS) for callee in calls) or self._draws(calls)

    def tries_on_noise(self, site: CallSite, target: FunctionKey) -> bool:
        """Whether a call below `if __name__ == ...` tries what its file defines, on numbers drawn at random there."""
        if site.call.function != 0 or site.path != target.path:
            return False
        around = [block for block in self._entries(site.path) if block[0] <= site.call.line <= block[1]]
        return any(self._draws(self._calls_in(site.path, block)) for block in around)

    def _calls_in(self, path: str, block: tuple[int, int]) -> list[str]:
        return [call.callee for call in self.types.index.outlines[path].calls if block[0] <= call.line <= block[1]]

    @staticmethod
    def _draws(calls: Sequence[str]) -> bool:
        """Whether numbers are drawn at random, and nothing is read but how it is configured."""
        reads = (callee for callee in calls if callee.endswith(_READS) and not callee.startswith(_CONFIGURATIONS))
        return any(callee in _DRAWS for callee in calls) and not any(reads)

    def shows(self, site: CallSite, target: FunctionKey) -> bool:
        """Whether a call only shows or checks what its target does; of a method its class says more than that."""
        if self.types.index.function(target).class_index >= 0:
            return False
        if _SHOWS.search(site.path) and not _SHOWS.search(target.path):
            return True
        return site.call.function == 0 and self._is_of_networks(site.path)

    @staticmethod
    def is_for_people(path: str, shown: str) -> bool:
        """Whether a file shows another one's code to people, who wait for each click longer than for the device."""
        return bool(_DEMOS.search(path)) and not _DEMOS.search(shown)

    def is_a_loop_of_tests(self, path: str, called: str) -> bool:
        """Whether a file tests what another one offers: a loop there says nothing of how often that runs in earnest.

        By its folder, or by its name and what it imports: scripts that evaluate are called `test_net.py`, too, and
        trainers ask whether they are handed a mock.
        """
        if self.is_a_test(called) or not self.is_a_test(path):
            return False
        return bool(_TEST_FOLDER.search(path)) or self.types.index.outlines[path].imports_from(*_TEST_RUNNERS)

    @staticmethod
    def only_shows(path: str) -> bool:
        """Whether a file holds tests, examples or documentation, which use what no program needs."""
        return bool(_SHOWS.search(path))

    @staticmethod
    def checks(path: str) -> bool:
        """Whether a file holds tests, measurements or documentation: who starts an example uses it, nobody these."""
        return bool(_CHECKS.search(path))

    @staticmethod
    @lru_cache(maxsize=1 << 14)
    def is_a_test(path: str) -> bool:
        """Whether a file holds tests, or what helps them: a step there is one, of a check."""
        return bool(_TESTS.search(path))

    @staticmethod
    def tests(path: str, tested: str) -> bool:
        """Whether a file holds tests of another, whose tensors are small ones on the host."""
        return Demonstrations.is_a_test(path) and not Demonstrations.is_a_test(tested)

    def _is_of_networks(self, path: str) -> bool:
        """Whether a file defines modules, no functions that train them: what it does itself is a trial of them."""
        if path not in self._of_networks:
            classes = range(len(self.types.index.outlines[path].classes))
            modules = any(self.types.is_module_class(Thing("class", path, index)) for index in classes)
            self._of_networks[path] = modules and not self._trains(path)
        return self._of_networks[path]

    def _trains(self, path: str) -> bool:
        return any(call.callee.endswith((".backward", ".step")) for call in self.types.index.outlines[path].calls)
