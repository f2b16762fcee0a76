"""What an outline keeps of a file, its positions, and what it refuses."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from torchperf_lint.errors import CannotCheck
from torchperf_lint.facts.outlines.outline import outline
from torchperf_lint.facts.outlines.records import from_json, to_json
from torchperf_lint.facts.outlines.signatures import annotation_chain, defaulted, iterated, off_by_default, parameters
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import MAX_DEPTH


def outlined(text):
    return outline("a.py", dedent(text))


def regions(text):
    """(kind, first line, last line) of every region inside the first function."""
    found = outlined(text).regions
    return [(r.kind, r.start[0], r.end[0]) for r in found if r.kind not in ("function", "class")]


@pytest.mark.parametrize(
    ("code", "imports"),
    [
        ("import torch", {"torch": "torch"}),
        ("import torch as t", {"t": "torch"}),
        ("import torch.nn.functional as F", {"F": "torch.nn.functional"}),
        ("import torch.nn.functional", {"torch": "torch"}),
        ("from torch import nn", {"nn": "torch.nn"}),
        ("from torch import nn as layers", {"layers": "torch.nn"}),
        ("from . import data", {"data": ".data"}),
        ("from .. import data", {"data": "..data"}),
        ("from .data import make", {"make": ".data.make"}),
        ("from ..core.data import make as m", {"m": "..core.data.make"}),
        ("try:\n    import a\nexcept ImportError:\n    import b as a", {"a": "b"}),
        ("if True:\n    import a", {"a": "a"}),
        ("def f():\n    import a", {"a": "a"}),
    ],
)
def test_imports(code, imports):
    assert outlined(code).imports == imports


@pytest.mark.parametrize(
    ("code", "stars"), [("from a.b import *", ["a.b"]), ("from . import *", ["."]), ("from .a import *", [".a"])]
)
def test_star_imports(code, stars):
    assert outlined(code).stars == stars


def test_functions_and_classes_know_where_they_stand():
    found = outlined("""
        class Net(Base, mixins.Extra[int]):
            @property
            def size(self):
                def inner(a, b=1):
                    pass
                return inner

        async def top(*args, c: "torch.Tensor" = None, **rest):
            pass
        """)
    by_name = {f.qualname: f for f in found.functions}
    assert set(by_name) == {"<module>", "Net.size", "Net.size.inner", "top"}
    size = by_name["Net.size"]
    assert (size.line, size.header_line, size.end_line) == (3, 4, 7)
    assert size.decorators == ("property",)
    assert [p.name for p in by_name["Net.size.inner"].parameters] == ["a", "b"]
    assert [p.default for p in by_name["Net.size.inner"].parameters] == [False, True]
    assert found.functions[by_name["Net.size.inner"].parent] is size
    assert [(p.name, p.annotation) for p in by_name["top"].parameters] == [("c", "torch.Tensor")]
    (net,) = found.classes
    assert net.bases == ("Base", "mixins.Extra[]")
    assert found.functions[net.methods["size"]] is size
    assert found.tops == {"Net": ("class", 0), "top": ("function", found.functions.index(by_name["top"]))}


def test_definitions_in_functions_and_classes_are_no_module_names():
    found = outlined("""
        def f():
            def g(): pass
            class C: pass

        class D:
            class E: pass
        """)
    assert set(found.tops) == {"f", "D"}


def test_calls_are_in_order_with_their_region_and_function():
    found = outlined("""
        def f(xs):
            first(second(xs))
            for x in head(xs):
                body(x)
        """)
    assert [c.callee for c in found.calls] == ["first", "second", "head", "body"]
    body, head = found.calls[3], found.calls[2]
    assert found.regions[body.region].kind == "loop"
    assert found.regions[head.region].kind == "function"
    assert {c.function for c in found.calls} == {1}
    assert (body.line, body.column) == (5, 9)


def test_columns_are_code_points():
    found = outlined("""s = "日本語"; print(s); "ß"; f(s)\n""")
    assert [(c.callee, c.line, c.column) for c in found.calls] == [("print", 1, 12), ("f", 1, 27)]


def test_bindings_keep_chains_items_annotations_and_with():
    found = outlined("""
        a = b.c(1)
        d, e = f()
        g: Optional[H] = i
        with open(p) as q:
            self.r = a["k"][0]
        s = 1 + 2
        """)
    assert [(b.target, b.value) for b in found.bindings] == [
        ("a", "b.c()"),
        ("d", "f()[0]"),
        ("e", "f()[1]"),
        ("g", ":H"),
        ("g", "i"),
        ("q", "open()"),
        ("self.r", "a[k][0]"),
    ]


def test_returns_keep_chains():
    found = outlined("def f():\n    return g(x).y\n\ndef h():\n    return 1 + 2")
    assert found.returns == [(1, "g().y")]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("for x in xs:\n    pass", [("loop", 2, 2)]),
        ("while True:\n    pass", [("loop", 2, 2)]),
        ("while self.viewer.is_open:\n    pass", [("debug", 2, 2), ("loop", 2, 2)]),
        ("for x in xs:\n    pass\nelse:\n    a", [("loop", 2, 2)]),
        ("r = [f(x) for x in xs]", [("comprehension", 1, 1)]),
        ("r = {k: v for k, v in xs}", [("comprehension", 1, 1)]),
        ("r = sum(x for x in xs)", [("comprehension", 1, 1)]),
        ("if step % 10 == 0:\n    a\nelse:\n    b", [("cadence", 2, 2)]),
        ("if step % 10 != 0:\n    a\nelse:\n    b", [("cadence", 4, 4)]),
        ("try:\n    a\nexcept E:\n    b\nelse:\n    c\nfinally:\n    d", [("except", 4, 4)]),
        ("with torch.no_grad():\n    a", [("grad-off", 2, 2)]),
        ("with a, torch.inference_mode():\n    b", [("grad-off", 2, 2)]),
        ("with profiler.profile() as p:\n    a", [("profile", 2, 2)]),
        ("for x in xs:\n    if step % n: continue\n    a\n    b", [("loop", 2, 4), ("cadence", 3, 4)]),
        ("assert False\na\nb", [("raise", 2, 3)]),
        ("assert False", []),
        ("assert x\na", []),
        ("def f(p=None):\n    if p is not None:\n        a", [("optional", 3, 3), ("way", 3, 3)]),
        ("def f(x):\n    if self.use_gpu:\n        x.cuda()\n    else:\n        x", [("elsewhere", 5, 5)]),
        ("def f(x):\n    if not args.cuda:\n        x\n    else:\n        x.cuda()", [("elsewhere", 3, 3)]),
        ("def f(x):\n    if args.cuda:\n        op(x)\n    else:\n        x", []),
        ("def f(cuda=None):\n    if not cuda:\n        a\n    else:\n        a.cuda()", [("way", 3, 3), ("way", 5, 5)]),
        ("def f(x, on_gpu=False):\n    if not on_gpu:\n        x", [("way", 3, 3)]),
        ("def f(x, is_cpu=False):\n    if is_cpu:\n        x", [("elsewhere", 3, 3)]),
        ("def f(p):\n    for x in xs:\n        a\n    if p.endswith(x):\n        b", [("loop", 3, 3)]),
        ("def f(p):\n    for x in xs:\n        a\n    if isinstance(y, list):\n        b", [("loop", 3, 3)]),
        ("if not self.ready:\n    self.ready = f()", [("once", 2, 2)]),
        ("match x:\n    case 1:\n        a", []),
        ("match self.state:\n    case State.STEP:\n        a", []),
        ("match self.state:\n    case State.END | State.SAVE:\n        a", [("cadence", 3, 3)]),
        ("match self.state:\n    case State.END | State.STEP:\n        a", []),
        ("match self.kind:\n    case State.END:\n        a", []),
        ("if x:\n    a\n    raise E", [("raise", 2, 3)]),
        ("a\nraise E", [("raise", 2, 2)]),
        ("a\nassert a, f(b)", [("raise", 2, 2)]),
        ("a\nassert a", []),
    ],
)
def test_regions(code, expected):
    assert regions(code) == expected


def test_an_except_star_is_a_handler():
    code = "try:\n    a\nexcept* E:\n    b"
    try:
        ast.parse(code)
    except SyntaxError:
        pytest.skip("this Python has no except*")
    assert regions(code) == [("except", 4, 4)]


def test_a_loop_knows_its_head_turns_and_iterable():
    (loop,) = [r for r in outlined("\nfor i, x in enumerate(\n    self.loader\n):\n    a").regions if r.kind == "loop"]
    assert (loop.head, loop.start, loop.turns, loop.iterable) == (2, (5, 5), None, "self.loader")
    assert loop.detail == "for i, x in enumerate(self.loader)"


@pytest.mark.parametrize("end", ["break", "return", "raise E"])
def test_a_loop_that_always_leaves_turns_once(end):
    found = outlined(f"def f(xs):\n    for x in xs:\n        g(x)\n        {end}\n")
    assert [r.turns for r in found.regions if r.kind == "loop"] == [1]


def test_regions_nest_in_their_parents():
    found = outlined("""
        class Net:
            def f(self, xs):
                for x in xs:
                    if step % 3 == 0:
                        [y for y in x]
        """)
    for region in found.regions[1:]:
        parent = found.regions[region.parent]
        assert parent.start <= region.start <= region.end <= parent.end


# -- what is refused -------------------------------------------------------------------------------

REFUSED = {
    "a syntax error": ("x = (\n", "syntax error"),
    "bad indentation": ("def f():\nreturn 1\n", "syntax error"),
    "a NUL": ("x = 1\0\n", "null bytes"),
    "brackets": ("x = " + "(" * 201 + "1" + ")" * 201, "nested parentheses"),
    "a deep sum": ("x = " + " + ".join(["a"] * (MAX_DEPTH + 2)), "nested more than"),
    "a chain of attributes": ("x = a" + ".b" * (MAX_DEPTH + 1), "nested more than"),
}


@pytest.mark.parametrize(("code", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_outlined_is_refused_with_a_reason(code, reason):
    with pytest.raises(CannotCheck, match=reason):
        outline("a.py", code)


def test_the_refusal_of_brackets_names_the_line():
    with pytest.raises(CannotCheck) as caught:
        outline("a.py", "\n\nx = " + "[" * 201)
    assert caught.value.line == 3


@pytest.mark.parametrize(
    "code",
    [
        "",
        "\n\n",
        "# only a comment",
        "x = " + " + ".join(["a"] * 900),
        "x = a" + ".b" * 900,
        "x = [" + ", ".join(["a"] * 5000) + "]",
        "x = '" + "(" * 300 + "'",
        "if a:\n    pass\n" + "elif b:\n    pass\n" * 300,
        "x = " + "f(" * 150 + ")" * 150,
    ],
    ids="empty blank comment sum attributes list string elif calls".split(),
)
def test_what_is_only_large_is_outlined(code):
    found = outline("a.py", code)
    assert found.functions[0].qualname == "<module>"
    assert from_json(to_json(found)) == found


def test_warnings_of_the_parser_are_not_ours():
    assert outline("a.py", 'x = "\\d"\nif x is 1: pass\n').bindings == []


def test_an_outline_survives_json():
    import json

    found = outlined("""
        from .a import b
        from c import *

        class Net(nn.Module):
            def __init__(self, n: int = 3):
                self.x = nn.Linear(n, n)
                for i in range(4):
                    self.f(i)
                return self.x
        """)
    assert from_json(json.loads(json.dumps(to_json(found)))) == found


@pytest.mark.parametrize("held", [None, [], {}, "text", [1, 2], list(range(10)), [["a.py"] * 10] * 10])
def test_json_that_is_no_outline_is_refused(held):
    with pytest.raises((TypeError, ValueError, KeyError, IndexError, AttributeError)):
        from_json(held)


# -- chains and signatures -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a", "a"),
        ("a.b.c", "a.b.c"),
        ("a(1).b", "a().b"),
        ("a['x']", "a[x]"),
        ("a['x y']", "a[]"),
        ("a[0]", "a[0]"),
        ("a[-1]", "a[]"),
        ("a[i][0]", "a[][0]"),
        ("a[1:2]", "a[]"),
        ("(a + b).c", "?.c"),
        ("'text'.join", "?.join"),
        ("super().f", "super().f"),
    ],
)
def test_a_chain(code, expected):
    assert chain(ast.parse(code, mode="eval").body) == expected


def test_an_awaited_chain_is_that_of_what_is_awaited():
    tree = ast.parse("async def f():\n    await g.h()").body[0]
    assert chain(tree.body[0].value) == "g.h()"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("loss.item", "item"), ("data.DataLoader()", "DataLoader"), ("a[0][k]", "a"), ("a.b()[]", "b"), ("a", "a")],
)
def test_the_last_part_of_a_chain(text, expected):
    assert last_part(text) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("loader", "loader"),
        ("enumerate(loader)", "loader"),
        ("tqdm(enumerate(self.loader), total=9)", "self.loader"),
        ("tqdm.tqdm(loader)", "loader"),
        ("zip(a, b)", "a"),
        ("metric_logger.log_every(loader, 10)", "loader"),
        ("iter(cycle(loader))", "loader"),
        ("range(9)", "range()"),
        ("make()", "make()"),
        ("enumerate()", "enumerate()"),
    ],
)
def test_what_a_loop_iterates(code, expected):
    assert iterated(ast.parse(code, mode="eval").body) == expected


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("Tensor", "Tensor"),
        ("torch.Tensor | None", "torch.Tensor"),
        ("Optional[torch.Tensor]", "torch.Tensor"),
        ("typing.Optional['Net']", "Net"),
        ("'Net | None'", "Net"),
        ("'Optional[Net]'", "Net"),
        ("list[Tensor]", "list[Tensor]"),
        ("Optional[tuple[torch.Tensor, ...]]", "tuple[torch.Tensor, ...]"),
        ("tuple[torch.Tensor, int]", "tuple[torch.Tensor, int]"),
        ("list[dict[str, Tensor]] | None", "list[dict[str, Tensor]]"),
        ("tuple[list[str], int]", "tuple[list[str], int]"),
        ("dict[str, Any]", "dict[]"),
        ("Callable[[Tensor], list[Tensor]]", "Callable[]"),
        ("dict[str, Tensor]", "dict[str, Tensor]"),
        ("dict[Tensor, Tensor]", "dict[]"),
        ("list[str]", "list[str]"),
        ("list[Net]", "list[]"),
        ("int | str", "int"),
        ("bool | torch.dtype", "bool"),
        ("int | torch.Tensor", ""),
    ],
)
def test_an_annotation(annotation, expected):
    assert annotation_chain(ast.parse(annotation, mode="eval").body) == expected


def arguments(code):
    return ast.parse(f"def f({code}): pass").body[0].args


def test_parameters_leave_out_the_stars():
    found = parameters(arguments("a, /, b: int, c=1, *rest, d, e=None, **more"))
    assert [(p.name, p.annotation, p.default) for p in found] == [
        ("a", "", False),
        ("b", "int", False),
        ("c", "", True),
        ("d", "", False),
        ("e", "", True),
    ]


def test_off_by_default_are_none_and_false_and_no_elements():
    found = off_by_default(defaulted(arguments("a, b=None, c=False, d=0, e=True, *, f=None, g, h=False, i='', j=()")))
    assert found == {"b", "c", "f", "h", "j"}


def test_labels_are_given_by_trainers_unless_there_are_none_by_default():
    assert off_by_default(defaulted(arguments("x, labels=None"))) == frozenset()
    assert off_by_default(defaulted(arguments("x, labels=()"))) == {"labels"}


def test_what_a_trainer_counts_for_its_loss_is_given():
    arguments_of = arguments("model, inputs, return_outputs=False, num_items_in_batch=None")
    assert off_by_default(defaulted(arguments_of)) == {"return_outputs"}


@pytest.mark.parametrize(
    ("code", "expected"),
    [("import torch.nn as nn", True), ("from torch import nn", True), ("import torchvision", False), ("", False)],
)
def test_whether_a_file_imports_from_a_package(code, expected):
    assert outlined(code).imports_from("torch", "jax") is expected
