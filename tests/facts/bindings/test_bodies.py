"""Which bindings may reach a use, and what else a function's body shows."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.outlines.outline import outline
from torchperf_lint.facts.syntax.syntax import parse


def body_of(text):
    text = dedent(text)
    return Body(parse(text), outline("a.py", text), text), text


def reaching(code, name="x", mark="use"):
    """The values (as written) of the bindings that reach the call of `use`, in order."""
    body, text = body_of("def f(p):\n" + "".join(f"    {line}\n" for line in code.splitlines()))
    calls = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call) and ast.unparse(n.func) == mark]
    (call,) = calls
    found = body.reaching(1, name, body.at(call))
    return None if found is None else [d.value and ast.unparse(d.value) for d in found]


REACHING = {
    "one": ("x = 1\nuse()", ["1"]),
    "the last of two": ("x = 1\nx = 2\nuse()", ["2"]),
    "none yet": ("use()\nx = 1", []),
    "not bound here": ("use()", None),
    "its own statement": ("x = 1\nx = use()", ["1"]),
    "augmented": ("x = 1\nx += 2\nuse()", ["1", "x + 2"]),
    "augmented twice": ("x = 1\nx += 2\nx -= 3\nuse()", ["1", "x + 2", "x - 3"]),
    "assigned after augmented": ("x = 1\nx += 2\nx = 3\nuse()", ["3"]),
    "in a branch": ("x = 1\nif p:\n    x = 2\nuse()", ["1", "2"]),
    "in both branches": ("if p:\n    x = 1\nelse:\n    x = 2\nuse()", ["1", "2"]),
    "inside its branch": ("x = 1\nif p:\n    x = 2\n    use()", ["2"]),
    "inside the other branch": ("x = 1\nif p:\n    x = 2\nelse:\n    use()", ["1"]),
    "elif": ("x = 1\nif p:\n    x = 2\nelif q:\n    use()\nelse:\n    x = 3", ["1"]),
    "the same test of another `if`": ("if p:\n    x = 1\nif p:\n    use()", ["1"]),
    "in a loop": ("x = 1\nfor i in p:\n    x = 2\nuse()", ["1", "2"]),
    "carried around": ("x = 1\nfor i in p:\n    use()\n    x = 2", ["1", "2"]),
    "carried around a while": ("x = 1\nwhile p:\n    use()\n    x = 2", ["1", "2"]),
    "not carried past an assignment": ("for i in p:\n    x = 1\n    use()\n    x = 2", ["1"]),
    "carried out of the inner loop only": (
        "for i in p:\n    x = 1\n    for j in i:\n        use()\n        x = 2",
        ["1", "2"],
    ),
    "carried by the outer loop": ("for i in p:\n    for j in i:\n        use()\n    x = 2", ["2"]),
    "branches of a loop": ("for i in p:\n    if i:\n        x = 1\n    else:\n        use()", ["1"]),
    "the loop's variable": ("for x in p:\n    use()", ["p"]),
    "the loop's variable afterwards": ("for x in p:\n    pass\nuse()", ["p"]),
    "with": ("with p as x:\n    use()", ["p"]),
    "with is no branch": ("x = 1\nwith p:\n    x = 2\nuse()", ["2"]),
    "try": ("x = 1\ntry:\n    x = 2\nexcept E:\n    pass\nuse()", ["2"]),
    "except": ("try:\n    x = 1\nexcept E:\n    x = 2\nuse()", ["1", "2"]),
    "finally": ("try:\n    x = 1\nfinally:\n    x = 2\nuse()", ["2"]),
    "a walrus": ("if (x := p):\n    use()", ["p"]),
    "a tuple": ("x, y = p\nuse()", ["p"]),
    "a starred rest": ("y, *x = p\nuse()", ["p"]),
    "cases": ("match p:\n    case 1:\n        x = 1\n    case _:\n        x = 2\nuse()", ["1", "2"]),
    "a comprehension's own": ("x = 1\n[use() for x in p]", ["p"]),
    "beside a comprehension": ("x = 1\n[1 for x in p]\nuse()", ["1"]),
    "a nested function's is not ours": ("x = 1\ndef g():\n    x = 2\nuse()", ["1"]),
    "an annotation without a value": ("x: int\nuse()", None),
    "after a branch that always assigns and more": ("x = 1\nif p:\n    x = 2\nx = 3\nuse()", ["3"]),
}


@pytest.mark.parametrize(("code", "expected"), REACHING.values(), ids=REACHING)
def test_reaching_bindings(code, expected):
    assert reaching(code) == expected


@pytest.mark.parametrize(
    ("code", "all_of_them", "only"),
    [
        ("x = 1\nuse()", ["1"], "1"),
        ("x = 1\nif p:\n    x = 2\nuse()", ["1", "2"], None),
        ("x = 1\nif p:\n    x += 2\nuse()", [], None),
        ("for x in p:\n    use()", [], None),
        ("x, y = p\nuse()", [], None),
        ("x, y = 1, 2\nuse()", ["1"], "1"),
        ("use()", [], None),
    ],
)
def test_what_plain_assignments_bind(code, all_of_them, only):
    body, text = body_of("def f(p):\n" + "".join(f"    {line}\n" for line in code.splitlines()))
    (call,) = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call))
    assert list(map(ast.unparse, body.assigned(1, "x", body.at(call)))) == all_of_them
    found = body.assigned_once(1, "x", body.at(call))
    assert (found and ast.unparse(found)) == only


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = 1\ntry:\n    x = g()\nexcept E:\n    use()", ["1", "g()"]),
        ("x = 1\ntry:\n    x = g()\n    x = h()\nexcept E:\n    pass\nexcept G:\n    use()", ["1", "g()", "h()"]),
        ("x = 1\ntry:\n    x = g()\nexcept E:\n    x = 2\n    use()", ["2"]),
        ("x = 1\ntry:\n    x = g()\nexcept E:\n    raise\nuse()", ["g()"]),
        ("x = 1\ntry:\n    x = g()\n    use()\nexcept E:\n    pass", ["g()"]),
        ("x = 1\ntry:\n    x = g()\nexcept E:\n    pass\nelse:\n    use()", ["g()"]),
        (
            "x = 1\ntry:\n    x = g()\n    try:\n        x = h()\n    except F:\n        use()\nfinally:\n    pass",
            ["g()", "h()"],
        ),
    ],
)
def test_a_try_may_fail_before_it_binds(code, expected):
    assert reaching(code) == expected


@pytest.mark.parametrize(
    "statement", ["import x", "from m import x", "from m import y as x", "def x(): pass", "class x: pass"]
)
def test_other_statements_bind_too(statement):
    assert reaching(f"x = 1\n{statement}\nuse()") == [None]
    assert reaching(f"x = 1\nif p:\n    {statement}\nuse()") == ["1", None]
    assert reaching(f"{statement}\nuse()") is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = 1\ng(lambda x: use(x))", [None]),
        ("x = 1\ng(lambda y: use(x))", ["1"]),
        ("x = 1\ng(lambda x: x)\nuse()", ["1"]),
        ("x = 1\ng(list(map(lambda x: use(x), rows)))", ["rows"]),
        ("x = 1\ng(map(lambda x, y: use(x + y), rows, columns))", ["rows"]),
        ("x = 1\ng(map(lambda y, x: use(x + y), rows, columns))", ["columns"]),
        ("x = 1\ng(map(lambda y, x: use(x + y), rows))", [None]),
    ],
)
def test_lambdas_bind_their_parameters(code, expected):
    assert reaching(code) == expected


def narrowed(code):
    """(classes, whether they hold) at the call of `use`."""
    body, text = body_of("def f(x, y):\n" + "".join(f"    {line}\n" for line in code.splitlines()))
    (call,) = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call) and ast.unparse(n.func) == "use"]
    found = body.narrowing(1, "x", body.at(call))
    return found and (found.classes, found.holds)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("if isinstance(x, A):\n    use()", ("A", True)),
        ("if isinstance(x, (A, B)):\n    use()", ("(A, B)", True)),
        ("if not isinstance(x, A):\n    use()", ("A", False)),
        ("if isinstance(x, A):\n    pass\nelse:\n    use()", ("A", False)),
        ("if isinstance(x, A):\n    pass\nelif y:\n    use()", ("A", False)),
        ("if isinstance(x, A):\n    if isinstance(x, B):\n        use()", ("B", True)),
        ("if y and isinstance(x, A):\n    use()", ("A", True)),
        ("if y and isinstance(x, A):\n    pass\nelse:\n    use()", None),
        ("if y or isinstance(x, A):\n    use()", None),
        ("if isinstance(y, A):\n    use()", None),
        ("if isinstance(x, A):\n    pass\nuse()", None),
        ("r = use() if isinstance(x, A) else 0", ("A", True)),
        ("if torch.is_tensor(x):\n    use()", ("torch.Tensor", True)),
        ("if not torch.is_tensor(x):\n    use()", ("torch.Tensor", False)),
        ("if torch.is_tensor(y):\n    use()", None),
        ("r = 0 if isinstance(x, A) else use()", ("A", False)),
        ("if x is None:\n    use()", None),
    ],
)
def test_where_an_isinstance_test_holds(code, expected):
    assert narrowed(code) == expected


def test_an_early_return_narrows_the_rest():
    assert narrowed("if not isinstance(x, A):\n    return 0\nuse()") == ("A", True)


def test_what_several_tests_rule_out_is_told_together():
    code = "if isinstance(x, A):\n    return 0\nif isinstance(x, B):\n    return 1\nuse()"
    assert narrowed(code) == ("(B, A)", False)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("if isinstance(x, A):\n    return 0\nx = y\nif isinstance(x, B):\n    return 1\nuse()", ("B", False)),
        ("if isinstance(x, A):\n    return 0\nif isinstance(x, B):\n    use()", ("B", True)),
        ("if not isinstance(x, A):\n    return 0\nif isinstance(x, B):\n    return 1\nuse()", ("B", False)),
    ],
)
def test_what_tells_nothing_beside_the_last_test(code, expected):
    assert narrowed(code) == expected


def test_uses_are_attributes_in_order_with_their_lines():
    body, _ = body_of("def f(x):\n    x.b()\n    x.a\n    x.y.c\n    z.d\n\n    def g():\n        x.e\n")
    assert body.uses(1, "x") == [("b", 2), ("a", 3), ("y", 4)]
    assert body.uses(1, "x.y") == [("c", 4)]
    assert body.uses(2, "x") == [("e", 8)]
    assert body.uses(1, "nothing") == []


def test_calls_are_found_by_the_outlines_records():
    text = "def f(x):\n    return 'é', g(h(x)).k(x)\n"
    found = outline("a.py", text)
    body = Body(parse(text), found, text)
    nodes = [body.call(c.function, c.line, c.column, c.callee) for c in found.calls]
    assert {ast.unparse(node) for node in nodes if node is not None} == {"h(x)", "g(h(x))", "g(h(x)).k(x)"}
    assert None not in nodes
    assert body.call(1, 1, 1, "g") is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("loss.backward()", {"loss": 2}),
        ("(a + 2 * b).backward()", {"a": 2, "b": 2}),
        ("scaler.scale(a / n).backward()", {"a": 2, "n": 2}),
        ("self.manual_backward(loss)", {"loss": 2}),
        ("accelerator.backward(-loss)", {"loss": 2}),
        ("losses['a'].mean().backward()", {"losses[a]": 2}),
        ("x.forward()", {}),
    ],
)
def test_what_backward_runs_on(code, expected):
    body, _ = body_of(f"def f(p):\n    {code}\n")
    assert body.backward_operands(1) == expected


def test_what_is_stored_in_a_container():
    body, _ = body_of("""\
        def f(p):
            x = []
            x.append(p)
            for i in p:
                x[i] = i + 1
            y.append(2)
            x.extend(p)
        """)
    assert [ast.unparse(node) for node in body.stored_items(1, "x")] == ["p", "i + 1"]
    assert body.stored_items(1, "z") == []


def test_what_a_method_assigns_to_self():
    body, _ = body_of("""\
        class A:
            def f(this, p):
                this.a = 1
                if p:
                    this.b: int = 2
                this.a.c = 3
                self.d = 4
                this.register_buffer("e", p)
                this.register_buffer(p, p)
                this.register_empty_buffer("i")
                [] = this.f = p()
                this.g, this.h = p()
        """)
    found = [(name, ast.unparse(value), buffer) for name, value, buffer in body.self_assignments(1)]
    assert found == [
        ("a", "1", False),
        ("b", "2", False),
        ("e", "p", True),
        ("i", "this.register_empty_buffer('i')", True),
        ("f", "p()", False),
        ("g", "p()[0]", False),
        ("h", "p()[1]", False),
    ]


def test_returns_are_those_of_the_function_itself():
    body, _ = body_of(
        "def f(p):\n    if p:\n        return 1\n    def g():\n        return 2\n    return\n    return 3\n"
    )
    assert [ast.unparse(node) for node in body.returns(1)] == ["1", "3"]


@pytest.mark.parametrize(
    ("code", "decisive"),
    [
        ("if n: pass", True),
        ("while g(n): pass", True),
        ("x = a[:n]", True),
        ("x = a[n]", True),
        ("x = range(n)", True),
        ("x = torch.zeros(n, 3)", True),
        ("x = a.view(-1, n)", True),
        ("x = 1 if n > 2 else 3", True),
        ("x = n + 1", False),
        ("print(n)", False),
        ("return n", False),
    ],
)
def test_names_that_decide_what_happens_next(code, decisive):
    body, _ = body_of(f"def f(n, a):\n    {code}\n")
    assert ("n" in body.decisive(1)) is decisive


def test_iterators_callees_and_loops():
    body, _ = body_of("""\
        def f(loader, x):
            it = iter(self.loader)
            g(1, x)
            self.net(x)
            h(y=x)
            for a in enumerate(loader):
                pass
        """)
    assert body.iterators(1) == {"self.loader", "loader"}
    assert body.passed_to(1, "x") == [("g", 3, 1), ("self.net", 4, 0)]
    iterable = body.loop_iterable(1, 6)
    assert iterable is not None and ast.unparse(iterable) == "enumerate(loader)"
    assert body.loop_iterable(1, 5) is None


def test_whether_a_name_is_mentioned_between_two_places():
    body, _ = body_of("def f(x):\n    a = x\n    b = 1\n    c = x\n")
    assert body.mentions_between(1, "x", (2, 1), (3, 1))
    assert not body.mentions_between(1, "x", (3, 1), (4, 9))
    assert not body.mentions_between(1, "y", (1, 1), (9, 1))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_positions_are_code_points_whatever_ends_the_lines(end):
    text = end.join(["def f():", "    s = 'ä€🔥'; x = 1", "    return s"]) + end
    body = Body(parse(text), outline("a.py", text), text)
    (definition,) = body.definitions(1)["x"]
    assert definition.at == (2, 16)
