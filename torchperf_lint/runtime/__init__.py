"""Watching a run: the parent that starts it, the probes that record it, and the judgement of the record."""
