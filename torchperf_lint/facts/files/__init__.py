"""A project and its files, opened for rules: `Project`, `SourceFile`, hot code that is no call, notebooks.

And what rules of any kind ask of a file's code. What is about one subject alone is with that subject.
"""
