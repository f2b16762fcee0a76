"""Indices and masks: which lie on the host, what they select, and whether there is a form that needs no size.

Loops that index one element after the other are in element_loops.
"""
