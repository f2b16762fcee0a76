"""What follows from a read: waits that are needed, and waits that spare nothing or were avoidable."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.consequences import (
    AGAIN,
    CHOSEN,
    CLIPS,
    COUNTED,
    DECIDES,
    DIVIDES,
    EXTREME,
    KEEPS,
    PADDED,
    RAISES,
    RECORDS,
    REPLACES,
    SCANNED,
    SELECTS,
    SPARES,
    consequence,
)
from torchperf_lint.facts.reads.truths import truths

NET = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", {first})

    def forward(self, x: torch.Tensor):
        {change}
        if self.n.item() > 3:
            return self.other(x)
        return x
"""


def consequence_in(source):
    files = texts(source)
    (site,) = SourceFile(Project.of_texts(files), "a.py", files["a.py"]).hot_calls("item")
    return consequence(site)


@pytest.mark.parametrize(
    ("first", "change", "expected"),
    [
        ("torch.tensor(0)", "self.n += 1", COUNTED),
        ("torch.Tensor([0])", "self.n = self.n + 1", COUNTED),
        ("torch.zeros(1, dtype=torch.long)", "self.n.add_(1)", COUNTED),
        ("torch.tensor(False)", "self.n.data.copy_(torch.tensor([True]))", COUNTED),
        ("torch.zeros(1)", "self.n[0] = 1", COUNTED),
        ("torch.tensor(0)", "self.n.zero_()", COUNTED),
        ("torch.zeros(1)", "k = (int(self.n) + x.shape[0]) % self.size; self.n[0] = k", COUNTED),
        ("torch.zeros(1)", "k = self.n + int(x.max()); self.n[0] = k", DECIDES),
        ("torch.tensor(0)", "pass", COUNTED),
        ("torch.tensor(0 if m else -1)", "self.n += 1", COUNTED),
        ("torch.tensor(0) if m else torch.tensor(-1)", "self.n += 1", COUNTED),
        ("torch.tensor(0) if m else m.max()", "self.n += 1", DECIDES),
        ("torch.tensor(0)", "self.n += x.sum()", DECIDES),
        ("torch.tensor(0)", "self.n.copy_(x.max())", DECIDES),
        ("torch.tensor(0)", "self.n = x.max()", DECIDES),
        ("torch.tensor(0)", "self.n.mul_(x.max())", DECIDES),
        ("torch.tensor(0)", "self.n.lerp_(x.max(), 0.1)\n        self.n += 1", DECIDES),
        ("torch.tensor([1, 2])", "self.n += 1", DECIDES),
    ],
)
def test_counters(first, change, expected):
    assert consequence_in(NET.format(first=first, change=change)) == expected


def test_a_base_class_may_keep_the_counter():
    net = NET.format(first="torch.tensor(0)", change="self.n += 1")
    below = (
        "\n\nclass Below(Net):\n    def forward(self, x: torch.Tensor):\n        return x if self.n.item() else -x\n"
    )
    files = texts(net + below)
    sites = list(SourceFile(Project.of_texts(files), "a.py", files["a.py"]).hot_calls("item"))
    assert [consequence(site) for site in sites] == [COUNTED, COUNTED]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("return x, n", RECORDS),
        ("k = n\n        return x[:k]", DECIDES),
        ("k = n\n        self.k = k\n        return x", RECORDS),
        ("while n > 3:\n            n = n - 1\n        return x", DECIDES),
        ("sizes[0] = n\n        return x if sizes[0] > 3 else -x", DECIDES),
        ("return [x for i in range(n)]", DECIDES),
        ("return x if n in x else -x", DECIDES),
        ("def inner():\n            return x[:n]\n        return inner()", DECIDES),
        ("best = n\n        for k in [best]:\n            x = x[:k]\n        return x", DECIDES),
        ("k: int = n\n        return x[:k]", DECIDES),
        ("k: int = n\n        return x + k", RECORDS),
    ],
)
def test_a_name_may_decide_with_another_value(after, expected):
    source = """\
class Net(nn.Module):
    def forward(self, x: torch.Tensor, sizes):
        n = x.shape[0]
        x = x[:n]
        n = x.max().item()
        {}
"""
    assert consequence_in(source.format(after)) == expected


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("return x[:n]", DECIDES),
        ("k = self.text(n)\n        if k == 'end': self.end()", DECIDES),
        ("self.log(n)", RECORDS),
    ],
)
def test_a_name_with_an_annotation_may_decide(after, expected):
    source = """\
class Net(nn.Module):
    def forward(self, x: torch.Tensor):
        n: int = x.max().item()
        {}
"""
    assert consequence_in(source.format(after)) == expected


@pytest.mark.parametrize("test", ["self.n", "not self.n", "self.n > 3"])
def test_a_buffer_is_asked_for_its_truth(test):
    net = NET.format(first="torch.tensor(0)", change="self.n += 1").replace("self.n.item() > 3", test)
    files = texts(net)
    (spot,) = truths(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    assert consequence(spot) == COUNTED


@pytest.mark.parametrize(
    ("branch", "expected"),
    [
        ("if m.any().item(): x[m] = 0", SPARES),
        ("if not m.any().item(): return x\n        x[m] = 0", SPARES),
        ("if m.sum().item() == 0: return x\n        x = self.other(x)", DECIDES),
        ("some = m.any().item()\n        if some: x = torch.where(m, 0, x)", DECIDES),
        ("if best < x.max().item(): best = x.max().item()", KEEPS),
        ("if x.norm().item() > 3: x = x * 3 / x.norm().item()", CLIPS),
        ("if x.norm().item() > best: f = best / (x.norm().item() + 1e-6); x = x * f", CLIPS),
        ("if best < x.norm().item(): x *= best / x.norm().item()", CLIPS),
        ("if x.norm().item() > best: x.mul_(best / x.norm().item())", CLIPS),
        ("if x.abs().max().item() > 1.0: x = x / x.abs().max().item()", CLIPS),
        ("if x.norm().item() > best: x /= x.norm().item() / best", CLIPS),
        ("if m and x.norm().item() > best: x *= best / (x.norm().item() + self.eps)", CLIPS),
        ("if m or x.norm().item() > best: x = x * best / x.norm().item()", REPLACES),
        ("if not x.norm().item() > best: x = x * best / x.norm().item()", REPLACES),
        ("if x.norm().item() > best: x /= best / x.norm().item()", REPLACES),
        ("if x.norm().item() > best: x.div_(best / x.norm().item())", DECIDES),
        ("if x.norm().item() > best: x -= best / x.norm().item()", REPLACES),
        ("if x.norm().item() > best: x = x - 0.1 * best / x.norm().item()", REPLACES),
        ("if x.norm().item() > best: x = x * 0.1 * best / x.norm().item()", REPLACES),
        ("if x.norm().item() > best: x = x * best / (x.norm().item() + 5)", REPLACES),
        ("if x.norm().item() > best: x = torch.exp(x * best / x.norm().item())", REPLACES),
        ("if x.norm().item() > best: x = m * best / x.norm().item()", REPLACES),
        ("if x.norm().item() > 1: x = x + torch.log(x / x.norm().item())", REPLACES),
        ("if x.norm().item() > best: x = x * (best / x.norm().item()); self.n += 1", REPLACES),
        ("if x.norm().item() > best: self.n += 1; x = x * (best / x.norm().item())", REPLACES),
        ("if x.norm().item() > best: f = best / x.norm().item(); x = x * f * f", REPLACES),
        ("if x.norm().item() > 3: x = x / x.norm().item()", REPLACES),
        ("if x.norm().item() < 3: x = x * 3 / x.norm().item()", REPLACES),
        ("if x.norm().item() > 3: x = x * 3 / x.norm().item(); self.other(x)", DECIDES),
    ],
)
def test_branches(branch, expected):
    source = "class Net(nn.Module):\n    def forward(self, x: torch.Tensor, m, best):\n        {}\n        return x\n"
    files = texts(source.format(branch))
    site, *_ = SourceFile(Project.of_texts(files), "a.py", files["a.py"]).hot_calls("item")
    assert consequence(site) == expected


@pytest.mark.parametrize(
    ("branch", "expected"),
    [
        ("if x.max().item() > 3:\n            log = get_logger()\n            log.warning('large')", RAISES),
        ("if x.max().item() > 3:\n            text = f'{best}'\n            rank_zero_warn(text)", RAISES),
        ("if x.max().item() > 3:\n            log = get_logger()\n            self.reset()", DECIDES),
        ("best.append(x.max().item())", RECORDS),
    ],
)
def test_branches_that_only_speak(branch, expected):
    source = "class Net(nn.Module):\n    def forward(self, x: torch.Tensor, best):\n        {}\n        return x\n"
    assert consequence_in(source.format(branch)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if not m:\n            n += 1\n        y = f(x)\n        if m:\n            n += 2", AGAIN),
        ("if m and n < 3:\n            y = f(x)\n        if (not m or n) and n > 2:\n            n += 2", AGAIN),
        ("if m or n:\n            y = f(x)\n        if m:\n            n += 2", AGAIN),
        ("if m and n:\n            m = f(x) > 0\n        if m:\n            n += self.f(x)", DECIDES),
        ("if not m:\n            n += 1\n        m = x.any()\n        if m:\n            n += f(x)", DECIDES),
        ("if n:\n            y = 1 if m else 2\n        if m:\n            n += self.f(x)", DECIDES),
        ("if n and m:\n            n += 1\n        if m:\n            n += self.f(x)", DECIDES),
    ],
)
def test_the_same_question_again(body, expected):
    source = f"""
class Net(nn.Module):
    def forward(self, x: torch.Tensor, n: int):
        m = (x > 0).any()
        {body}
        return x * n
"""
    files = texts(source)
    asked = truths(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    last = max((spot for spot in asked if getattr(spot.expression, "id", "") == "m"), key=lambda spot: spot.start)
    assert (consequence(last) == AGAIN) is (expected == AGAIN)


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("return self.idx2word[x.argmax().item()]", RECORDS),
        ("return self.int_to_char[x.argmax().item()]", RECORDS),
        ("return self.table[x.argmax().item()]", DECIDES),
        ("return self.layers[x.argmax().item()]", DECIDES),
    ],
)
def test_what_is_looked_up_in_a_table_of_words(read, expected):
    assert (
        consequence_in(f"class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n        {read}\n") == expected
    )


@pytest.mark.parametrize(
    ("store", "expected"),
    [
        ("found = {}\n        found[x.argmax().item()] = x", RECORDS),
        ("found = x.clone()\n        found[x.argmax().item()] = x", DECIDES),
    ],
)
def test_the_key_of_an_entry_only_names_it(store, expected):
    code = f"class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n        {store}\n        return found\n"
    assert consequence_in(code) == expected


@pytest.mark.parametrize(
    ("branch", "expected"),
    [
        ("if n.item() == 0:\n            return 0.0\n        return x.sum() / n", DIVIDES),
        (
            "if n.item() > 0:\n            y = (x * m).sum() / n.float()\n        else:\n            y = x.sum() * 0.0",
            DIVIDES,
        ),
        ("y = x.sum() / (n * 3) if n.item() > 1e-6 else torch.zeros(())", DIVIDES),
        ("if m.sum().item() > 0: y = x.sum() / m.sum()\n        else: y = 0", DIVIDES),
        ("if n.item() == 0: d = 1\n        else: d = n", DIVIDES),
        ("y = 1.0 if n.item() == 0 or m == 0 else min(n / m, 10)", DIVIDES),
        ("if n.item() > 0 and m > 0:\n            y = n / m\n        else:\n            y = 1.0", DIVIDES),
        ("y = n / m if n.item() > 0 or m > 0 else 1.0", REPLACES),
        ("y = n / m if n.item() > 0 and m > 8 else 1.0", REPLACES),
        ("if n.item() == 0:\n            return self.other(x)\n        return x.sum() / n", DECIDES),
        ("if n.item() == 0:\n            return 0.0\n        return x.sum() / m", DECIDES),
        ("if n.item() > 5:\n            return x / n\n        return x", SELECTS),
    ],
)
def test_divisors_that_may_be_zero(branch, expected):
    source = "class Net(nn.Module):\n    def forward(self, x: torch.Tensor, m, n: torch.Tensor):\n        {}\n"
    assert consequence_in(source.format(branch)) == expected


TRUTHS = """
class Net(nn.Module):
    def forward(self, x: torch.Tensor, best, best_at, i: int):
        n = torch.sum(x > 0)
        {}
"""


@pytest.mark.parametrize(
    ("branch", "expected"),
    [
        ("if n == 0:\n            return 0.0\n        else:\n            return x.sum() / n", DIVIDES),
        ("if not n > 0:\n            return x.sum() * 0\n        return torch.div(x.sum(), n)", DIVIDES),
        ("if n == 0:\n            y = torch.tensor(1.0)\n        else:\n            y = x.sum() / float(n)", DIVIDES),
        ("if (x > 0).any():\n            y = x.sum() / (x > 0).sum()\n        else:\n            y = 0", DIVIDES),
        ("if best is None or n < best:\n            best = n\n            best_at = i", KEEPS),
        ("if n < best:\n            best = n\n            best_at = self.place(i)", DECIDES),
        ("if n < best:\n            best = n\n        else:\n            self.bad += 1", REPLACES),
        (
            "if n > 3:\n            self.bad += 1\n            warn('bad')\n            if self.bad > 9: raise E()",
            RAISES,
        ),
        ("if n > 3:\n            self.bad += 1\n            for p in x: print(p)", RAISES),
        ("if n > 3:\n            self.bad += 1", REPLACES),
        ("if n > 3:\n            warn('bad')\n            self.skip()", DECIDES),
        (
            "some = (i != x).any()\n        m = best >= x[:, None]\n        if some:\n            best[m] = 0.0",
            SPARES,
        ),
        ("some = (i != x).any()\n        m = best >= n\n        if some:\n            best[m] = 0.0", REPLACES),
        ("some = (i != x).any()\n        m = best >= x\n        if some:\n            best[m] = self.f(m)", DECIDES),
        ("if n > 3: return\n        raise ValueError(f'{n}')", RAISES),
        ("if n > 3: return\n        self.replace(x)", DECIDES),
        ("if n > 3:\n            warn('bad')\n            return\n        self.replace(x)", DECIDES),
        (
            "if n < best:\n            best = n\n            best_at = i\n            self.a = i\n            x = i",
            REPLACES,
        ),
    ],
)
def test_truths(branch, expected):
    files = texts(TRUTHS.format(branch))
    first = min(truths(SourceFile(Project.of_texts(files), "a.py", files["a.py"])), key=lambda spot: spot.start)
    assert consequence(first) == expected


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("warnings.warn('bad')", RECORDS),
        ("raise ValueError('bad')", RAISES),
        ("return self.other(x)", DECIDES),
        ("kept.append(x)", DECIDES),
    ],
)
def test_an_answer_that_is_kept_for_a_complaint(then, expected):
    source = (
        "class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n        bad = x.max().item() > 3\n"
        "        if bad:\n            {}\n        return x\n"
    )
    assert consequence_in(source.format(then)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return x.max().item() > 3", DECIDES),
        ("return x.argmax().item()", DECIDES),
        ("return x.max().item()", RECORDS),
        ("return any(row.max().item() > 3 for row in x)", DECIDES),
    ],
)
def test_an_answer_that_is_handed_back(body, expected):
    source = "class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n        {}\n"
    assert consequence_in(source.format(body)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("i = int(x.argmin())\n        if x[i].item() > 1: self.f(x)\n        return i", EXTREME),
        ("i = int(torch.argmax(x))\n        if x[i].item() > 1: self.f(x)\n        return i", EXTREME),
        ("i = int(y.argmin())\n        if x[i].item() > 1: self.f(x)\n        return i", DECIDES),
        (
            "i = int(x.argmin())\n        x = x * 2\n        if x[i].item() > 1: self.f(x)\n"
            "        self.f(i)\n        return i",
            DECIDES,
        ),
    ],
)
def test_the_element_at_an_extreme(body, expected):
    source = "class Net(nn.Module):\n    def forward(self, x: torch.Tensor, y: torch.Tensor):\n        {}\n"
    assert consequence_in(source.format(body)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if x[:, -1].sum() == x.shape[0]: self.f(x)", PADDED),
        ("n = len(x)\n        if x[:, 0].sum() == n: self.f(x)", PADDED),
        ("if x[:, -1].sum() == x.shape[1]: self.f(x)", DECIDES),
        ("y = 0.5 if x.sum() > 3 else 1.0\n        return x * y", CHOSEN),
        ("y = 0.5 if x.sum() > 3 else 1.0\n        return self.f(x, y)", REPLACES),
    ],
)
def test_what_the_host_need_not_ask(body, expected):
    files = texts(f"class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n        {body}\n")
    first = min(truths(SourceFile(Project.of_texts(files), "a.py", files["a.py"])), key=lambda spot: spot.start)
    assert consequence(first) == expected


@pytest.mark.parametrize(
    ("line", "then", "expected"),
    [
        ("kept = self.table.pop(x.max().item(), None)", "return kept(x)", DECIDES),
        ("kept = self.table.get(x.max().item())", "return kept(x)", DECIDES),
        ("kept = self.vocab.get(x.max().item())", "return kept", RECORDS),
        ("kept = self.table.get('most', x.max().item())", "return kept", RECORDS),
        ("kept = x < x.max().item() + 4", "return x[kept]", RECORDS),
        ("kept = 4 + x.max().item()", "return x[:kept]", DECIDES),
    ],
)
def test_a_number_is_looked_up_or_joins_a_tensor(line, then, expected):
    source = f"""
        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                {line}
                {then}
    """
    assert consequence_in(source) == expected


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        ("x = x / 2; largest = x.max().item()", DECIDES),
        ("largest = x.max().item(); largest = self.shrink(x)", RECORDS),
        ("x = x / 2; seen = x.max().item()", RECORDS),
    ],
)
def test_a_loop_asks_after_each_turn_whether_to_go_on(turn, expected):
    source = f"""\
class Net(nn.Module):
    def forward(self, x: torch.Tensor):
        largest = 1e3
        while largest > 10:
            {turn}
        return x
"""
    assert consequence_in(source) == expected


@pytest.mark.parametrize(
    ("test", "turn", "expected"),
    [
        ("k > 0 and x[k].sum() == 0", "k -= 1", SCANNED),
        ("x[k].sum() == 0", "k += 1", SCANNED),
        ("x[k].sum() == 0", "k -= 1; x = x * 2", DECIDES),
        ("x[k].sum() == 0", "k //= 2", DECIDES),
        ("x.sum() == 0", "k -= 1", DECIDES),
        ("x[0].sum() < k", "k -= 1", DECIDES),
    ],
)
def test_a_loop_that_only_goes_on_to_a_row(test, turn, expected):
    body = f"k = len(x) - 1\n        while {test}:\n            {turn}\n        return x[: k + 1]"
    files = texts(f"class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n        {body}\n")
    last = max(truths(SourceFile(Project.of_texts(files), "a.py", files["a.py"])), key=lambda spot: spot.start)
    assert consequence(last) == expected


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("for k, v in losses.items():\n            n = v.item()\n            losses[k] = n", RECORDS),
        ("n = loss.item()\n        losses['total'] = n\n        show(losses)", RECORDS),
        ("n = loss.item()\n        losses['total'] = n\n        if losses['total'] > 3: break", DECIDES),
        ("n = loss.item()\n        kept['total'] = n", DECIDES),
        ("n = loss.item()\n        losses['total'] = n\n        shown = x[: losses['total']]", DECIDES),
    ],
)
def test_a_number_put_into_a_container_that_decided_before(then, expected):
    source = """\
def train(net: nn.Module, criterion: nn.Module, loader: DataLoader, opt):
    kept = {{}}
    for x in loader:
        if len(kept) > 3 and kept['total'] > 3:
            break
        losses = criterion(net(x.cuda()))
        loss = 0
        for k, w in losses.items():
            if w > 0:
                loss = loss + w
        loss.backward()
        opt.step()
        {}
"""
    assert consequence_in(source.format(then)) == expected
