"""Models and their parts: attention, layers, decoding, what is loaded and saved.

Whose parameters take gradients is in autograd; which calls run a module, in call_graph.
"""
