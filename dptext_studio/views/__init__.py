"""The body of each page, one folder a page."""
