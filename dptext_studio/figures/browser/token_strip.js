// The live token strip. Python sends the probabilities of every word once; then ε moves without the server.
// The files named in __init__.py are joined in order, with this one last: as a module in the app and as a plain script
// in self-contained files. So export only mount, import nothing, and request nothing.
// Text reaches the page through textContent or an attribute, never as markup.

const NARROW = 640; // px up to which the chosen word is in a sheet

// One module serves every strip of the page: this state survives a change of page.
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
  // Several cleanups may exist; only the newest may remove the strip.
  return () => {
    if (strip.turn !== turn) return;
    strip.destroy();
    if (strips.get(root) === strip) strips.delete(root);
  };
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
      rows: q(".rows"), spoken: q(".spoken"), dial: q(".dial"), how: q(".how"),
      telltale: q(".telltale"), whichStand: q(".which-stand"), shutStanding: q(".standing .shut"),
      toldGauge: q(".told"), told: q(".which-stand strong"), toldBar: q(".left-bar b"),
      meantGauge: q(".meant"), meant: q(".meant strong"), meantBar: q(".meant b"), unchanged: q(".unchanged"),
      alike: q(".alike"), oddsWords: q(".odds-words"), lowEnd: q(".low-end"), inferred: q(".inferred"), tools: q(".tools"), key: q(".key"), attack: q(".attack"),
    };
    this.panel = new BeliefPanel(this);
    this.tour = new TourView(this);
    this.makeRows();
    this.listen();
    this.makeSkip();
    this.wide = 0;
    this.sized = new ResizeObserver(() => {
      const wide = this.ui.text.clientWidth;
      // On a wide screen, the part that it opens is visible.
      this.enable(this.panel.ui.certain, el.clientWidth <= NARROW, "What a reader believes");
      if (wide === this.wide) return;
      this.wide = wide;
      this.reserveSoon();
    });
    this.sized.observe(this.ui.text);
    // The sheet of a narrow screen covers it.
    this.dialSized = new ResizeObserver(() => el.style.setProperty("--dial", `${this.ui.dial.offsetHeight}px`));
    this.dialSized.observe(this.ui.dial);
  }

  // For the keyboard: jump from the top of the page to the slider, past the controls before it.
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
      // The first steps of the tour have no slider.
      const all = [this.data?.spread ? this.ui.copy : this.ui.slider, ...this.el.querySelectorAll("button:not([tabindex='-1'])")];
      const to = all.find((node) => node.checkVisibility({ visibilityProperty: true })) ?? all[0];
      to.focus();
      to.scrollIntoView({ block: "center" });
    }, { signal });
    document.body.prepend(link);
    this.skip = link;
  }

  destroy() {
    delete document.documentElement.dataset.strip;
    if (this.dragging) this.hold(false);
    document.documentElement.removeAttribute("data-behind");
    if (this.data?.tour) this.tour.destroy();
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
    document.documentElement.dataset.strip = ""; // the page around it is as high as it stays
    return this.turn;
  }

  fail(problem) {
    this.ui.error.textContent = `The live view stopped: ${problem?.message ?? problem}. Rewrite again to restart it.`;
    this.ui.error.hidden = false;
  }

  load(data) {
    if (!data || typeof data !== "object" || !Array.isArray(data.tokens)) throw new Error("the words are missing");
    const { lo, hi, n_grid: nGrid } = data;
    if (!(lo > 0 && hi > lo && nGrid >= 3)) throw new Error("the range of ε is not usable");
    const tokens = data.tokens.map((raw, i) => prepare(raw, data, i));
    this.aligned = data.aligned !== false;
    const text = tokens.map((t) => `${t.pre}\u0000${t.o}\u0000${t.a}\u0000${t.why}`).join("\u0001") + (data.tail ?? "");
    const sameText = text === this.textKey;
    const newRun = data.run !== this.run;
    if (newRun) {
      this.heard = this.meaning = this.belief = this.tourNumbers = this.guesses = undefined;
      clearTimeout(this.timers.speak);
      this.ui.spoken.textContent = ""; // it was said of another text
    }

    this.loadAxis(lo, hi, nGrid);
    const first = this.memo === undefined;
    this.memo = memory.get(data.key) ?? { commandSeen: null, copies: [] };
    memory.set(data.key, this.memo);
    if (first) {
      this.ui.originals.checked = this.memo.originals ?? true;
      this.ui.tint.value = this.memo.tint ?? "changed";
    }
    this.eps = data.spread ? data.eps : this.round(clamp(this.memo.eps ?? data.eps, lo, hi));
    // A message about copies of one draw does not apply to the next.
    const draw = data.draw ?? `run ${data.run}`;
    if (this.draw !== draw) this.say("", false);
    this.draw = draw;

    this.loadChoice(tokens, sameText, first);
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
    this.tour.load(first);
    this.loadAttack();
    this.loadOdds();
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
      // Once for each ε: an answer at another ε than the requested one must not start an endless loop.
      if (data.live || this.askedEps !== this.eps) this.queue();
    }
  }

  loadAxis(lo, hi, nGrid) {
    this.span = Math.log(hi / lo);
    this.steps = (nGrid - 1) * SUBSTEPS;
    // Use what is displayed: ε on the slider is rounded to the displayed digits.
    this.digits = Math.expm1(this.span / this.steps) > 0.011 ? 3 : 4;
    this.lo = lo;
    this.hi = hi;
    this.shownEps = undefined; // on another axis the same ε lies elsewhere
  }

  loadChoice(tokens, sameText, first) {
    const { data } = this;
    // A choice is kept after a new rewrite of the same text, and after a change of page.
    const back = first && this.memo.run === data.run && this.memo.size === tokens.length;
    if (back) [this.active, this.told, this.pinned] = [this.memo.told, this.memo.told, this.memo.pinned];
    else if (!sameText) {
      // While a text is edited, a choice is kept as long as its word is in its place.
      const word = data.pin === undefined && this.told !== null ? this.tokens[this.told]?.o : undefined;
      const chosen = word !== undefined && tokens[this.told]?.o === word ? this.told : (data.pin ?? null);
      [this.active, this.told, this.pinned] = [chosen, chosen, chosen !== null];
    }
    if (this.active !== null && !tokens[this.active]?.button) {
      [this.active, this.told, this.pinned] = [null, null, false];
    }
  }

  // A first screen: the words above the slider, gauges at its ends, and how the chosen word was replaced.
  setStage(first) {
    const { ui, data } = this;
    const on = Boolean(data.stage);
    this.el.classList.toggle("stage", on);
    this.most = on ? STAGE_ROWS : ROWS;
    for (const part of [ui.toldGauge, ui.meantGauge, ui.inferred]) part.hidden = !on;
    if (!on) return;
    if (ui.body.lastElementChild !== ui.dial) ui.body.append(ui.dial);
    if (first && this.memo.originals === undefined) ui.originals.checked = false;
    this.el.classList.toggle("no-originals", !ui.originals.checked);
    ui.tools.hidden = data.tools === false;
    this.el.classList.toggle("simple", data.tools === false);
  }

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
    if (this.tour.covers) this.tour.paintGauges();
    else {
      if (this.data.stage) this.paintGauges();
      this.panel.paint(this.eps);
      this.tour.paintGoals(this.eps);
      this.paintAttack();
    }
    this.paintOdds();
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
}

// Each part of the strip is a class without a constructor in a separate file: its methods become the strip's.
for (const part of [
  StripSlider, StripWords, StripChoice, StripIdentifiers, StripTint, StripCurves, StripInspector, StripSteps,
  StripAttack, StripOdds, StripServer, StripCopy, StripListeners,
]) {
  const { constructor: _, ...methods } = Object.getOwnPropertyDescriptors(part.prototype);
  Object.defineProperties(Strip.prototype, methods);
}
