"""What an expression is, with the evidence: tensor, module, array or number, its dimensions, whether it has a graph.

On which device it lies is in devices; which numbers stay the same, in constants.
"""
