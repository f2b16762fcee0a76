"""What no step changes and what the host knows: literals, settings, options, data that a module was built with.

What is copied to the device of it is in copies.
"""
