"""The constants that an expression is seen to be."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.constants.seen_constants import constants


def seen(snippet, call):
    """Of the first argument of a call."""
    site = site_of(snippet, call)
    return constants(site.file.project, site.call.args[0], FunctionKey(site.file.path, site.function))


@pytest.mark.parametrize(
    ("written", "value"), [("2", 2), ("0.5", 0.5), ("True", True), ("'sum'", "sum"), ("2 * n", None), ("n()", None)]
)
def test_as_written(written, value):
    assert seen(f"def f(n):\n    use({written})", f"use({written})") == {value}


@pytest.mark.parametrize(
    ("calls", "values"),
    [
        ("pass", {5}),
        ("f()", {5}),
        ("f(7)", {7}),
        ("f(every=7); f()", {5, 7}),
        ("f(some())", {None}),
        ("f(7); f(some())", {7, None}),
        ("f(**some())", {None}),
    ],
)
def test_of_a_parameter_by_its_calls_and_its_default(calls, values):
    snippet = f"def f(every=5):\n    use(every)\n\n\ndef g(some):\n    {calls}\n"
    assert seen(snippet, "use(every)") == values


@pytest.mark.parametrize(
    ("calls", "values"),
    [
        ("f()", {False}),
        ("f(fp16=True)", {True}),
        ("f(fp16=True); f(other=2)", {True, False}),
        ("f(fp16=some())", {None}),
        ("f(**some())", {None}),
    ],
)
def test_of_what_is_passed_beyond_the_named_parameters(calls, values):
    snippet = f"def f(**kwargs):\n    use(kwargs.get('fp16', False))\n\n\ndef g(some):\n    {calls}\n"
    assert seen(snippet, "use(kwargs.get('fp16', False))") == values


def test_of_a_parameter_without_a_default():
    assert seen("def f(every):\n    use(every)", "use(every)") == {None}


def test_of_an_attribute():
    snippet = """
        class Learner:
            def __init__(self, every=5):
                self.every = every

            def later(self):
                self.every = 9

            def learn(self):
                use(self.every)


        def make():
            return Learner(2)
    """
    assert seen(snippet, "use(self.every)") == {2, 9}


@pytest.mark.parametrize(
    ("bound", "values"), [("n = 3", {3}), ("n = 3\n    n = 4", {3, 4}), ("n = 3\n    n += 1", {None})]
)
def test_of_a_name(bound, values):
    assert seen(f"def f():\n    {bound}\n    use(n)", "use(n)") == values


def test_of_a_function_around():
    assert seen("def f(n=4):\n    def g():\n        use(n)\n    return g", "use(n)") == {4}


@pytest.mark.parametrize(
    ("declared", "values"),
    [
        ("add_argument('--amp', action='store_true')", {False}),
        ("add_argument('--amp', action='store_false')", {True}),
        ("add_argument('--amp', type=int, default=3)", {3}),
        ("add_argument('--amp', default=some())", {None}),
        ("add_argument('--no-amp', dest='amp', default=3)", {3}),
        ("add_argument('--amp')", {None}),
        ("add_argument('--other', default=3)", {None}),
    ],
)
def test_of_an_option(declared, values):
    snippet = f"def parse(parser, some):\n    parser.{declared}\n\n\ndef f(args):\n    use(args.amp)\n"
    assert seen(snippet, "use(args.amp)") == values


def test_of_an_option_that_another_file_declares():
    files = {
        "options.py": "def parse(parser):\n    parser.add_argument('--every', default=6)\n",
        "a.py": "def f(self):\n    use(self.args.every)\n",
    }
    assert seen(files, "use(self.args.every)") == {6}


def test_what_stands_on_no_options_is_none():
    snippet = "def parse(parser):\n    parser.add_argument('--every', default=6)\n\n\ndef f(net):\n    use(net.every)\n"
    assert seen(snippet, "use(net.every)") == {None}


@pytest.mark.parametrize(
    ("handed", "calls", "values"),
    [
        ("f(**rest)", "pass", {5}),
        ("f(**rest)", "g(every=7); g(other=1)", {5, 7}),
        ("f(every=3, **rest)", "g()", {3}),
        ("f(**rest)", "g(**some())", {None}),
        ("f(*some, **rest)", "pass", {None}),
        ("rest.update(some); f(**rest)", "pass", {None}),
        ("f(**rest, **some)", "pass", {None}),
    ],
)
def test_of_a_parameter_by_what_a_caller_hands_on(handed, calls, values):
    given = f"def g(some=(), **rest):\n    {handed}\n\n\ndef h(some):\n    {calls}\n"
    snippet = f"def f(every=5):\n    use(every)\n\n\n{given}"
    assert seen(snippet, "use(every)") == values
