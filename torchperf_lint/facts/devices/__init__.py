"""On which device a tensor lies, by what names devices, moves things, and hands batches to a step.

Whether a copy between devices is worth a word is not here (copies, loaders, reads).
"""
