"""Tensors where Python needs an integer, and random numbers that the host could have drawn."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.element_loops.found_in_turn import BEFORE, IN_TURN, found_in_turn
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.sizing import sized
from torchperf_lint.facts.reads.drawn import is_drawn

CODE = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList(nn.Linear(2, 2) for _ in range(9))
            self.share = 0.5

        def forward(self, x: torch.Tensor, table: dict):
            x = x.cuda()
            hit = (x > 0).nonzero()
            ks = x.sum(1).int()
            cutoff = torch.empty([], dtype=torch.int64, device=x.device).random_(1, x.shape[1])
            cutoff = torch.where(torch.rand([], device=x.device) < self.share, cutoff, torch.full_like(cutoff, 3))
            farthest, index = x.argmax(), x.argsort(1)
            for i in range(9):
                print(int(ks[i]))
                {statement}
"""


def of(statement):
    files = texts(CODE.format(statement=statement))
    return SourceFile(Project.of_texts(files), "a.py", files["a.py"])


@pytest.mark.parametrize(
    ("statement", "operands"),
    [
        ("torch.topk(x, k=ks[i])", ["ks[i]"]),
        ("torch.topk(x[i], ks[i])", ["ks[i]"]),
        ("x.narrow(0, 0, length=ks[i])", ["ks[i]"]),
        ("x[:, ks[i]]", ["ks[i]"]),
        ("[x[0, index[i][j]] for j in range(9)]", ["index[i][j]"]),
        ("[x[0, index[i, j]] for j in range(9)]", ["index[i, j]"]),
        ("for k in torch.argsort(ks):\n                    print(k.item(), x[k])", ["k"]),
        ("for k in torch.argsort(ks):\n                    print(k, x[k])", []),
        ("for k in (x > 0).nonzero():\n                    print(k.item(), x[k])", []),
        ("for k in hit:\n                    print(k.item(), x[k])", []),
        ("for k in torch.argsort(ks):\n                    k = k + 1\n                    print(k.item(), x[k])", []),
        ("[x[0, index[i]] for j in range(9)]", []),
        ("[x[0, hit[i][j]] for j in range(9)]", ["hit[i][j]"]),
        ("[self.parts[h](x) for h in hit]", ["h"]),
        ("[table[name] for name in table]", []),
        ("table.found[x.argmax()] = {'x': x}", []),
        ("table.found[x.argmax()] = x", ["x.argmax()"]),
        ("[[{}, {'a': x}][1][h] for h in hit]", []),
        ("[{0: x}[h] for h in hit]", []),
        ("x[:, hit[i]]", []),
        ("torch.topk(ks[i], 3)", []),
    ],
)
def test_what_has_to_be_an_integer(statement, operands):
    assert [ast.unparse(one.operand) for one in sized(of(statement))] == operands


@pytest.mark.parametrize(
    ("bound", "drawn"),
    [
        ("cutoff", True),
        ("torch.randint(0, 9, (), device=x.device)", True),
        ("torch.rand(1, device=x.device)[0] + 1", True),
        ("farthest", False),
        ("torch.rand((), device=x.device) * x.sum()", False),
        ("3", False),
    ],
)
def test_a_random_number_that_the_host_could_draw(bound, drawn):
    file = of(f"print(x[: {bound}])")
    (place,) = [one for one in sized(file) if ast.unparse(one.operand) == bound] or [None]
    assert (place is not None and is_drawn(file, place.place, place.operand)) is drawn


HELPER = """
    def drawn(low, high):
        t = low + (high - low) * torch.rand([1]).cuda()
        return t.long()

    def picked(x):
        return x.argmax()

    class Net(nn.Module):
        def forward(self, x: torch.Tensor):
            x = x.cuda()
            at = {made}
            return x[:, at : at + 3]
"""


@pytest.mark.parametrize(
    ("made", "expected"), [("drawn(0, 5)", True), ("drawn(0, x.argmax())", False), ("picked(x)", False)]
)
def test_a_helper_that_draws(made, expected):
    files = texts(HELPER.replace("{made}", made))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert {is_drawn(file, one.place, one.operand) for one in sized(file)} == {expected}


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ("n = (x[i] * x).sum(0).argmax()", IN_TURN),
        ("m, n = x.argmin(), x.argmax()", IN_TURN),
        ("n = farthest", None),
        ("n = ks[i].sum()", None),
        ("n = x.argmax(); print(x[: n + 1]); n = ks[i].sum()", None),
    ],
)
def test_what_each_turn_finds(bound, expected):
    file = of(f"{bound}; print(x[n, 0])")
    places = {found_in_turn(file, one.place, one.operand) for one in sized(file) if ast.unparse(one.operand) == "n"}
    assert places == {expected}


def test_what_was_found_before_the_loop():
    file = of("print(x[farthest])")
    (one,) = [one for one in sized(file) if ast.unparse(one.operand) == "farthest"]
    assert found_in_turn(file, one.place, one.operand) == BEFORE


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("x[farthest : farthest + 1]", [True, True]),
        ("x[:, farthest : 16 + farthest]", [True, True]),
        ("x[farthest : farthest + len(table)]", [True, True]),
        ("x[farthest : farthest + ks[i]]", [False, False]),
        ("x[: farthest + 1]", [False]),
        ("x[farthest : farthest + 8 : 2]", [False, False]),
        ("x[farthest : farthest * 2]", [False, False]),
    ],
)
def test_slices_of_a_known_length(statement, expected):
    found = [one.window for one in sized(of(statement)) if one.operand is not None]
    assert found[: len(expected)] == expected
    assert any(found) == any(expected)


STEPS = """
class Speller(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(2, 2)

    def forward(self, x, steps):
        {before}
        for _ in range(steps):
            x = self.cell(x)
        return x

def train(loader, optimizer):
    model = Speller()
    for x, lengths in loader:
        lengths = lengths.cuda()
        model(x.cuda(), {steps}).mean().backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("steps", "before", "found"),
    [
        ("max(lengths)", "pass", True),
        ("lengths.max()", "pass", True),
        ("steps=torch.max(lengths)", "pass", True),
        ("int(lengths.max())", "pass", False),
        ("lengths.max().item()", "pass", False),
        ("x.shape[1]", "pass", False),
        ("lengths.max()", "steps = int(steps)", False),
    ],
)
def test_a_count_of_turns_that_a_caller_leaves_a_tensor(steps, before, found):
    files = texts(STEPS.format(steps=steps, before=before))
    operands = [ast.unparse(one.operand) for one in sized(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))]
    assert operands == (["steps"] if found else [])


WORDS = """
def spelled(x, vocab):
    {spelled}

def evaluate(model: nn.Module, data, vocab, alphabet):
    model.eval()
    with torch.no_grad():
        for x, y in DataLoader(data):
            logits = model(x.cuda())
            best = logits.max(dim=1)[1]
            guessed = model(x.cuda())
            {turn}
"""
SPELLED = """words = []
    for i in x:
        word = vocab.itos[i]
        if "<" not in word:
            words.append(word)
    return words"""


@pytest.mark.parametrize(
    ("turn", "spelled", "operands"),
    [
        ("print(spelled(best, vocab))", SPELLED, ["i"]),
        ("print(spelled(best, vocab))", 'return " ".join(vocab.itos[i] for i in x)', ["i"]),
        ('print("".join([alphabet[i - 1] for i in best]))', "pass", ["i - 1"]),
        ("print(spelled(best.tolist(), vocab))", SPELLED, []),
        ('print("".join([alphabet[i - 1] for i in best.tolist()]))', "pass", []),
        ("print(spelled(guessed, vocab))", SPELLED, []),
        ('print("".join([alphabet[i] for i in guessed]))', "pass", []),
        ("print([alphabet[i] for i in best])", "pass", []),
        ("print(spelled(best, vocab))", "return [vocab[i] for i in x]", []),
    ],
)
def test_words_and_characters_are_picked_by_integers(turn, spelled, operands):
    """A model may give a list of lists, as decoders do: whose numbers they are is known of tensors alone."""
    files = texts(WORDS.format(turn=turn, spelled=spelled))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    seen = [one for one in sized(file) if file.value(one.operand, one.place).on_device]
    assert [ast.unparse(one.operand) for one in seen] == operands
    assert all(one.several and one.text for one in seen)


@pytest.mark.parametrize(
    ("given", "operands"), [("points, ends = given", ["ends[i - 1]", "ends[i]"]), ("points, ends = self.given", [])]
)
def test_the_bounds_that_a_part_of_what_is_given_holds(given, operands):
    code = f"""
    class Pool(nn.Module):
        def forward(self, given):
            {given}
            return [points[ends[i - 1] : ends[i]].sum(0) for i in range(1, ends.shape[0])]
    """
    files = texts(code)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [ast.unparse(one.operand) for one in sized(file)] == operands


@pytest.mark.parametrize(
    ("given", "bound", "expected"),
    [
        ("cfg.parts", "pass", ["labels[i]"]),
        ("self.config.data.parts", "pass", ["labels[i]"]),
        ("self.parts", "pass", []),
        ("x", "pass", []),
        ("cfg.parts", "table = load()", []),
    ],
)
def test_a_part_of_a_configuration_is_no_tensor(given, bound, expected):
    files = texts(f"""
        def score(x, labels, table):
            {bound}
            return [x[i] == part for i in range(9) for part in table[labels[i]]]

        class Net(nn.Module):
            def forward(self, x: torch.Tensor, labels: torch.Tensor, cfg):
                return score(x.cuda(), labels.cuda(), {given})
    """)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [ast.unparse(one.operand) for one in sized(file)] == expected


TRIMMED = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor, mask: torch.Tensor, y: torch.Tensor):
            x = self.net(x.cuda())
            end = mask.cuda().sum(1).amax()
            {bound}
            x = x[:, :end]
            {between}
            return x[:, : end - 1] * y[:, : end - 1] + x[:, : 2 * end]
"""


@pytest.mark.parametrize(
    ("bound", "between", "lines"),
    [
        ("pass", "pass", [True, True, True, False]),
        ("if x.ndim > 3: end = x.shape[1]", "pass", [True, True, True, False]),
        ("pass", "end = end + 2", [False, False, False, False]),
    ],
)
def test_one_tensor_that_several_bounds_are_made_of(bound, between, lines):
    files = texts(TRIMMED.format(bound=bound, between=between))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [one.again > 0 for one in sized(file)] == lines
