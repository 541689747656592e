// The live token strip. Python sends every word's chances once; from then on ε moves without the server. What is worked
// out from them stands in token_math.js, which is put in front of this file. Both run as a module in the app and as a
// plain script in files that stand alone: export nothing but mount, import nothing, ask nobody.
// Whatever comes from a text reaches the page through textContent or an attribute, never as markup.

const SETTLE_MS = 350; // quiet time before a change is sent
const SPEAK_MS = 500; // quiet time before a change is spoken
const SUBSTEPS = 4; // slider steps per grid interval
const ROWS = 9; // words in the inspector
const STAGE_ROWS = 3; // and where its steps stand above them
const TOUR = [1, 0.1, 1.6, 1]; // where the slider goes by itself: shares of the way to where it stands
const TOUR_MS = 6000;
const BEGUN = ["pointerdown", "keydown", "wheel"]; // after these it does not, or no more
const FADE_LIMIT = 60; // beyond this many new words in a frame, fading them would cost more than it shows
const END = "∎"; // what stands for the token that ends a text
const SENTENCE = 30; // letters of a candidate from which on candidates stand above their bars
const UNBROKEN = 24; // letters of pieces without a space between them that stay on one line
const TRIED = 25; // points of ε at which the height of a text is tried out
const CHIPS = 24; // names, dates and places that are listed; the others are counted
const LONG_TEXT = 260; // words from which the text scrolls in a box of its own, so that the slider stays in sight

// One module serves every strip of the page: what is kept here survives a switch of pages.
const memory = new Map();
const strips = new WeakMap();

export default function mount(component) {
  const root = component.parentElement;
  let strip = strips.get(root);
  if (!strip || !strip.el.isConnected) {
    strip?.destroy();
    strip = new Strip(root.querySelector(".strip"));
    strips.set(root, strip);
  }
  const turn = strip.accept(component);
  // Of all the cleanups handed out, only the newest may take the strip down.
  return () => {
    if (strip.turn !== turn) return;
    strip.destroy();
    if (strips.get(root) === strip) strips.delete(root);
  };
}

const integer = new Intl.NumberFormat("en");
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

// The ranges of a selection. Browsers differ in how they tell of one that lies in a shadow root.
function selected(selection, root) {
  if (!selection?.rangeCount) return [];
  try {
    if (root.host && selection.getComposedRanges) return selection.getComposedRanges({ shadowRoots: [root] });
  } catch {
    // An older form of the call: the plain range below.
  }
  return [selection.getRangeAt(0)];
}

function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// Numbers on the axis: powers of two where both ends are such, else 1-2-5, more on a short axis; never crowding the ends.
function ticks(lo, hi) {
  const two = (x) => Number.isInteger(Math.log2(x));
  const out = [];
  if (two(lo) && two(hi)) {
    for (let x = lo; x <= hi; x *= 2) out.push(x);
    return out;
  }
  const room = 0.05 * Math.log(hi / lo);
  const steps = hi / lo < 5 ? [1, 1.2, 1.5, 2, 3, 4, 5, 6, 8] : [1, 2, 5];
  for (let e = Math.floor(Math.log10(lo)); e <= Math.ceil(Math.log10(hi)); e += 1) {
    for (const m of steps) {
      const x = Number(`${m}e${e}`);
      if (Math.log(x / lo) > room && Math.log(hi / x) > room) out.push(x);
    }
  }
  return [lo, ...out, hi];
}

class Strip {
  constructor(el) {
    this.el = el;
    this.turn = 0;
    this.data = undefined;
    this.tokens = [];
    this.words = []; // indices of the tokens that are buttons
    this.active = null; // the token in the inspector
    this.told = null; // the token the server is told about: chosen on purpose, not merely hovered
    this.pinned = false;
    this.rises = false; // the sheet with the chosen word, on a narrow screen
    this.moved = false;
    this.stop = null; // the token that holds the tab stop
    this.dragging = false;
    this.typing = false;
    this.lastSent = null;
    this.askedEps = null; // without live words: the ε the server has been asked for
    this.timers = {};
    this.frame = 0;
    this.stale = false;
    const q = (s) => el.querySelector(s);
    this.ui = {
      error: q(".error"), body: q(".body"), unit: q(".unit"), seeded: q(".seeded"), exact: q(".exact"),
      reset: q(".reset"), count: q(".count strong"), ofAll: q(".count span"), share: q(".share"), edge: q(".edge"),
      line: q(".line"), lineTag: q(".line-tag"), shareTag: q(".share-tag"), head: q(".playhead"),
      dot: q(".playhead i"), slider: q(".slider"), lane: q(".lane"), ticks: q(".ticks"), hint: q(".hint"),
      spread: q(".spread"), reading: q(".reading"), axis: q(".axis"), ends: q(".ends"), originals: q(".originals"), tint: q(".tint"), copy: q(".copy"), copied: q(".copied"), limit: q(".limit"),
      before: q(".before"), beforeText: q(".before p"), text: q(".text"), legend: q(".legend"),
      standing: q(".standing"), stood: q(".stood strong"), finder: q(".finder"), chips: q(".chips"),
      inspector: q(".inspector"), place: q(".place"), pin: q(".pin"), pair: q(".pair"), from: q(".from"),
      arrow: q(".arrow"), to: q(".to"), chance: q(".chance"), chanceValue: q(".chance strong"), note: q(".note"),
      risk: q(".risk"), riskValue: q(".risk strong"),
      rows: q(".rows"), spoken: q(".spoken"), dial: q(".dial"), how: q(".how"), play: q(".play"),
      telltale: q(".telltale"), whichStand: q(".which-stand"), shutStanding: q(".standing .shut"),
      toldGauge: q(".told"), told: q(".which-stand strong"), toldBar: q(".left-bar b"),
      meantGauge: q(".meant"), meant: q(".meant strong"), meantBar: q(".meant b"), unchanged: q(".unchanged"),
    };
    this.panel = new BeliefPanel(this);
    this.makeRows();
    this.listen();
    this.makeSkip();
    this.wide = 0;
    this.sized = new ResizeObserver(() => {
      const wide = this.ui.text.clientWidth;
      if (wide === this.wide) return;
      this.wide = wide;
      this.reserveSoon();
    });
    this.sized.observe(this.ui.text);
    // Above it lies the sheet of a narrow screen.
    this.dialSized = new ResizeObserver(() => el.style.setProperty("--dial", `${this.ui.dial.offsetHeight}px`));
    this.dialSized.observe(this.ui.dial);
  }

  // For the keyboard: from the top of the page to the slider, without the controls before it.
  makeSkip() {
    const link = make("a", "", "Skip to the slider");
    link.href = "#slider";
    const rest = "position:fixed;top:8px;left:8px;z-index:1000000;padding:8px 14px;border-radius:6px;" +
      "background:#0b5cad;color:#fff;font:600 14px system-ui,sans-serif;outline:2px solid #fff;";
    const away = `${rest}transform:translateY(-200%);`;
    link.style.cssText = away;
    const { signal } = this.off;
    link.addEventListener("focus", () => (link.style.cssText = rest), { signal });
    link.addEventListener("blur", () => (link.style.cssText = away), { signal });
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const to = this.data?.spread ? this.ui.copy : this.ui.slider;
      to.focus();
      to.scrollIntoView({ block: "center" });
    }, { signal });
    document.body.prepend(link);
    this.skip = link;
  }

  destroy() {
    if (this.dragging) this.hold(false);
    document.documentElement.removeAttribute("data-behind");
    this.off.abort();
    this.sized.disconnect();
    this.dialSized.disconnect();
    this.skip.remove();
    cancelAnimationFrame(this.frame);
    for (const id of Object.values(this.timers)) clearTimeout(id);
    this.setState = () => {};
  }

  accept({ data, setStateValue }) {
    this.turn += 1;
    this.setState = setStateValue;
    if (data === this.data) return this.turn; // the theme has changed, or the page was run again
    this.data = data;
    try {
      this.load(data);
      this.ui.error.hidden = true;
      this.ui.body.hidden = false;
    } catch (problem) {
      this.tokens = [];
      this.words = [];
      this.ui.body.hidden = true;
      this.fail(problem);
    }
    this.el.hidden = false;
    return this.turn;
  }

  fail(problem) {
    this.ui.error.textContent = `The live view stopped: ${problem?.message ?? problem}. Rewrite again to restart it.`;
    this.ui.error.hidden = false;
  }

  // ---------------------------------------------------------------- data

  load(data) {
    if (!data || typeof data !== "object" || !Array.isArray(data.tokens)) throw new Error("no words came");
    const { lo, hi, n_grid: nGrid } = data;
    if (!(lo > 0 && hi > lo && nGrid >= 3)) throw new Error("the range of ε is not usable");
    const tokens = data.tokens.map((raw, i) => prepare(raw, data, i));
    this.aligned = data.aligned !== false;
    const text = tokens.map((t) => `${t.pre}\u0000${t.o}\u0000${t.a}\u0000${t.why}`).join("\u0001") + (data.tail ?? "");
    const sameText = text === this.textKey;
    const newRun = data.run !== this.run;
    // Where ε moves by itself, what comes is for the ε that it would come back to.
    if (newRun || (data.cmd && data.cmd.n !== this.memo?.commandSeen)) this.endTour?.();
    if (newRun) {
      this.heard = this.meaning = this.belief = undefined;
      this.ui.spoken.textContent = ""; // it was said of another text
    }

    this.span = Math.log(hi / lo);
    this.steps = (nGrid - 1) * SUBSTEPS;
    // What is read is what is used: ε on the slider is rounded to the digits that are shown.
    this.digits = Math.expm1(this.span / this.steps) > 0.011 ? 3 : 4;
    this.lo = lo;
    this.hi = hi;
    this.shownEps = undefined; // on another axis the same ε lies elsewhere

    const first = this.memo === undefined;
    this.memo = memory.get(data.key) ?? { commandSeen: null, copies: [] };
    memory.set(data.key, this.memo);
    if (first) {
      this.ui.originals.checked = this.memo.originals ?? true;
      this.ui.tint.value = this.memo.tint ?? "changed";
    }
    this.eps = data.spread ? data.eps : this.round(clamp(this.memo.eps ?? data.eps, lo, hi));
    // What was said about copies of one draw does not hold for the next.
    const draw = data.draw ?? `run ${data.run}`;
    if (this.draw !== draw) this.say("", false);
    this.draw = draw;

    // A choice stays where the same text was rewritten again, and after a switch of pages.
    const back = first && this.memo.run === data.run && this.memo.size === tokens.length;
    if (back) [this.active, this.told, this.pinned] = [this.memo.told, this.memo.told, this.memo.pinned];
    else if (!sameText) {
      // While a text is edited, a choice stays as long as its word stands in its place.
      const word = data.pin === undefined && this.told !== null ? this.tokens[this.told]?.o : undefined;
      const chosen = word !== undefined && tokens[this.told]?.o === word ? this.told : (data.pin ?? null);
      [this.active, this.told, this.pinned] = [chosen, chosen, chosen !== null];
    }
    if (this.active !== null && !tokens[this.active]?.button) {
      [this.active, this.told, this.pinned] = [null, null, false];
    }

    let answer = false;
    if (data.cmd && data.cmd.n !== this.memo.commandSeen) {
      this.memo.commandSeen = data.cmd.n;
      if (data.cmd.eps > 0 && !data.spread) {
        this.eps = this.round(clamp(data.cmd.eps, lo, hi));
        answer = true;
      }
    }

    this.setStage(first);
    const old = this.tokens;
    this.tokens = tokens;
    this.run = data.run;
    this.textKey = text;
    this.hear();
    this.panel.load();
    this.makeEvents();
    this.frameDial();
    if (!sameText || !old.length) this.makeText();
    else tokens.forEach((t, i) => Object.assign(t, { node: old[i].node, word: old[i].word }));
    this.findTelling();
    this.repaintWords(sameText && !first);
    this.drawShare();
    this.shownActive = undefined;
    this.typing = false;
    this.syncSlider();
    this.remember();
    this.paint();
    this.reserveSoon();
    if (answer) {
      this.lastSent = null;
      this.queue(0, true);
    } else if ((newRun || first) && (this.eps !== data.eps || (first && this.news()))) {
      // Once per ε: an answer at another ε than the one asked for must not start a round without end.
      if (data.live || this.askedEps !== this.eps) this.queue();
    }
  }

  // What the page knows of the ε that it heard of last comes beside the rewrite, which is much longer.
  hear() {
    const told = document.dptextHere;
    if (!told || this.data.here || told.key !== this.data.key || told.run !== this.run) return;
    this.heard = told.eps;
    // Where ε moves nothing, a text has one figure, and what was told of another ε is of another text.
    this.meaning = this.data.live || told.eps === this.data.eps ? told.meaning : null;
    this.belief = told.belief ?? undefined;
    this.tokens.forEach((t, i) => t.bent && tell(t, i, told));
  }

  // Where the page has not heard of this ε yet, what it would give away is another text than the one in sight.
  behind() {
    const moved = Math.abs((this.heard ?? this.eps) - this.eps) > 1e-9 * this.eps;
    document.documentElement.toggleAttribute("data-behind", Boolean(this.data.live && !this.data.spread && moved));
  }

  // A first screen: the words above the slider, gauges at its ends, and how the chosen word was replaced.
  setStage(first) {
    const { ui, data } = this;
    const on = Boolean(data.stage);
    this.el.classList.toggle("stage", on);
    this.most = on ? STAGE_ROWS : ROWS;
    for (const part of [ui.toldGauge, ui.meantGauge]) part.hidden = !on;
    ui.play.hidden = !on || !data.live || calm.matches;
    if (!on) return;
    if (ui.body.lastElementChild !== ui.dial) ui.body.append(ui.dial);
    if (first && this.memo.originals === undefined) ui.originals.checked = false;
    this.el.classList.toggle("no-originals", !ui.originals.checked);
    if (!data.tour) clearTimeout(this.timers.tour); // another text has come in the meantime
    else if (!this.memo.toured && !calm.matches) {
      this.memo.toured = true;
      this.timers.tour = setTimeout(() => this.tour(), 1500);
      const begun = { capture: true, once: true, signal: this.off.signal };
      for (const kind of BEGUN) window.addEventListener(kind, () => clearTimeout(this.timers.tour), begun);
    }
  }

  // While ε moves, what the server says of it is of the ε before: the page may look at this.
  hold(moving) {
    this.dragging = moving;
    document.documentElement.toggleAttribute("data-dragging", moving);
  }

  // ε moves by itself and comes back; whatever the user does ends it. The server hears nothing of it.
  tour() {
    if (this.touring || this.dragging || !this.data.live) return;
    const home = this.eps;
    const rest = this.where(home);
    const began = performance.now();
    this.touring = true;
    this.hold(true);
    const end = () => {
      this.off.signal.removeEventListener("abort", end);
      for (const kind of BEGUN) window.removeEventListener(kind, end, { capture: true });
      cancelAnimationFrame(this.tourFrame);
      if (!this.touring) return;
      this.touring = false;
      this.hold(false);
      this.setEps(home);
      clearTimeout(this.timers.speak);
      this.schedule();
    };
    this.endTour = end;
    for (const kind of BEGUN) window.addEventListener(kind, end, { capture: true });
    this.off.signal.addEventListener("abort", end);
    const step = (now) => {
      const way = Math.max(0, now - began) / TOUR_MS * (TOUR.length - 1);
      if (way >= TOUR.length - 1 || !this.touring) return end();
      const leg = Math.floor(way);
      const part = way - leg;
      const at = TOUR[leg] + (TOUR[leg + 1] - TOUR[leg]) * part * part * (3 - 2 * part);
      const x = clamp(rest * at, 0, 1);
      this.setEps(this.stepEps(Math.round(x * this.steps)));
      clearTimeout(this.timers.speak);
      this.tourFrame = requestAnimationFrame(step);
    };
    this.tourFrame = requestAnimationFrame(step);
  }

  round(eps) {
    return clamp(Number(eps.toPrecision(6)), this.lo, this.hi);
  }

  stepEps(step) {
    const eps = this.lo * Math.exp((this.span * step) / this.steps);
    return clamp(Number(eps.toPrecision(this.digits)), this.lo, this.hi);
  }

  where(eps) {
    return onAxis(eps, this.lo, this.hi);
  }

  // Every change of a word, in order of ε: a drag walks along this list.
  makeEvents() {
    const events = [];
    this.tokens.forEach((t, i) => {
      if (t.drawn) for (let k = 1; k < t.from.length; k += 1) events.push([t.from[k], i]);
    });
    events.sort((a, b) => a[0] - b[0]);
    this.eventEps = events.map((e) => e[0]);
    this.eventToken = events.map((e) => e[1]);
  }

  // ---------------------------------------------------------------- the page

  frameDial() {
    const { data, ui } = this;
    ui.unit.textContent = data.unit ?? "";
    ui.seeded.hidden = !data.seeded;
    ui.spread.textContent = data.spread ?? "";
    ui.spread.hidden = !data.spread;
    for (const part of [ui.unit, ui.reading, ui.axis, ui.ends]) part.hidden = Boolean(data.spread);
    ui.slider.max = this.steps;
    ui.slider.setAttribute("aria-label", `Privacy budget ε ${data.unit ?? ""}`.trim());
    ui.exact.setAttribute("aria-label", `Exact ε, ${plain(this.lo)} to ${plain(this.hi)}`);
    ui.reset.textContent = `back to ${plain(data.default_eps ?? data.eps)}`;
    this.total = this.tokens.reduce((n, t) => n + t.counts, 0);
    this.sampled = this.tokens.reduce((n, t) => n + (t.counts && t.a !== "keep"), 0);
    this.added = this.tokens.reduce((n, t) => n + (t.a === "insert"), 0);
    this.written = this.tokens.reduce((n, t) => n + (t.drawn || t.a === "whole"), 0);
    this.el.classList.toggle("unaligned", !this.aligned);
    ui.before.hidden = this.aligned;
    ui.beforeText.textContent = this.aligned ? "" : (data.original ?? "");
    ui.originals.parentElement.hidden = !this.aligned;
    const replaced = this.tokens.some((t) => t.drawn && t.a === "replace");
    ui.tint.hidden = !replaced;
    for (const option of ui.tint.options) {
      option.disabled = option.value === "stands" && !data.telling?.length;
      if (option.value === "attack") option.hidden = option.disabled = !data.attack;
    }
    if (ui.tint.selectedOptions[0]?.disabled) ui.tint.value = "changed";
    this.tintBy(ui.tint.hidden ? "changed" : ui.tint.value);
    const marks = ticks(this.lo, this.hi);
    ui.ticks.replaceChildren(
      ...marks.map((x, i) => {
        const at = this.where(x);
        const mark = make("span", (marks.length - 1 - i) % 2 ? "minor" : "", plain(x));
        // What the ends say takes the place of the numbers beside them.
        mark.classList.toggle("near", i > 0 && i < marks.length - 1 && (at < 0.15 || at > 0.78));
        mark.classList.toggle("tight", i > 0 && i < marks.length - 1 && (at < 0.1 || at > 0.88));
        mark.style.left = `${100 * at}%`;
        if (i === 0) mark.append(make("small", "", " more private"));
        if (i === marks.length - 1) mark.prepend(make("small", "", "closer to the original "));
        return mark;
      }),
    );
    this.el.classList.toggle("sequential", !data.live);
    const kinds = new Set(this.tokens.filter((t) => t.button).map((t) => t.a));
    if (this.tokens.some((t) => t.a === "replace" && t.why)) kinds.add("fixed");
    if (data.telling?.some((f) => f.at.some((i) => this.tokens[i]?.button))) kinds.add("stands");
    const short = data.stage && this.aligned;
    ui.legend.replaceChildren(
      ...[
        ["replace", "lg-chance", "the longer the bar, the likelier the word stays (N_w)"],
        ["replace", "lg-risk", data.attack ? this.riskSaid() : ""],
        ["replace", "lg-changed", short ? "replaced" : "changed"],
        ["replace", "lg-same", short ? "stayed by chance" : "drawn, same word"],
        ["fixed", "lg-fixed", "replaced whatever ε is"],
        ["stands", "lg-stands", short ? "still identifies" : "a name, number, date or place that still stands"],
        ["stands", "lg-rest", "every other word"],
        ["keep", "lg-keep", short ? "never touched" : "kept as it is, visible to everyone"],
        ["delete", "lg-del", "deleted"],
        ["insert", "lg-ins", this.aligned ? "added" : this.data.live ? "drawn" : "drawn, given the pieces before it"],
      ].filter(([a]) => kinds.has(a)).map(([, name, text]) => make("li", name, text)),
    );
  }

  makeText() {
    const { ui } = this;
    // One block a line of the text: a long text is then laid out only where it is in sight.
    const page = document.createDocumentFragment();
    let line = page.appendChild(make("div", "line-of-text"));
    const put = (between) => {
      const parts = between.split("\n");
      parts.forEach((part, k) => {
        const last = k === parts.length - 1;
        if (part || !last) line.append(last ? part : `${part}\n`);
        if (!last) line = page.appendChild(make("div", "line-of-text"));
      });
    };
    const chosen = this.active;
    this.words = [];
    let text = ""; // what stands between the word before and the next one
    let before = null; // the last word
    let held = 0; // letters of the words that stand together with it
    const lay = (node, letters = 0) => {
      let [, head, gap, tail] = /^(\S*)([\s\S]*?)(\S*)$/.exec(text);
      if (!before && !gap) [head, tail] = ["", head];
      const holdHead = before && head && head.length <= 12;
      const holdTail = node && tail && tail.length <= 12;
      // Marks stand in the word that they cling to: beside it, and not beside a longer original below it.
      if (holdHead) before.append(make("span", "mark", head));
      const between = (holdHead ? "" : head) + gap + (holdTail ? "" : tail);
      if (between) put(between);
      // Where nothing stands between two pieces they make up one word, or a word and its mark.
      if (node && !text && before && held + letters <= UNBROKEN) {
        let box = before.parentElement;
        if (!box.classList.contains("group")) {
          box = make("span", "group");
          before.replaceWith(box);
          box.append(before);
        }
        box.append(node);
        held += letters;
      } else if (node) {
        line.append(node);
        held = letters;
      }
      if (holdTail) node.prepend(make("span", "mark lead", tail));
      before = node ?? before;
      text = "";
    };
    this.tokens.forEach((t, i) => {
      text += t.pre;
      if (!t.button) {
        text += t.o;
        return;
      }
      const kind = { replace: "word", insert: "word added", delete: "word gone", keep: "word keep" }[t.a];
      t.node = make("button", kind);
      if (t.a === "replace" && t.why) t.node.classList.add("fixed");
      if (t.a === "delete" && !/\s$/.test(text)) t.node.classList.add("apart");
      t.node.type = "button";
      t.node.tabIndex = -1;
      t.node.dataset.i = i;
      t.node.setAttribute("aria-pressed", "false");
      t.word = make("span", "now", t.a === "delete" ? "·" : t.o);
      t.word.dir = "auto";
      const below = make("span", "was", t.a === "insert" ? (this.aligned ? "+" : "") : t.a === "keep" ? "" : t.o);
      below.dir = "auto";
      t.node.append(t.word, below);
      const did = { keep: "kept", insert: "added", delete: "deleted" }[t.a];
      if (did && t.why) t.node.title = `${did}: ${t.why}`;
      if (t.a === "keep") t.node.setAttribute("aria-label", `${t.o}, kept as it is`);
      if (t.a === "delete") t.node.setAttribute("aria-label", `${t.o}, deleted`);
      const shown = t.drawn ? t.shown[winner(t, this.eps)] : t.o;
      lay(t.node, t.a === "delete" ? UNBROKEN + 1 : shown.length);
      this.words.push(i);
    });
    text += this.data.tail ?? "";
    lay(null);
    if (!line.hasChildNodes()) line.remove();
    // The direction most of the words have: single words carry their own.
    const leftward = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}]/u;
    const rtl = this.words.filter((i) => leftward.test(this.tokens[i].o));
    ui.text.dir = rtl.length * 2 > this.words.length ? "rtl" : "ltr";
    ui.text.classList.toggle("long", this.words.length > LONG_TEXT);
    ui.text.classList.toggle("empty", !this.words.length);
    ui.text.replaceChildren(page);
    ui.text.scrollTop = 0;
    this.setStop(chosen ?? this.words[0] ?? null);
  }

  riskSaid() {
    const { why, chance, guess } = this.data.attack;
    if (why) return why;
    if (chance === undefined) return "Working it out …";
    return "the longer the bar, the likelier an attacker names your word who sees one released word, and knows the " +
      `mechanism, ε and how frequent words are in public text. Without the output, a guess is right ${percent(chance)} ` +
      `of the time (always “${guess}”).`;
  }

  // What rules found in the original: its words know it, and each has a place of its own below the text.
  findTelling() {
    const { ui, data } = this;
    this.telling = (data.telling ?? []).map((f) => ({ ...f, stands: null, at: f.at.filter((i) => this.tokens[i]) }));
    for (const t of this.tokens) t.tells = null;
    for (const f of this.telling) for (const i of f.at) this.tokens[i].tells = f;
    // On a first screen the list stands over the text, and is opened by what counts it.
    (data.stage ? ui.dial : ui.legend.parentElement).insertBefore(ui.standing, data.stage ? null : ui.legend);
    ui.standing.hidden = !data.telling;
    ui.whichStand.disabled = !this.telling.length;
    if (!this.telling.length) this.listStanding(false);
    ui.finder.textContent = data.finder ? ` and by the spaCy pipeline ${data.finder}` : "";
    const shown = this.telling.slice(0, CHIPS);
    for (const f of shown) {
      f.chip = make("li", "chip");
      const at = f.at.find((i) => this.tokens[i].button);
      const word = make(data.stage && at !== undefined ? "button" : "span", "", f.text);
      word.dir = "auto";
      if (word.type) {
        word.type = "button";
        word.addEventListener("click", () => this.go(at));
      }
      f.state = make("small", "");
      f.chip.append(word, f.state);
    }
    const more = this.telling.length - shown.length;
    ui.chips.replaceChildren(...shown.map((f) => f.chip), ...(more ? [make("li", "", `and ${integer.format(more)} more`)] : []));
    ui.chips.hidden = !shown.length;
    ui.stood.parentElement.dataset.all = this.standing(this.telling);
    this.toldStands = null;
  }

  listStanding(open) {
    this.ui.standing.classList.toggle("open", open);
    this.ui.whichStand.setAttribute("aria-expanded", String(open));
  }

  // From the list to a word in the text.
  go(i) {
    this.listStanding(false);
    this.choose(i, { pin: true, tell: true });
    this.tokens[i].node?.focus();
  }

  standing(found) {
    return `${tally(found)} of your text still ${found.length === 1 ? "stands" : "stand"} here`;
  }

  // Which of it stands at this ε. Each keeps its place and its width, so that nothing below moves.
  paintStanding() {
    const { ui, data, aligned } = this;
    if (!data.telling || this.toldStands === this.atEvent) return;
    this.toldStands = this.atEvent;
    const kinds = new Map();
    for (const f of this.telling) {
      const at = f.at.filter((i, n) => stands(this.tokens[i], aligned, f.among?.[n]));
      for (const i of at) kinds.set(this.tokens[i], f.kind);
      const is = at.length > 0;
      if (is === f.stands) continue;
      f.stands = is;
      f.chip?.classList.toggle("gone", !is);
      if (f.chip) f.state.textContent = is ? `, ${f.kind}, still stands` : `, ${f.kind}, gone`;
    }
    for (const t of this.tokens) {
      if (!t.tells || !t.node) continue;
      const kind = kinds.get(t);
      t.node.classList.toggle("stands", kind !== undefined);
      if (kind) t.node.setAttribute("aria-description", `${kind}, still stands`);
      else t.node.removeAttribute("aria-description");
    }
    const left = this.telling.filter((f) => f.stands);
    const said = left.length
      ? this.standing(left)
      : this.telling.length
        ? "None of these words of your text still stands here"
        : "No names, numbers, dates or places were found in your text";
    if (ui.stood.textContent !== said) ui.stood.textContent = said;
    ui.standing.classList.toggle("none", !left.length);
  }

  reserveSoon() {
    clearTimeout(this.timers.reserve);
    this.timers.reserve = setTimeout(() => this.reserve(), 60);
  }

  // Room for the text at every ε, so that nothing below it moves while ε does: its height is tried out on a copy.
  reserve() {
    const { text } = this.ui;
    if (this.dragging) return this.reserveSoon();
    text.style.minHeight = "";
    if (!this.data?.live || !text.clientWidth || text.classList.contains("long")) return;
    const copy = text.cloneNode(true);
    // In a box whose layout nothing around it depends on: what is tried out lays out the copy, and not the page.
    const box = make("div", "");
    box.inert = true;
    box.style.cssText = `position:absolute;visibility:hidden;contain:strict;top:0;left:0;width:${text.offsetWidth}px;height:1px`;
    copy.style.margin = "0";
    box.append(copy);
    text.after(box);
    const drawn = [...copy.querySelectorAll(".word")]
      .map((node, k) => ({ node, now: node.querySelector(".now"), t: this.tokens[this.words[k]], at: -1 }))
      .filter(({ t }) => t.drawn);
    let most = 0;
    const points = this.words.length > 100 ? 9 : TRIED;
    for (let k = 0; k < points; k += 1) {
      const eps = this.lo * Math.exp((this.span * k) / (points - 1));
      for (const word of drawn) {
        const { node, now, t } = word;
        const at = winner(t, eps);
        if (at === word.at) continue;
        word.at = at;
        now.textContent = t.shown[at] || END;
        node.classList.toggle("changed", t.a === "replace" && !t.kept[at]);
      }
      most = Math.max(most, copy.offsetHeight);
    }
    box.remove();
    text.style.minHeight = `${most}px`;
  }

  makeRows() {
    this.ui.rows.replaceChildren(); // another strip may have stood on this page's markup
    this.rows = Array.from({ length: ROWS + 1 }, (_, i) => {
      const row = make("li", i === ROWS ? "row others" : "row");
      const name = make("span", "name");
      const word = make("span", "");
      const rank = make("small", "");
      name.append(word, rank);
      word.dir = "auto";
      const track = make("span", "track");
      const bar = make("i", "");
      track.append(bar);
      const value = make("span", "value");
      row.append(name, track, value);
      this.ui.rows.append(row);
      return { row, word, rank, bar, value, k: null };
    });
  }

  // ---------------------------------------------------------------- painting

  schedule() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      try {
        this.paint();
      } catch (problem) {
        this.fail(problem);
      }
    });
  }

  paint() {
    if (!this.tokens) return;
    const start = performance.now();
    this.behind();
    this.moveWords();
    this.paintStanding();
    this.paintTint();
    this.paintDial();
    if (this.data.stage) this.paintGauges();
    this.panel.paint(this.eps);
    if (this.active !== this.shownActive) this.openInspector();
    this.paintInspector();
    if (this.rises) this.clearOfSheet();
    const ms = performance.now() - start;
    performance.measure("dptext-frame", { start, duration: ms });
    performance.clearMeasures("dptext-frame");
    const log = (window.__dptextStrip ??= { frames: 0, lastFrameMs: 0, recent: [] });
    log.frames += 1;
    log.lastFrameMs = ms;
    log.recent.push(ms);
    if (log.recent.length > 240) log.recent.shift();
  }

  repaintWords(fade) {
    const news = [];
    this.changed = 0;
    for (const t of this.tokens) {
      t.at = -1;
      if (t.drawn && this.setWord(t)) news.push(t);
      if (!t.drawn) t.changed = t.a === "delete";
      if (t.counts && t.changed) this.changed += 1;
    }
    this.atEvent = upTo(this.eventEps, this.eps);
    if (fade) this.fade(news);
  }

  moveWords() {
    const target = upTo(this.eventEps, this.eps);
    if (target === this.atEvent) return;
    const touched = new Set();
    const [first, end] = target > this.atEvent ? [this.atEvent, target] : [target, this.atEvent];
    for (let k = first; k < end; k += 1) touched.add(this.eventToken[k]);
    this.atEvent = target;
    const news = [];
    for (const i of touched) {
      const t = this.tokens[i];
      const before = t.changed;
      if (this.setWord(t)) news.push(t);
      if (t.counts) this.changed += t.changed - before;
    }
    this.fade(news);
  }

  // Put the winner at ε into a word; true where another word shows now.
  setWord(t) {
    const at = winner(t, this.eps);
    if (at === t.at) return false;
    t.at = at;
    t.changed = t.a === "replace" && !t.kept[at];
    const shown = t.shown[at] || END;
    t.node.classList.toggle("changed", t.changed);
    this.label(t);
    if (t.word.textContent === shown) return false;
    t.word.textContent = shown;
    return true;
  }

  // What a drawn word is called: with what it was, and how often an attacker would name it where words are marked so.
  label(t) {
    const shown = t.shown[t.at] || END;
    const parts = [shown];
    if (t.changed) parts.push(`was ${t.o}`);
    else if (t.a === "insert") parts.push("added");
    if (this.byRisk && t.risk >= 0) parts.push(`an attacker names it ${percent(t.risk)} of the time`);
    if (parts.length > 1) t.node.setAttribute("aria-label", parts.join(", "));
    else t.node.removeAttribute("aria-label");
  }

  fade(news) {
    if (calm.matches || news.length > FADE_LIMIT) return;
    for (const t of news) t.word.animate([{ opacity: 0.25 }, { opacity: 1 }], { duration: 220, easing: "ease-out" });
  }

  paintDial() {
    const { ui, eps, data } = this;
    const label = number(eps);
    if (eps !== this.shownEps) {
      this.shownEps = eps;
      ui.slider.dataset.eps = eps; // of the words that stand there, for a page around them
      const x = this.where(eps);
      ui.slider.style.setProperty("--at", x);
      ui.head.style.transform = `translateX(${100 * x}%)`;
      const there = eps === (data.default_eps ?? data.eps);
      ui.reset.classList.toggle("off", there); // it keeps its place, so that nothing moves
      ui.reset.disabled = there;
      this.shownLabel = null;
    }
    if (!this.typing && this.shownLabel !== label) {
      this.shownLabel = label;
      ui.exact.value = label;
      ui.exact.style.width = `${label.length + (label.includes(".") ? 0 : 0.5)}ch`;
    }
    const stale = !data.live && Math.abs(eps - data.eps) > 1e-9 * eps;
    const count = stale ? "…" : integer.format(this.aligned ? this.changed : this.written);
    const rest = this.aligned
      ? ` of ${integer.format(this.total)} ${this.total === 1 ? "word" : "words"} changed`
      : ` ${this.written === 1 ? "piece" : "pieces"} written anew`;
    if (ui.count.textContent !== count) ui.count.textContent = count;
    const all = rest + (this.added && this.aligned ? `, ${integer.format(this.added)} added` : "");
    if (ui.ofAll.textContent !== all) ui.ofAll.textContent = all;
    const spoken = `ε ${label}${stale ? "" : `, ${count}${rest}`}${this.panel.spoken(eps)}`;
    if (ui.slider.getAttribute("aria-valuetext") !== spoken) ui.slider.setAttribute("aria-valuetext", spoken);
    this.spoken = spoken;
    if (stale !== this.stale) {
      this.stale = stale;
      this.el.classList.toggle("stale", stale);
      ui.copy.disabled = stale;
    }
    const asked = this.askedEps === eps && !this.dragging;
    const hint = !stale ? "" : asked ? "rewriting at this ε …" : "release to rewrite at this ε";
    if (ui.hint.textContent !== hint) ui.hint.textContent = hint;
  }

  // What is given away and what is kept, which move against each other.
  paintGauges() {
    const { ui, data, eps } = this;
    const stale = !data.live && Math.abs(eps - data.eps) > 1e-9 * eps;
    const all = this.telling.length;
    const left = this.telling.filter((f) => f.stands).length;
    ui.toldGauge.style.visibility = data.telling || data.belief ? "" : "hidden";
    ui.whichStand.style.visibility = data.telling ? "" : "hidden";
    put(ui.told, stale || !data.telling ? "…" : all ? `${left} of ${all}` : "none");
    ui.toldBar.style.transform = `scaleX(${all && !stale ? left / all : 0})`;
    const found = stale ? null : kept(this.meaning, eps);
    const unmeasured = this.meaning?.at.length === 0; // without the sentence encoder
    put(ui.meant, found ? `${found.exact ? "" : "≈ "}${(100 * found.share).toFixed(0)}%` : unmeasured ? "not measured" : "…");
    ui.meantBar.style.transform = `scaleX(${found ? found.share : 0})`;
    const [same, many] = [this.sampled - this.changed, this.sampled].map(integer.format);
    const words = stale ? "…" : `${same} of ${many} words unchanged`;
    put(ui.unchanged, this.aligned ? words : "similarity to the original");
  }

  // The steps in which the chosen word was replaced. What does not move with ε is drawn here, once a word.
  openHow(t) {
    const { ui, data } = this;
    const steps = t?.drawn && !t.why && data.stage ? (data.how?.steps ?? []) : [];
    ui.how.hidden = !steps.length;
    this.noiseBars = this.noiseSaid = null;
    if (!steps.length) {
      ui.how.replaceChildren();
      return;
    }
    const how = data.how;
    const mine = how.scored?.[this.active];
    const numbers = {
      n: integer.format(t.total), low: how.low?.toFixed(1).replace("-", "−"), high: how.high?.toFixed(1).replace("-", "−"),
      tied: mine ? integer.format(mine.tied) : "…",
    };
    ui.how.replaceChildren(...steps.map((text) => {
      const step = make("li", "");
      const said = step.appendChild(make("span", "said"));
      for (const part of text.split(/(\{\w+\})/)) {
        const name = /^\{(\w+)\}$/.exec(part)?.[1];
        if (!name) said.append(part);
        else if (name === "noise") this.noiseSaid = said.appendChild(make("b", "", ""));
        else said.append(make("b", "", numbers[name] ?? "…"));
      }
      if (mine && text.includes("{n}") && !data.belief) step.append(this.drawScores(mine.bars, null));
      if (mine && text.includes("{low}")) step.append(this.drawScores(mine.bars, [how.low, how.high]));
      if (text.includes("{noise}")) step.append(this.drawNoise(t));
      return step;
    }));
    this.shownNoise = null;
  }

  // All scores of a word, as bars on a logarithmic axis; in range: the part that is told apart.
  drawScores(bars, range) {
    const [a, b] = this.data.how.axis;
    const top = Math.log1p(Math.max(...bars));
    const space = this.ui.share.namespaceURI; // that of the pictures in the markup
    const svg = document.createElementNS(space, "svg");
    svg.setAttribute("viewBox", "0 0 400 30");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const draw = (tag, attributes) => {
      const node = document.createElementNS(space, tag);
      for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
      svg.append(node);
    };
    const x = (score) => (400 * (score - a)) / (b - a);
    if (range) draw("rect", { class: "range", x: x(range[0]), y: 0, width: x(range[1]) - x(range[0]), height: 30 });
    const wide = 400 / bars.length;
    const path = bars.map((n, k) => {
      const high = (28 * Math.log1p(n)) / top;
      return n ? `M${(k * wide + 0.5).toFixed(1)},30v${(-high).toFixed(1)}h${(wide - 1).toFixed(1)}V30Z` : "";
    });
    draw("path", { class: "bars", d: path.join("") });
    return svg;
  }

  // The best words on the axis of their scores, each with a bar as long as the noise; without scores, one bar that is
  // as long as what is left of the axis of ε.
  drawNoise(t) {
    const box = make("span", "noise");
    box.setAttribute("aria-hidden", "true");
    this.noiseBars = [];
    const shown = t.s ? t.order.filter((k) => t.s[k] > IMPOSSIBLE).slice(0, 6) : [];
    const { how } = this.data;
    const worst = how.unit ? (how.low - how.high) / how.unit : Math.min(...shown.map((k) => t.s[k]));
    const best = how.unit ? 0 : Math.max(...shown.map((k) => t.s[k]));
    if (shown.length > 1 && best > worst && this.data.live) {
      for (const k of shown) {
        const at = (t.s[k] - worst) / (best - worst);
        const bar = box.appendChild(make("i", k === t.src ? "own" : ""));
        bar.style.left = `${100 * at}%`;
        bar.style.top = `${3 + 4 * this.noiseBars.length}px`;
        this.noiseBars.push({ bar, scale: 1 / (best - worst) });
      }
    } else {
      this.noiseBars.push({ bar: box.appendChild(make("i", "whole")), scale: null });
    }
    return box;
  }

  paintHow(eps) {
    if (!this.noiseBars || this.shownNoise === eps) return;
    this.shownNoise = eps;
    const noise = 1 / eps;
    if (this.noiseSaid) this.noiseSaid.textContent = Number(noise.toPrecision(2)).toString();
    for (const { bar, scale } of this.noiseBars) {
      const share = scale === null ? 1 - this.where(eps) : Math.min(2, 2 * noise * scale);
      bar.style.transform = `${scale === null ? "" : "translateX(-50%) "}scaleX(${Math.max(0.004, share).toFixed(4)})`;
    }
  }

  tintBy(what) {
    this.byChance = what === "stays";
    this.byRisk = what === "attack";
    this.el.classList.toggle("by-chance", this.byChance);
    this.el.classList.toggle("by-risk", this.byRisk);
    this.el.classList.toggle("by-standing", what === "stands");
    this.tintedAt = this.riskAt = null;
    if (this.tokens.some((t) => t.risk !== undefined)) this.paintRisk(true);
  }

  // How often an attacker would name each word, as a bar under it. The names of the words follow when ε rests.
  paintRisk(again = false) {
    const { data, byRisk } = this;
    const eps = data.live ? this.eps : data.eps;
    if (this.riskAt !== eps || again) {
      this.riskAt = eps;
      this.riskLabels = false;
      const none = data.attack?.chance === undefined;
      this.tokens.forEach((t, i) => {
        if (!t.drawn || t.a !== "replace") return;
        t.risk = data.attack ? (named(data.attack, i, eps) ?? NaN) : NaN;
        if (t.risk >= 0) t.node.style.setProperty("--r", t.risk.toFixed(3));
        else if (none) t.node?.style.removeProperty("--r"); // those of another mechanism
      });
      // Not known at this ε: the bars of another ε are dimmed until they are.
      this.el.classList.toggle("risk-away", this.tokens.some((t) => Number.isNaN(t.risk)));
    }
    if (this.riskLabels || this.dragging) return;
    this.riskLabels = true;
    for (const t of this.tokens) if (t.drawn && t.a === "replace" && t.node && t.at >= 0) this.label(t);
  }

  // How likely each word stays, as a bar under it.
  paintTint() {
    if (this.data.attack) this.paintRisk();
    const eps = this.data.live ? this.eps : this.data.eps;
    if (!this.byChance || this.tintedAt === eps || (this.dragging && this.words.length > LONG_TEXT)) return;
    this.tintedAt = eps;
    const x = this.where(eps);
    for (const t of this.tokens) {
      if (!t.drawn || t.a !== "replace") continue;
      const p = t.src < 0 ? 0 : chance(t, t.src, eps, x);
      t.node.style.setProperty("--p", Number.isNaN(p) ? 0 : p.toFixed(3));
    }
  }

  drawShare() {
    // One pass over all changes gives the number of kept words at every step of the slider.
    const delta = new Float64Array(this.steps + 2);
    for (const t of this.tokens) {
      if (!t.counts) continue;
      if (!t.drawn) {
        delta[0] += t.a === "keep";
        continue;
      }
      for (let k = 0; k < t.from.length; k += 1) {
        if (!t.kept[t.to[k]]) continue;
        const start = k === 0 ? 0 : Math.ceil(this.steps * this.where(t.from[k]) - 1e-9);
        const end = k + 1 < t.from.length ? Math.ceil(this.steps * this.where(t.from[k + 1]) - 1e-9) : this.steps + 1;
        delta[start] += 1;
        delta[end] -= 1;
      }
    }
    let kept = 0;
    let path = "";
    for (let i = 0; i <= this.steps; i += 1) {
      kept += delta[i];
      path += `L${((1000 * i) / this.steps).toFixed(1)},${(100 - (100 * kept) / Math.max(1, this.total)).toFixed(2)}`;
    }
    this.ui.share.setAttribute("d", `M0,100${path}L1000,100Z`);
    this.ui.edge.setAttribute("d", `M${path.slice(1)}`);
    this.ui.shareTag.hidden = !this.data.live || !this.total;
  }

  drawLine(t) {
    const { ui } = this;
    const drawn = t?.a === "replace" && this.data.live;
    ui.dot.hidden = !drawn;
    ui.lineTag.hidden = !drawn;
    if (!drawn) {
      ui.line.removeAttribute("d");
      return;
    }
    let path = "";
    let left = 0;
    for (let i = 0; i <= this.steps; i += 1) {
      const eps = this.lo * Math.exp((this.span * i) / this.steps);
      const p = chance(t, t.src, eps, i / this.steps);
      if (i < 0.4 * this.steps) left = Math.max(left, p);
      path += `${i ? "L" : "M"}${((1000 * i) / this.steps).toFixed(1)},${(100 - 100 * p).toFixed(2)}`;
    }
    ui.line.setAttribute("d", path);
    ui.lineTag.textContent = `chance that “${t.o}” stays`;
    ui.lineTag.classList.toggle("low", left > 0.62);
  }

  drawLane(t) {
    const { ui } = this;
    this.segments = [];
    if (!t?.drawn || !this.data.live) {
      const text = !t ? "Choose a word in the text" : t.drawn ? "another ε needs a new rewrite" : t.a === "delete" ? "deleted at every ε" : "kept at every ε";
      ui.lane.replaceChildren(make("span", "lane-note", text));
      return;
    }
    t.from.forEach((from, k) => {
      const a = k === 0 ? this.lo : from;
      const b = k + 1 < t.from.length ? t.from[k + 1] : this.hi;
      const start = this.where(a);
      const end = this.where(b);
      const button = make("button", t.kept[t.to[k]] ? "segment same" : "segment", t.shown[t.to[k]]);
      button.type = "button";
      button.dir = "auto";
      button.style.left = `${100 * start}%`;
      button.style.width = `${100 * Math.max(0, end - start)}%`;
      const [from3, to3] = [a, b].map((x) => plain(Number(x.toPrecision(3))));
      button.title = `${t.shown[t.to[k]]}: ε ${from3} to ${to3}`;
      button.setAttribute("aria-label", button.title);
      const middle = this.lo * Math.exp((this.span * (start + end)) / 2);
      const round = Number(middle.toPrecision(3));
      button.tabIndex = -1;
      this.segments.push({ button, jump: round > a && round < b ? round : middle });
    });
    ui.lane.replaceChildren(...this.segments.map((s) => s.button));
    this.segment = -1;
  }

  openInspector() {
    const { ui } = this;
    const before = this.tokens[this.shownActive];
    before?.node?.classList.remove("chosen", "pinned");
    this.shownActive = this.active;
    const t = this.active === null ? null : this.tokens[this.active];
    this.drawLine(t);
    this.drawLane(t);
    ui.inspector.classList.toggle("none", !t);
    this.openHow(t);
    ui.inspector.classList.toggle("sentences", Boolean(t?.drawn) && t.c.some((c) => c.length > SENTENCE));
    ui.pair.hidden = !t;
    ui.chance.hidden = t?.a !== "replace";
    ui.risk.hidden = ui.chance.hidden || !this.data.attack || this.data.attack.chance === undefined;
    ui.rows.hidden = !t?.drawn;
    for (const row of this.rows) row.k = null;
    if (!t) {
      const some = this.tokens.some((t) => t.drawn);
      ui.place.textContent = some ? "What could each word have become?" : (this.aligned ? "No chances are stated" : "Written as a whole");
      ui.note.textContent = !some && this.tokens.some((u) => u.a === "whole")
        ? this.aligned
          ? "This mechanism states no chances for the words that it draws."
          : "This mechanism writes the text as a whole: no piece of it has chances of its own."
        : "Point at a word, or move through the text with the arrow keys, to see the words it could have become and how " +
        "likely each was. Click it or press Enter to pin it; then move ε.";
      ui.note.hidden = false;
      return;
    }
    const [nth, all] = [this.words.indexOf(this.active) + 1, this.words.length].map(integer.format);
    const thing = this.aligned ? "word" : "piece";
    ui.telltale.textContent = t.tells ? `identifies: a ${t.tells.kind}` : "";
    ui.place.textContent = t.drawn && this.data.stage && !this.data.belief
      ? `How this ${thing} was ${this.aligned ? "replaced" : "drawn"}`
      : `${this.aligned ? "Word" : "Piece"} ${nth} of ${all}`;
    const note = {
      keep: !this.aligned ? `not drawn${t.why ? `: ${t.why}` : ""}.` : `kept as it is${t.why ? `: ${t.why}` : ""}. It is visible to everyone.`,
      delete: `deleted${t.why ? `: ${t.why}` : ""}. Nothing stands here in the rewritten text.`,
      insert: this.aligned
        ? `added by the mechanism${t.why ? `: ${t.why}` : ""}. No word of your text stood here.`
        : `drawn given your text${this.data.live ? "" : " and the pieces before it"}. No word of your text stands behind it alone.`,
      replace: t.a === "replace" ? this.noteOnDrawn(t) : "",
    }[t.a] + (t.draws ? this.noteOnDraws(t) : "");
    ui.note.textContent = note.trim();
    ui.note.hidden = !note;
    ui.from.textContent = t.a === "insert" ? (this.aligned ? "+" : "") : t.o;
    ui.from.dir = "auto";
    ui.to.dir = "auto";
    const one = t.a === "keep";
    ui.arrow.hidden = one || t.a === "insert";
    ui.to.hidden = one;
    ui.from.classList.toggle("struck", t.a === "delete");
    if (t.a === "delete") ui.to.textContent = "deleted";
    ui.to.classList.toggle("plain", t.a === "delete");
  }

  noteOnDrawn(t) {
    const fixed = this.constant(t) ? " The chances are the same at every ε." : "";
    if (t.why) return `“${t.o}”: ${t.why}.${fixed}`;
    if (t.src >= 0) return "";
    return `“${t.o}” is not among the ${integer.format(t.total)} words that can be drawn, so it is never kept.`;
  }

  noteOnDraws(t) {
    const [n, none] = [integer.format(t.draws), counted(0, t.draws)];
    return ` The chances are estimated from ${n} draws; a word that came up in none of them shows ${none}.`;
  }

  constant(t) {
    const at = (k, x) => chance(t, k, this.lo * Math.exp(this.span * x), x);
    const same = (k) => [0.5, 1].every((x) => Math.abs(at(k, x) - at(k, 0)) <= 1e-3 * at(k, 0));
    return t.from.length === 1 && t.c.every((_, k) => same(k));
  }

  paintInspector() {
    const { ui } = this;
    // Without live words the chances hold at the ε of the rewrite only.
    const eps = this.data.live ? this.eps : this.data.eps;
    if (ui.pin.hidden === this.pinned) ui.pin.hidden = !this.pinned;
    if (this.active === null) return;
    const t = this.tokens[this.active];
    t.node.classList.add("chosen");
    t.node.classList.toggle("pinned", this.pinned);
    const pressed = String(this.pinned);
    if (this.pressed && this.pressed !== t.node) this.pressed.setAttribute("aria-pressed", "false");
    if (t.node.getAttribute("aria-pressed") !== pressed) t.node.setAttribute("aria-pressed", pressed);
    this.pressed = t.node;
    if (!t.drawn) return;
    const x = this.where(eps);
    this.paintHow(eps);
    const p = (k) => (t.exact && k >= 0 ? possible(t.exact(k, eps)) : chance(t, k, eps, x));
    const written = (value) => (t.draws ? counted(value, t.draws) : `${rough(t, eps) ? "≈ " : ""}${percent(value)}`);
    const to = t.shown[t.at] || END;
    if (ui.to.textContent !== to) ui.to.textContent = to;
    ui.to.classList.toggle("same", !t.changed && t.a === "replace");
    if (t.a === "replace") {
      const keep = p(t.src);
      ui.chanceValue.textContent = t.src < 0 ? percent(0) : written(keep);
      ui.dot.style.transform = `translateY(${100 * (1 - keep)}%)`;
      ui.riskValue.textContent = t.risk >= 0 ? percent(t.risk) : "…";
    }
    const now = Math.max(0, upTo(t.from, eps) - 1);
    if (this.segments.length && this.segment !== now) {
      this.segments.forEach((s, k) => {
        s.button.classList.toggle("here", k === now);
        s.button.tabIndex = k === now ? 0 : -1;
      });
      this.segment = now;
    }
    let { order } = t;
    if (t.lp) {
      const all = t.c.map((_, k) => p(k));
      order = t.c.map((_, k) => k).filter((k) => all[k] >= 0).sort((a, b) => all[b] - all[a] || a - b);
    }
    // The best words, most likely first; the released and the original word join at the end where they rank lower.
    const must = [t.at, t.src].filter((k, j, all) => k >= 0 && all.indexOf(k) === j);
    let best;
    for (let n = this.most; !best || best.length > this.most; n -= 1) {
      const top = order.slice(0, n);
      best = top.concat(order.slice(n).filter((k) => must.includes(k)));
    }
    const more = Math.max(0, t.total - best.length);
    let rest = 1;
    this.rows.forEach((r, j) => {
      const others = j === ROWS;
      const k = others ? -1 : (best[j] ?? -2);
      if (r.k !== k) {
        r.k = k;
        r.row.hidden = k === -2;
        if (k >= 0) {
          r.word.textContent = t.c[k] || "(nothing)";
          r.rank.textContent = t.rank?.[k] > this.most ? ` no. ${integer.format(t.rank[k])}` : "";
          r.row.classList.toggle("original", k === t.src);
        }
      }
      if (k === -2) return;
      if (others) {
        r.row.hidden = !more;
        if (r.more !== more) r.word.textContent = more === 1 ? "1 other" : `${integer.format(more)} others`;
        r.more = more;
      } else {
        r.row.classList.toggle("released", k === t.at);
        rest -= p(k);
      }
      const value = others ? Math.max(0, rest) : p(k);
      r.bar.style.clipPath = `inset(0 ${100 - 100 * value}% 0 0)`;
      const text = written(value);
      if (r.value.textContent !== text) r.value.textContent = text;
    });
  }

  // ---------------------------------------------------------------- what the user does

  listen() {
    const { ui } = this;
    this.off = new AbortController();
    const on = (target, type, act, more = {}) =>
      target.addEventListener(
        type,
        (event) => {
          try {
            act(event);
          } catch (problem) {
            this.fail(problem);
          }
        },
        { signal: this.off.signal, ...more },
      );

    this.panel.listen(on);
    // An exact ε may lie between two steps: the thumb is freed for it and takes steps again when touched.
    on(ui.slider, "pointerdown", () => {
      ui.slider.step = "1";
      this.hold(true);
      clearTimeout(this.timers.send);
    }, { capture: true });
    on(ui.slider, "keydown", () => (ui.slider.step = "1"), { capture: true });
    on(ui.slider, "input", () => {
      ui.slider.step = "1";
      this.setEps(this.stepEps(Math.round(ui.slider.valueAsNumber)), true);
    });
    const release = () => {
      if (!this.dragging) return;
      this.hold(false);
      this.schedule();
      this.queue(0);
    };
    on(window, "pointerup", release, { capture: true });
    on(window, "pointercancel", release, { capture: true });
    on(window, "blur", release);

    on(ui.exact, "input", () => (this.typing = true));
    on(ui.exact, "focus", () => ui.exact.select());
    on(ui.exact, "change", () => this.typed());
    on(ui.exact, "keydown", (event) => {
      if (event.key === "Enter") {
        this.typed();
        ui.exact.select();
      } else if (event.key === "Escape") {
        this.typing = false;
        this.shownLabel = null;
        this.schedule();
        event.stopPropagation();
      } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
        const step = this.where(this.eps) * this.steps;
        const next = event.key === "ArrowUp" ? Math.floor(step + 1e-6) + 1 : Math.ceil(step - 1e-6) - 1;
        this.typing = false;
        this.setEps(this.stepEps(clamp(next, 0, this.steps)));
        event.preventDefault();
      }
    });
    on(ui.play, "click", () => setTimeout(() => this.tour()));
    on(ui.reset, "click", () => {
      this.setEps(this.data.default_eps ?? this.data.eps);
      ui.slider.focus();
    });

    on(ui.lane, "click", (event) => {
      const k = this.segments.findIndex((s) => s.button === event.target.closest("button"));
      if (k >= 0) this.setEps(this.segments[k].jump);
    });
    on(ui.lane, "keydown", (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
      const here = this.segments.findIndex((s) => s.button === event.target);
      if (!move || here < 0) return;
      event.preventDefault();
      this.segments[clamp(here + move, 0, this.segments.length - 1)].button.focus();
    });

    on(ui.text, "click", (event) => {
      const i = this.indexOf(event.target);
      if (i === null) return;
      // On a narrow first screen what is chosen is out of sight until it is asked for.
      const away = this.data.stage && getComputedStyle(ui.inspector).display === "none";
      if (this.pinned && this.active === i && !away) this.choose(i, { pin: false, tell: false });
      else this.choose(i, { pin: true, tell: true });
    });
    on(ui.text, "pointermove", (event) => {
      // Words reflow under a resting mouse: only a real move counts.
      const still = event.clientX === this.mouseX && event.clientY === this.mouseY;
      if (event.pointerType !== "mouse" || event.buttons || still) return;
      [this.mouseX, this.mouseY] = [event.clientX, event.clientY];
      const i = this.indexOf(event.target);
      if (i !== null && !this.pinned && i !== this.active) this.choose(i, { pin: false, tell: null });
    });
    on(ui.text, "focusin", (event) => {
      const i = this.indexOf(event.target);
      if (i === null) return;
      this.setStop(i);
      if (this.pinned || (i === this.told && i === this.active) || !event.target.matches(":focus-visible")) return;
      this.choose(i, { pin: false, tell: true });
    });
    on(ui.text, "keydown", (event) => this.walk(event));
    on(this.el, "keydown", (event) => {
      if (event.key !== "Escape") return;
      const tip = event.target.closest?.(".tip");
      // What lies on top goes first.
      if (ui.standing.classList.contains("open")) {
        this.listStanding(false);
        ui.whichStand.focus();
      } else if (tip) tip.blur();
      else if (this.active !== null) this.choose(null, { pin: false, tell: false });
    });
    on(ui.whichStand, "click", () => this.listStanding(!ui.standing.classList.contains("open")));
    on(ui.shutStanding, "click", () => {
      this.listStanding(false);
      ui.whichStand.focus();
    });
    on(document, "pointerdown", (event) => {
      const inside = event.composedPath();
      if (!inside.includes(ui.standing) && !inside.includes(ui.whichStand)) this.listStanding(false);
      // The sheet of a narrow screen lies over the page's end: it goes for whoever is not after words.
      if (this.pinned && !inside.includes(ui.body)) this.unpinSheet();
    });
    document.addEventListener("scroll", ({ target: { scrollTop, clientHeight, scrollHeight } }) => {
      const own = this.moved; // it made room for itself
      this.moved = false;
      if (own || !this.pinned) return;
      if (scrollTop > 0 && scrollTop + clientHeight > scrollHeight - 4) this.unpinSheet();
    }, { capture: true, passive: true, signal: this.off.signal });
    on(ui.pin, "click", () => {
      const node = this.tokens[this.active]?.node;
      this.choose(this.active, { pin: false, tell: false });
      node?.focus({ preventScroll: true });
    });

    on(ui.originals, "change", () => {
      this.el.classList.toggle("no-originals", !ui.originals.checked);
      this.reserve();
      if (this.memo) this.memo.originals = ui.originals.checked;
    });
    on(ui.tint, "change", () => {
      this.tintBy(ui.tint.value);
      if (this.memo) this.memo.tint = ui.tint.value;
      this.schedule();
      if (this.data.attack) this.queue(0);
    });
    on(ui.copy, "click", () => this.copy());
    on(document, "copy", (event) => this.copiedByHand(event));
    on(document, "dptext-here", () => {
      this.hear();
      this.schedule();
    });
  }

  indexOf(target) {
    const node = target.closest?.(".word");
    return node ? Number(node.dataset.i) : null;
  }

  setEps(eps, fromSlider = false) {
    const next = this.round(eps);
    if (next === this.eps) return;
    this.eps = next;
    if (!fromSlider) this.syncSlider();
    this.remember();
    this.schedule();
    this.queue();
    clearTimeout(this.timers.speak);
    this.timers.speak = setTimeout(() => (this.ui.spoken.textContent = this.spoken), SPEAK_MS);
  }

  syncSlider() {
    const { slider } = this.ui;
    const step = this.where(this.eps) * this.steps;
    const near = Math.round(step);
    const exact = this.stepEps(near) === this.eps;
    slider.step = exact ? "1" : "any";
    slider.value = exact ? near : step;
  }

  typed() {
    if (!this.typing) return;
    this.typing = false;
    this.shownLabel = null;
    const value = this.ui.exact.valueAsNumber;
    if (value > 0) {
      if (value < this.lo || value > this.hi) this.warnRange();
      this.setEps(clamp(value, this.lo, this.hi));
    }
    this.schedule();
  }

  // tell: true, the server hears of this word; false, it hears that none is chosen; null, it hears nothing.
  choose(i, { pin, tell }) {
    this.active = i;
    this.pinned = pin && i !== null;
    this.rises = this.pinned;
    this.el.classList.toggle("sheet", this.pinned);
    if (i === null && this.pressed) {
      this.pressed.setAttribute("aria-pressed", "false");
      this.pressed = null;
    }
    if (tell !== null) {
      const told = tell ? i : null;
      const news = told !== this.told;
      this.told = told;
      if (news) this.queue();
    }
    this.remember();
    this.schedule();
  }

  // The chosen word stands above the sheet of a narrow screen, not behind it.
  clearOfSheet() {
    this.rises = false;
    const { node } = this.tokens[this.active];
    const sheet = getComputedStyle(this.ui.inspector);
    if (!node || sheet.position !== "fixed") return;
    const before = node.getBoundingClientRect().top;
    // Where it comes to rest: it may still be on its way.
    node.style.scrollMarginBottom = `${this.ui.inspector.offsetHeight + parseFloat(sheet.bottom) + 8}px`;
    node.scrollIntoView({ block: "nearest" });
    node.style.scrollMarginBottom = "";
    this.moved = node.getBoundingClientRect().top !== before;
  }

  unpinSheet() {
    if (getComputedStyle(this.ui.inspector).position === "fixed") this.choose(this.active, { pin: false, tell: null });
  }

  setStop(i) {
    if (this.stop !== null && this.tokens[this.stop]?.node) this.tokens[this.stop].node.tabIndex = -1;
    this.stop = i;
    if (i !== null && this.tokens[i]?.node) this.tokens[i].node.tabIndex = 0;
  }

  walk(event) {
    const i = this.indexOf(event.target);
    if (i === null || event.altKey || event.ctrlKey || event.metaKey) return;
    const here = this.words.indexOf(i);
    const forward = this.ui.text.dir === "rtl" ? -1 : 1;
    let to;
    if (event.key === "ArrowRight") to = here + forward;
    else if (event.key === "ArrowLeft") to = here - forward;
    else if (event.key === "Home") to = 0;
    else if (event.key === "End") to = this.words.length - 1;
    else if (event.key === "ArrowDown") to = this.lineStep(here, 1);
    else if (event.key === "ArrowUp") to = this.lineStep(here, -1);
    else return;
    event.preventDefault();
    to = clamp(to, 0, this.words.length - 1);
    this.tokens[this.words[to]].node.focus();
  }

  // The word above or below: the nearest of the next line in that direction.
  lineStep(here, direction) {
    const box = (k) => this.tokens[this.words[k]].node.getBoundingClientRect();
    const start = box(here);
    const middle = start.left + start.width / 2;
    let best = here;
    let bestAway = Infinity;
    let line = null;
    for (let k = here + direction; k >= 0 && k < this.words.length; k += direction) {
      const b = box(k);
      if (Math.abs(b.top - start.top) < start.height / 2) continue;
      line ??= b.top;
      if (Math.abs(b.top - line) > start.height / 2) break;
      const away = Math.abs(b.left + b.width / 2 - middle);
      if (away < bestAway) [best, bestAway] = [k, away];
    }
    return best;
  }

  // ---------------------------------------------------------------- the server

  queue(wait = SETTLE_MS, always = false) {
    clearTimeout(this.timers.send);
    if (this.dragging) return;
    this.timers.send = setTimeout(() => {
      if (this.dragging) return;
      // All copies each time: a message may overtake another, and the server counts each of them once.
      const tint = this.ui.tint.value;
      const { copies, fact = "", others = new Map() } = this.memo;
      const view = { run: this.run, eps: this.eps, token: this.told, copies: [...copies], tint, fact, others: [...others] };
      const text = JSON.stringify(view);
      if (!always && (this.lastSent === null ? !this.news() : text === this.lastSent)) return;
      this.lastSent = text;
      if (!this.data.live) this.askedEps = this.eps;
      this.setState("view", view);
      this.schedule();
    }, wait);
  }

  // Whether what is shown differs from what the server takes it for before the first message: the payload as it came.
  news() {
    const other = this.eps !== this.data.eps || this.told !== (this.data.pin ?? null) || this.byRisk;
    return other || this.memo.copies.length > 0 || Boolean(this.memo.others?.size);
  }

  remember() {
    if (!this.memo) return;
    const { told, pinned, run, tokens } = this;
    Object.assign(this.memo, { told, pinned, run, size: tokens.length });
    if (!this.data.spread) this.memo.eps = this.eps;
  }

  // ---------------------------------------------------------------- copying

  plainText(tokens = this.tokens) {
    const text = spliced(tokens);
    return tokens === this.tokens ? text + (this.data.tail ?? "") : text.slice(tokens[0]?.pre.length ?? 0);
  }

  async copy() {
    // An ε that was typed a moment ago: the words are those of the ε that is written down.
    if (this.frame) this.paint();
    const text = this.plainText();
    // Another draw may have come when the browser answers.
    const { eps, draw, run } = this;
    let done = false;
    try {
      await navigator.clipboard.writeText(text);
      done = true;
    } catch {
      done = this.copyOldWay(text);
    }
    if (!done) {
      this.say("The browser did not allow copying.", true);
      return;
    }
    this.left(draw, run, eps);
    this.ui.copy.textContent = "Copied ✓";
    clearTimeout(this.timers.copied);
    this.timers.copied = setTimeout(() => (this.ui.copy.textContent = "Copy text"), 2000);
  }

  // A copy counts as released: it is written down here and told to the server at once.
  left(draw, run, eps) {
    const { copies } = this.memo;
    // Two versions from the same locked noise are not covered together by any guarantee.
    const other = copies.find((c) => c[0] === draw && c[2] !== eps)?.[2];
    if (!copies.some((c) => c[0] === draw && c[2] === eps)) copies.push([draw, run, eps]);
    this.queue(0);
    if (draw !== this.draw) return;
    const parts = [this.data.spread ? "Copied." : `Copied at ε ${plain(eps)}.`];
    if (this.data.seeded) parts.push("Demonstration, not private.");
    else if (other !== undefined) {
      parts.push(
        `The version at ε ${plain(other)} was copied too: no guarantee is left for either. Rewrite again, and release one.`,
      );
    }
    this.say(parts.join(" "), parts.length > 1);
  }

  // Words that were selected by hand leave like those of the button.
  copiedByHand(event) {
    if (this.copying || !this.tokens.length || !this.memo) return;
    const root = this.ui.text.getRootNode();
    const ranges = [root.getSelection?.(), document.getSelection()].flatMap((s) => selected(s, root));
    let taken = this.tokens;
    // A selection from outside into the strip has ends in two trees: which words it holds cannot be asked.
    const holds = (r) => {
      const [a, b] = [r.startContainer, r.endContainer].map((node) => node.getRootNode());
      if (a !== b) return a === root || b === root;
      const range = document.createRange();
      range.setStart(r.startContainer, r.startOffset);
      range.setEnd(r.endContainer, r.endOffset);
      if (range.collapsed) return false;
      if (a === root) {
        const buttons = this.tokens.filter((t) => t.node);
        const words = buttons.filter((t) => range.intersectsNode(t.node));
        // Marks between words are no buttons.
        const [from, to] = [words[0], words.at(-1)].map((t) => this.tokens.indexOf(t));
        if (words.length < buttons.length) taken = this.tokens.slice(from, to + 1);
        return words.some((t) => t.drawn) || this.tokens.some((t) => t.a === "whole");
      }
      return Boolean(root.host) && range.intersectsNode(root.host);
    };
    if (!ranges.some(holds)) return;
    // Each word is a button of two rows, which the browser would copy on lines of their own.
    event.clipboardData?.setData("text/plain", this.plainText(taken));
    event.preventDefault();
    this.left(this.draw, this.run, this.data.live ? this.eps : this.data.eps);
  }

  copyOldWay(text) {
    this.copying = true;
    const area = make("textarea");
    area.value = text;
    area.setAttribute("readonly", "");
    area.style.cssText = "position:fixed;top:0;left:-9999px";
    document.body.append(area);
    area.select();
    let done = false;
    try {
      done = document.execCommand("copy");
    } catch {
      done = false;
    }
    area.remove();
    this.copying = false;
    this.ui.copy.focus();
    return done;
  }

  // Plain news is only spoken (the button shows it); a caution stands above the text until the next copy or draw.
  say(text, caution) {
    this.ui.copied.classList.toggle("caution", caution);
    this.ui.copied.textContent = text;
  }

  warnRange() {
    const { limit } = this.ui;
    limit.textContent = `ε goes from ${plain(this.lo)} to ${plain(this.hi)} here`;
    clearTimeout(this.timers.limit);
    this.timers.limit = setTimeout(() => (limit.textContent = ""), 5000);
  }
}
