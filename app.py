"""Start the server, and configure the pages and their navigation for each visitor."""

import streamlit as st

from dptext_core.support.assets import assets_folder
from dptext_core.support.device import let_threads_sleep
from dptext_studio.components import footer, hidden_controls, shell, style
from dptext_studio.server import (
    ast_lock,
    early_style,
    heap,
    public_hosting,
    session_reset,
    sessions,
    streamlit_patches,
    uploads,
)
from dptext_studio.views import audit, explore

ast_lock.install()  # before our threads load models and files
heap.share()  # however the server was started
let_threads_sleep()  # many visitors need the processor for their pages

#: Section → page → its title. The pages without a section come first, and stand in the bar by themselves.
SECTIONS = {
    "": {
        "explore": "Explore",
        "compare": "Compare",
        "batch": "Batch",
        "learn": "Learn",
    },
    "Research": {"benchmarks": "Benchmarks", "findings": "Findings", "audit": "Audit"},
}
#: Opens at the bare address, where links with a setting lead to.
FIRST = "explore"

#: Pages whose style decides where things are while they load.
EARLY = (explore, audit)

NAME = "DP-Text Studio"
# Our own icon: Streamlit fetches its named ones from another site for the browser's tab.
ICON = str(assets_folder() / "pictures" / "icon.svg")


def run() -> None:
    """Run the page that the visitor requested."""
    st.set_page_config(page_title=NAME, page_icon=ICON, layout="wide")
    st.logo(ICON, size="small")
    pages = {
        name: st.Page(
            f"pages/{name}.py", title=title, default=name == FIRST, url_path="start" if name == FIRST else None
        )
        for section in SECTIONS.values()
        for name, title in section.items()
    }

    def to_first() -> None:
        """Redirect to the first page, which has no address of its own in Streamlit."""
        st.switch_page(pages[FIRST], query_params=st.query_params.to_dict())

    shown = {title: [pages[n] for n in names] for title, names in SECTIONS.items()}
    shown[""].append(st.Page(to_first, title=FIRST, url_path=FIRST, visibility="hidden"))
    # Streamlit sets this for the page, but not for its popovers.
    st.html(f"<style>:root {{ color-scheme: {st.context.theme.type or 'light'}; }}</style>")
    page = st.navigation(shown, position="top")
    if session_reset.reload():
        st.stop()
    st.session_state.app = True
    sessions.watch()
    public_hosting.enter()
    uploads.watch()
    if wanted := st.session_state.pop("app_wanted", None):
        st.switch_page(pages[wanted], query_params=st.query_params.to_dict())
    hidden_controls.read_address()
    hidden_controls.add_hiding_style()
    shell.plugin_problems()
    page.run()
    footer.footer()
    shell.help_marks()
    shell.follow_theme()


if __name__ == "__main__":  # the server runs this file for each visitor
    run()
else:  # and imports it once, when it starts
    streamlit_patches.apply()
    css = shell.app_style() + "".join(style.read_beside(page.__file__, "page.css") for page in EARLY)
    app = st.App(__file__, lifespan=streamlit_patches.lifespan, middleware=early_style.middleware(css))
