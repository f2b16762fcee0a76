"""Puts this folder on the path: what the tests in all folders below share is here (snippets.py, calls_in.py)."""
