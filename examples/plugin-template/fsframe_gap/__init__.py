"""The selector `gap` for fsframe."""
