"""Branches that only report something to a person."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.outlines.complaints import leaves, only_reports, warns

STEP = """
def step(model, loss, log):
    if bad(loss):
        {body}
    {after}
"""


@pytest.mark.parametrize(
    ("body", "after", "reports"),
    [
        ("print('NaN'); torch.save(model, 'nan.pth')", "return loss", True),
        ("print('NaN'); state = model.state_dict(); torch.save(state, 'nan.pth')", "return loss", True),
        ("print('NaN'); state = {}; state['a'] = loss; torch.save(state, 'nan.pth')", "return loss", True),
        ("print('NaN'); group = model.groups[0]; group['lr'] = 0.1", "return loss", False),
        ("print('NaN'); _ = model.load_state_dict(log)", "return loss", False),
        ("print('NaN', model.step())", "return loss", False),
        ("print('NaN'); state = model.state_dict()", "return state", False),
        ("print('NaN'); loss = 0 * loss", "return loss", False),
        ("print('NaN'); model.bad = True", "return loss", False),
        ("print('NaN'); return None", "return loss", False),
        ("print('NaN'); model.reset()", "return loss", False),
        ("torch.save(model, 'best.pth')", "return loss", False),
        ("log.append(loss)", "return loss", False),
    ],
)
def test_what_only_reports(body, after, reports):
    function = ast.parse(STEP.format(body=body, after=after)).body[0]
    assert isinstance(function, ast.FunctionDef)
    (branch, _) = function.body
    assert isinstance(branch, ast.If)
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    assert only_reports(branch.body, lambda name: [node for node in names if node.id == name]) is reports


@pytest.mark.parametrize(
    ("body", "ends"),
    [
        ("raise ValueError", True),
        ("print(loss)\nassert False, f'loss is {loss}'", True),
        ("assert loss > 0", False),
        ("assert False\nloss = 0", False),
    ],
)
def test_what_ends_in_an_error(body, ends):
    assert leaves(ast.parse(body).body) is ends


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("warnings.warn('slow')\nx = x[keep]", True),
        ("found = bad.nonzero()\nif strict:\n    raise Bad(found)\nelse:\n    warn(found)\n    x = x[keep]", True),
        ("found = bad.nonzero()\nif strict:\n    raise Bad(found)\nelse:\n    x = x[keep]", False),
        ("if strict:\n    warn(found)\nx = x[keep]", False),
        ("logger.info('so far')\nx = x[keep]", False),
    ],
)
def test_a_branch_that_warns_is_an_exception_whatever_it_does_beside(body: str, told: bool) -> None:
    assert warns(ast.parse(body).body) is told
