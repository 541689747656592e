"""The commands, one a file: ``add`` makes the parser of one, ``run`` does it."""
