"""Methods that were renamed, will go, or need what is absent."""
