"""Optimizers and their steps, and loops over the parameters of a model and their gradients.

Which graphs the gradients come from is in autograd.
"""
