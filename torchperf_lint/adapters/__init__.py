"""Translation between hosts (terminal, flake8) and the core; no decisions."""
