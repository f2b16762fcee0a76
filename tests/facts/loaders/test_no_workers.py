"""Why a loader has no workers."""

from __future__ import annotations

from textwrap import dedent

import pytest
from calls_in import site_of

from torchperf_lint.facts.loaders.no_workers import no_workers

CALL = "DataLoader(data, num_workers=workers)"
OPTION = "DataLoader(data, num_workers=args.workers)"


def told(snippet, call=CALL):
    site = site_of(snippet, call)
    return no_workers(site.file.project, site.call, site.frame)


@pytest.mark.parametrize(
    "call",
    ["DataLoader(data)", "DataLoader(data, num_workers=0)", "DataLoader(data, 8, True, None, None, 0)"],
)
def test_said_by_the_call(call):
    assert told(f"def f(data):\n    return {call}", call).because == ""


@pytest.mark.parametrize(
    "call",
    [
        "DataLoader(data, num_workers=4)",
        "DataLoader(data, **options)",
        "DataLoader(*data)",
        "DataLoader(data, num_workers=0 if debug else 4)",
        "DataLoader(data, num_workers=os.cpu_count())",
        "DataLoader(data, **({'num_workers': 4} if debug else {}))",
    ],
)
def test_some_or_unknown(call):
    assert told(f"def f(data, options, debug):\n    return {call}", call) is None


@pytest.mark.parametrize("spread", ["{'num_workers': 0, 'pin_memory': True} if cuda else {}", "{} if cuda else {}"])
def test_none_either_way(spread):
    written = f"DataLoader(data, **({spread}))"
    assert told(f"def f(data, cuda):\n    return {written}", written) is not None
    named = "DataLoader(data, **more)"
    assert told(f"def f(data, cuda):\n    more = {spread}\n    return {named}", named) is not None


LOADER = """
def loader_of(data, workers=0):
    return DataLoader(data, num_workers=workers)

"""


@pytest.mark.parametrize("given", ["", ", 0", ", workers=0", ", NONE"])
def test_a_parameter_that_no_call_gives_another_value(given):
    assert "0" in told(f"NONE = 0\n{LOADER}a = loader_of(rows{given})\nb = loader_of(rows)").because


@pytest.mark.parametrize(
    "calls",
    ["", "loader_of(rows, 4)", "loader_of(rows)\nloader_of(rows, 2)", "loader_of(rows, n)", "loader_of(rows, **more)"],
)
def test_a_parameter_that_somebody_may_give(calls):
    assert told(LOADER + calls) is None


def test_a_parameter_that_the_documentation_offers():
    offered = LOADER.replace("0):\n", '0):\n    """Args: workers: how many processes load."""\n')
    assert told(f"{offered}a = loader_of(rows)") is None


def test_a_parameter_that_is_set_in_the_function():
    snippet = "def loader_of(data, workers=0):\n    workers = workers or 4\n" f"    return {CALL}\nloader_of(rows)"
    assert told(snippet) is None


def test_what_an_object_holds():
    snippet = """
    class Data:
        def __init__(self, rows, workers=0):
            self.workers = workers

        def loader(self, data):
            return DataLoader(data, num_workers=self.workers)

    """
    call = "DataLoader(data, num_workers=self.workers)"
    assert told(dedent(snippet) + "Data(rows).loader(rows)\n", call) is not None
    assert told(dedent(snippet) + "Data(rows, 4).loader(rows)\n", call) is None


HOLDS = """
class Data:
    def __init__(self, rows):
        self.workers = 0

    def loader(self, data):
        return DataLoader(data, num_workers=self.workers)

"""


@pytest.mark.parametrize(
    "more",
    [
        "data = Data(rows)\ndata.workers = 8",
        "class Quick(Data):\n    def __init__(self, rows):\n        super().__init__(rows)\n        self.workers = 8",
        "class Quick(Data):\n    workers = 8",
    ],
)
def test_what_others_set_of_an_object(more):
    call = "DataLoader(data, num_workers=self.workers)"
    assert told(HOLDS, call).because == "`self.workers` is 0 (a.py:10)"
    assert told(HOLDS + more, call) is None


@pytest.mark.parametrize(
    "more",
    [
        "def main():\n    global rows, workers\n    workers = 8",
        "def main():\n    globals()['workers'] = 8",
        "exec(open('told.py').read())",
        "import a\na.workers = 8",
    ],
)
def test_a_name_of_the_module_that_others_set(more):
    loader = f"workers = 0\ndef f(data):\n    return {CALL}\n"
    assert told(loader).because == "`workers` is 0 (a.py:8)"
    assert told(loader + "def main():\n    global rows\n    rows = 8") is not None
    assert told(loader + more) is None


@pytest.mark.parametrize(
    ("partial", "none"),
    [
        ("partial(loader_of, workers=8)", False),
        ("functools.partial(loader_of, **more)", False),
        ("partial(loader_of, rows, 8)", False),
        ("partial(loader_of)", True),
        ("partial(rows_of, workers=8)", True),
    ],
)
def test_a_parameter_that_a_partial_gives(partial, none):
    assert (told(f"{LOADER}quick = {partial}\nloader_of(rows)") is not None) is none


def option(declared, more="", call=OPTION):
    return told({"options.py": f"{declared}\n{more}", "train.py": f"def f(data, args):\n    return {call}"}, call)


@pytest.mark.parametrize(
    "declared",
    [
        "parser.add_argument('--workers', type=int, default=0)",
        "parser.add_argument('-w', '--workers', default=0)",
        "group.add_argument('--threads', dest='workers', default=0)",
        "flags.DEFINE_integer('workers', 0, 'how many')",
    ],
)
def test_an_option(declared):
    found = option(declared)
    assert found.by_option and "is 0 by default (options.py:" in found.because
    call = "DataLoader(data, num_workers=int(self.args.workers))"
    assert option(declared, call=call).by_option


def test_an_option_whose_flags_are_not_written_out():
    found = option("parser.add_argument(*flags, dest='workers', default=0)")
    assert found.because == "`workers` is 0 by default (options.py:8)"


@pytest.mark.parametrize(
    ("declared", "more"),
    [
        ("parser.add_argument('--workers', default=4)", ""),
        ("parser.add_argument('--workers', required=True)", ""),
        ("parser.add_argument('--worker', default=0)", ""),
        ("parser.add_argument('--workers', default=0)", "other.add_argument('--workers', default=2)"),
        ("parser.add_argument('--workers', default=0)", "args.workers = 8"),
        ("parser.add_argument('--workers', default=0)", "parser.set_defaults(lr=1, workers=8)"),
        ("parser.add_argument('--workers', default=0)", "run('train.py --workers 8')"),
        ("parser.add_argument('--workers', default=0)", "run([python, 'train.py', '--workers', '8'])"),
        ("parser.add_argument('--workers', default=0)", "setattr(args, 'workers', 8)"),
        ("parser.add_argument('--threads', dest='workers', default=0)", "run('train.py --threads 8')"),
    ],
)
def test_an_option_that_may_be_set(declared, more):
    assert option(declared, more) is None


def test_the_parser_of_the_file_counts_and_what_sets_it_to_nothing_does_not():
    own = "parser.add_argument('--workers', default=0)\nargs.workers = 0\n" f"def f(data):\n    return {OPTION}"
    assert told({"other.py": "parser.add_argument('--workers', default=8)", "train.py": own}, OPTION).by_option


def test_an_attribute_of_something_else():
    call = "DataLoader(data, num_workers=pool.workers)"
    assert option("parser.add_argument('--workers', default=0)", call=call) is None
