"""Results of measurements: types of rows, readers of their files, and series computed from them.

Nothing here measures. Each module has the name of the measurement that writes its rows.
"""
