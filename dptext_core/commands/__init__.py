"""Commands of their own, one a file: ``add(commands)`` adds the parser, ``run(args)`` does it."""
