"""DP-Text Studio: what the server runs, and page configuration and navigation for each visitor."""

import streamlit as st

from dptext_core.support.assets import assets_folder
from dptext_core.support.device import let_threads_sleep
from dptext_studio.components import footer, hide, shell
from dptext_studio.server import ast_lock, forget, public, sessions, streamlit_patches, uploads

ast_lock.install()  # before threads of ours load models and files
let_threads_sleep()  # a room of visitors needs the processor for its pages

#: Section → page → its title. The pages without a section come first, and stand in the bar by themselves.
SECTIONS = {
    "": {
        "explore": "Explore",
        "compare": "Compare",
        "batch": "Batch",
        "learn": "Learn",
    },
    "Research": {"benchmarks": "Benchmarks", "findings": "What we found", "audit": "Audit"},
}
#: Opens at the bare address, where links with a setting lead to.
FIRST = "explore"

NAME = "DP-Text Studio"
# An icon of our own: Streamlit's named ones are fetched from another site for the browser's tab.
ICON = str(assets_folder() / "pictures" / "icon.svg")
# Links to headings are invisible until the mouse is there, and would still take the keyboard's focus. Streamlit's
# grey of captions has a contrast of 3.9, as has the dark theme's accent where it is text; that of some parts of code
# is 2.6. Its ring around what has the focus can hardly be seen on some controls; links of a bar that is shut take the
# focus too, and the menu has more room than a small phone. On a wide screen lines end where the next one is still
# found; on a narrow one, choices beside each other would be cut off; on a very wide one all is larger. What a table's
# own button saves would stand in no ledger, and be marked by nothing where it is private.
STYLE = """<style>
[data-testid='stHeader'] { height: 3rem; min-height: 3rem; }
:is([data-testid='stHeaderLogo'], [data-testid='stLogo']) { margin: 0; }
:is(button, div):has(> [data-testid='stHeaderLogo']) { display: flex; align-items: center; gap: 0.5rem;
  color: light-dark(#31302d, #f3f2ef); font: inherit; }
:is(button, div):has(> [data-testid='stHeaderLogo'])::after { content: "DP-Text Studio"; font-weight: 600;
  white-space: nowrap; }
[data-testid='stHeaderActionElements'] { display: none; }
.st-key-help_marks { position: absolute; }
[data-testid='stSidebar'][data-collapsed='true'] { visibility: hidden; }
[data-testid='stToolbar'] div:has(> [data-testid='stMainMenu']) { min-width: 0; }
@media (min-width: 2200px) and (min-height: 1100px) { html { font-size: 130%; --zoom: 1.3; } }
@media (min-width: 3400px) and (min-height: 1700px) { html { font-size: 190%; --zoom: 1.9; } }
[data-testid='stCaptionContainer'] { color: light-dark(#5d5b57, #b3b0a9) !important; opacity: 1 !important; }
[data-testid='stMainBlockContainer'] { padding: 3.6rem clamp(1rem, 2.5vw, 2rem) 2rem; max-width: 100rem; }
[data-testid='stMarkdownContainer'] :is(p, li) { max-width: 90ch; }
[data-testid='stMarkdownContainer'] h2 { padding-top: 0; }
[data-testid='stButtonGroup'] [role] { flex-wrap: wrap; }
[data-testid='stMultiSelect'] :has(> [data-testid='stMultiSelectTagsContainer']) { height: auto; max-height: none; }
[data-testid='stMultiSelectTagsContainer'] { flex-wrap: wrap; row-gap: 0.25rem; padding-block: 0.3rem; }
:root :is([data-testid='stSliderThumbValue'], [data-testid='stButtonGroup'] :is([data-selected], [data-focused],
  [data-hovered], [data-pressed])) { color: light-dark(#0b62ad, #8fc1f2) !important; }
[data-testid='stElementToolbarButton']:has([aria-label='Download as CSV']) { display: none; }
[data-testid='stCode'] .token { color: inherit !important; }
:root :focus-visible { outline: 2px solid light-dark(#0b5cad, #8fc1f2); outline-offset: 2px; }
</style>"""


def run() -> None:
    """Run the page that a visitor asked for."""
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
        """Go on to the first page: Streamlit gives it no address of its own name."""
        st.switch_page(pages[FIRST], query_params=st.query_params.to_dict())

    shown = {title: [pages[n] for n in names] for title, names in SECTIONS.items()}
    shown[""].append(st.Page(to_first, title=FIRST, url_path=FIRST, visibility="hidden"))
    st.html(STYLE)
    # Streamlit says this of the page, but not of what opens over it.
    st.html(f"<style>:root {{ color-scheme: {st.context.theme.type or 'light'}; }}</style>")
    page = st.navigation(shown, position="top")
    if forget.reload():
        st.stop()
    st.session_state.app = True
    sessions.watch()
    public.enter()
    uploads.watch()
    if wanted := st.session_state.pop("app_wanted", None):
        st.switch_page(pages[wanted], query_params=st.query_params.to_dict())
    hide.take()
    hide.apply()
    shell.plugin_problems()
    page.run()
    footer.footer()
    shell.help_marks()


if __name__ == "__main__":  # the server runs this file for each visitor
    run()
else:  # and imports it once, when it starts
    streamlit_patches.apply()
    app = st.App(__file__, lifespan=streamlit_patches.lifespan)
