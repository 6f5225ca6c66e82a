"""Facts about the columns of a table, and guesses of what they hold."""
