"""Where the host waits for the device, for a number, a truth or a text, and what the program does with the answer.

Selections, which wait for a size, are in indexing; reads of each turn of a loop, in element_loops.
"""
