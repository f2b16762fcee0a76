"""Loaders and data sets: how they are made and gone through, what an item costs, the way of batches to the device.

Tensors of another origin are in copies; which loops train with a loader, in hotness.
"""
