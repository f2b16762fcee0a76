"""What holds for whole processes: torch's switches, environment, compiling, mixed precision, distributed runs.

What a framework calls at every step is in roles.
"""
