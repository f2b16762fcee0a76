"""One rule per file: documentation, detection and runtime confirmation side by side."""
