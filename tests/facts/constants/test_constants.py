"""Which numbers are the same at every step, and which a step may change."""

from __future__ import annotations

import ast
from textwrap import dedent, indent
from unittest import mock

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.constants import constants
from torchperf_lint.facts.constants.configured import CONFIGURED, GIVEN, LITERAL, SHAPE
from torchperf_lint.facts.constants.constants import constancy
from torchperf_lint.facts.constants.multiplied_lists import repeats_one_number
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.values.value import Frame

MODULE = """
import math

SIZES = (8, 16)

class M(nn.Module):
    def __init__(self, strides=(8, 16), prior: float = 0.1, given=None, hint: "list" = None):
        super().__init__()
        self.strides = strides
        self.prior = prior
        self.given = given
        self.both = (1, prior)
        self.seen = [0]
        self.ratio = 1.0

    def remember(self, n):
        self.seen.append(n)
        self.ratio = n

    def resized(self, x: torch.Tensor, n):
        h, w = x.shape[-2:]
        if h > 8:
            return x, h / 8, 1.0, n
        return x, w / 8, 2.0, n

    def forward(self, x: torch.Tensor, n, rows: list):
{body}
        return answer
"""


def asked(body, function=constancy):
    """What is found of the value of `answer`, in a forward pass."""
    text = IMPORTS + MODULE.format(body=indent(dedent(body).strip(), " " * 8))
    project = Project.of_texts({"a.py": text})
    found = project.body("a.py")
    nodes = [
        n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "answer"
    ]
    outline = project.index.outlines["a.py"]
    index = next(i for i, record in enumerate(outline.functions) if record.name == "forward")
    return function(project.values, nodes[-1].value, Frame("a.py", index, found.at(nodes[-1].value)))


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("1", LITERAL),
        ("-0.5", LITERAL),
        ("[1, 2.0, -3]", LITERAL),
        ("((1, 2), (3, 4))", LITERAL),
        ("1 / 3", LITERAL),
        ("float('-inf')", LITERAL),
        ("math.pi / 2", LITERAL),
        ("math.log(2.0)", LITERAL),
        ("np.inf", LITERAL),
        ("np.finfo(float).eps * 4", LITERAL),
        ("torch.finfo(x.dtype).min", LITERAL),
        ("[2**k for k in range(4)]", LITERAL),
        ("SIZES", LITERAL),
        ("sorted(SIZES)", LITERAL),
        ("sorted(rows)", None),
        ("SIZES[0]", LITERAL),
        ("len(SIZES)", LITERAL),
        ("self.strides", CONFIGURED),
        ("self.strides[0]", CONFIGURED),
        ("self.both", CONFIGURED),
        ("[self.prior, 1]", CONFIGURED),
        ("x.shape", SHAPE),
        ("x.shape[-2:]", SHAPE),
        ("np.asarray(rows).shape[:2]", None),
        ("np.asarray(rows)[0]", None),
        ("np.zeros(x.shape)", SHAPE),
        ("[x.size(0), 1]", SHAPE),
        ("x.numel() // 2", SHAPE),
        ("len(x)", SHAPE),
        ("torch.numel(x)", SHAPE),
        ("x.shape[0] if n else 1", SHAPE),
        ("2.0 if n else 1.0", LITERAL),
        ("2.0 if n else n", None),
        ("[i / x.shape[0] for i in range(x.shape[0])]", SHAPE),
        ("n", None),
        ("[n, 1]", None),
        ("rows", None),
        ("len(rows)", None),
        ("rows[0]", None),
        ("SIZES[n]", None),
        ("'text'", None),
        ("None", None),
        ("[]", None),
        ("x", None),
        ("self.given", None),
        ("self.seen", None),
        ("self.ratio", None),
        ("self.unknown", None),
        ("[n for k in range(4)]", None),
        ("unknown(1)", None),
        ("self.action_space.high", CONFIGURED),
        ("(env.observation_space.high - env.observation_space.low) / 2", CONFIGURED),
        ("self.space.high", None),
        ("self.action_space.given", None),
    ],
)
def test_of_an_expression(expression, kind):
    assert asked(f"answer = {expression}") == kind


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("k = 3\nanswer = [k, 1]", LITERAL),
        ("b, c, h, w = x.shape\nanswer = [h, w]", SHAPE),
        ("m = np.zeros(x.shape)\nanswer = m", SHAPE),
        ("m = np.zeros(x.shape)\nprint(m)\nanswer = m", SHAPE),
        ("m = np.zeros(x.shape)\ndraw(m, rows)\nanswer = m", None),
        ("m = np.zeros(x.shape)\ndraw(m[0], rows)\nanswer = m", None),
        ("m = np.zeros(x.shape)\nnp.add(m, 1, out=m)\nanswer = m", None),
        ("h, w = x.shape[-2], x.shape[-1]\nanswer = (w - 1, h - 1)", SHAPE),
        ("k = 3\nif n:\n    k = 4\nanswer = k", None),
        ("k = 0\nk += 1\nanswer = k", LITERAL),
        ("if n:\n    k = [3]\nelse:\n    k = list(range(4))\nanswer = k", LITERAL),
        ("k = [3]\nif n:\n    m = [0] * 4\n    for i in range(4):\n        m[i] = i\n    k = m\nanswer = k", LITERAL),
        ("if n:\n    k = [3]\nelse:\n    k = self.given\nanswer = k", CONFIGURED),
        ("if n:\n    k = [3]\nelse:\n    k = [n]\nanswer = k", None),
        ("k = [3]\nfor r in rows:\n    if r:\n        k = k + [4]\nanswer = k", None),
        ("k = [3]\nif n:\n    k.append(4)\nanswer = k", None),
        ("x, ratio, two, n = self.resized(x, n)\nanswer = [ratio, two]", SHAPE),
        ("x, ratio, two, n = self.resized(x, n)\nanswer = two", LITERAL),
        ("x, ratio, two, n = self.resized(x, n)\nanswer = n", None),
        ("x, *others = self.resized(x, n)\nanswer = others", None),
        ("x, ratio = unknown(x)\nanswer = ratio", None),
        ("for name, low in [('a', 1), ('b', self.prior)]:\n    answer = low", CONFIGURED),
        ("for name, low in [('a', 1), ('b', n)]:\n    answer = low", None),
        ("for name, low in [('a', 1), n]:\n    answer = low", None),
        ("starts = [0]\nstarts.append(n)\nanswer = starts", None),
        ("n = np.asarray(n)\nn = n.transpose(1, 0)\nanswer = n", None),
        ("k = [n]\nk = sorted(k)\nanswer = k", None),
        ("k = 3\nk = k * 2\nanswer = k", LITERAL),
        ("for k in range(9):\n    answer = k", LITERAL),
        ("k = np.zeros((2, 3))\nfor i in range(2):\n    k[i, 0] = i\nanswer = k", LITERAL),
        ("k = np.zeros((2, 3))\nfor i in range(2):\n    k[i, rows[i]] = 1\nanswer = k", None),
        ("k = np.zeros((2, 3))\nfor i in range(2):\n    if n:\n        k[i][0] = 1\nanswer = k", None),
        ("k = np.zeros((2, 3))\nfor i in range(2):\n    k[i][i] = n\nanswer = k", None),
    ],
)
def test_of_a_name(body, kind):
    assert asked(body) == kind


@pytest.mark.parametrize(
    ("expression", "repeats"),
    [
        ("[0.5] * x.shape[0]", True),
        ("x.shape[0] * [0.5]", True),
        ("[0.5] * 8", True),
        ("[0.5, 1.0] * 8", False),
        ("[x] * 8", False),
        ("0.5 * 8", False),
    ],
)
def test_one_number_many_times(expression, repeats):
    assert asked(f"answer = {expression}", repeats_one_number) is repeats


def test_a_parameter_that_every_caller_gives_a_size():
    text = """
        def box(x, h, w, n):
            {body}
            return answer

        class M(nn.Module):
            def forward(self, x: torch.Tensor, n):
                h, w = x.shape[-2:]
                return box(x, h, w=w, n=n)

        def other(x: torch.Tensor, n):
            return box(x, x.size(0), x.size(1), 3)
    """
    for body, kind in [("answer = [h - 1, w]", SHAPE), ("answer = [h, n]", None)]:
        code = IMPORTS + dedent(text).format(body=body)
        project = Project.of_texts({"a.py": code})
        node = next(n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Assign))
        assert constancy(project.values, node.value, Frame("a.py", 1, project.body("a.py").at(node.value))) == kind


@pytest.mark.parametrize(
    ("given", "kind"),
    [("0.5", LITERAL), ("self.limit", CONFIGURED), ("x.shape[0]", SHAPE), ("n", None), ("", CONFIGURED), ("**n", None)],
)
def test_a_parameter_is_what_callers_give_it(given, kind):
    text = f"""{IMPORTS}
class M(nn.Module):
    def __init__(self, limit: float):
        super().__init__()
        self.limit = limit

    def forward(self, x: torch.Tensor, n):
        return helper({given})

def helper(level=1.0):
    answer = level
"""
    project = Project.of_texts({"a.py": text})
    node = next(
        n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "answer"
    )
    outline = project.index.outlines["a.py"]
    index = next(i for i, record in enumerate(outline.functions) if record.name == "helper")
    assert constancy(project.values, node.value, Frame("a.py", index, project.body("a.py").at(node.value))) == kind


def test_a_constant_of_the_module_that_is_bound_again_is_none():
    assert asked("answer = LATER") == LITERAL  # imported or set elsewhere, by its name
    assert asked("answer = later") is None


BOXES = """
class Boxes:
    def __init__(self, cfg, image_size=None):
        self.image_size = image_size
        self.rows = [image_size[0] // 8, image_size[1] // 8]

    def table(self):
        answer = self.rows

class Net(nn.Module):
    def forward(self, x: torch.Tensor):
        return Boxes(self.cfg, image_size={size}).table(), self.run(x)

{other}
"""


def test_an_object_that_each_step_makes_holds_what_follows_from_shapes():
    assert _answer(IMPORTS + BOXES.format(size="x.shape[2:]", other=""), "table") == SHAPE
    once = BOXES.format(size="x", other="BOXES = Boxes(CFG, (8, 8))").replace("Boxes(self.cfg, image_size=x)", "BOXES")
    assert _answer(IMPORTS + once, "table") == CONFIGURED


HANDED_ON = """
def helper({parameter}):
    if isinstance(sigma, tuple):
        answer = sigma
    return sigma

def outer(sigma):
    return helper(sigma)

class Net(nn.Module):
    def forward(self, x: torch.Tensor, n):
        return outer({given})
"""


@pytest.mark.parametrize(("given", "kind"), [("x", None), ("n", GIVEN), ("(1, 2)", LITERAL)])
def test_a_branch_for_numbers_where_every_caller_hands_on_tensors(given, kind):
    assert _answer(IMPORTS + HANDED_ON.format(parameter="sigma", given=given), "helper") == kind


def test_a_setting_by_its_name_is_what_callers_give():
    unseen = IMPORTS + "def helper(x: torch.Tensor, sigma, knots=(1, 2), metas=None):\n    answer = {name}\n"
    assert _answer(unseen.format(name="sigma"), "helper") == GIVEN
    assert _answer(unseen.format(name="knots"), "helper") == GIVEN
    assert _answer(unseen.format(name="[1, x.shape[0], sigma]"), "helper") == GIVEN
    assert _answer(unseen.format(name="metas"), "helper") is None


IMAGES = """
class Settings:
    def __init__(self, scale: float = 2.0):
        self.scale = scale
        self.seen = 0

    def count(self, n: int):
        self.seen = n

class Similarity(nn.Module):
    def __init__(self, settings: Settings):
        super().__init__()
        self.settings = settings
        self.height = None
        self.width = None
        self.turn = None

    def set_image_shape(self, height: int, width):
        self.height = height
        self.width = width

    def forward(self, x: torch.Tensor, settings: Settings):
        self.advance(1)
        answer = {answer}

    def advance(self, n: int):
        self.turn = n

def register(model: Similarity, x: torch.Tensor):
    model.set_image_shape(x.shape[-2], x.shape[-1])
"""


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("self.height", CONFIGURED),
        ("self.width", None),  # nobody says that it is a number
        ("self.turn", None),  # set in every forward pass
        ("settings.scale", CONFIGURED),
        ("settings.seen", None),
        ("self.settings.scale", CONFIGURED),
        ("x.scale", None),
    ],
)
def test_what_set_up_code_sets(answer, kind):
    text = IMPORTS + IMAGES.format(answer=answer)
    assert _answer(text, "forward") == kind


@pytest.mark.parametrize(
    ("given", "kind"), [("self.kernel", CONFIGURED), ("x", None), ("(1, 2)", LITERAL), ("", LITERAL)]
)
def test_a_parameter_that_is_only_sometimes_bound_again(given, kind):
    text = f"""{IMPORTS}
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = (1, 3, 3, 1)

    def forward(self, x: torch.Tensor):
        return helper({given})

def helper(kernel=None):
    if kernel is None:
        kernel = [1] * 2
    answer = kernel
"""
    assert _answer(text, "helper") == kind


def _answer(text, function):
    project = Project.of_texts({"a.py": text})
    node = next(
        n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "answer"
    )
    outline = project.index.outlines["a.py"]
    index = next(i for i, record in enumerate(outline.functions) if record.name == function)
    return constancy(project.values, node.value, Frame("a.py", index, project.body("a.py").at(node.value)))


IN_CLASS = """
import numpy as np
TABLE = {{"a": [1.0, 2.0], "b": [3.0, 4.0]}}
LEVELS = [Level(8, (32, 40)), Level(16, (64, 80))]

class M(nn.Module):
    ranges = [0, -40, 70.4]
    names = ["a", "b"]

    def __init__(self, betas, levels=LEVELS):
        super().__init__()
        self.betas = np.array(betas, dtype=np.float64)
        self.products = np.cumprod(1.0 - self.betas, axis=0)
        self.levels = levels
        self.weights = {{"seg": 1.0, "cls": 0.3}}

    def forward(self, x: torch.Tensor, ys, key):
{body}
        return answer
"""


def in_class(body, monkeypatch):
    monkeypatch.setitem(asked.__globals__, "MODULE", IN_CLASS)
    return asked(body)


@pytest.mark.parametrize(
    "body",
    [
        "answer = self.ranges",
        "answer = self.ranges[:3]",
        "answer = [(self.ranges[i + 1] - self.ranges[i]) / 2 for i in range(2)]",
        'answer = TABLE["a"]',
        "answer = list(TABLE.values())",
        'answer = [self.weights["seg"], self.weights["cls"]]',
        "answer = self.products.astype(np.float32)",
        "for name in self.names:\n    answer = TABLE[name]",
        "for y, level in zip(ys, self.levels):\n    answer = level.sizes",
        "for i, y in enumerate(ys):\n    answer = self.ranges[i]",
        "answer = self.cfg.loss.weights",
        "rows = []\nfor i in range(x.shape[0]):\n    rows.append(i)\n    answer = rows",
    ],
)
def test_tables_of_classes_and_modules_are_the_same_at_every_step(body, monkeypatch):
    assert in_class(body, monkeypatch) is not None


@pytest.mark.parametrize(
    "body",
    [
        "answer = TABLE[key]",
        "for y in ys:\n    answer = TABLE[y]",
        "for y, level in zip(ys, self.levels):\n    answer = y.sizes",
        "answer = self.ranges[key]",
    ],
)
def test_what_a_step_picks_from_a_table_is_not_the_same(body, monkeypatch):
    assert in_class(body, monkeypatch) is None


def test_ways_that_double_with_each_name_are_followed_so_far():
    """Each name is made of the one before, twice: the ways to the first double with each."""
    few, many = ("\n".join(["a0 = 1", *(f"a{n + 1} = a{n} + a{n}" for n in range(last))]) for last in (6, 18))
    assert asked(f"{few}\nanswer = a6") == LITERAL
    with mock.patch.object(constants.Look, "defined", autospec=True, side_effect=constants.Look.defined) as looks:
        assert asked(f"{many}\nanswer = a18") is None
    assert looks.call_count < 1000


CONVERTED = """
def helper(sigma):
    answer = sigma

def outer(x, sigma):
    {bound}
    return helper(sigma)
"""


@pytest.mark.parametrize(
    ("bound", "kind"),
    [
        ("sigma = sigma.to(torch.float32).reshape(-1, 1)", None),
        ("sigma = sigma.cuda()", None),
        ("sigma = sigma.to(torch.float32).tolist()", GIVEN),
        ("sigma = sigma.cuda().sum().item()", GIVEN),
        ("sigma = sigma.copy()", GIVEN),
        ("if x: sigma = sigma.to(torch.float32)", None),
    ],
)
def test_what_a_caller_has_converted_is_a_tensor_whatever_its_name(bound, kind):
    assert _answer(IMPORTS + CONVERTED.format(bound=bound), "helper") == kind
