"""The commands: one file a command, found by walking this folder; its docstring is its help text."""
