"""Records that a copy with other fields is made of."""

from __future__ import annotations

import pytest
from snippets import value_of

CODE = """
    import copy
    import dataclasses

    @dataclasses.dataclass
    class Mesh:
        verts: torch.Tensor
        faces: torch.Tensor

    def trimmed(mesh: Mesh, faces):
        mesh = {made}
        return see(mesh.verts)
    """


@pytest.mark.parametrize(
    ("made", "kind"),
    [("dataclasses.replace(mesh, faces=faces)", "tensor"), ("copy.copy(mesh)", "tensor"), ("open_mesh()", "unknown")],
)
def test_a_record_stays_what_it_is(made, kind):
    assert value_of(CODE.format(made=made), "mesh.verts").kind == kind
