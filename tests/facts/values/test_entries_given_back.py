"""What a function puts under a text in the dict that it gives back."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.values.entries_given_back import entries
from torchperf_lint.facts.values.value import Frame

CODE = """
    def written(x):
        return {{"mask": x > 0, "x": x}}

    def named(x, more):
        made = {{"mask": x > 0}}
        {then}
        return made

    def either(x, small):
        if small:
            return {{"mask": x < 0}}
        return {{"mask": x > 0}}

    def sometimes(x, small):
        if small:
            return None
        return {{"mask": x > 0}}

    def use(x, more):
        pkg = {call}
        return pkg["mask"]
"""


def parts(call, then="pass"):
    files = texts(CODE.format(call=call, then=then))
    project = Project.of_texts(files)
    returns = [n for n in ast.walk(ast.parse(files["a.py"])) if isinstance(n, ast.Return)]
    node = max(returns, key=lambda n: n.lineno).value
    assert isinstance(node, ast.Subscript)
    use = next(i for i, f in enumerate(project.index.outlines["a.py"].functions) if f.name == "use")
    found = entries(project.values, node, Frame("a.py", use, (node.lineno, node.col_offset + 1)))
    return [ast.unparse(part) for part, _ in found]


@pytest.mark.parametrize(
    ("call", "then", "expected"),
    [
        ("written(x)", "pass", ["x > 0"]),
        ("named(x, more)", "made.update({'depth': x})", ["x > 0"]),
        ("named(x, more)", "made['depth'] = x", ["x > 0"]),
        ("either(x, 1)", "pass", ["x < 0", "x > 0"]),
        ("sometimes(x, 1)", "pass", ["x > 0"]),
        ("{'mask': x != 0}", "pass", ["x != 0"]),
        ("named(x, more)", "made.update({'mask': x})", []),
        ("named(x, more)", "made.update(mask=x)", []),
        ("named(x, more)", "made.update(more)", []),
        ("named(x, more)", "made['mask'] = x", []),
        ("{**more, 'mask': x != 0}", "pass", []),
        ("other(x)", "pass", []),
        ("{'kept': x}", "pass", []),
    ],
)
def test_what_is_under_the_key(call, then, expected):
    assert sorted(parts(call, then)) == sorted(expected)
