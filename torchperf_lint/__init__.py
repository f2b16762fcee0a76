"""A static and runtime linter for what makes PyTorch slow."""

from __future__ import annotations

__version__ = "0.1.0"
