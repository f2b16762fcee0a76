"""libcst's positions are those of `ast`, whatever part of the file was parsed."""

from __future__ import annotations

import ast
import sys
from textwrap import dedent

import libcst as cst
import pytest

from torchperf_lint.errors import CannotCheck
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.tree import TooDeepToLocate, outermost, unit_of
from torchperf_lint.facts.outlines.outline import outline
from torchperf_lint.facts.syntax.syntax import parse
from torchperf_lint.facts.syntax.text import split_lines


def calls_of_ast(text):
    """(start, end) of every call, 1-based code points, by `ast`."""
    tree = parse(text)
    body = Body(tree, outline("a.py", text), text)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return sorted((body.at(node), body.at(node, end=True)) for node in nodes)


def calls_of_units(text):
    """The same by libcst, unit by unit."""
    found = outline("a.py", text)
    units = {outermost(found, index) for index in range(len(found.functions))}
    spans = set()
    for number in sorted(units):
        unit = unit_of(found, split_lines(text), number)
        spans |= {unit.span(node) for node in unit.nodes if isinstance(node, cst.Call)}
    return sorted(spans)


TEXTS = {
    "a module": "f(1)\nx = g(h(2), 3)\n",
    "a function": "def f(x):\n    return g(x)\n",
    "a method": "class A:\n    def f(self):\n        return g(self)\n",
    "a method of a nested class": "class A:\n    class B:\n        def f(self):\n            return g(self)\n",
    "a function in an if": "if p():\n    def f():\n        return g()\nelse:\n    h()\n",
    "functions in functions": "def f():\n    def g():\n        return h()\n    return g()\n",
    "decorators": "@a(1)\n@b.c(\n    2,\n)\ndef f():\n    g()\n",
    "decorators of a method": "class A:\n    @a(1)\n    @b(2)\n    def f(self):\n        g()\n\n    h()\n",
    "defaults": "def f(x=g(1), *, y: h(2) = 3) -> k(4):\n    pass\n",
    "async": "async def f():\n    async with a() as b, c():\n        await d(b)\n    async for x in e(): g(x)\n",
    "tabs": "def f():\n\tif x:\n\t\treturn g(h(1))\n",
    "tabs in a class": "class A:\n\tdef f(self):\n\t\treturn g(\n\t\t\th(1),\n\t\t)\n\n\tx = k()\n",
    "two spaces": "class A:\n  def f(self):\n    g()\n  def h(self):\n    k()\n",
    "CRLF": "def f():\r\n    g(1)\r\n\r\nclass A:\r\n    def h(self):\r\n        k(\r\n            2)\r\n",
    "non-ASCII": "def f():\n    s = 'äöü€'; g(s); h('日本語', k(1))\n    é = g('🔥')\n",
    "non-ASCII before a method": "# ünï\nclass A:\n    ä = 1\n    def f(self): return g('ö'), h()\n",
    "f-strings in parts": "def f(x):\n    return f'{x}' + g(f'{h}') + 'ß' + k()\n",
    "nested calls": "def f():\n    return a(b(c(d(1)(2))(3), e()))(4)\n",
    "chains of methods": "def f(x):\n    return (\n        x.a()\n        .b(1)\n        .c(d())\n    )\n",
    "parentheses": "def f(x):\n    return ((g((x))).h)()\n",
    "one line": "def f(): return g(); h()\nclass A: x = k()\n",
    "comments and blanks": "\n# a\n\ndef f():\n\n    # b\n    g()  # c\n\n\n# d\nh()\n",
    "no newline at the end": "def f():\n    g()",
    "a docstring": 'def f():\n    """Text.\n\n    h()\n    """\n    return g()\n',
    "a string over lines": "def f():\n    x = '''\na()\n'''; g(x)\n    h()\n",
    "a backslash": "def f():\n    x = \\\n        g(1)\n    return h(x)\n",
    "a form feed": "def f():\n    g()\n\f\ndef h():\n    k()\n",
    "lambdas and comprehensions": "def f(xs):\n    return [g(x) for x in h(xs) if (lambda y: k(y))(x)]\n",
    "a line separator in a string": "def f():\n    x = 'a\u2028b'; g(x)\n    return h()\n",
    "match": "def f(x):\n    match g(x):\n        case A():\n            return h()\n",
}
FSTRING = "def f(x):\n    return f'{g(x)} {h(x):{k(x)}} ö' + m()\n"


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_positions_are_those_of_ast(text):
    assert calls_of_units(text) == calls_of_ast(text)


def test_positions_beside_and_within_an_f_string():
    """Older Pythons do not know where the parts of an f-string stand."""
    found = set(calls_of_units(FSTRING))
    column = FSTRING.splitlines()[1].index("m()") + 1
    assert ((2, column), (2, column + 3)) in found
    inner = FSTRING.splitlines()[1].index("g(x)") + 1
    assert ((2, inner), (2, inner + 4)) in found


@pytest.mark.parametrize("depth", range(6))
@pytest.mark.parametrize("indent", [" ", "    ", "\t"])
def test_positions_at_any_indentation(depth, indent):
    lines = [indent * level + f"class A{level}:" for level in range(depth)]
    lines += [indent * depth + "def f(self):", indent * (depth + 1) + "return g(h(1), 'é', k())"]
    text = "\n".join(lines) + "\n"
    found = calls_of_units(text)
    assert len(found) == 3
    assert found == calls_of_ast(text)


def test_a_call_is_found_by_its_place_and_name():
    text = "def f(x):\n    return x.a(1).b(2)(3)\n"
    unit = unit_of(outline("a.py", text), split_lines(text), 1)
    start = (2, 12)
    assert len([node for node in unit.nodes if isinstance(node, cst.Call)]) == 3
    a = unit.call_at(start, "a")
    assert a is not None and unit.span(a) == (start, (2, 18))
    b = unit.call_at(start, "b")
    assert b is not None and unit.span(b)[0] == start
    assert unit.call_at(start, "c") is None
    assert unit.call_at((2, 13), "a") is None


def test_parents_lead_to_the_module():
    text = "def f(x):\n    return [g(y) for y in x]\n"
    unit = unit_of(outline("a.py", text), split_lines(text), 1)
    node = next(n for n in unit.nodes if isinstance(n, cst.Call))
    steps = []
    while node in unit.parents:
        node = unit.parents[node]
        steps.append(type(node).__name__)
    assert steps[-1] == "Module"
    assert "ListComp" in steps and "Return" in steps


def test_the_module_is_parsed_without_its_functions():
    text = dedent("""\
        x = a()
        @decorated()
        def f():
            broken_inside()
        class A:
            y = b()
            def g(self): c()
        z = d()
        """)
    unit = unit_of(outline("a.py", text), split_lines(text), 0)
    names = {node.func.value for node in unit.nodes if isinstance(node, cst.Call)}
    assert names == {"a", "b", "d"}


DEEP = {
    "a sum": " + ".join(["f(x)"] + ["x"] * 900),
    "a sum to the right": "f(x) + (" + " ** ".join(["x"] * 400) + ")",
    "attributes": "f(x)" + ".a" * 900,
    "comparisons": "f(x) < " + " < ".join(["x"] * 900),
    "strings": "f(x) + " + " ".join(["'x'"] * 900),
    "and": "f(x) and " + " and ".join(["x"] * 900),
    "methods": "f(x)" + ".a()" * 300,
}


@pytest.mark.parametrize("expression", DEEP.values(), ids=DEEP)
def test_deep_expressions_have_positions(expression):
    text = f"def g(x):\n    return {expression}\n"
    found = outline("a.py", text)
    unit = unit_of(found, split_lines(text), 1)
    try:
        call = unit.call_at((2, 12), "f")
    except TooDeepToLocate:
        # Python 3.12 bounds recursion in C by itself; the order of calls is known all the same.
        assert sys.version_info[:2] == (3, 12)
        assert len(unit.calls_named("f")) == 1
        return
    assert call is not None
    assert unit.span(call) == ((2, 12), (2, 16))


def test_a_finding_in_a_deep_expression_has_its_place_on_every_python():
    deep = " + ".join(["a"] * 900)
    text = (
        "def train(model, loader, a):\n"
        "    for x in loader:\n"
        "        loss = model(x)\n"
        "        loss.backward()\n"
        f"        total = {deep} + loss.item() + loss.item()\n"
    )
    file = SourceFile(Project.of_texts({"a.py": text}), "a.py", text)
    found = [site.location for site in file.hot_calls("item")]
    column = text.splitlines()[4].index("loss.item()") + 1
    assert [(at.line, at.column, at.end_column) for at in found] == [
        (5, column, column + 11),
        (5, column + 14, column + 25),
    ]
    assert [type(site.node).__name__ for site in file.hot_calls("item")] == ["Call", "Call"]


@pytest.mark.parametrize("indent", ["", "    "])
def test_what_libcst_cannot_parse_is_refused_with_the_line_of_the_file(indent):
    head = ["class A:", "    a = 1", ""] if indent else ["a = 1", "b = 2", ""]
    lines = [*head, f"{indent}def f():", f"{indent}    return 1"]
    found = outline("a.py", "\n".join(lines))
    with pytest.raises(CannotCheck) as caught:
        unit_of(found, [*lines[:4], f"{indent}    return 1 2"], 1)
    assert caught.value.line == 5


def test_the_outermost_function():
    found = outline(
        "a.py",
        "def f():\n    def g():\n        def h():\n            pass\n\nclass A:\n    def k(self):\n        pass\n",
    )
    by_name = {f.name: i for i, f in enumerate(found.functions)}
    assert [outermost(found, by_name[n]) for n in ("f", "g", "h", "k")] == [by_name[n] for n in ("f", "f", "f", "k")]
    assert outermost(found, 0) == 0


def test_a_call_behind_a_long_chain_of_elif_is_located():
    branches = "".join(f"    elif k == {n}:\n        y = {n}\n" for n in range(400))
    text = f"def f(k):\n    if k:\n        y = 0\n{branches}    return g(y)\n"
    assert calls_of_units(text) == calls_of_ast(text)
