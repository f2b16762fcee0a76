"""What the toolbox does to a text, and that it touches nothing else."""

from __future__ import annotations

import ast
from textwrap import dedent

import libcst as cst
import pytest

from torchperf_lint.errors import CannotFix
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.fixes import importing
from torchperf_lint.facts.fixes.edits import Editor, fix_of, made
from torchperf_lint.model import Edit, Safety

ENDINGS = ["\n", "\r\n", "\r"]


def applied(text, edits):
    for edit in sorted(edits, key=lambda e: (e.start, e.end), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def editor(text, function=None):
    """An editor for the last function of a text, else the module."""
    file = SourceFile(Project.of_texts({"a.py": text}), "a.py", text)
    return Editor(file, len(file.outline.functions) - 1 if function is None else function)


def call(edit, name="f"):
    """The first call of a name, as `ast` has it."""
    body = edit.file.project.body("a.py").functions[0].body
    found = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Call) and ast.unparse(n.func).endswith(name)]
    return min(found, key=lambda n: (n.lineno, n.col_offset))


def change(text, act, newline="\n"):
    text = text.replace("\n", newline)
    edit = editor(text)
    edits = act(edit)
    fix = made(Safety.SAFE, [edits] if isinstance(edits, Edit) else edits)
    done = applied(text, fix.edits)
    ast.parse(done)
    return done.replace(newline, "\n") if newline != "\n" else done


# -- arguments ------------------------------------------------------------------------------------------

KEYWORDS = [
    ("f()\n", "f(k=1)\n"),
    ("f( )\n", "f(k=1 )\n"),
    ("f(a)\n", "f(a, k=1)\n"),
    ("f(a,)\n", "f(a, k=1,)\n"),
    ("f((a))  # why\n", "f((a), k=1)  # why\n"),
    ("f(*a, **b)\n", "f(*a, **b, k=1)\n"),
    ("x = g(f(a))\n", "x = g(f(a, k=1))\n"),
    ("f(a, k=0)\n", "f(a, k=1)\n"),
    ("f(a, k = (0) , b=2)\n", "f(a, k = (1) , b=2)\n"),
    ("f (a)\n", "f (a, k=1)\n"),
    ("(f)(a)\n", "(f)(a, k=1)\n"),
    ("x.y[0](1).f(\n    a\n)\n", "x.y[0](1).f(\n    a,\n    k=1\n)\n"),
    ("f(\n    a,\n    b,\n)\n", "f(\n    a,\n    b,\n    k=1,\n)\n"),
    ("f(\n\ta,  # first\n\tb,  # last\n)\n", "f(\n\ta,  # first\n\tb,  # last\n\tk=1,\n)\n"),
    ("f(\n    a,\n    b  # last\n)\n", "f(\n    a,\n    b,  # last\n    k=1\n)\n"),
    ("f(\n    a, b\n)\n", "f(\n    a, b, k=1\n)\n"),
    ("f(a,\n  b)\n", "f(a,\n  b, k=1)\n"),
    ("f(a,\n  b,\n  c)  # why\n", "f(a,\n  b,\n  c,\n  k=1)  # why\n"),
    ("f(a,\n  b, c,\n  d)\n", "f(a,\n  b, c,\n  d, k=1)\n"),
    ("f(\n  a,\n  b=2,\n  c = 3)\n", "f(\n  a,\n  b=2,\n  c = 3,\n  k=1)\n"),
    ("f(a, b = 2)\n", "f(a, b = 2, k = 1)\n"),
    ("f(  # nothing yet\n)\n", "f(k=1  # nothing yet\n)\n"),
    ("f(\n    g(\n        a\n    ),\n)\n", "f(\n    g(\n        a\n    ),\n    k=1,\n)\n"),
    ("f(\n    'é # no comment',\n    # a comment\n)\n", "f(\n    'é # no comment',\n    k=1,\n    # a comment\n)\n"),
    ("x = 1 + \\\n    f(a)\n", "x = 1 + \\\n    f(a, k=1)\n"),
]


@pytest.mark.parametrize("newline", ENDINGS)
@pytest.mark.parametrize(("before", "after"), KEYWORDS)
def test_a_keyword_is_added_or_replaced(before, after, newline):
    assert change(before, lambda e: e.set_keyword(call(e), "k", "1"), newline) == after


@pytest.mark.parametrize(("before", "after"), KEYWORDS)
def test_wherever_the_call_stands(before, after):
    def within(text):
        return "class A:\n\tdef method(self):\n" + "".join(
            f"\t\t{line}" if line.strip() else line for line in text.splitlines(keepends=True)
        )

    if "\n\t" not in before and "\\" not in before:
        assert change(within(before), lambda e: e.set_keyword(call(e), "k", "1")) == within(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(a, b)\n", "f(a, 1)\n"),
        ("f(a)\n", "f(a, k=1)\n"),
        ("f(a, k=b)\n", "f(a, k=1)\n"),
        ("f(a, (b), c)\n", "f(a, (1), c)\n"),
        ("f(a, **b)\n", "f(a, **b, k=1)\n"),
    ],
)
def test_an_argument_by_position_is_replaced_where_it_is(before, after):
    assert change(before, lambda e: e.set_argument(call(e), "k", 1, "1")) == after


DROPS = [
    ("f(x)\n", "f()\n"),
    ("f(x,)\n", "f()\n"),
    ("f(x, a)\n", "f(a)\n"),
    ("f(a, x)\n", "f(a)\n"),
    ("f(a, x,)\n", "f(a,)\n"),
    ("f(a, x, b)\n", "f(a, b)\n"),
    ("f(a, (x), **b)\n", "f(a, **b)\n"),
    ("f(\n    a,\n    x,\n    b,\n)\n", "f(\n    a,\n    b,\n)\n"),
    ("f(\n    a,\n    x,  # why\n    b,\n)\n", "f(\n    a,\n    # why\n    b,\n)\n"),
    ("f(\n    a,\n    x\n)\n", "f(\n    a,\n)\n"),
    ("f(\n    x,\n    a,  # why\n)\n", "f(\n    a,  # why\n)\n"),
    ("f(  # why\n    x,\n)\n", "f(  # why\n)\n"),
    ("f(x,  # why\n  a)\n", "f(# why\n  a)\n"),
    ("f(x,\n  a)\n", "f(\n  a)\n"),
    ("f(a,  # why\n  x)\n", "f(a,  # why\n  )\n"),
]


@pytest.mark.parametrize("newline", ENDINGS)
@pytest.mark.parametrize(("before", "after"), DROPS)
def test_a_positional_argument_is_dropped(before, after, newline):
    def act(edit):
        found = call(edit)
        return edit.drop_argument(found, [ast.unparse(a) for a in found.args].index("x"))

    assert change(before, act, newline) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(k=x)\n", "f()\n"),
        ("f(a, k=x, **b)\n", "f(a, **b)\n"),
        ("f(\n    a,\n    k = x,  # why\n)\n", "f(\n    a,\n    # why\n)\n"),
    ],
)
def test_a_keyword_is_dropped(before, after):
    assert change(before, lambda e: e.drop_argument(call(e), "k")) == after


def test_what_is_not_there_cannot_be_dropped():
    edit = editor("f(a, *b)\n")
    for which in ("k", 1, 2):
        with pytest.raises(CannotFix):
            edit.drop_argument(call(edit), which)


@pytest.mark.parametrize("text", ["f(x for x in y)\n", "f'{f(a)}'\n", "f'{g(1):{f(a)}}'\n"])
def test_what_cannot_take_a_keyword(text):
    edit = editor(text)
    with pytest.raises(CannotFix):
        edit.set_keyword(call(edit), "k", "1")


def test_unpacked_arguments_may_pass_it_already():
    edit = editor("f(*a)\n")
    with pytest.raises(CannotFix):
        edit.set_argument(call(edit), "k", 1, "1")


# -- expressions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = loss.item()\n", "x = loss\n"),
        ("x = (a + b).item()\n", "x = (a + b)\n"),
        ("x = ((a + b)).item( )  # why\n", "x = ((a + b))  # why\n"),
        ("x = (\n    loss\n    .item()\n)\n", "x = (\n    loss\n)\n"),
        ("x = loss. \\\n    item()\n", "x = loss\n"),
        ("x = a.b[0](c).item() + 1\n", "x = a.b[0](c) + 1\n"),
    ],
)
def test_a_method_call_becomes_its_receiver(before, after):
    assert change(before, lambda e: e.unwrap(call(e, "item"))) == after


def test_a_comment_is_not_unwrapped_away():
    edit = editor("x = (\n    loss  # of the batch\n    .item()\n)\n")
    with pytest.raises(CannotFix):
        edit.unwrap(call(edit, "item"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = loss.item()\n", "x = loss.detach()\n"),
        ("x = (a\n .item())\n", "x = (a\n .detach())\n"),
        ("item(1)\n", "detach(1)\n"),
    ],
)
def test_a_method_is_renamed(before, after):
    assert change(before, lambda e: e.rename_method(call(e, "item"), "detach")) == after


@pytest.mark.parametrize(
    ("expression", "written"),
    [("a + b", "(a + b)"), ("f(x)", "f(x)"), ("-a", "(-a)"), ("a.b[0]", "a.b[0]"), ("(a + b)", "(a + b)"), ("é", "é")],
)
def test_an_operand_is_put_in_parentheses_where_it_needs_them(expression, written):
    edit = editor(f"f({expression})\n")
    assert edit.operand(call(edit).args[0]) == written


@pytest.mark.parametrize(
    "text", ["f((a, b))\n", "f(( a, b ))\n", "f(\n    (a for a in b),\n 1)\n", "f(a)\n", "f(not a)\n"]
)
def test_nodes_of_ast_are_found(text):
    edit = editor(text)
    wanted = call(edit).args[0]
    assert ast.unparse(ast.parse(f"({edit.source(wanted)})", mode="eval").body) == ast.unparse(wanted)


def test_the_innermost_node_of_a_kind():
    edit = editor("for x in y:\n    while z:\n        f(x)\n")
    assert isinstance(edit.around(call(edit), cst.For), cst.For)
    assert edit.around(call(edit), cst.With) is None


# -- statements -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("newline", ENDINGS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a()\nf()\nb()\n", "a()\nb()\n"),
        ("a()\nf()  # why\n# b\nb()\n", "a()\n# b\nb()\n"),
        ("a()\n# of f\nf()\n", "a()\n# of f\n"),
        ("a()\nf()", "a()\n"),
        ("a(); f(); b()\n", "a(); b()\n"),
        ("f(); b()  # why\n", "b()  # why\n"),
        ("a(); f()\n", "a()\n"),
        ("a(); f() ;\n", "a() ;\n"),
        ("f() ;\nb()\n", "b()\n"),
        ("if x:\n    f()  # why\nb()\n", "if x:\n    pass  # why\nb()\n"),
        ("if x:\n    f()\n    b()\n", "if x:\n    b()\n"),
        ("if x: f()\n", "if x: pass\n"),
        ("if x: a(); f()\n", "if x: a()\n"),
        ("if x:\n    a()\nelse:\n    f()\n", "if x:\n    a()\nelse:\n    pass\n"),
        ("def g():\n    '''Docstring.'''\n    f()\n", "def g():\n    '''Docstring.'''\n"),
        ("f(\n    1,\n)\nb()\n", "b()\n"),
        ("a()\nf(1 + \\\n  2)\nb()\n", "a()\nb()\n"),
        ("a()\n\x0c\nf()\nb()\n", "a()\n\x0c\nb()\n"),
        ("x = 1\nfor i in y:\n    f(i)\n\nb()\n", "x = 1\nfor i in y:\n    pass\n\nb()\n"),
        ("a()\n\nf()\n\nb()\n", "a()\n\nb()\n"),
        ("a()\n \nf()\n\n\nb()\n", "a()\n \n\nb()\n"),
        ("a()\n\n\nf()\n\nb()\n", "a()\n\n\nb()\n"),
        ("a()\nf()\n\nb()\n", "a()\n\nb()\n"),
        ("a()\n\nf()\nb()\n", "a()\n\nb()\n"),
        ("a()\n\n# of f\nf()\n\nb()\n", "a()\n\n# of f\n\nb()\n"),
        ("if x:\n    f()\n\n    b()\n", "if x:\n    b()\n"),
        ("if x:\n    # of f\n    f()\n\n    b()\n", "if x:\n    # of f\n\n    b()\n"),
        ("if x:\n    a()\n\n    f()\n\nb()\n", "if x:\n    a()\n\nb()\n"),
        ("if x:\n    if y:\n        f()\n        b()\n", "if x:\n    if y:\n        b()\n"),
    ],
)
def test_a_statement_is_dropped(before, after, newline):
    assert change(before, lambda e: e.drop_statement(call(e)), newline) == after


def test_a_compound_statement_is_dropped_with_its_lines():
    text = "def g():\n\tif x:\n\t\tf()\n\t\t# end\n\ta()\n"
    done = change(text, lambda e: e.drop_statement(e.around(call(e), cst.If)))
    assert done == "def g():\n\t\t# end\n\ta()\n"


@pytest.mark.parametrize("newline", ENDINGS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a()\nf()\n", "a()\nx = 1\nf()\n"),
        ("# of f\nf()  # why\n", "# of f\nx = 1\nf()  # why\n"),
        ("def g():\n\n\tf()", "def g():\n\n\tx = 1\n\tf()"),
        ("a(); f()\n", "a(); x = 1; f()\n"),
        ("f(); a()\n", "x = 1\nf(); a()\n"),
        ("if y: f()\n", "if y: x = 1; f()\n"),
        ("y = [\n    f()\n]\n", "x = 1\ny = [\n    f()\n]\n"),
        (
            "class A:\n  @d\n  def g(self, z=f()):\n    pass\n",
            "class A:\n  x = 1\n  @d\n  def g(self, z=f()):\n    pass\n",
        ),
    ],
)
def test_a_statement_is_put_before(before, after, newline):
    assert change(before, lambda e: e.insert_before(call(e), "x = 1"), newline) == after


def test_nothing_can_stand_before_an_elif():
    edit = editor("if a:\n    b()\nelif f():\n    pass\n")
    with pytest.raises(CannotFix):
        edit.insert_before(call(edit), "x = 1")


@pytest.mark.parametrize("newline", ENDINGS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f()\na()\n", "f()\nx = 1\na()\n"),
        ("def g():\n\tf()  # why\n", "def g():\n\tf()  # why\n\tx = 1\n"),
        ("a()\nf()", "a()\nf()\nx = 1"),
        ("f(); a()\n", "f(); x = 1; a()\n"),
        ("a(); f()  # why\n", "a(); f()  # why\nx = 1\n"),
        ("if y: f()\n", "if y: f(); x = 1\n"),
        ("y = f(\n    1,\n)\n", "y = f(\n    1,\n)\nx = 1\n"),
    ],
)
def test_a_statement_is_put_after(before, after, newline):
    assert change(before, lambda e: e.insert_after(call(e), "x = 1"), newline) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "def g():\n    for i in y:\n        f(i)\n    return i\n",
            "def g():\n    for i in y:\n        f(i)\n    x = 1\n    if x:\n        b()\n    return i\n",
        ),
        (
            "for i in y:\n    f(i)  # why\n    # end\n\na()\n",
            "for i in y:\n    f(i)  # why\nx = 1\nif x:\n    b()\n    # end\n\na()\n",
        ),
        ("for i in y: f(i)", "for i in y: f(i)\nx = 1\nif x:\n    b()"),
    ],
)
def test_statements_are_put_after_a_loop(before, after):
    assert change(before, lambda e: e.insert_after(e.around(call(e), cst.For), "x = 1\nif x:\n    b()")) == after


def test_several_lines_cannot_share_one():
    edit = editor("f(); a()\n")
    with pytest.raises(CannotFix):
        edit.insert_after(call(edit), "x = 1\ny = 2")


# -- imports --------------------------------------------------------------------------------------------


def test_a_package_imported_twice_by_name_is_one_package():
    text = "import torch\nimport torch.nn\nimport torch.nn.functional as F\nf()\n"
    assert required(text) == ("torch.stack", text)


def test_of_those_that_hold_an_import_one_is_fixed_at_a_time():
    edit = editor("from a import b, c\nf(b, b)\n")
    (held,) = importing.hold(edit, "b")
    assert applied(edit.text, [held]) == edit.text
    assert held.touches(held)
    assert importing.hold(edit, "f") == []


def required(before, dotted="torch.stack"):
    edit = editor(dedent(before))
    written, edits = importing.require(edit, dotted)
    return written, applied(edit.text, edits)


@pytest.mark.parametrize(
    ("before", "written"),
    [
        ("import torch\n", "torch.stack"),
        ("import torch as th\n", "th.stack"),
        ("import torch.nn.functional\n", "torch.stack"),
        ("from torch import stack\n", "stack"),
        ("from torch import stack as s, nn\nimport torch\n", "s"),
        ("import os, torch\ndef f(x):\n    return x\n", "torch.stack"),
        ("import torch\ndef g(torch):\n    pass\ndef f(x):\n    return x\n", "torch.stack"),
    ],
)
def test_an_import_is_reused(before, written):
    assert required(before) == (written, before)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "import torch\n"),
        ("x = 1\n", "import torch\n\nx = 1\n"),
        ("# © us\nx = 1\n", "# © us\nimport torch\n\nx = 1\n"),
        ('"""Docstring."""\n\nx = 1\n', '"""Docstring."""\n\nimport torch\n\nx = 1\n'),
        ("import os\n\nx = 1\n", "import os\nimport torch\n\nx = 1\n"),
        (
            "'''D.'''\nfrom __future__ import annotations\n\nx = 1\n",
            "'''D.'''\nfrom __future__ import annotations\n\nimport torch\n\nx = 1\n",
        ),
        ("import os; import sys  # both\nx = 1\n", "import os; import sys  # both\nimport torch\nx = 1\n"),
        (
            "from a import (\n    b,\n)\nimport c\nx = 1\nimport d\n",
            "from a import (\n    b,\n)\nimport c\nimport torch\nx = 1\nimport d\n",
        ),
        ("from .torch import stack\n", "from .torch import stack\nimport torch\n"),
    ],
)
def test_an_import_is_added(before, after):
    written, done = required(before)
    assert (written, done) == ("torch.stack", after)
    ast.parse(done)


@pytest.mark.parametrize(
    "before",
    [
        "import torch\ndef f(torch):\n    return 1\n",
        "import torch\ndef f():\n    torch = 1\n",
        "def f():\n    import torch\n    return torch\n",
        "try:\n    import torch\nexcept ImportError:\n    torch = None\n",
        "from lib import torch\n",
        "torch = 1\n",
        "def torch():\n    pass\n",
    ],
)
def test_a_name_that_means_something_else_is_not_taken(before):
    with pytest.raises(CannotFix):
        required(before)


def released(before, bound="f", uses=1, path="a.py", others=()):
    file = SourceFile(Project.of_texts({path: before, **dict(others)}), path, before)
    return applied(before, importing.release(Editor(file, 0), bound, uses))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import f\nf()\n", "f()\n"),
        ("import f\nf()  # f of 'f'\nx = 'f'\n", "f()  # f of 'f'\nx = 'f'\n"),
        ("from a import f\nf()\n", "f()\n"),
        ("from a import f, g\nf()\n", "from a import g\nf()\n"),
        ("from a import g, b as f\nf()\n", "from a import g\nf()\n"),
        ("from a import (\n    f,\n    g,\n)\nf()\n", "from a import (\n    g,\n)\nf()\n"),
        ("from a import (g,  # why\n               f)\nf()\n", "from a import (g,  # why\n               )\nf()\n"),
        ("import os; import f\nf()\n", "import os\nf()\n"),
    ],
)
def test_an_import_without_another_use_is_removed(before, after):
    assert released(before) == after
    ast.parse(after)


@pytest.mark.parametrize(
    "before",
    [
        "from a import f\nf(f)\n",
        "from a import f\nf()\n__all__ = ['f']\n",
        "from a import f\nf()\ndef g(x: 'list[f]') -> int:\n    pass\n",
        "from a import f  # noqa: F401\nf()\n",
        "try:\n    from a import f\nexcept ImportError:\n    pass\nf()\n",
        "from a import f\nfrom b import f\nf()\n",
    ],
)
def test_an_import_that_may_be_used_stays(before):
    assert released(before) == before


def test_an_import_that_others_take_from_here_stays():
    text = "from a import f\nf()\n"
    assert released(text, path="pkg/__init__.py") == text
    assert released(text, others={"b.py": "from a import f\n"}.items()) == text
    assert released(text, others={"b.py": "from .a import *\n"}.items()) == text
    assert released(text, others={"b.py": "from .c import f\n"}.items()) != text


# -- fixes ----------------------------------------------------------------------------------------------


def test_a_fix_holds_each_edit_once_in_order():
    edits = [Edit(5, 5, "b"), Edit(0, 1, "a"), Edit(5, 5, "b")]
    assert made(Safety.SAFE, edits).edits == (Edit(0, 1, "a"), Edit(5, 5, "b"))
    assert made(Safety.SAFE, []) is None


@pytest.mark.parametrize("edits", [[Edit(0, 5, ""), Edit(3, 4, "")], [Edit(1, 1, "a"), Edit(1, 1, "b")]])
def test_edits_of_a_fix_do_not_overlap(edits):
    with pytest.raises(CannotFix):
        made(Safety.SAFE, edits)


def test_what_cannot_be_made_is_no_fix():
    text = "def g():\n    f'{f(a)}'\n"
    file = SourceFile(Project.of_texts({"a.py": text}), "a.py", text)

    class Place:
        pass

    place = Place()
    place.file, place.function = file, 1
    assert fix_of(place, Safety.SAFE, lambda edit: edit.set_keyword(call(edit), "k", "1")) is None
