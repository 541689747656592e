"""What measurements write: types of rows, readers of their files, and series that are computed from them.

Nothing here measures. Each module has the name of the measurement that writes its rows.
"""
