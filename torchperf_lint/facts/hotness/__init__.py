"""Which loops train or evaluate, which lines run at every step, and the reason in words; what runs never.

Loops over the elements of a tensor are not here (element_loops).
"""
