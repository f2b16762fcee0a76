"""What the names of one function or file stand for: assignments, what they reach, what else its statements do.

From one file and without the project. What kind of thing is bound is for values to say.
"""
