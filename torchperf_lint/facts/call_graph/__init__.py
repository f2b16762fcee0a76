"""All files together: what a name means across them, which classes and functions there are, who calls whom.

How often a call runs is not here (hotness), nor what it gives (values).
"""
