"""What is asked for its truth, what follows from it, and which loops go over parameters."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.element_loops.parameters import per_parameter
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import hot_nodes
from torchperf_lint.facts.indexing.sizing import sized
from torchperf_lint.facts.reads.clusters import clusters, numbers_read
from torchperf_lint.facts.reads.consequences import DECIDES, RAISES, RECORDS, REPLACES, SELECTS, consequence
from torchperf_lint.facts.reads.formatting import formatted
from torchperf_lint.facts.reads.loggers import logged
from torchperf_lint.facts.reads.reads import conversion_readings, item_readings
from torchperf_lint.facts.reads.truths import truths
from torchperf_lint.model import Confidence

STEP = """\
def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device, flag, limit):
    kept, out = [], None
    for step, (x, y) in enumerate(loader):
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        out = model(x)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
"""


def in_step(body, before="", after=""):
    """A file whose training step ends with `body`."""
    inner = "\n".join(" " * 8 + line for line in body.splitlines())
    files = texts(f"{before}\n{STEP}{inner}\n{after}")
    return SourceFile(Project.of_texts(files), "a.py", files["a.py"])


def written(nodes):
    return [ast.unparse(node) for node in nodes]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if loss > limit:\n  pass", ["loss > limit"]),
        ("if flag and not loss.isnan():\n  pass", ["loss.isnan()"]),
        ("assert (out >= 0).all(), out", ["(out >= 0).all()"]),
        ("kept.append(1 if loss > 3 else 2)", ["loss > 3"]),
        ("kept = [a for a in kept if torch.any(a)]", ["torch.any(a)"]),
        ("kept.append(not (out == y).all())", ["(out == y).all()"]),
        ("kept.append(out.any() or out.all())", ["out.any()"]),
        ("bad = torch.isnan(loss).any()\nif bad:\n  pass", ["bad"]),
        ("if ~(out > 0).any() | (out < 0).any():\n  pass", ["~(out > 0).any() | (out < 0).any()"]),
        ("if x is None or x.shape[0] == flag or loss == 'text' or y in kept:\n  pass", []),
        ("if flag or kept or model or x.numel() or isinstance(x, int):\n  pass", []),
        ("if step % 10 == 0 and loss > 3:\n  pass", []),
        ("if any(torch.isnan(a) for a in (loss, out)):\n  pass", ["torch.isnan(a)"]),
        ("ok = all([not (a > 3).all() and flag for a in (out, y)])", ["(a > 3).all()"]),
        ("if any(a is None or a.dim() > 2 or isinstance(a, int) for a in (loss, out)):\n  pass", []),
        ("if any(name in kept for name in model.names) or all(n > 2 for n in range(3)):\n  pass", []),
        ("if torch.any(out) in {all(a.shape == out.shape for a in kept)}:\n  pass", []),
    ],
)
def test_truths(body, expected):
    assert written(spot.expression for spot in truths(in_step(body))) == expected


def test_the_test_of_a_while_sees_what_its_body_binds():
    before = """\
class Net(nn.Module):
    def forward(self, x: torch.Tensor):
        error = None
        while error is None or error > 0.1:
            x = x.cuda() * 0.5
            error = x.norm()
        return x
"""
    file = in_step("pass", before)
    spots = [s for s in truths(file) if ast.unparse(s.expression) == "error > 0.1"]
    assert [on_device(file, spot, spot.expression) is not None for spot in spots] == [True]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if loss.item() > 3:\n  raise ValueError(loss)", RAISES),
        ("if loss.item() > 3:\n  print(loss)\n  sys.exit(1)", RAISES),
        ("if loss.item() > 3:\n  logger.warning('large')", RAISES),
        ("assert loss.item() < 3", RAISES),
        ("if loss.item() > 3:\n  out = out * 2", SELECTS),
        ("if loss.item() > 3:\n  out = out * 2\nelse:\n  out[0] = 1", SELECTS),
        ("if loss.item() > 3:\n  out = self.f(out)", DECIDES),
        ("if loss.item() > 3:\n  out = out @ y", REPLACES),
        ("kept.append(out if loss.item() > 3 else y)", REPLACES),
        ("if loss.item() > 3:\n  continue", DECIDES),
        ("if loss.item() > 3:\n  optimizer.step()", DECIDES),
        ("while loss.item() > 3:\n  loss = loss / 2", DECIDES),
        ("kept = kept[: loss.item()]", DECIDES),
        ("for _ in range(loss.item()):\n  pass", DECIDES),
        ("n = loss.item()\nif n > 3:\n  break", DECIDES),
        ("n = loss.item()\nkept.append(n)", RECORDS),
        ("n = loss.item()\nif n > 3:\n  raise ValueError", RAISES),
        ("kept.append(loss.item())", RECORDS),
        ("kept += [loss.item()]", RECORDS),
    ],
)
def test_consequences(body, expected):
    (site,) = in_step(body).hot_calls("item")
    assert consequence(site) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for p in model.parameters():\n  p.item()", "model.parameters()"),
        ("for i, (n, p) in enumerate(list(model.named_parameters())):\n  p.item()", True),
        ("kept = [p.item() for p in model.parameters() if p.requires_grad]", "model.parameters()"),
        ("for g in optimizer.param_groups:\n  for p in g['params']:\n    p.item()", "g['params']"),
        ("for k, v in model.state_dict().items():\n  v.item()", "model.state_dict().items()"),
        ("grads = kept\nfor g in grads:\n  g.item()", "grads"),
        ("params = kept\nfor p in params:\n  p.grad.item()", "params"),
        ("params = kept\nfor low, high in params:\n  low.item()", None),
        ("for p in model.children():\n  p.item()", None),
        ("for p in model.parameters():\n  pass\nloss.item()", None),
    ],
)
def test_loops_over_parameters(body, expected):
    file = in_step(body)
    (site,) = file.hot_calls("item")
    loop = per_parameter(file, site)
    assert (loop is not None) == (expected is not None)
    if isinstance(expected, str):
        assert loop is not None
        assert ast.unparse(loop.iter) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("print('loss', loss, sep='')", ["'loss'", "loss", "''"]),
        ("kept.append(f'{loss:.3f} {step}')", ["loss", "step"]),
        ("kept.append('%d %s' % (step, loss))", ["step", "loss"]),
        ("kept.append('%s' % loss)", ["loss"]),
        ("kept.append(('%10s' + '%10.4g' * 3) % (step, *loss))", ["step", "loss"]),
        ("kept.append('{}'.format(loss))", ["loss"]),
        ("kept.append(str(loss))", ["loss"]),
        ("logger.info('%s', loss)", ["'%s'", "loss"]),
        ("logger.debug('%s', loss)", []),
        ("logger.error(f'{loss}')", []),
        ("assert flag, f'{loss}'", []),
        ("model.info(loss)", []),
        ("x = x % loss", []),
        ("check(False, f'{loss}')", []),
        ("odd = f'{loss}'\nwarnings.warn(odd)", []),
        ("odd = f'{loss}'\nfor a in kept:\n  break\nwarnings.warn(odd)", []),
        ("odd = f'{loss}'\nif flag:\n  continue\nwarnings.warn(odd)", ["loss"]),
        ("if flag:\n  odd = f'{loss}'\nelse:\n  raise ValueError(odd)", ["loss"]),
        ("warnings.warn(odd)\nodd = f'{loss}'", ["loss"]),
    ],
)
def test_formatted(body, expected):
    assert written(v for found in formatted(in_step(body)) for v in found.values) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("bar.set_postfix(loss=loss.item(), step=step)", [["loss.item()"]]),
        ("bar.set_postfix({'loss': loss, 'lr': 0.1})", [["loss"]]),
        ("bar.set_description(f'{step}: {loss:.3f} {out.max().item()}')", [["loss", "out.max().item()"]]),
        ("bar.set_description('%d %.3f' % (step, loss))", [["loss"]]),
        ("bar.set_description(('%10s' + '%.3f' * 2) % (step, *out))", [["out"]]),
        ("bar.set_description('{}: {:.3f}'.format(step, loss))", [["loss"]]),
        ("bar.set_description('%d' % step)", [[]]),
        ("bar.set_description('%s' % str(out.shape))", [[]]),
        ("writer.add_scalar('loss', float(loss), step)", [["float(loss)"]]),
        ("bar.set_postfix(step=step)", [[]]),
        ("shown = {'loss': loss, 'lr': 0.1}\nbar.set_postfix(shown)", [["loss"]]),
        ("shown = {'loss': loss.item()}\nbar.set_postfix(shown)", [[]]),
        ("shown = {'loss': loss}\nshown['loss'] = loss.item()\nbar.set_postfix(shown)", [[]]),
        ("shown = {'loss': loss}\nshown.update(loss=step)\nbar.set_postfix(shown)", [[]]),
        ("shown = {'loss': loss}\nshown.pop('loss')\nbar.set_postfix(shown)", [[]]),
        ("self_like.log('loss', loss)", []),
        ("torch.log(loss)", []),
    ],
)
def test_logged(body, expected):
    assert [written(call.reads) for call in logged(in_step(body))] == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("out[: loss]", [("loss", False)]),
        ("for i in range(3):\n  out[i, y[i] : y[i + 1]]", [("y[i]", True), ("y[i + 1]", True)]),
        ("best = out.argmax()\nout[best]", [("best", False)]),
        ("out[y]; out[out > 0]; out[0]; out[..., None]; kept[step]", []),
        ("kept = [out[:n] for n in y]", [("n", True)]),
        ("out.view(y.max(), -1)", [("y.max()", False)]),
        ("model.view(y.max())", []),
        ("torch.nested.narrow(out, 1, y, y, layout=torch.jagged)", []),
        ("for i in range(9):\n  if not kept[y[i]]:\n    out[:, y[i]] = 0", [("y[i]", True), ("y[i]", True)]),
        ("for i in range(9):\n  if kept[y[i]] > 1:\n    out[y[i]] = 0", [("y[i]", True), ("y[i]", True)]),
        ("for i in range(9):\n  out[y[i]] = seen[y[i]] > 1", []),
        ("for i in range(9):\n  out[y[i]] = kept[y[i]] > 1", [("y[i]", True)]),
        ("for i in range(9):\n  if kept[i]:\n    out[y[i]] = 0", []),
    ],
)
def test_sized(body, expected):
    assert [(ast.unparse(found.operand), found.several) for found in sized(in_step(body))] == expected


def test_the_items_of_one_block_are_a_cluster():
    file = in_step("kept.append(loss.item())\nkept.append(out.max().item())")
    assert len(item_readings(file)) == 2
    (cluster,) = clusters(file, numbers_read(file))
    assert written(reading.operand for reading in cluster) == ["loss", "out.max()"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if any(torch.isnan(a) for a in (loss, out)):\n  raise ValueError", RAISES),
        ("if not all(torch.isfinite(a) for a in (loss, out)):\n  continue", DECIDES),
    ],
)
def test_what_follows_from_a_truth_of_any_element(body, expected):
    (spot,) = (spot for spot in truths(in_step(body)) if isinstance(spot.expression, ast.Call))
    assert consequence(spot) == expected


def test_any_of_another_name_asks_nothing_for_its_truth():
    body = "if any(torch.isnan(a) for a in (loss, out)):\n  pass"
    found = written(spot.expression for spot in truths(in_step(body, before="from numpy import any")))
    assert "torch.isnan(a)" not in found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("kept.append(math.exp(loss))", ["loss"]),
        ("kept.append(math.pow(loss, 2))", ["loss"]),
        ("kept.append(math.pow(0.9, loss))", ["loss"]),
        ("kept.append(math.hypot(1.0, out.mean(), limit))", ["out.mean()"]),
        ("kept.append(math.pow(limit, 2) + math.log(x.size(0), 2))", []),
        ("kept.append(math.pow(*limit))", []),
        ("kept.append(int(loss, 2))", []),  # of text alone
        ("kept.append(torch.pow(loss, 2) + F.pow(loss, 2))", []),
    ],
)
def test_functions_of_math_read_what_they_are_given(body, expected):
    file = in_step(body, before="import math")
    assert written(reading.operand for reading in conversion_readings(file)) == expected


@pytest.mark.parametrize(
    ("filled", "confidence"),
    [
        ("one_hot[0, k] = 1", Confidence.CERTAIN),
        ("one_hot[0, k] = 1; kept.append(k)", Confidence.POSSIBLE),
        ("one_hot[0] = limit[k]", Confidence.POSSIBLE),
    ],
)
def test_a_number_that_only_fills_a_table_of_the_host_is_needed_there_by_nobody(filled, confidence):
    upload = "loss = (one_hot.cuda() * out).sum()"
    file = in_step(f"k = out.argmax().item()\none_hot = torch.zeros(1, 9)\n{filled}\n{upload}")
    assert [reading.read.value.confidence for reading in item_readings(file)] == [confidence]


def test_only_hot_nodes_are_given():
    after = "    if flag:\n        kept.append(1)\n    return kept\n"
    file = in_step("if flag:\n  kept.append(2)\nif step % 9 == 0:\n  if flag:\n    pass", after=after)
    lines = [spot.expression.lineno for spot in hot_nodes(file, ast.If)]
    assert len(lines) == 2
