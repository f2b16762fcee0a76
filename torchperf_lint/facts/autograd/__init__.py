"""Graphs and backward passes: what is recorded for nobody, kept too long, gone through twice, or evaluated with grad.

Whether an expression has a graph is in values.
"""
