// The slider over ε: its axis and its readings.

const SPEAK_MS = 500; // quiet time before a change is spoken
const SUBSTEPS = 4; // slider steps per grid interval

class StripSlider {
  // While ε moves, the server's results belong to the previous ε: the page may check this.
  hold(moving) {
    this.dragging = moving;
    document.documentElement.toggleAttribute("data-dragging", moving);
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

  setEps(eps, fromSlider = false) {
    const next = this.round(eps);
    if (next === this.eps) return;
    this.ui.limit.textContent = "";
    this.eps = next;
    if (!fromSlider) this.syncSlider();
    this.remember();
    this.schedule();
    this.queue();
    this.speakSoon();
  }

  speakSoon() {
    clearTimeout(this.timers.speak);
    this.timers.speak = setTimeout(() => put(this.ui.spoken, this.spoken), SPEAK_MS);
  }

  unchangedWords() {
    return countedWords(this.tokens, this.sampled - this.changed, this.sampled, integer.format);
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
      this.ui.limit.textContent = "";
      this.setEps(clamp(value, this.lo, this.hi));
      if (value < this.lo || value > this.hi) this.warnRange();
    }
    this.schedule();
  }

  warnRange() {
    const { limit } = this.ui;
    limit.textContent = `ε goes from ${plain(this.lo)} to ${plain(this.hi)} here`;
    clearTimeout(this.timers.limit);
    this.timers.limit = setTimeout(() => (limit.textContent = ""), 5000);
  }

  frameDial() {
    const { data, ui } = this;
    ui.unit.textContent = data.unit ?? "";
    ui.seeded.hidden = !data.seeded;
    ui.spread.textContent = data.spread ?? "";
    ui.spread.hidden = !data.spread;
    for (const part of [ui.unit, ui.reading, ui.axis, ui.ends]) part.hidden = Boolean(data.spread);
    this.el.classList.toggle("fixed", Boolean(data.spread));
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
        // The texts at the ends replace the numbers next to them.
        mark.classList.toggle("near", i > 0 && i < marks.length - 1 && (at < 0.15 || at > 0.78));
        mark.classList.toggle("tight", i > 0 && i < marks.length - 1 && (at < 0.1 || at > 0.88));
        mark.style.left = `${100 * at}%`;
        if (i === 0) mark.append(make("small", "", " hides more"));
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
        ["replace", "lg-chance", "longer bar: higher probability that the word is unchanged (N_w)"],
        ["replace", "lg-risk", data.attack ? this.riskSaid() : ""],
        ["replace", "lg-changed", short ? "replaced" : "changed"],
        ["replace", "lg-same", short ? "unchanged by chance" : "sampled, same word"],
        ["fixed", "lg-fixed", "replaced at every ε"],
        ["stands", "lg-stands", short ? "still identifying" : "a name, number, date or place that is still visible"],
        ["stands", "lg-rest", "every other word"],
        ["keep", "lg-keep", short ? "left unchanged" : "kept as it is, visible to everyone"],
        ["delete", "lg-del", "deleted"],
        ["insert", "lg-ins", this.aligned ? "added" : this.data.live ? "sampled" : "sampled, given the tokens before it"],
      ].filter(([a]) => kinds.has(a)).map(([, name, text]) => make("li", name, text)),
    );
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
      : ` ${this.written === 1 ? "token" : "tokens"} sampled`;
    if (ui.count.textContent !== count) ui.count.textContent = count;
    const all = rest + (this.added && this.aligned ? `, ${integer.format(this.added)} added` : "");
    if (ui.ofAll.textContent !== all) ui.ofAll.textContent = all;
    const counted = data.stage && this.aligned ? this.unchangedWords() : `${count}${rest}`;
    const spoken = `ε ${label}${stale ? "" : `, ${counted}`}${this.panel.spoken(eps)}`;
    if (ui.slider.getAttribute("aria-valuetext") !== spoken) ui.slider.setAttribute("aria-valuetext", spoken);
    this.spoken = spoken;
    // The server computed the exact value, or the draw is another one.
    if (ui.spoken.textContent && ui.spoken.textContent !== spoken) this.speakSoon();
    if (stale !== this.stale) {
      this.stale = stale;
      this.el.classList.toggle("stale", stale);
      ui.copy.disabled = stale;
    }
    const asked = this.askedEps === eps && !this.dragging;
    const hint = !stale ? "" : asked ? "rewriting at this ε …" : "release to rewrite at this ε";
    if (ui.hint.textContent !== hint) ui.hint.textContent = hint;
  }

  // Privacy and utility, which move in opposite directions.
  paintGauges() {
    const { ui, data, eps } = this;
    const stale = !data.live && Math.abs(eps - data.eps) > 1e-9 * eps;
    const all = this.telling.length;
    const left = this.telling.filter((f) => f.stands).length;
    ui.toldGauge.style.visibility = data.telling || data.belief ? "" : "hidden";
    for (const part of [ui.whichStand, ui.inferred]) part.style.visibility = data.telling ? "" : "hidden";
    put(ui.inferred, inferredWords(this.panel.at(eps), this.panel.told?.words));
    put(ui.told, stale || !data.telling ? "…" : all ? `${left} of ${all}` : "none");
    ui.toldBar.style.transform = `scaleX(${all && !stale ? left / all : 0})`;
    const found = stale ? null : kept(this.meaning, eps);
    const unmeasured = this.meaning?.at.length === 0; // without the sentence encoder
    put(ui.meant, found ? `${found.exact ? "" : "≈"}${(100 * found.share).toFixed(0)}%` : unmeasured ? "not measured" : "…");
    put(ui.alike, found ? likeness(found.share) : "");
    ui.meantBar.style.transform = `scaleX(${found ? found.share : 0})`;
    const words = stale ? "…" : this.unchangedWords();
    put(ui.unchanged, this.aligned ? words : "similarity to the original");
  }
}
