"""Loops over the elements or rows of a tensor: what a turn does, and what speaks against doing all turns at once.

Loops over batches are not here (hotness), nor loops over parameters (optimizers).
"""
