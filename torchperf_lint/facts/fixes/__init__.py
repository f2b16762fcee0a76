"""The toolbox for fixes, the fixes that several rules share, and what to write instead.

A fix of one rule is in the rule's file; whether there is something to mend is with its subject.
"""
