// The inspector: the words that the chosen word could have become, with their probabilities.

const ROWS = 9; // words in the inspector
const STAGE_ROWS = 3; // the same on a first screen, where the steps take room
const SENTENCE = 30; // letters of a candidate from which on candidates stand above their bars

class StripInspector {
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
    const isSentence = (u) => u.drawn && u.c.some((c) => c.length > SENTENCE);
    ui.inspector.classList.toggle("sentences", Boolean(t) && isSentence(t));
    ui.pair.hidden = !t;
    ui.chance.hidden = t?.a !== "replace";
    ui.risk.hidden = ui.chance.hidden || !this.data.attack || this.data.attack.chance === undefined;
    ui.rows.hidden = !t?.drawn;
    for (const row of this.rows) row.k = null;
    if (!t) {
      const some = this.tokens.some((t) => t.drawn);
      ui.place.textContent = some ? "What could each word have become?" : (this.aligned ? "No probabilities available" : "Written as a whole");
      ui.note.textContent = !some && this.tokens.some((u) => u.a === "whole")
        ? this.aligned
          ? "This mechanism has no formula for word probabilities. Choose another mechanism."
          : "This mechanism writes whole texts, so words have no distribution. Choose another mechanism."
        : `Point at a ${some && this.tokens.every((u) => !u.drawn || isSentence(u)) ? "sentence" : "word"}, or use the arrow keys, to see its candidates ` +
        "and how likely each was. Click it or press Enter to pin it; then change ε.";
      ui.note.hidden = false;
      return;
    }
    const [nth, all] = [this.words.indexOf(this.active) + 1, this.words.length].map(integer.format);
    const thing = this.aligned ? "word" : "token";
    ui.telltale.textContent = t.tells ? `identifying: ${t.tells.kind}` : "";
    ui.place.textContent = t.drawn && this.data.stage && !this.data.belief
      ? `How this ${thing} was ${this.aligned ? "replaced" : "sampled"}`
      : `${this.aligned ? "Word" : "Token"} ${nth} of ${all}`;
    const note = {
      keep: !this.aligned ? `not sampled${t.why ? `: ${t.why}` : ""}.` : `kept as it is${t.why ? `: ${t.why}` : ""}. It is visible to everyone.`,
      delete: `deleted${t.why ? `: ${t.why}` : ""}. The rewritten text has no word here.`,
      insert: this.aligned
        ? `added by the mechanism${t.why ? `: ${t.why}` : ""}. It hides no word of your text.`
        : `sampled given your text${this.data.live ? "" : " and the tokens before it"}. It does not belong to a single word of your text.`,
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
    const fixed = this.constant(t) ? " The probabilities are the same at every ε." : "";
    if (t.why) return `“${t.o}”: ${t.why}.${fixed}`;
    if (t.src >= 0) return "";
    return `“${t.o}” is not among the ${integer.format(t.total)} candidates, so it never remains unchanged.`;
  }

  noteOnDraws(t) {
    const [n, none] = [integer.format(t.draws), counted(0, t.draws)];
    return ` The probabilities are estimated from ${n} draws; a word that was never sampled shows ${none}.`;
  }

  constant(t) {
    const at = (k, x) => chance(t, k, this.lo * Math.exp(this.span * x), x);
    const same = (k) => [0.5, 1].every((x) => Math.abs(at(k, x) - at(k, 0)) <= 1e-3 * at(k, 0));
    return t.from.length === 1 && t.c.every((_, k) => same(k));
  }

  paintInspector() {
    const { ui } = this;
    // Without live words, the probabilities hold at the ε of the rewrite only.
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
    this.paintSegments(t, eps);
    this.paintRows(t, p, written);
  }

  paintSegments(t, eps) {
    const now = Math.max(0, upTo(t.from, eps) - 1);
    if (this.segments.length && this.segment !== now) {
      this.segments.forEach((s, k) => {
        s.button.classList.toggle("here", k === now);
        s.button.tabIndex = k === now ? 0 : -1;
      });
      this.segment = now;
    }
  }

  // p: the probability of a candidate. written: the same as text.
  paintRows(t, p, written) {
    let { order } = t;
    if (t.lp) {
      const all = t.c.map((_, k) => p(k));
      order = t.c.map((_, k) => k).filter((k) => all[k] >= 0).sort((a, b) => all[b] - all[a] || a - b);
    }
    // The best words, most likely first; the released and the original word come last if they rank lower.
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
}
