// The tour: five states of the first screen, by pointer, touch and keyboard. Its title and its buttons are above the
// view, in dptext_studio/components/tour_header.js: the event "dptext-tour" sends a step, and "dptext-tour-go" requests
// one. Numbers come from the server (dptext_studio/figures/tour_view.py). Comes before token_strip.js.

const LAST_STEP = TOUR_STEPS.length - 1;
const COVERED = 3; // up to this step the view shows the note, and no rewrite of it
const SMALL = ["", "one", "two", "three", "four", "five"];
const GOAL = 0.5; // the challenge of the last step: certainty below, meaning above

// A reload keeps only the number of the step. A browser may refuse to store anything.
const PLACE = "dptext-tour-step";
function storedStep() {
  try {
    return stepAfter(performance.getEntriesByType("navigation")[0]?.type, sessionStorage.getItem(PLACE), LAST_STEP);
  } catch {
    return 0;
  }
}
function storeStep(step) {
  try {
    if (step) sessionStorage.setItem(PLACE, step);
    else sessionStorage.removeItem(PLACE);
  } catch {
    // Without it, the tour starts at its first step after a reload.
  }
}

// A probability in words for small values.
const inHundredThousand = (p) => `${(100000 * p).toFixed(1)} in 100,000`;

class TourView {
  constructor(strip) {
    this.strip = strip;
    this.step = 0;
    this.ui = null; // made at the first step
    this.forget();
  }

  forget() {
    this.found = new Set();
    this.shown = false; // what was missed
    this.bare = false; // the original in the place of placeholders
    this.draw = 0;
    this.drawn = 1;
  }

  get numbers() {
    return this.strip.tourNumbers ?? null;
  }

  // Whether the view shows the note of the tour instead of a rewrite.
  get covers() {
    return this.step > 0 && this.step <= COVERED;
  }

  listen(on) {
    on(document, "dptext-tour-go", (event) => this.go(event.detail));
    on(document, "keydown", (event) => {
      if (!this.step || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
      const within = event.composedPath().filter((node) => node.matches);
      if (within.some((node) => node.matches("input, textarea, select, [role=toolbar], [role=tablist], [role=dialog]"))) return;
      const to = { ArrowRight: this.step + 1, ArrowLeft: this.step - 1, Escape: 0 }[event.key];
      if (to === undefined || (event.key !== "Escape" && (to < 1 || to > LAST_STEP))) return;
      event.preventDefault();
      this.go(to);
    });
  }

  // New data arrived: start a requested tour, and end one whose note is gone.
  load(first) {
    const { memo, data } = this.strip;
    if (first) this.step = memo.step ?? 0;
    const asked = data.tour?.n ?? 0;
    const before = memo.toured === undefined && data.tour?.crossed ? storedStep() : 0;
    if (data.tour?.crossed && (before || asked > (memo.toured ?? 0))) {
      this.forget();
      this.step = before || 1;
      if (before) this.strip.queue(0, true); // the server works out the numbers of this step
    }
    if (data.tour?.crossed) memo.toured = Math.max(asked, memo.toured ?? 0);
    if (this.step && this.step < LAST_STEP && !data.tour?.crossed) this.step = 0;
    this.apply();
  }

  go(step) {
    if (!this.strip.data?.tour) return;
    const was = this.step;
    this.step = step > LAST_STEP ? 0 : Math.max(0, step);
    if (this.step < LAST_STEP && this.step && !this.strip.data.tour.crossed) this.step = 0; // of another text
    this.apply();
    const { pin } = this.strip.data;
    if (this.step >= LAST_STEP - 1 && was < LAST_STEP - 1 && pin !== undefined) {
      this.strip.choose(pin, { pin: true, tell: true });
      this.strip.el.classList.remove("sheet");
    }
    if (!this.step) this.strip.ui.slider.focus({ preventScroll: true });
    this.strip.queue(0, true);
    this.strip.schedule();
  }

  // Show the step: the parts that do not change during it.
  apply() {
    const { strip, step } = this;
    const { el, memo } = strip;
    memo.step = step;
    storeStep(step);
    if (step) el.dataset.step = step;
    else delete el.dataset.step;
    el.classList.remove("tour-sheet");
    const root = document.documentElement;
    if (step) root.dataset.tour = step;
    else delete root.dataset.tour;
    const { title, say } = TOUR_STEPS[step];
    document.dptextTour = { step, last: LAST_STEP, title, say, n: strip.data.tour?.n };
    document.dispatchEvent(new Event("dptext-tour"));
    strip.panel.shown = undefined; // the tick of the gauge
    if (!step && !this.ui) return;
    this.ui ??= this.make();
    for (const part of [strip.ui.text, strip.ui.inspector]) part.inert = this.covers && part === strip.ui.text;
    this.ui.bar.textContent = TOUR_STEPS[step].bar;
    this.layText();
    this.layPanel();
    this.layCentre();
    this.layFoot();
    this.update();
  }

  make() {
    const { ui, el } = this.strip;
    const parts = {
      bar: make("p", "tour-bar"), text: make("div", "tour-text"), panel: make("div", "tour-panel"),
      centre: make("div", "tour-centre"), foot: make("div", "tour-foot"), aside: make("span", "tour-aside"),
      peek: make("button", "tour-peek"), goal: make("u", "tour-goal"),
    };
    parts.text.setAttribute("role", "toolbar");
    parts.text.setAttribute("aria-label", "The note, word by word");
    parts.panel.setAttribute("aria-live", "polite");
    parts.peek.type = "button";
    parts.peek.addEventListener("click", () => {
      const open = el.classList.toggle("tour-sheet");
      parts.peek.setAttribute("aria-expanded", String(open));
    });
    parts.text.addEventListener("click", (event) => this.tap(event.target.closest("button")));
    parts.text.addEventListener("keydown", (event) => this.walk(event));
    ui.text.parentElement.querySelector(".bar").append(parts.bar);
    ui.text.before(parts.text);
    ui.inspector.append(parts.panel);
    ui.dial.append(parts.centre);
    ui.dial.prepend(parts.peek);
    ui.toldGauge.append(parts.aside);
    ui.meantBar.after(parts.goal);
    el.append(parts.foot);
    return parts;
  }

  // ---- the text of the first steps

  // One element for each word, together with its punctuation.
  layText() {
    const { text } = this.ui;
    this.nodes = new Map();
    text.hidden = !this.covers;
    if (!this.covers) return text.replaceChildren();
    const page = document.createDocumentFragment();
    let group = null;
    this.strip.tokens.forEach((t, i) => {
      const gap = t.pre.match(/\s+$|^\s+/) ? t.pre : "";
      const blank = document.createTextNode(gap);
      if (gap) page.append(blank);
      if (gap || !group) group = page.appendChild(make("span", "group"));
      if (!gap && t.pre) group.append(t.pre);
      if (!t.counts) return group.append(t.o);
      const node = group.appendChild(make(this.step === 1 ? "button" : "span", "tour-word", t.o));
      node.dataset.i = i;
      [node.blank, node.gap] = [blank, gap];
      node.dir = "auto";
      if (this.step === 1) [node.type, node.tabIndex] = ["button", this.nodes.size ? -1 : 0];
      this.nodes.set(i, node);
    });
    if (this.strip.data.tail) page.append(this.strip.data.tail);
    text.replaceChildren(page);
  }

  tap(node) {
    if (!node) return;
    const i = Number(node.dataset.i);
    if (!this.found.delete(i)) this.found.add(i);
    this.setStop(node);
    this.update();
    // Meanwhile, the server computes the numbers of the next steps.
    if (this.found.size === 1) this.strip.queue(0, true);
  }

  setStop(node) {
    for (const other of this.nodes.values()) other.tabIndex = other === node ? 0 : -1;
  }

  walk(event) {
    const all = [...this.nodes.values()];
    const here = all.indexOf(event.target);
    const to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: all.length - 1 }[event.key];
    if (this.step !== 1 || here < 0 || to === undefined) return;
    event.preventDefault();
    const node = all[clamp(to, 0, all.length - 1)];
    this.setStop(node);
    node.focus();
  }

  // ---- the panel

  layPanel() {
    const { panel } = this.ui;
    panel.hidden = !this.covers;
    this.rows = [];
    panel.replaceChildren();
    if (!this.covers) return;
    this.title = panel.appendChild(make("h3", ""));
    if (this.step === 1) this.layGroups(panel);
    else if (this.step === 2) this.layBelief(panel);
    else this.layOdds(panel);
    this.note = panel.appendChild(make("p", "tour-note"));
  }

  layGroups(panel) {
    const list = panel.appendChild(make("ul", "tour-groups"));
    for (const [title, at] of this.strip.data.tour.groups) {
      const row = list.appendChild(make("li", ""));
      row.append(make("span", "", title));
      const bar = row.appendChild(make("span", "odds-track")).appendChild(make("i", ""));
      this.rows.push({ at, bar, value: row.appendChild(make("span", "tour-value")) });
    }
  }

  layBelief(panel) {
    const sure = panel.appendChild(make("p", "sure"));
    this.certainty = sure.appendChild(make("b", ""));
    this.guess = sure.appendChild(make("span", ""));
    panel.append(this.guides());
    const list = panel.appendChild(make("ul", "odds"));
    const { words = [], prior = [] } = this.numbers?.redacted ?? {};
    for (const word of words) {
      const row = list.appendChild(make("li", ""));
      row.append(make("span", "word-name", word));
      const track = row.appendChild(make("span", "odds-track"));
      const bar = track.appendChild(make("i", ""));
      track.appendChild(make("u", "")).style.left = `${100 * (prior[this.rows.length] ?? 0)}%`;
      this.rows.push({ row, bar, value: row.appendChild(make("span", "word-odds")) });
    }
  }

  guides() {
    const line = make("p", "guides");
    const scale = make("span", "scale");
    const prior = this.numbers?.redacted?.prior[0];
    const tag = make("span", "prior-tag", prior === undefined ? "" : `before: ${share(prior)}`);
    tag.style.left = `${100 * (prior ?? 0)}%`;
    scale.append(tag, make("span", "ceiling-tag", prior === undefined ? "" : "no guarantee"));
    line.append(make("span", ""), scale);
    return line;
  }

  layOdds(panel) {
    const { other = "…", fact = "…" } = this.numbers ?? {};
    for (const [label, word] of [["Her note: ", fact], ["The neighbour’s note: ", other]]) {
      const line = panel.appendChild(make("p", "tour-lot"));
      const name = line.appendChild(make("span", "", label));
      name.append(make("strong", "", word), " disease");
      const value = line.appendChild(make("b", ""));
      const track = panel.appendChild(make("span", "odds-track"));
      const bar = track.appendChild(make("i", ""));
      this.rows.push({ value, bar, limit: track.appendChild(make("s", "")) });
    }
    this.limit = panel.appendChild(make("p", "tour-limit"));
    this.history = panel.appendChild(make("p", "tour-history"));
  }

  // ---- the centre of the dial, and the parts below it

  layCentre() {
    const { centre } = this.ui;
    centre.hidden = !this.covers;
    centre.replaceChildren();
    if (!this.covers) return;
    this.said = centre.appendChild(make("b", ""));
    this.said.setAttribute("role", "status");
    this.act = centre.appendChild(make("button", ""));
    this.act.type = "button";
    this.act.addEventListener("click", () => {
      if (this.step === 1) this.shown = !this.shown;
      else if (this.step === 2) this.bare = !this.bare;
      else {
        const n = this.numbers?.draws.length ?? 1;
        this.draw = (this.draw + 1) % n;
        this.drawn = Math.max(this.drawn, this.draw + 1);
      }
      this.update();
      this.strip.schedule();
    });
    centre.append(make("p", "tour-take-small", TOUR_STEPS[this.step].take));
  }

  layFoot() {
    const { foot } = this.ui;
    const { take } = TOUR_STEPS[this.step];
    foot.hidden = !this.step;
    foot.replaceChildren();
    if (take) {
      const line = foot.appendChild(make("p", "tour-take"));
      line.append(make("span", "", "Takeaway"), take);
    } else if (this.step) {
      const { cards = [], doors = [] } = this.strip.data.tour ?? {};
      for (const card of cards) foot.append(this.card("tour-card", card));
      for (const door of doors) foot.append(this.card("tour-card tour-door", door));
    }
  }

  // A card presses the corresponding control of the page.
  card(kind, { title, does, press, on }) {
    const button = make("button", kind);
    button.type = "button";
    if (on !== undefined) button.setAttribute("aria-pressed", String(on));
    button.append(make("strong", "", title), make("small", "", does));
    button.addEventListener("click", () => document.querySelector(press)?.click());
    return button;
  }

  // ---- what changes within a step

  update() {
    if (!this.covers) return;
    [this.paintFinding, this.paintRedaction, this.paintDraw][this.step - 1].call(this);
  }

  paintFinding() {
    const groups = this.strip.data.tour.groups;
    const wanted = new Set(groups.flatMap(([, at]) => at));
    for (const [i, node] of this.nodes) {
      const is = this.found.has(i);
      node.setAttribute("aria-pressed", String(is));
      node.classList.toggle("found", is && wanted.has(i));
      node.classList.toggle("harmless", is && !wanted.has(i));
      node.classList.toggle("missed", this.shown && !is && wanted.has(i));
    }
    for (const { at, bar, value } of this.rows) {
      const n = at.filter((i) => this.found.has(i)).length;
      bar.style.transform = `scaleX(${n / at.length})`;
      put(value, `${n} of ${at.length}`);
    }
    const n = [...wanted].filter((i) => this.found.has(i)).length;
    put(this.title, "What identifies her");
    put(this.note, this.shown
      ? "Outlined words are the ones you missed. Most people miss her family and her illness."
      : "Names are easy to find. Look for what else a neighbour would recognise.");
    put(this.said, `${n} of ${wanted.size} words found`);
    put(this.act, this.shown ? "Hide what I missed" : "Show what I missed");
    this.act.setAttribute("aria-pressed", String(this.shown));
    this.peekSays("What identifies her");
  }

  // How many of the words that identify her are not crossed out, and how many there are.
  uncrossed() {
    const { groups, crossed } = this.strip.data.tour;
    const gone = crossed.flatMap(([, at]) => at);
    const wanted = [...new Set(groups.flatMap(([, at]) => at))];
    return [wanted.filter((i) => !gone.includes(i)).length, wanted.length];
  }

  paintRedaction() {
    const { crossed, clues } = this.strip.data.tour;
    for (const [i, node] of this.nodes) node.classList.toggle("clue", clues.includes(i));
    // The first word of a span shows its placeholder, and the others nothing.
    for (const [placeholder, at] of crossed) {
      at.forEach((i, k) => {
        const node = this.nodes.get(i);
        node?.classList.toggle("crossed", !this.bare);
        if (!node) return;
        put(node, this.bare ? this.strip.tokens[i].o : k ? "" : placeholder);
        put(node.blank, k && !this.bare ? "" : node.gap);
      });
    }
    const told = this.numbers?.redacted;
    const p = this.bare ? told?.p.map((_, j) => Number(j === 0)) : told?.p;
    const [left, of] = this.uncrossed();
    const best = p ? p.indexOf(Math.max(...p)) : 0;
    put(this.title, "What a reader believes");
    put(this.certainty, told ? share(p[best]) : "…");
    put(this.guess, told ? `sure: she has ${told.words[best]} disease. Before reading: ${share(told.prior[best])}.` : "");
    this.rows.forEach(({ row, bar, value }, j) => {
      row.classList.toggle("guess", j === best);
      bar.style.transform = `scaleX(${p[j]})`;
      put(value, share(p[j]));
    });
    if (this.bare) put(this.note, "The reader sees every word.");
    else put(this.note, told ? `Nobody crossed out “${told.words[0]}”, so the other ${SMALL[told.words.length - 1] ?? told.words.length - 1} organs are ruled out.` : "");
    put(this.said, this.bare ? "nothing crossed out" : `${of - left} of ${of} words crossed out`);
    put(this.ui.bar, this.bare ? TOUR_STEPS[1].bar : TOUR_STEPS[2].bar);
    put(this.act, this.bare ? "Cross out again" : "Show the original");
    this.act.setAttribute("aria-pressed", String(this.bare));
    this.peekSays("A reader is ", told ? `${share(p[best])} sure: ${told.words[best]}` : "…");
  }

  paintDraw() {
    const all = this.numbers;
    const one = all?.draws[this.draw];
    const { fact } = this.strip.data.tour;
    const node = this.nodes.get(fact);
    node?.classList.toggle("drawn", Boolean(one));
    if (node) put(node, one ? one.word : this.strip.tokens[fact].o);
    put(this.title, one ? `Which note produced “${one.word}”?` : "Sampling a word …");
    this.act.disabled = !one;
    put(this.act, "Sample again");
    if (!one) return;
    const factor = Math.exp(all.loss);
    const top = 1.05 * factor * Math.max(...all.draws.flatMap((d) => d.p));
    const limit = factor * Math.min(...one.p);
    this.rows.forEach(({ value, bar, limit: line }, j) => {
      put(value, inHundredThousand(one.p[j]));
      bar.style.transform = `scaleX(${(one.p[j] / top).toFixed(4)})`;
      line.style.left = `${(100 * limit) / top}%`;
    });
    put(this.limit, `the guarantee’s limit at ε = ${plain(all.eps)}: ${factor.toFixed(1)} times as likely`);
    const words = all.draws.slice(0, this.drawn).map((d) => make("b", "", d.word));
    this.history.replaceChildren("Sampled so far: ", ...words.flatMap((w, k) => (k ? [", ", w] : [w])));
    put(this.note, "Two nearly equal bars: from this word alone, nobody can tell whose note it is.");
    put(this.said, `At ε = ${plain(all.eps)}, 50:50 becomes at most ${oddsPair(all.loss)}.`);
    const [a] = this.posterior(one);
    this.peekSays("Which note produced it? ", `${(100 * a).toFixed(0)}:${(100 - 100 * a).toFixed(0)}`);
  }

  posterior({ p: [a, b] }) {
    return [a / (a + b), b / (a + b)];
  }

  peekSays(plainly, strong = "") {
    this.ui.peek.replaceChildren(plainly, make("b", "", strong));
    this.ui.peek.setAttribute("aria-expanded", String(this.strip.el.classList.contains("tour-sheet")));
  }

  // The server sent its numbers: draw the step that shows them again.
  heard() {
    if (!this.covers || this.step === 1 || this.laidOf === this.numbers) return;
    this.laidOf = this.numbers;
    this.layPanel();
    this.update();
  }

  // The two gauges, in each frame.
  paintGauges() {
    const { ui } = this.strip;
    const { ui: gauge } = this.strip.panel;
    const all = this.numbers;
    const one = all?.draws[this.draw];
    const first = { certainty: 1, best: "it is in the note", aside: "the reader sees every word", tick: 0.25,
      meaning: 1, below: this.step === 1 ? "nothing has changed yet" : "nothing is crossed out" };
    let now = first;
    if (this.step === 2 && !this.bare) {
      const told = all?.redacted;
      const [left, of] = this.uncrossed();
      now = { certainty: told ? Math.max(...told.p) : null, best: told ? `optimal guess: ${told.words[told.p.indexOf(Math.max(...told.p))]}` : "",
        aside: `${left} of these ${of} words still visible`, tick: 0.25, meaning: told?.meaning ?? null, below: "similarity to the original" };
    } else if (this.step === 3) {
      now = { certainty: one ? Math.max(...this.posterior(one)) : null, best: one ? `${all.fact} or ${all.other}?` : "",
        aside: "guessing: 50%", tick: 0.5, meaning: one?.meaning ?? null, below: "one word replaced" };
    }
    if (all && this.step < 3) now.tick = all.redacted.prior[0];
    this.strip.el.classList.add("has-belief");
    gauge.certain.hidden = false;
    put(gauge.certainty, now.certainty === null ? "…" : share(now.certainty));
    put(gauge.best, now.best);
    gauge.bar.style.transform = `scaleX(${now.certainty ?? 0})`;
    gauge.tick.hidden = false;
    gauge.tick.style.left = `${100 * now.tick}%`;
    put(this.ui.aside, now.aside);
    put(ui.meant, now.meaning === null ? "…" : share(now.meaning));
    put(ui.alike, now.meaning === null ? "" : likeness(now.meaning));
    ui.meantBar.style.transform = `scaleX(${now.meaning ?? 0})`;
    put(ui.unchanged, now.below);
  }

  // The challenge of the last step, above the unchanged gauges.
  paintGoals(eps) {
    if (this.step !== LAST_STEP) return;
    const { data } = this.strip;
    const stale = !data.live && Math.abs(eps - data.eps) > 1e-9 * eps;
    const [found, meaning] = [this.strip.panel.at(eps), stale ? null : kept(this.strip.meaning, eps)];
    const { ui: gauge } = this.strip.panel;
    if (found) {
      put(gauge.best, found.p[found.guess] < GOAL ? `below ${share(GOAL)} ✓` : `goal: below ${share(GOAL)}`);
      gauge.tick.style.left = `${100 * GOAL}%`;
    }
    if (meaning) put(this.strip.ui.alike, meaning.share > GOAL ? `above ${share(GOAL)} ✓` : `goal: above ${share(GOAL)}`);
  }

  destroy() {
    delete document.documentElement.dataset.tour;
    document.dptextTour = undefined;
    document.dispatchEvent(new Event("dptext-tour"));
  }
}
