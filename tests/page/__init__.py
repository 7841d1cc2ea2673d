"""The page, driven in a real browser."""
