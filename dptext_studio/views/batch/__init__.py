"""The page Batch."""
