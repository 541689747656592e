"""Commands of the command line, one a file: `add(commands)` makes the parser, `run(args)` does it."""
