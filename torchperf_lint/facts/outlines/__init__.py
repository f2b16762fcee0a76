"""The outline of one file, and what goes into it: definitions, calls, imports, branches that run rarely or once.

From syntax alone, and kept in the cache. What is asked on demand of one function is in bindings; what several files
show together, in call_graph and hotness.
"""
