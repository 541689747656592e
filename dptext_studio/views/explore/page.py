"""Explore: type a text, watch it rewritten, drag ε, and ask of every word why."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

import dptext_core as dpt
from dptext_core.measure.coverage import WAITS, coverage_note
from dptext_core.measure.ledger import Ledger
from dptext_core.measure.ledger_entries import SHARED_NOISE
from dptext_core.mechanisms import recommended
from dptext_core.mechanisms.clipping import ClipCost, Clipping
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.models import clip
from dptext_core.privacy.guarantee import bound, number, percent
from dptext_core.privacy.kinds import ConditionKind
from dptext_core.support.assets import Example, examples
from dptext_lab.results import clipping as clipping_rows
from dptext_lab.results import deniability, total_budget

from ... import figures, precomputed
from ...components import address, controls, download, hide, ledger, links, live
from ...components.charts import chart, dark
from ...components.shell import drawn_when_open, last_page, within_app
from ...components.text import MAX_MB, decode, literal, shortened, too_long
from ...components.token_strip import tell, token_strip, view_of
from ...figures.glossary import said_of
from ...figures.token_view import Payload, here
from ...server import model, runs
from ...server.session import session
from ..compare import equal_privacy
from . import attackers, belief, budget, evidence, meaning, polish, risk, share

PAGE = "explore"
#: Seconds that a page waits for a rewrite that needs no model.
PATIENCE_BUNDLED = 10.0
OWN_TEXT = "Choose a word that should stay private."
#: What to do, after what the text gives away.
DRAG = "Drag to the left until a reader can no longer tell. Drag to the right to get the meaning back."
#: Of the page, from top to bottom.
PARTS = ("head", "editor", "result", "options")
#: Of what opens over the page, in pixels.
WIDE = 560
PANELS = ("What an attacker gets", "Same privacy elsewhere", "Ledger", "Benchmarks")
#: What to try with an example, one after the other.
PROMPTS = ("drag", "word", "attack")
#: Views of a word that every mechanism may have, beside its own.
CANDIDATES, OVER_ALL, SCORES = "Candidates", "Over all ε", "Model scores and clipping"
_STATISTICS = {"N_w": "Chance of staying (N_w)", "S_w": "Different words (S_w)"}

LOOK = """<style>
[data-testid=stMainBlockContainer] { padding: 3.2rem 2rem 0.5rem; }
[data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock] { gap: 0.15rem; }
:is(.st-key-play_head, .st-key-play_result, .st-key-play_before) { gap: 0; }
.st-key-play_before > * > [data-testid=stVerticalBlock] { gap: 0.2rem; }
.st-key-play_result { margin-top: 0.2rem; }
.st-key-play_far { margin-top: 0.5rem; }
:is(.st-key-play_far, .st-key-play_options, .st-key-play_further) { scroll-margin-top: 4rem; }
.st-key-play_families { gap: 0.3rem; margin-top: 0.1rem; }
:is(.st-key-play_head, .st-key-play_about, .st-key-play_says) [data-testid=stMarkdownContainer] { margin-bottom: 0; }
.st-key-play_head h1 { font-size: 1.75rem; line-height: 1.2; padding: 0; }
.st-key-play_about { flex-wrap: nowrap; }
.st-key-play_about [data-testid=stMarkdown] { flex: 1; }
.st-key-play_about p { font-size: 0.9rem; line-height: 1.4; max-width: none !important; margin: 0; }
.st-key-play_about button { min-height: 2.1rem; padding-block: 0; }
.st-key-play_says { flex-wrap: nowrap; margin-top: 0.2rem; transition: opacity 0.15s; }
:root:is([data-dragging], [data-behind]) :is(.st-key-play_says, .st-key-play_does) { opacity: 0.4; }
:root[data-behind] .st-key-play_does { pointer-events: none; }
.st-key-play_says [data-testid=stMarkdown] { flex: 1; }
.st-key-play_says [data-testid=stMarkdown] p { font-size: 0.8125rem; line-height: 1.3; }
.st-key-play_before { position: relative; }
.st-key-play_prompt { position: absolute; top: 0.3rem; z-index: 1; width: 34%; gap: 0.4rem; }
.st-key-play_prompt p, .st-key-play_says p { font-size: 0.875rem; max-width: none; margin: 0; }
.st-key-play_prompt [data-testid=stMarkdownContainer] { margin: 0; }
.st-key-play_prompt button { min-height: 0; padding: 0; text-decoration: underline; }
.st-key-play_families button { min-height: 3rem; padding: 0.25rem 0.3rem; }
.st-key-play_families button p { font-size: 0.875rem; line-height: 1.3; max-width: none; white-space: normal; }
@media (max-width: 1180px) {
  .st-key-play_prompt { display: none; }
  .st-key-play_families [class*=st-key-play_family] button { min-height: 4.4rem; }
  .st-key-play_does button { padding-inline: 0.3rem; }
  .st-key-play_does button span:has(> [data-testid=stIconMaterial]) { display: none; }
}
@media (max-width: 860px) {
  [data-testid=stMainBlockContainer] { padding: 3.4rem 1rem 1rem; }
  .st-key-play_head h1 { font-size: 1.15rem; padding-bottom: 0.3rem; }
  .st-key-play_about { flex-wrap: wrap; justify-content: end; row-gap: 0; }
  .st-key-play_about [data-testid=stMarkdown] { flex: 1 0 100%; }
}
@media (max-width: 640px) {
  :is(.st-key-play_does, .st-key-play_families) [data-testid=stHorizontalBlock]:has(> [data-testid=stColumn]) {
    gap: 0.5rem; }
  .st-key-play_does [data-testid=stColumn] { min-width: calc(33% - 0.5rem); flex: 1 1 calc(33% - 0.5rem); }
  .st-key-play_families [data-testid=stColumn] { min-width: calc(50% - 0.5rem); flex: 1 1 calc(50% - 0.5rem); }
}
</style>"""
#: On a phone the examples wait behind the button with the text.
NARROW = "<style>@media (max-width: 860px) { .st-key-play_example { display: none; } }</style>"
#: Up to so many words the chances of all are told anew at each ε, where those beside the rewrite bend; of more, those
#: of the chosen one.
WORDS_TOLD = 200
#: What is folded away, each under a button of its own.
SHUT = "<style>.st-key-{} {{ display: {}; }}</style>"
#: What opens below everything else, and where it stands.
DRAWERS = {"play_far_open": "play_far", "play_options_open": "play_options"}
#: Cards of families: the mechanism that each begins with, and what it does in a few words.
FAMILIES = {
    "dp-mlm": ("Language model", "a word that fits the sentence"),
    "custext": ("Neighbours", "a word with a similar meaning"),
    "mahalanobis": ("Noise on vectors", "a word near a noisy point"),
    "dp-sentence": ("Whole sentences", "a public sentence instead"),
}
BRING = """<script>
setTimeout(() => document.querySelector(".st-key-{}")?.scrollIntoView({{ block: "start" }}), 200);
</script>"""
#: Where the last result stands, whatever goes on; and what it is called.
BEFORE, REWRITE = "play_before", "is the rewrite"

state = st.session_state


def use_text(text: str) -> None:
    """Put a text into the box; what stood there can be brought back."""
    forget_problems()
    session().undo = state.get("play_text", "")
    state.play_text = text


def keep_what_fits(text: str) -> None:
    kept = shortened(text)
    use_text(kept)
    st.toast(f"The first {len(kept):,} of {len(text):,} characters are kept. “Undo”, below the text, brings all back.")


def use_example() -> None:
    chosen = state.play_example
    # Nothing stays chosen: a second click on an example would only take the choice back.
    state.play_example = None
    if chosen:
        use_text(next(e.text for e in examples() if e.title == chosen))


def writes_anew(spec: dpt.MechanismSpec) -> bool:
    """Whether it writes a text of its own by a bundled model, which was trained on single sentences."""
    return not {"language model", "autoencoder"}.isdisjoint(spec.needs)


def named(spec: dpt.MechanismSpec) -> str:
    """A mechanism as it is offered: what is bundled for writing is small, and is called so."""
    return f"{spec.title} (small demo model)" if writes_anew(spec) else spec.title


def use_mechanism() -> None:
    forget_problems()
    suit_example(state.play_mechanism)


def suit_example(mechanism: str) -> None:
    """Put one sentence of the example in its place for a mechanism that writes anew, and the example back for others.
    A text of one's own stays."""
    wanted = writes_anew(dpt.mechanism_class(mechanism).spec())
    now = example_of(state.get("play_text") or "")
    if wanted and now is not None:
        use_text(one_sentence(now))
    elif not wanted and (whole := next((e for e in examples() if state.get("play_text") == one_sentence(e)), None)):
        use_text(whole.text)


def one_sentence(example: Example) -> str:
    """The sentence of an example that gives it away."""
    spans = dpt.Document.parse(example.text).sentences
    return next((s for a, b in spans if example.sensitive in (s := example.text[a:b])), example.text)


def use_upload() -> None:
    forget_problems()
    if state.play_upload is not None:
        try:
            data, name = state.play_upload.getvalue(), state.play_upload.name
            if share.is_session(name):
                share.open_session(data, name, use_text)
            else:
                use_text(decode(data, name))
        except dpt.InputError as error:
            session().upload_error = str(error)


def forget_problems() -> None:
    """What was wrong with a file or a link is said until something else is asked for."""
    session().upload_error = session().link_problem = ""


def keep_link() -> None:
    """What a link asks for; else the controls as they were."""
    before = last_page()
    if not address.keep(PAGE) and before not in (None, PAGE):
        set_controls()


def set_controls() -> None:
    """Set the controls to what is shown or under way: Streamlit forgets them where another page is shown."""
    mine = session()
    work = mine.at("rewrite")
    inputs = work.asked if work.job is not None else None if mine.run is None else mine.run.inputs
    if inputs is None:
        return
    state.update(links.widget_state(inputs.setting, "play"))
    state.play_mechanism, state.play_seeded = inputs.mechanism, inputs.seed is not None
    if inputs.seed is not None:
        state.play_seed = inputs.seed


def follow_link() -> None:
    """Set the controls to what a link asks for, before they are made. The text stays."""
    mine = session()
    query, mine.query = mine.query, None
    setting, problem = links.from_query(query or {})
    if query is not None:
        mine.link_problem = problem or ""
    with st.container():  # there in any case, so that the text box does not move, and keeps the cursor
        if mine.link_problem:
            st.warning(literal(mine.link_problem))
    if setting is not None:
        state.update(links.widget_state(setting, "play"))
        state.play_mechanism, state.play_budget_on = setting.mechanism, False
        suit_example(setting.mechanism)
        mine.link, mine.link_new = setting, True


def example_of(text: str) -> Example | None:
    """The bundled text that this is."""
    return next((e for e in examples() if e.text == text), None)


def origin_of(text: str) -> Example | None:
    """The bundled text that this is, or of which this is the sentence that gives it away."""
    return next((e for e in examples() if text in (e.text, one_sentence(e))), None)


def headline() -> None:
    """What this is for, what the text gives away, and the way to another text."""
    st.markdown("# Can a reader still tell?")
    # In the place of what the text box showed when the page ran before: it is set by callbacks before this.
    mine = origin_of(state.play_text)
    with st.container(key="play_about", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"{literal(mine.problem) if mine else OWN_TEXT} {DRAG}", width="stretch")
        st.pills(
            "Examples",
            [e.title for e in examples()],
            key="play_example",
            on_change=use_example,
            wrap=True,
            label_visibility="collapsed",
            width="content",
        )
        st.button(
            "Close the editor" if state.get("play_editing") else "Your text",
            icon=":material/edit:",
            key="play_edit",
            on_click=turn,
            args=("play_editing", not state.get("play_editing", False)),
        )


def turn(what: str, to: bool) -> None:
    """Open or shut. A drawer that opens is brought into sight. It is said to what, since a click that comes with a run
    of the whole page may be heard twice."""
    state[what] = to
    session().bring = DRAWERS.get(what, "") if to else ""


def shut(key: str, opened: str) -> None:
    """Keep a container out of sight and of the keyboard's way until it is opened. What is in it keeps its values."""
    # Streamlit keeps a style that a part of the page no longer draws: so one is drawn in both cases.
    st.html(SHUT.format(key, "flex" if state.get(opened, False) else "none"))


def text_box() -> None:
    """The text, behind its button; the rewrite follows the typing."""
    shut("play_editor", "play_editing")
    if not state.get("play_editing"):
        st.html(NARROW)
    st.text_area(
        "Text",
        state.play_text,
        key="play_text",
        height=120,
        placeholder="Type or paste a text, or pick an example above.",
        help="It stays in this session. It is not stored and not logged.",
        on_change=forget_problems,
    )
    before = session().undo
    if before and before != state.play_text:
        st.button("Undo", on_click=use_text, args=(before,), help="This brings the last text back.")
    if waits := patience():
        st.caption(waits)
    if too_long(state.play_text):
        st.caption("This text is too long for this page.")


def patience() -> str:
    """Why the rewrite waits for a longer pause in typing; empty where it follows at once."""
    run = session().run
    return live.waits(state.play_text, None if run is None else run.seconds)


def options_column() -> runs.Inputs | None:
    """Mechanism and options. None where there is nothing to rewrite yet."""
    st.subheader("Advanced")
    specs = {s.name: s for s in dpt.mechanisms()}
    first = list(specs).index(state.get("play_mechanism", recommended.ORDER[0]))
    spec = specs[
        st.selectbox(
            "Mechanism",
            list(specs),
            first,
            key="play_mechanism",
            format_func=lambda n: named(specs[n]),
            on_change=use_mechanism,
        )
    ]
    st.caption(spec.summary)
    chosen = controls.options(spec, "play", skip=frozenset({Clipping.name}))
    spec, chosen = public_start(spec, specs, chosen)
    chosen |= clip_control(spec, chosen)
    with st.expander("Budget"):
        if state.play_text.strip():
            try:
                plain = dpt.get_mechanism(spec.name, **chosen)
            except dpt.DPTextError as error:  # options that contradict each other
                st.caption(literal(str(error)))
            else:
                if (spread := budget.panel(plain, state.play_text, "play_budget")) is not None:
                    chosen["epsilon"] = spread
        else:
            st.caption("With a text, one total can be spread over its words.")
    seed = None
    with st.expander("Repeatable demonstration"):
        if st.toggle(
            "Use a seed", key="play_seeded", help="This is for teaching. Whoever knows the seed can replay the noise."
        ):
            seed = int(st.number_input("Seed", value=1, step=1, key="play_seed"))
            st.caption("Seeded runs are not private.")
    with st.expander("Open a file"):
        st.file_uploader(
            "Plain text in UTF-8, or a saved session",
            type=["txt", "md", "json"],
            key="play_upload",
            on_change=use_upload,
            max_upload_size=MAX_MB,
        )
        if session().upload_error:
            st.error(literal(session().upload_error))
    text = state.play_text
    if not text.strip() or too_long(text):
        return None
    return runs.Inputs(text, dpt.Setting.of(spec.name, **chosen).ordered(), seed)


def public_start(
    spec: dpt.MechanismSpec, specs: dict[str, dpt.MechanismSpec], chosen: dict[str, Any]
) -> tuple[dpt.MechanismSpec, dict[str, Any]]:
    """The switch to start from what is public, where another mechanism does so, and what is asked for with it."""
    try:
        start = dpt.get_mechanism(spec.name, **chosen).public_start
        public = None if start is None else start.from_public()
    except dpt.DPTextError:  # said where the rewrite would stand
        return spec, chosen
    # Of the same mechanism it is an option, which has a control of its own.
    if (
        public is None
        or public.name == spec.name
        or not st.toggle(
            "Start from what is public",
            key="play_public",
            help="The kept words are public anyway. A language model that sees only them proposes words that fit, and "
            "the private text moves the proposal. The promise for ε stays the same, between texts with the same kept "
            "words.",
        )
    ):
        return spec, chosen
    fields = {f.name for f in dataclasses.fields(public.config)}
    return specs[public.name], {k: v for k, v in chosen.items() if k in fields}


def nothing_to_rewrite() -> None:
    """Why nothing is rewritten, where the result stands; below it the last result, dimmed."""
    text = state.play_text
    if not text.strip():
        st.info("Type a text, or pick an example. Its rewrite appears here, word by word.")
        try:
            drawn_all_the_same = coverage_note(dpt.get_mechanism(state.play_mechanism), text)
        except dpt.DPTextError:  # said where a rewrite would stand
            drawn_all_the_same = ""
        if drawn_all_the_same:
            st.caption(WAITS)
        advanced()
        return
    st.error(too_long(text, ", or rewrite it with `python -m dptext_core rewrite --file FILE`"))
    st.button(
        "Keep as much as fits",
        key="play_shorten",
        type="primary",
        on_click=keep_what_fits,
        args=(text,),
    )
    if session().run is None:
        advanced()
    else:
        live.of_another_text(BEFORE, REWRITE)
        with st.container(key=BEFORE):
            rewritten()


def clip_control(spec: dpt.MechanismSpec, chosen: dict[str, Any]) -> dict[str, Any]:
    """The clipping range: a known one by its name, and one slider that moves its ends."""
    if (clipping := dpt.mechanism_class(spec.name).clipping) is None:
        return {}
    try:
        clips = clipping.ranges(chosen)
    except dpt.DPTextError as error:
        st.error(literal(str(error)))
        return {}
    values = controls.one(spec, clipping.name, "play") if len(clips) > 1 else {}
    name = values.get(clipping.name, next(iter(clips), ""))
    exact = (clips[name].low, clips[name].high) if clips else (0.0, 15.0)
    if not clips:
        st.caption("No clipping range is published for this model. Set one from public texts of yours.")
    low, high = (round(x, 1) for x in exact)
    lowest, highest = (min(c.low for c in clips.values()), max(c.high for c in clips.values())) if clips else exact
    pad = (highest - lowest) / 4
    picked = st.slider(
        "Ends of the range",
        round(lowest - pad, 1),
        round(highest + pad, 1),
        (low, high),
        step=0.1,
        key=f"play_clip_{spec.name}_{chosen.get('model', 'bundled')}_{name}",
        help=f"{said_of('clipping')} Move an end to set a range of your own. Any range has the same promise, as long "
        "as it does not depend on the text.",
    )
    if "masked language model" in spec.needs:
        clip_figure()
    if clips and picked == (low, high):
        return values
    # An end that was not moved keeps its exact value.
    ends = zip(picked, (low, high), exact, strict=True)
    return values | dict(zip((clipping.low, clipping.high), (e if p == r else p for p, r, e in ends), strict=True))


def clip_figure() -> None:
    """What the width of the range costs, measured on public text; drawn only where it is asked for."""
    if not (rows := clipping_rows.bundled()):
        return
    if not st.toggle("Show what the width costs", key="play_clip_costs"):
        return
    chart(
        figures.clipping(rows, dark=dark()),
        key="play_clip_figure",
        alt="Likeness in meaning and chance of staying over the width of the clipping range, for several ε",
    )
    st.caption(
        f"{rows[0].texts} sentences of SST-2, {rows[0].words:,} drawn words, with the bundled model. A range goes from "
        "the mean μ of the scores to so many standard deviations σ above it: the paper's to 4σ, the tuned one to "
        f"{clip.WIDTHS['tuned']:g}σ. `python -m dptext_core bench clipping --data DIR` measures it again."
    )


def axis_of(inputs: runs.Inputs) -> tuple[float, float, float]:
    """Lower end, upper end and default of the ε axis, which reaches to a link's ε."""
    low, high, default = dpt.mechanism_class(inputs.mechanism).epsilon_range(inputs.options)
    link = session().link
    if link is not None and link.at(None) == inputs.setting and isinstance(link.epsilon, float):
        default = link.epsilon
    return min(low, default), max(high, default), default


def current_epsilon(axis: tuple[float, float, float], inputs: runs.Inputs | None = None) -> float:
    """Where the user left the slider, as long as it is the slider of this axis; else the axis' default.

    inputs: what is asked for. Where that is what is shown, with or without a public prior, ε stays too.
    """
    run, default = session().run, axis[2]
    if run is not None:
        if (before := axis_of(run.inputs)) != axis:
            if inputs is None or not runs.differ_by_the_prior(run, inputs):
                return default
            return min(max(current_epsilon(before), axis[0]), axis[1])
        default = run.payload["eps"]
    view = view_of(state.get("play_strip"))
    if run is not None and (asked := run.payload.get("cmd")) is not None and view.get("run", 0) < asked["n"]:
        return asked["eps"]  # the browser has not moved its slider yet: what it tells is of another axis
    return view.get("eps", default)


def start(inputs: runs.Inputs, axis: tuple[float, float, float], redraw: bool, linked: bool = False) -> None:
    """Begin a rewrite, from scores that are bundled where there are some."""
    mine = session()
    before, number_ = mine.run, mine.next_number()
    if before is not None and book().spent(before.result.noise_id, inputs.text):
        # Under one noise no two texts may leave.
        redraw = True
    epsilon = axis[2] if linked else current_epsilon(axis, inputs)
    example = origin_of(inputs.text)
    pin = example.sensitive if example else ""

    given = precomputed.load(inputs.text, inputs.setting)
    for place in (belief.PLACE, meaning.PLACE):
        mine.at(place).stop()  # nobody asks for it of the text before

    def work(task: dpt.Task):
        made = runs.make(
            inputs,
            number_,
            epsilon,
            axis,
            before=before,
            given=given,
            redraw=redraw,
            pin=pin,
            task=task,
        )
        if not linked:
            return made
        # The browser keeps its slider where the user left it; a link moves it.
        return dataclasses.replace(made, payload={**made.payload, "cmd": {"n": number_, "eps": epsilon}})

    mine.at("rewrite").start(inputs, work, "Rewriting")
    if given is not None:
        mine.at("rewrite").wait(PATIENCE_BUNDLED)


def take(run: runs.Run) -> None:
    """A finished run: it is shown, and written down as a draw."""
    session().show(run)
    book().record(run.result, edited=run.edited)


def overtaken(run: runs.Run) -> bool:
    """Whether another text left under the noise of this run, as a copy may be told of when the text has gone on. Then
    it is drawn afresh, so that it can be released too."""
    work = session().at("rewrite")
    if run.inputs.seed is not None or work.job is not None or work.error is not None:
        return False
    if not book().spent(run.result.noise_id, run.inputs.text):
        return False
    redraw()
    return True


def under_way(inputs: runs.Inputs) -> str:
    try:
        ready = inputs.setting.make().model_ready
    except dpt.DPTextError:  # said where the rewrite would stand
        ready = True
    return "Rewriting …" if ready else "Loading the language model …"


def redraw() -> None:
    run = session().run
    assert run is not None
    start(run.inputs, axis_of(run.inputs), redraw=True)


def moved(run: runs.Run, epsilon: float, axis: tuple[float, float, float]) -> runs.Run:
    """The run at another ε, where that takes a new pass; the one before where it was stopped or refused.

    What takes longer goes on beside the page, with progress and a way to stop.
    """
    mine = session()
    work = mine.at("rewrite")
    if work.job is not None:  # on its way
        return run
    if work.error is not None and mine.moved_to == epsilon:
        st.caption(f"This is the rewrite at ε = {number(run.payload['eps'])}. Move ε to start again.")
        return run
    mine.moved_to = epsilon
    start(run.inputs, axis, redraw=False)
    if work.running():
        st.rerun(scope="app")
    if (made := work.take()) is None:
        st.error(literal(work.said("Stopped.")))
        return run
    mine.show(made)
    return made


@st.fragment
def rewritten() -> None:
    """The strip and what belongs to it. Moving ε or choosing a word reruns only this."""
    run = session().run
    assert run is not None
    axis = axis_of(run.inputs)
    epsilon = current_epsilon(axis)
    if not run.payload["live"] and not run.spread and abs(epsilon - run.payload["eps"]) > 1e-9:
        run = moved(run, epsilon, axis)
        epsilon = run.payload["eps"]
    session().epsilon = epsilon
    copied(view_of(state.get("play_strip")).get("copies", []))
    if overtaken(run):
        st.rerun(scope="app")
    # In a place of their own: else what stands below moves, and is drawn twice for a moment, where one comes or goes.
    with st.container():
        if run.note:
            st.warning(literal(run.note))
        prompts(run, epsilon)
    result = run.at(epsilon)
    marked = risk.asked(view_of(state.get("play_strip")))
    attack = risk.marks(run, result, marked)
    shown: Payload = {**run.payload, "stage": True, "tour": tours(run)}
    if attack is not None:
        shown["attack"] = attack
    token = chosen_token(run, view_of(state.get("play_strip")) or None)
    token_strip(shown, key="play_strip")
    with st.container():
        if marked and attack is not None:
            risk.below(run, result)
        if needed := meaning.need():
            st.caption(needed)
        kept_at_any_epsilon(run)
        beside_the_plain(run, result, epsilon)
        void = spoilt(result)
    says, does = st.columns([1.5, 1], vertical_alignment="center", gap="small")
    with says:
        promised(run, result, void)
    with does, st.container(key="play_does"):
        actions(run, result, epsilon, void)
    families(run)
    shut("play_far", "play_far_open")
    with st.container(key="play_far"):
        if state.get("play_far_open"):
            more(run, result, token, axis)
        else:
            for key in ("play_more", "play_statistic"):  # Streamlit forgets what is not drawn
                if key in state:
                    state[key] = state[key]
        polish.panel(run, result)
        further(run, result, token, epsilon)
    if there := session().bring:
        session().bring = ""
        st.html(BRING.format(there), unsafe_allow_javascript=True)
    few = len(run.payload["tokens"]) <= WORDS_TOLD
    tokens = None if few else [] if token is None else [token]
    known = here(result, run.payload, tokens)
    believed = belief.of(run, result, token, view_of(state.get("play_strip")))
    tell(run.payload, epsilon, known, meaning.of(run, result), believed, key="play_strip")
    belief.follow()
    meaning.follow()
    address.show(links.of(run.inputs, epsilon)[0] | hide.query())


def tours(run: runs.Run) -> bool:
    """Whether ε moves by itself once: for an example that nobody has touched."""
    return example_of(run.inputs.text) is not None and not session().followed and run.number == 1


def families(run: runs.Run) -> None:
    """What else could be done with the text: a card for each family, and all the others with a line each."""
    with st.container(key="play_families"):
        bought = total_budget.sentences_by_mechanism(total_budget.bundled())
        *cards, further_, drawers = st.columns([1, 1, 1, 1, 0.6, 1.1], vertical_alignment="center", gap="small")
        offered = [name for name in recommended.ORDER if name in FAMILIES]
        for card, name in zip(cards, offered, strict=True):
            title, does = FAMILIES[name]
            card.button(
                f"**{title}**  \n{does}",
                key=f"play_family_{name}",
                width="stretch",
                type="primary" if run.inputs.mechanism == name else "secondary",
                on_click=choose,
                args=(name,),
                help=literal(bought[name]) if name in bought else None,
            )
        others = further_.popover("More", width="stretch", key="play_others", on_change="rerun")
        drawn_when_open(others, WIDE, all_others)
        with drawers, st.container(horizontal=True, gap="small", horizontal_alignment="right"):
            advanced()
            drawer_button("Look further", "play_far_button", "play_far_open")
    if session().chosen:
        st.rerun(scope="app")


def all_others() -> None:
    """The mechanisms without a card, each with a line."""
    for spec in dpt.mechanisms():
        if spec.name not in FAMILIES:
            key = f"play_family_{spec.name}"
            st.button(named(spec), key=key, on_click=choose, args=(spec.name,), type="tertiary")
            st.caption(spec.summary)


def advanced() -> None:
    """The drawer with everything that few need, and its button."""
    shut("play_options", "play_options_open")
    drawer_button("Advanced", "play_advanced", "play_options_open")


def drawer_button(label: str, key: str, opened: str) -> None:
    is_open = state.get(opened, False)
    st.button(
        label,
        key=key,
        on_click=turn,
        args=(opened, not is_open),
        type="tertiary",
        icon=f":material/keyboard_arrow_{'up' if is_open else 'down'}:",
        help=f"{'Close' if is_open else 'Open'} it, below",
    )


def choose(name: str) -> None:
    """Another mechanism, by its card. A control outside of the fragment is set by a run of the whole page only."""
    session().chosen = name


def promised(run: runs.Run, result: dpt.RewriteResult, void: bool) -> None:
    """The promise in one sentence; the rest of it behind a button."""
    g = result.guarantee
    with st.container(key="play_says", horizontal=True, vertical_alignment="center", gap="small"):
        if void:
            said = "**Nothing is promised any more, see above.**"
        else:
            said = literal(g.headline())
            if g.notion == "none" or g.seeded:
                said = f"**{said}**"
        st.markdown(said, width="stretch")
        why = st.popover("Why?", type="tertiary", key="play_why", on_change="rerun")
        drawn_when_open(why, WIDE, partial(promise, run, result, void))


def kept_at_any_epsilon(run: runs.Run) -> None:
    """Which names and dates no ε hides, as the mechanism keeps such words, and what does."""
    tokens = run.payload["tokens"]
    words = dict.fromkeys(
        tokens[k]["o"] for said in run.payload.get("telling", ()) for k in said["at"] if tokens[k]["a"] == "keep"
    )
    if words and run.mechanism.takes_never:
        them = ", ".join(f"“{w}”" for w in words)
        st.caption(
            literal(
                f"At every ε this stays: {them}. Stop words, numbers and words that the mechanism does not know are "
            )
            + "kept. What you write under “More options”, “Words never released”, is replaced."
        )


def chosen_token(run: runs.Run, view: Mapping[str, Any] | None) -> int | None:
    """The word that the browser shows. Where a text was rewritten again it keeps its choice, and does not tell; where
    it was edited too, as long as the same word stands in the place."""
    mine, text, words = session(), run.inputs.text, [t["o"] for t in run.payload["tokens"]]
    place = None if view is None else view["token"]
    told = view is not None and (view["run"] == run.number or mine.chosen_in == text)
    if not told and place is not None and place < len(words) and "pin" not in run.payload:
        told = mine.chosen_word == words[place]
    mine.chosen_in, mine.chosen_word = text if told else None, None
    token = place if told else run.payload.get("pin")
    if token is None or token >= len(run.result.units):
        return None
    mine.chosen_word = words[token] if told else None
    return token


def prompts(run: runs.Run, epsilon: float) -> None:
    """What to try next with an example: one thing at a time, each gone once it was done in this session."""
    done = session().followed
    if epsilon < 0.7 * run.payload["default_eps"]:
        done.add("drag")
    view = view_of(state.get("play_strip"))
    if view.get("run") == run.number and view.get("token") != run.payload.get("pin"):
        done.add("word")
    if state.get("play_further") == PANELS[0]:
        done.add("attack")
    if example_of(run.inputs.text) is None or not run.payload["live"]:
        return
    now = next((p for p in PROMPTS if p not in done), None)
    if now is None:
        return
    with st.container(key="play_prompt", horizontal=True, vertical_alignment="center"):
        step = f"**Try it, {PROMPTS.index(now) + 1} of {len(PROMPTS)}:** "
        if now == "drag":
            st.markdown(step + "drag to the left to lower certainty.", width="content")
        elif now == "word":
            st.markdown(step + "click a word: what else could it be?", width="content")
        else:
            st.markdown(step.rstrip(), width="content")
            st.button(
                "see what an attacker finds in it",
                key="play_prompt_attack",
                type="tertiary",
                on_click=open_panel,
                args=(PANELS[0],),
            )


def open_panel(name: str) -> None:
    """Open a panel, and bring it into sight."""
    state.play_further = name
    state.play_far_open = True
    session().bring = "play_further"


def beside_the_plain(run: runs.Run, result: dpt.RewriteResult, epsilon: float) -> None:
    """Of a mechanism with a public prior: what it writes without it, at the same ε."""
    plain = run.without_prior(epsilon)
    if plain is None:
        return
    with st.container(border=True):
        at = "the same shares of ε" if run.spread else f"the same ε = {number(epsilon)}"
        st.caption(
            f"Without the public prior, at {at}, with noise of its own. To look at: who releases both spends both."
        )
        st.markdown(literal(plain.text))
        with st.popover("Why it costs nothing", icon=":material/school:"):
            st.markdown(why_it_costs_nothing(result.guarantee))


def why_it_costs_nothing(promise: dpt.Guarantee) -> str:
    """A small lesson on public priors, for the kind that is in use."""
    if promise.among:
        by_turns = any(c.kind is ConditionKind.RELEASED_BEFORE for c in promise.among.conditions)
        before = " So is every word that was released before." if by_turns else ""
        public = (
            "**What is public?** The kept words and marks, and their places: the promise holds them fixed, and "
            f"everyone can read them in the released text.{before}\n\n**What is proposed from it?** A language model "
            "that sees only that says which words fit."
        )
    else:
        public = "**What is public?** How frequent words are in other people's texts. That is what is proposed."
    moves = "It moves the proposal: words that are near to yours gain, as without a proposal."
    if promise.notion == "pure":
        moves = "It moves the proposal, by a factor of at most e^(ε/2) for each word up or down."
    return (
        f"{public} This is the same for every private text that the promise compares, so it tells nothing of yours.\n\n"
        f"**What does your text do?** {moves} When ε is small, hardly anything moves, and what is proposed is drawn. "
        "Without a proposal, all words are alike then, and the text is word salad.\n\n"
        "**What does it not do?** A fitting word is not a similar one: at the same chance of keeping the original, no "
        "more of the meaning is kept. And words that are easy to propose are easy to guess, for everyone."
    )


def book() -> Ledger:
    """The ledger of this session."""
    return session().ledger


def copied(copies: list[tuple[str, int, float]]) -> None:
    """Write down what the browser copied: exactly the rewrite that stood there. Copies told before change nothing."""
    told = session().copied
    for copy in copies:
        noise_id, number_, epsilon = copy
        run = session().recent.get((noise_id, number_))
        if copy in told or run is None or not run.payload["lo"] <= epsilon <= run.payload["hi"]:
            continue
        told.add(copy)
        book().record(run.at(epsilon), released=True)
        book().take(PAGE, "copied text", "rewrite")


def spoilt(result: dpt.RewriteResult) -> bool:
    """Whether the draw on the page has no promise left because two settings of it were released; says so."""
    mine = [e for e in book().entries if e.released and e.noise_id == result.noise_id]
    if len(mine) < 2 or not book().account(result.original).void:
        return False
    at = [e.config.epsilon for e in mine]
    which = f", at ε = {' and '.join(f'{e:g}' for e in at)}" if all(isinstance(e, float) for e in at) else ""
    st.error(
        f"**No promise holds any more for this draw.** You released {len(mine)} versions of it{which}, and "
        f"{SHARED_NOISE}. Rewrite again, and release one version only.",
        icon=":material/warning:",
    )
    return True


def further(run: runs.Run, result: dpt.RewriteResult, token: int | None, epsilon: float) -> None:
    """Panels that are worked out only when they are asked for."""
    chosen = st.segmented_control("Look further", PANELS, key="play_further")
    if chosen == PANELS[0]:
        attackers.panel(run, result, token)
    elif chosen == PANELS[1]:
        equal_privacy.panel(run, result)
    elif chosen == PANELS[2]:
        ledger.panel(book(), [result])
    elif chosen == PANELS[3]:
        evidence.panel(run, result, epsilon)
        st.page_link("pages/benchmarks.py", label="All benchmarks", icon=":material/monitoring:")


def actions(run: runs.Run, result: dpt.RewriteResult, epsilon: float, void: bool) -> None:
    again, save, more = st.columns(3)
    if again.button(
        "Rewrite again",
        icon=":material/casino:",
        width="stretch",
        key="play_again",
        help="This draws with fresh noise. Each rewrite that you release spends its budget. If you choose among "
        "several, count all of them.",
    ):
        redraw()
        st.rerun(scope="app")
    with save:
        download.button(
            "Download text",
            result.text,
            "rewrite.txt",
            "text/plain",
            icon=":material/download:",
            width="stretch",
            key="play_download",
            holds="rewrite",
            release=lambda book: book.record(result, released=True),
            help="What you download counts as released in the ledger.",
        )
    with more:
        share.popover(run, result, epsilon, void)


def promise(run: runs.Run, result: dpt.RewriteResult, void: bool) -> None:
    """The guarantee in plain words, with its numbers. void: it does not hold, as two versions of it were released."""
    g = result.guarantee
    st.subheader("What is promised")
    before = "Nothing any more, see above. One version on its own: " if void else ""
    (st.warning if void or g.notion == "none" or g.seeded else st.info)(before + literal(g.sentence()))
    if not void and (account := book().account(run.inputs.text)).void:
        st.caption(literal(f"What you released of this text before has no guarantee: {account.void}."))
    per, drawn, total = st.columns(3)
    one = g.unit.noun
    per.metric(f"ε per {one}, at most" if run.spread else f"ε per {one}", bound(g.epsilon), help=said_of("ε"))
    what = "Words drawn" if "alignment" in result.can else "Pieces drawn"
    spent = sum(u.drawn and u.epsilon > 0 for u in result.units)
    less = "alignment" not in result.can and spent < g.draws
    drawn.metric(what, f"{spent:,} of {g.draws:,}" if less else f"{spent:,}")
    label = "Total ε, worst case" if g.expected is not None else "Total ε"
    total.metric(label, bound(g.total), help=said_of("Total ε"))
    if less:
        st.caption("The promise counts what may be drawn, so that it does not tell how much was.")
    if g.expected is not None:
        st.caption(
            f"Expected: {number(g.expected)}. The expected number of draws is (1−D+A)n; the paper prints (A−D)n. "
            "An expectation is information, not a promise."
        )
    st.markdown("**Everyone can see** " + literal("; ".join(g.exposed)) + ".")
    if (draws := book().draws(run.inputs.text)) > 1:
        said = f"**Drawn {draws:,} times** with fresh noise from this text (see Ledger). "
        if g.notion != "none" and not g.seeded:
            said += f"At this setting, one of them spends {bound(g.total)} and all of them {bound(draws * g.total)}. "
        st.markdown(said + "Positions of the slider share their noise: release at most one of each draw.")
    with st.expander("The formal statement"):
        st.markdown("\n\n".join(literal(line) for line in g.lines()))


def more(run: runs.Run, result: dpt.RewriteResult, token: int | None, axis: tuple[float, float, float]) -> None:
    """What the card of the chosen word does not show, each view worked out when it is asked for."""
    aligned = "alignment" in result.can
    st.subheader("More about a word" if aligned else "More about a piece")
    units = result.units
    drawn = [i for i, u in enumerate(units) if u.drawn]
    if result.no_chances:
        st.caption(result.no_chances)
        return
    if not drawn and not aligned:
        st.caption("Nothing was drawn: the released text is empty.")
        return
    if not drawn:
        st.caption("No word was drawn. Turn off “Keep stop words”, or write more words.")
        return
    token = drawn[0] if token is None else token
    step = units[token]
    if step.action in ("keep", "delete"):
        st.caption(f"No word was drawn for “{literal(step.original or step.text)}”. Choose another one.")
        return
    word = f"“{literal(step.original) or '(added)'}”" if aligned else f"“{literal(step.text)}”"
    st.markdown(f"How {word} was drawn:" if step.text or aligned else "How the end of the text was drawn:")
    views = result.views(token)
    logits = result.logits(token)
    clipping = run.mechanism.clipping
    costs = () if logits is None or clipping is None else clipping.costs(logits, step.original or None, step.epsilon)
    titles = [figures.title(v) for v in views]
    names = [CANDIDATES, *titles, *[OVER_ALL] * ("sweep" in result.can), *[SCORES] * bool(costs)]
    if state.get("play_more") not in names:  # of another mechanism
        state.play_more = None
    chosen = st.segmented_control("View", names, key="play_more", label_visibility="collapsed")
    if chosen == CANDIDATES:
        candidates(result.distribution(token), result.similarities(token), "word" if aligned else "piece")
    elif chosen == OVER_ALL:
        over_all(run, result, token, axis)
    elif chosen == SCORES and logits is not None:
        clip_panel(result, token, result.distribution(token), logits, costs)
    elif chosen is not None:
        view = views[titles.index(chosen)]
        chart(figures.draw_view(view, dark=dark()), key=f"play_{type(view).__name__}", alt=figures.caption(view))
        st.caption(literal(figures.caption(view)))


def clip_panel(
    result: dpt.RewriteResult, token: int, d: dpt.TokenDistribution, logits: np.ndarray, costs: Sequence[ClipCost]
) -> None:
    """The model's scores at the chosen word with all named clipping ranges, and what each costs there."""
    step = result.units[token]
    marks = {w: float(logits[at[0]]) for w in (step.original, step.text) if w and len(at := d.index(w))}
    if (known := result.candidate(token)) is not None:
        marks = {d.candidates[known]: float(logits[known])}
    aligned = "alignment" in result.can
    used = next(c for c in costs if c.used)
    figure = figures.logit_histogram(
        logits,
        used.low,
        used.high,
        marks=marks,
        others={c.name: (c.low, c.high) for c in costs if not c.used},
        dark=dark(),
    )
    chart(figure, key="play_histogram", alt="The model's scores, with the clipping ranges of the table below")
    st.dataframe(
        {
            "range": [f"{c.name}{' (used)' if c.used else ''}" for c in costs],
            "ends": [f"{c.low:.1f} to {c.high:.1f}" for c in costs],
            "tied": [c.tied for c in costs],
            "stays": [percent(c.keep) for c in costs],
        },
        column_config={
            "tied": st.column_config.NumberColumn(
                "tied", help="Words whose scores are at the upper end or above: they cannot be told apart."
            ),
            "stays": st.column_config.TextColumn(
                f"{'N_w' if aligned else 'best'} at ε {number(step.epsilon)}",
                help="This is the chance that the word stays what it was."
                if aligned
                else "This is the chance of the token that the model finds best.",
            ),
        },
        hide_index=True,
    )
    st.caption(f"Shaded: the range in use. {len(logits):,} words have a score. All ranges have the same promise.")


def over_all(run: runs.Run, result: dpt.RewriteResult, token: int, axis: tuple[float, float, float]) -> None:
    """N_w and S_w of the chosen word over all ε, beside the mean over 100 words where that is bundled."""
    epsilons = np.geomspace(axis[0], axis[1], 25)
    kept, distinct = deniability.channel_curve(result.locked(token)[0], epsilons)
    unit = result.units[token]
    word = (
        f"“{unit.original}”" if unit.original else "the added word" if "alignment" in result.can else f"“{unit.text}”"
    )
    lines = {"N_w": {word: (epsilons, kept, None, None)}, "S_w": {word: (epsilons, distinct, None, None)}}
    if (mean := deniability.bundled_curve(run.mechanism)) is not None:
        for name, field in (("N_w", "n_w"), ("S_w", "s_w")):
            low, high = np.transpose(getattr(mean, f"{field}_interval"))
            lines[name][f"mean of {mean.words} words"] = (mean.epsilons, getattr(mean, field), low, high)
    # A piece that answers to no word cannot stay what it was.
    which = "S_w"
    if "alignment" in result.can:
        which = st.segmented_control(
            "Statistic",
            ["N_w", "S_w"],
            default="N_w",
            required=True,
            key="play_statistic",
            format_func=_STATISTICS.__getitem__,
            help=f"N_w: {said_of('N_w')} S_w: {said_of('S_w')}",
        )
    y_title, top = (figures.S_W, 100) if which == "S_w" else (figures.N_W, None)
    per = next(option_meta(f).unit for f in dataclasses.fields(result.config) if f.name == "epsilon") or "per word"
    figure = figures.curves(lines[which], y_title, x_title=f"ε {per}", top=top, dark=dark())
    colours = figures.DARK if dark() else figures.LIGHT
    figure.add_vline(x=unit.epsilon, line={"width": 1, "dash": "dot", "color": colours["soft"]})
    chart(figure, key="play_curves", alt=f"{y_title} of {word} over ε")
    if mean is not None:
        st.caption("The mean is bundled; `python -m dptext_core bench deniability` measures it again.")


def candidates(d: dpt.TokenDistribution, similarities: Mapping[str, float] | None, what: str) -> None:
    """The most probable words or pieces, with their likeness to the original where words have vectors; how many there
    are."""
    distinct, support = st.columns(2)
    distinct.metric("S_w", f"{d.expected_distinct(100):.1f}", help=said_of("S_w"))
    support.metric("95% set", f"{d.support():,}", help=said_of("95% set"))
    if d.draws is not None:
        low, high = d.keep_interval()
        st.caption(
            f"Estimated from {d.draws:,} draws: this mechanism has no formula for its chances. N_w lies between "
            f"{percent(low)} and {percent(high)} (95% interval)."
        )
    rows = [(w, p) for w, p in d.top(20) if p > 0]
    rest = max(0.0, 1 - sum(p for _, p in rows))
    columns: dict[str, list] = {what: [w or "(nothing)" for w, _ in rows], "probability": [p for _, p in rows]}
    if similarities is not None:
        columns["similarity"] = [similarities.get(w) for w, _ in rows]
    if others := len(d) - len(rows):
        for column, value in zip(columns.values(), (f"{others:,} others", rest, None), strict=False):
            column.append(value)
    st.dataframe(
        columns,
        column_config={
            "probability": st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1),
            "similarity": st.column_config.NumberColumn(
                format="%.2f", help="This is the cosine with the original word."
            ),
        },
        hide_index=True,
        height=320,
    )


def main() -> None:
    st.html(LOOK)
    mine = session()
    if "play_text" not in state:
        # Streamlit forgets a control's value when another page is shown.
        kept = mine.text
        state.play_text = next((e.text for e in examples()), "") if kept is None else kept
    follow_link()
    if mine.chosen:
        state.play_mechanism, mine.chosen = mine.chosen, ""
        use_mechanism()
    head, editor, right, left = (st.container(key=f"play_{k}") for k in PARTS)
    with head:
        headline()
    with editor:
        text_box()
        mine.text = state.play_text
    with left:
        inputs = options_column()
    with right:
        result_column(inputs)
    busy = session().at("rewrite").job is not None
    live.follow("play_text", busy=busy, patient=bool(patience()), shows=BEFORE)
    engine = model.warm()
    if "masked language model" in dpt.mechanism_class(state.play_mechanism).needs:
        with left:
            st.caption(f"Language model: {literal(model.where(engine))}")


def result_column(inputs: runs.Inputs | None) -> None:
    """The rewrite of what was asked for, or why there is none yet."""
    slot = st.empty()
    if inputs is None:
        session().at("rewrite").stop()
        nothing_to_rewrite()
        return
    axis = axis_of(inputs)
    mine = session()
    run, work = mine.run, mine.at("rewrite")
    linked, mine.link_new = mine.link_new, False
    # What is there, or under way, or was refused, for these very inputs needs no new run.
    under_work, refused = work.job is not None, work.error is not None
    known = [work.asked] if under_work or refused else []
    known += [] if run is None or under_work else [run.inputs]
    if linked or inputs not in known:
        start(inputs, axis, redraw=False, linked=linked)
    running = work.running()
    if not running and (made := work.take()) is not None:
        take(made)
    with slot.container():
        if running:
            work.waiting("play_stop", partial(under_way, inputs))
        if work.asked == inputs and (said := work.said("Stopped.")):
            st.error(literal(said))
            st.button("Try again", key="play_retry", on_click=start, args=(inputs, axis, False))
        if mine.run is not None and running:
            if mine.run.inputs.text == work.asked.text:
                live.dimmed(BEFORE)
            else:
                live.of_another_text(BEFORE, REWRITE)
    with st.container():  # there in any case, so that what follows keeps its place
        if mine.run is None:
            advanced()
    if mine.run is not None:
        # In one place whatever goes on: what is clicked in it while new ones come is not lost.
        with st.container(key=BEFORE):
            rewritten()


def render() -> None:
    """Draw the page."""
    keep_link()
    within_app(PAGE)
    main()
