"""What is known about code before any rule runs: outlines, the project, hotness, values."""
