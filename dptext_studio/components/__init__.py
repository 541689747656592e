"""Parts of pages: token view, charts, downloads, controls."""
