"""The demonstration, and the graphs made for it."""
