"""Copies between host and device: what is made on the host and uploaded, what is copied back and for whom.

Batches of loaders are in loaders; single numbers that the host waits for, and all waits, in reads.
"""
