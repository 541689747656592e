"""Result schemas and readers: what the pages need of a benchmark, without the code that measures."""
