"""Loading without progress bars: a command's standard error is for its own messages."""

from __future__ import annotations

import logging

from .imports import transformers_import_guard


class quiet:  # lower case, like a function, as it is used after `with`
    """Keep transformers from drawing progress bars and reports while weights load."""

    def __enter__(self) -> None:
        with transformers_import_guard():
            from transformers.utils import logging as hf

        self._logging = hf
        self.bars, self.level = hf.is_progress_bar_enabled(), hf.get_verbosity()
        hf.disable_progress_bar()
        hf.set_verbosity(logging.ERROR)

    def __exit__(self, *_: object) -> None:
        self._logging.set_verbosity(self.level)
        if self.bars:
            self._logging.enable_progress_bar()
