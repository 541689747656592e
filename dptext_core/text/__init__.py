"""Text as it is read and put together again: tokens, what is kept, languages and their word lists."""
