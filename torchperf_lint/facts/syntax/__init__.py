"""How code is written: its text, Python's trees, names as chains, and tables of what torch's names stand for.

What needs to know of a file or of assignments is not here (outlines, bindings).
"""
