"""libcst, imported when something of it is first asked for.

Most files hold nothing to report, or nothing but calls, whose edits Python's own trees can place: importing libcst
would be a good part of the time that such a run takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import libcst as cst
else:

    class _Later:
        def __getattr__(self, name: str) -> object:
            import libcst

            found = getattr(libcst, name)
            setattr(self, name, found)
            return found

    cst = _Later()

__all__ = ["cst"]
