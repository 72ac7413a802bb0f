"""The engine: numbers in, numbers out."""
