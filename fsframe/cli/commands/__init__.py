"""The commands: one module each, found by this folder.

A module ``new_plugin`` makes the command ``new-plugin``. Its docstring's first line is what
``fsframe --help`` says of it, and it defines the click command under its own name (``new_plugin``).
It is imported when the command is called. Plugins add commands through ``fsframe_commands``.
"""
