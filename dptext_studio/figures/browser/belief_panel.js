// What a reader believes about the chosen word: one bar for each alternative. Python sends the belief at points of ε
// (dptext_studio/figures/belief_view.py); while ε moves, this script interpolates. Comes before token_strip.js.

const LITTLE = 1.25; // certainty, as a multiple of the prior, up to which a reader learns little
const LEANING = 0.6; // certainty up to which a reader merely leans
const CHOOSE = "Choose a word in the text to see what a reader believes about it.";
const NAME = "Enter a word of your text and its alternatives.";
const SURE = 0.9; // certainty above which a word gives the fact away
const MOST = 0.5; // the certainty that the dial has a mark for, and from which on a reader infers a fact
const LONGEST = 400; // characters of a list of alternatives, as the server takes them
const FEW = 5; // words whose bars have more room

// A probability in a headline: whole percent, and 100% only if nothing else is possible.
function share(p) {
  if (p <= 0) return "0%";
  if (p < 0.01) return "<1%";
  return p >= 1 ? "100%" : p > 0.99 ? ">99%" : `${(100 * p).toFixed(0)}%`;
}

/** The sign before an interpolated certainty; none before ">99%". */
function about(found) {
  return found.exact || found.p[found.guess] > 0.99 ? "" : "≈";
}

// “a”, “b” and “c”.
function quoted(words) {
  const each = words.map((word) => `“${word}”`);
  return each.length < 2 ? each.join("") : `${each.slice(0, -1).join(", ")} and ${each.at(-1)}`;
}

// Notes on a belief whose numbers may surprise. released: the released word, "" if tokens do not correspond to words;
// copied: whether it is copied at every ε.
function remark(belief, found, { released, copied, text }) {
  const { words, prior, covered, draws } = belief;
  const [fact, ...others] = words;
  const out = others.filter((_, j) => found.p[j + 1] === 0);
  const bare = others.filter((_, j) => !covered[j + 1]);
  if (!covered.includes(true)) {
    return copied ? `“${released}” is kept as it is. There is no guarantee.` : "There is no guarantee, for any word.";
  }
  if (copied) {
    const doubt = found.p[0] > 0.99 ? "The guarantee does not cover words that are kept."
      : `A reader is not certain, because another word could have been replaced by “${released}”.`;
    return `“${released}” is kept as it is, at every ε. ${doubt}`;
  }
  if (bare.length) {
    const whole = released ? `“${released}”` : "this text";
    const them = bare.length === others.length ? "the others" : quoted(bare);
    const excluded = out.length === others.length
      ? `Only “${fact}” could have produced ${whole}. `
      : out.length ? `${quoted(out)} could not have produced ${whole}. ` : "";
    return `${excluded}The guarantee does not cover ${them}, at any ε.`;
  }
  const sure = found.p[found.guess];
  if (sure <= LITTLE * Math.max(...prior)) {
    return `A reader learns little: any of these words could have produced ${released ? `“${released}”` : "this text"} almost equally often.`;
  }
  if (found.guess) {
    return `The noise misleads this reader. Over many rewrites, readers who are ${share(sure)} sure are right ${share(sure)} of the time.`;
  }
  if (sure < LEANING) return `The reader leans towards “${fact}”, and is wrong ${share(1 - sure)} of the time.`;
  const gives = sure > SURE ? "still reveals it" : "still points to it";
  if (!released) {
    const says = text.toLowerCase().includes(fact.toLowerCase());
    const counts = draws > 1 ? `The guarantee counts all ${draws} draws together.` : "The guarantee counts the whole text at once.";
    return `${says ? `The text says “${fact}”` : `The text does not say “${fact}”, but ${gives}`}. ${counts}`;
  }
  if (sameWord(released, fact)) {
    return `The original word was sampled again, ${sure > SURE ? "and the reader knows it" : "but other words could have produced it too"}.`;
  }
  return `“${capital(released)}” is not “${fact}”, but ${gives}. Replacing a word does not always hide the fact.`;
}

// Comes beside the number of visible identifying words: the fact that a reader still infers without them. found: the
// belief, null if unknown.
function inferredWords(found, words) {
  return found?.p[0] > MOST
    ? `The reader still infers ${words[0]}: ${about(found)}${share(found.p[0])}`
    : "Other words may still reveal facts";
}

// What to do if there is no certainty, shown next to its gauge.
function gaugeHint(told, aligned) {
  if (told.why) return "enter alternatives";
  return aligned ? "choose a word" : "enter a word";
}

// Why a list of alternatives is invalid; "" if it is valid.
const tooLong = (typed) => (typed.trim().length > LONGEST
  ? `This list has ${typed.trim().length} characters. Use at most ${LONGEST}.` : "");

class BeliefPanel {
  constructor(strip) {
    this.strip = strip;
    const q = (s) => strip.el.querySelector(s);
    this.ui = {
      inspector: q(".inspector"), tabs: q(".tabs"), tabBelief: q(".tab-belief"), tabHow: q(".tab-how"),
      belief: q(".belief"), replaced: q(".replaced"), numbers: q(".numbers"), value: q(".sure b"), guess: q(".sure .guess"),
      wrong: q(".sure .wrong"), before: q(".sure .prior"), priorTag: q(".prior-tag"), ceilingTag: q(".ceiling-tag"),
      edit: q(".edit"), odds: q(".odds"), remark: q(".remark"), limitWords: q(".limit-words"), form: q(".others"), fact: q(".named-fact"),
      others: q(".named-others"), cancel: q(".cancel"), none: q(".no-belief"), noneTitle: q(".no-belief strong"),
      noneWhy: q(".no-belief .because"), noneEdit: q(".no-belief button"), certain: q(".certain"),
      certainty: q(".certain strong"), best: q(".best"), bar: q(".certain b"), tick: q(".certain u"), mark: q(".at-most"),
    };
    this.rows = [];
    this.open = true; // the tab of the belief, until another one is chosen
    this.shown = undefined;
  }

  listen(on) {
    const { ui } = this;
    for (const [tab, first] of [[ui.tabBelief, true], [ui.tabHow, false]]) {
      on(tab, "click", () => this.choose(first));
      on(tab, "keydown", (event) => {
        const to = { ArrowLeft: true, Home: true, ArrowRight: false, End: false }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        this.choose(to);
        (to ? ui.tabBelief : ui.tabHow).focus();
      });
    }
    for (const button of [ui.edit, ui.noneEdit]) on(button, "click", () => this.editing(true));
    on(ui.cancel, "click", () => this.editing(false));
    on(ui.form, "keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.editing(false);
    });
    on(ui.others, "input", () => ui.others.setCustomValidity(tooLong(ui.others.value)));
    on(ui.form, "submit", (event) => {
      event.preventDefault();
      this.apply();
    });
    on(ui.mark, "click", () => {
      this.strip.setEps(this.mark);
      this.strip.ui.slider.focus();
    });
    on(ui.certain, "click", () => {
      this.choose(true);
      const at = this.told?.tokens?.find((i) => this.strip.tokens[i]?.button);
      if (at !== undefined) this.strip.choose(at, { pin: true, tell: true });
    });
  }

  get told() {
    return this.strip.belief;
  }

  // New data arrived: decide which views there are.
  load() {
    const { ui, strip: { data } } = this;
    const on = Boolean(data.stage && data.belief);
    this.on = on;
    ui.inspector.classList.toggle("tabbed", on);
    ui.tabs.hidden = ui.belief.hidden = !on;
    for (const [panel, tab] of [[ui.belief, ui.tabBelief], [ui.replaced, ui.tabHow]]) {
      if (on) panel.setAttribute("role", "tabpanel");
      else panel.removeAttribute("role");
      if (on) panel.setAttribute("aria-labelledby", tab.id);
      else panel.removeAttribute("aria-labelledby");
    }
    this.choose(on && this.open, false);
    this.shown = this.marked = undefined;
    ui.mark.hidden = true;
    this.editing(false, false);
  }

  choose(first, keep = true) {
    const { ui } = this;
    if (keep) {
      this.open = first;
      this.strip.rises = this.strip.pinned; // the other view may be higher
      this.strip.schedule();
    }
    for (const [tab, panel, is] of [[ui.tabBelief, ui.belief, first], [ui.tabHow, ui.replaced, !first]]) {
      tab.setAttribute("aria-selected", String(is));
      tab.tabIndex = is ? 0 : -1;
      panel.classList.toggle("away", this.on && !is);
    }
  }

  // The alternatives as a comma-separated list, which the server processes.
  editing(open, focus = true) {
    const { ui, strip } = this;
    ui.form.hidden = !open;
    ui.belief.classList.toggle("editing", open);
    ui.fact.parentElement.hidden = strip.aligned;
    if (!open) {
      if (focus) (ui.numbers.hidden ? ui.noneEdit : ui.edit).focus();
      return;
    }
    ui.fact.value = this.told?.fact ?? "";
    ui.others.value = strip.memo.others?.get(this.told?.fact) ?? (this.told?.words ?? []).slice(1).join(", ");
    ui.others.setCustomValidity(tooLong(ui.others.value));
    (strip.aligned ? ui.others : ui.fact).focus();
  }

  apply() {
    const { ui, strip } = this;
    const fact = strip.aligned ? this.told?.fact : ui.fact.value.trim();
    if (!fact) return;
    const others = (strip.memo.others ??= new Map());
    others.delete(fact);
    if (ui.others.value.trim()) others.set(fact, ui.others.value.trim());
    if (!strip.aligned) strip.memo.fact = fact;
    this.editing(false, false);
    strip.queue(0, true);
    this.asked = this.told; // until another belief comes
    strip.schedule();
  }

  // Why there are no numbers: a title, a sentence, and whether the user can enter alternatives; null if there are
  // numbers.
  missing() {
    const { strip, told } = this;
    const { why } = strip.data.belief;
    if (why) {
      return ["No exact belief for this mechanism", `${why} Choose Language model or Whole sentences to see one.`, false];
    }
    const { active, aligned } = strip;
    const token = aligned && active !== null ? strip.tokens[active] : null;
    const working = ["Computing the reader’s certainty …", "", false];
    if (token?.a === "insert") return ["No belief", "This word was added, so it hides no word of your text.", false];
    if (!told || told === this.asked) return working;
    if (token && !told.tokens.includes(active)) {
      return active === strip.told ? working : [`What about “${token.o}”?`, "Click this word to see what a reader believes about it.", false];
    }
    if (!told.fact) return ["What does a reader believe?", aligned ? CHOOSE : NAME, !aligned];
    if (told.why) return [`No belief about “${told.fact}”`, told.why, true];
    return told.words ? null : working;
  }

  build() {
    const { ui, told } = this;
    this.shown = told;
    ui.odds.classList.toggle("many", told.words.length > FEW);
    const old = this.rows;
    this.rows = told.words.map((word, j) => {
      const row = make("li", j ? "" : "own");
      const name = row.appendChild(make("span", "word-name", word));
      name.dir = "auto";
      const track = row.appendChild(make("span", "odds-track"));
      track.setAttribute("aria-hidden", "true");
      const bar = track.appendChild(make("i", ""));
      const tick = track.appendChild(make("u", ""));
      tick.style.left = `${100 * told.prior[j]}%`;
      const ceiling = track.appendChild(make("s", ""));
      ceiling.hidden = !told.covered[j];
      row.classList.toggle("bare", !told.covered[j]);
      const value = row.appendChild(make("span", "word-odds"));
      const more = row.appendChild(make("span", "unseen"));
      return { row, bar, ceiling, value, more };
    });
    ui.odds.replaceChildren(...this.rows.map((r) => r.row));
    if (old.length !== this.rows.length) this.strip.reserveSoon();
    const [prior] = told.prior;
    ui.before.textContent = `Before reading: ${share(prior)}.`;
    ui.priorTag.textContent = `before: ${share(prior)}`;
    ui.priorTag.style.left = `${Math.min(100 * prior, 26)}%`;
    ui.tick.style.left = `${100 * prior}%`;
  }

  // The belief at ε; null if unknown.
  at(eps) {
    const { told, strip } = this;
    if (!strip.data.belief || strip.data.belief.why || !told?.words) return null;
    if (!strip.data.live && !strip.data.spread && Math.abs(eps - strip.data.eps) > 1e-9 * eps) return null;
    return believed(told, strip.data.spread ? strip.data.eps : eps);
  }

  paint(eps) {
    if (!this.on) return;
    const { ui, told, strip } = this;
    const found = this.at(eps);
    this.paintGauge(found);
    if (this.marked !== told) this.placeMark();
    const missing = this.missing() ?? (found ? null : ["Release the slider to see the belief at this ε.", "", false]);
    ui.numbers.hidden = Boolean(missing);
    ui.none.hidden = !missing;
    if (missing) {
      const [title, why, edit] = missing;
      put(ui.noneTitle, title);
      put(ui.noneWhy, why);
      ui.noneEdit.hidden = !edit || !ui.form.hidden;
      return;
    }
    if (this.shown !== told) this.build();
    const { words, covered } = told;
    const near = about(found);
    put(ui.value, `${near}${share(found.p[found.guess])}`);
    put(ui.guess, words[found.guess]);
    put(ui.wrong, found.guess ? ", which is wrong." : ".");
    put(ui.ceilingTag, covered[found.guess] ? `guarantee allows ${share(found.ceiling[found.guess])}` : "no guarantee");
    const { guess } = found;
    put(ui.limitWords, covered[guess] ? ceilingWords(told, eps, told.prior[guess], found.ceiling[guess]) : "");
    this.rows.forEach((r, j) => {
      const p = found.p[j];
      r.row.classList.toggle("guess", j === found.guess);
      r.row.classList.toggle("ruled-out", p === 0);
      r.bar.style.transform = `scaleX(${p.toFixed(4)})`;
      r.ceiling.style.left = `${(100 * found.ceiling[j]).toFixed(2)}%`;
      put(r.value, p === 0 ? "ruled out" : share(p));
      const allows = covered[j] ? `guarantee allows ${share(found.ceiling[j])}` : "no guarantee";
      put(r.more, `, before: ${share(told.prior[j])}, ${allows}`);
    });
    const at = told.tokens[0];
    const token = at === undefined ? null : strip.tokens[at];
    const released = token ? (token.drawn ? token.shown[token.at] : token.now) : "";
    const text = strip.aligned ? "" : strip.plainText();
    const first = told.first ? `The first ${told.first} alternatives are used. ` : "";
    put(ui.remark, first + remark(told, found, { released, copied: token?.a === "keep", text }));
  }

  paintGauge(found) {
    const { ui, strip, told } = this;
    // If some words have a belief and this one has none, the gauge keeps its place.
    const none = Boolean(strip.data.belief.why);
    const unknown = told?.fact === "" || Boolean(told?.why);
    strip.el.classList.toggle("has-belief", !none);
    ui.certain.hidden = none;
    if (none) return;
    put(ui.certainty, found ? `${about(found)}${share(found.p[found.guess])}` : unknown ? "–" : "…");
    put(ui.best, found ? `optimal guess: ${told.words[found.guess]}` : unknown ? gaugeHint(told, strip.aligned) : "");
    if (found) strip.memo.certainty = found.p[found.guess];
    ui.bar.style.transform = `scaleX(${found ? found.p[found.guess].toFixed(4) : 0})`;
    ui.tick.hidden = !told?.prior;
  }

  // The last step of the slider before the reader becomes more certain than MOST.
  placeMark() {
    const { ui: { mark }, told, strip } = this;
    this.marked = told;
    const known = told?.words && strip.data.live && !strip.data.spread && !strip.data.belief.why;
    const eps = known ? surestAt(told, MOST) : null;
    mark.hidden = eps === null;
    if (mark.hidden) return;
    const step = Math.floor(strip.where(eps) * strip.steps + 1e-6);
    this.mark = strip.stepEps(step) > eps * (1 + 1e-9) ? strip.stepEps(step - 1) : strip.stepEps(step);
    const at = strip.where(this.mark);
    mark.textContent = `at most ${share(MOST)} sure in this draw`;
    mark.title = `Set ε = ${plain(this.mark)}: up to this value, a reader of this draw is at most ${share(MOST)} sure. Other draws have other limits.`;
    mark.style.setProperty("--at", at);
    mark.dataset.side = at < 0.25 ? "start" : at > 0.75 ? "end" : "";
  }

  // For the slider's spoken value.
  spoken(eps) {
    const found = this.on ? this.at(eps) : null;
    return found ? `, a reader is ${share(found.p[found.guess])} sure: ${this.told.words[found.guess]}` : "";
  }
}
