"""Copies that are only drawn: handed straight to matplotlib, which needs them on the host.

    plt.imshow(x.detach().cpu().numpy()[0], origin="lower")
    fig, axes = plt.subplots(2)
    wave = x.cpu().numpy()
    axes[0].plot(wave)

Who asks for a picture gets one, and drawing it takes far longer than the copy.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.patterns import pattern

_LIBRARIES = ("matplotlib.", "seaborn.", "librosa.display.")
_ARRAYS = ("numpy.", "librosa.", "scipy.")
"""What they compute is drawn where their result is."""
_AXES = pattern(r"^(?:fig|ax|axs|axes)\d*$|_ax(?:es|s)?$")
_DRAWS = frozenset(
    "plot imshow scatter hist hist2d bar barh matshow pcolormesh contour contourf quiver fill_between stem step "
    "plot_surface errorbar boxplot violinplot semilogx semilogy loglog".split()
)
_PARTS = (ast.Call, ast.Attribute, ast.Subscript, ast.UnaryOp, ast.BinOp)
_STEPS = 12
_HOPS = 2


def is_plotted(file: SourceFile, site: Site) -> bool:
    """Whether everything that becomes of a copy is a plot."""
    if not file.outline.imports_from("matplotlib", "seaborn"):
        return False
    return _ends_in_a_plot(file, site, file.enclosing(site.function), site.call, _HOPS)


def _ends_in_a_plot(file: SourceFile, site: Site, around: Enclosing, node: ast.AST, hops: int) -> bool:
    for _ in range(_STEPS):
        parent = around.parents.get(node)
        if isinstance(parent, ast.keyword):
            node, parent = parent, around.parents.get(parent)
        if isinstance(parent, ast.Assign):
            return hops > 0 and _is_drawn_by_name(file, site, around, parent, hops)
        if isinstance(parent, ast.Call) and parent.func is not node:
            if _draws(file, site, parent):
                return True
            dotted = file.denotes(parent.func, site) or ""
            if not dotted.startswith(_ARRAYS):
                return False
        elif not isinstance(parent, _PARTS) or (isinstance(parent, ast.Subscript) and parent.value is not node):
            return False
        node = parent
    return False


def _is_drawn_by_name(file: SourceFile, site: Site, around: Enclosing, statement: ast.Assign, hops: int) -> bool:
    """Whether all uses of the one name that a statement binds are plots."""
    target, body = statement.targets[0], file.project.body(file.path)
    if len(statement.targets) != 1 or not isinstance(target, ast.Name) or body is None:
        return False
    uses = [
        name
        for name in around.of_kinds((ast.Name,))
        if isinstance(name, ast.Name) and name.id == target.id and isinstance(name.ctx, ast.Load)
        if any(d.value is statement.value for d in body.reaching(site.function, name.id, body.at(name)) or ())
    ]
    return bool(uses) and all(_ends_in_a_plot(file, site, around, use, hops - 1) for use in uses)


def _draws(file: SourceFile, site: Site, call: ast.Call) -> bool:
    """`plt.imshow(...)`, `ax.plot(...)`, `axes[0, 1].hist(...)`."""
    if (file.denotes(call.func, site) or "").startswith(_LIBRARIES):
        return True
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _DRAWS:
        return False
    on = call.func.value
    while isinstance(on, ast.Subscript):
        on = on.value
    return _AXES.search(last_part(chain(on))) is not None
