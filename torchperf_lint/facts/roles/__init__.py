"""What functions and classes are for: who else calls them, at every step or seldom, by what they are and are called.

Why a line is hot in the end, with all of its callers, is in hotness.
"""
