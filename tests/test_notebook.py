import ast
import json

import pytest

from torchperf_lint.errors import CannotCheck
from torchperf_lint.facts.files.notebook import NotebookSource, to_source


def _code(source: object, **metadata: object) -> dict[str, object]:
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": []}


def _notebook(*cells: object, **metadata: object) -> str:
    return json.dumps({"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def _of_cells(*sources: object) -> NotebookSource:
    return to_source(_notebook(*map(_code, sources)))


def test_every_cell_begins_on_a_line_of_its_own() -> None:
    prose = {"cell_type": "markdown", "source": "# not counted"}
    source = to_source(_notebook(prose, _code(["a = 1\n", "b = 2"]), _code(""), prose, _code("c = 3\n")))
    assert source.text == "a = 1\nb = 2\n\nc = 3\n"
    assert [source.locate(line) for line in (1, 2, 3, 4, 5)] == [(1, 1), (1, 2), (2, 1), (3, 1), (3, 2)]


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1\n"),
        ("if x:\n    !ls -l\n", "if x:\n    pass\n"),
        ("!pip install \\\n  torch\nx = 1", "pass\n\nx = 1\n"),
        ("x = !ls\ny = %timeit -o f()\n", "x = None\ny = None\n"),
        ("model?\nmodel.fit??\n?model\nx = 1", "pass\npass\npass\nx = 1\n"),
        ("%%time\nx = 1\n", "pass\nx = 1\n"),
        ("\n%%capture out\nx = 1\n", "\npass\nx = 1\n"),
        ("%%bash\necho 'x\nls\n", "\n\n\n"),
        ("%%writefile a.py\nx = (", "\n\n"),
    ],
)
def test_what_python_does_not_know_gives_way(cell: str, python: str) -> None:
    assert _of_cells(cell).text == python


@pytest.mark.parametrize(
    "cell",
    [
        "x = ('%s'\n     % y)\n",
        "x = '''\n%a\n!b\nc?\n'''\n",
        "x = 1 + \\\n  2\nx %= 3\n",
        "x = y != z\n",
        "x = 1  # why?\n",
        "x = 'why?'\n",
        "f(\n    # 100 %\n    '!',\n    a=[\n        1,\n    ],\n)\n",
    ],
)
def test_python_stays_as_it_is(cell: str) -> None:
    source = _of_cells("%time\n" + cell)
    assert source.text == "pass\n" + cell
    ast.parse(source.text)


def test_columns_stay() -> None:
    source = _of_cells("%time\nfor x in y:\n    é = x.item()\n")
    assert source.text.split("\n")[2] == "    é = x.item()"


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"kernelspec": {"name": "python3", "language": "python"}},
        {"language_info": {"name": "python", "version": "3.11"}},
        {"kernelspec": None},
    ],
)
def test_python_kernels(metadata: dict[str, object]) -> None:
    assert to_source(_notebook(_code("x = 1"), **metadata)).text == "x = 1\n"


@pytest.mark.parametrize("metadata", [{"kernelspec": {"language": "julia"}}, {"language_info": {"name": "R"}}])
def test_other_kernels_have_no_python(metadata: dict[str, object]) -> None:
    source = to_source(_notebook(_code("x <- 1"), **metadata))
    assert source.text == ""
    assert source.locate(1) == (1, 1)


def test_a_cell_in_another_language_is_not_counted() -> None:
    source = to_source(_notebook(_code("ls -l", vscode={"languageId": "shellscript"}), _code("x = 1")))
    assert (source.text, source.locate(1)) == ("x = 1\n", (1, 1))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a notebook: malformed JSON"),
        ('{"cells": [\n', "not a notebook: malformed JSON"),
        ("[" * 100_000, "not a notebook: "),
        ("1" * 5_000, "not a notebook: "),
        ("[]", "not a notebook of format 4"),
        ('{"worksheets": []}', "not a notebook of format 4"),
        (_notebook({"cell_type": "code", "source": 1}), "not a notebook: a code cell's source"),
        (_notebook(_code(["a", 1])), "not a notebook: a code cell's source"),
        (_notebook(_code("x = '\0'")), "a cell of the notebook holds a NUL"),
        (_notebook(_code("x = '\ud800'")), "a cell of the notebook holds half"),
    ],
)
def test_what_is_no_notebook(text: str, reason: str) -> None:
    with pytest.raises(CannotCheck) as caught:
        to_source(text)
    assert caught.value.reason.startswith(reason)


def test_strange_cells_are_left_out() -> None:
    assert to_source(_notebook(1, None, {}, _code("x = 1"))).text == "x = 1\n"
    assert to_source(_notebook()).text == ""
