// The bar under each word: the probability that it is unchanged, or that an attacker recovers it.

class StripTint {
  riskSaid() {
    const { why, chance, guess } = this.data.attack;
    if (why) return why;
    if (chance === undefined) return "Computing …";
    return "longer bar: higher success rate of an attacker who sees one released word and knows the " +
      `mechanism, ε and public word frequencies. Without the output, a guess is right ${percent(chance)} ` +
      `of the time (always “${guess}”).`;
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

  // How often an attacker would recover each word, as a bar under it. The labels of the words follow when ε rests.
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
      // Unknown at this ε: the bars of another ε are dimmed until it is known.
      this.el.classList.toggle("risk-away", this.tokens.some((t) => Number.isNaN(t.risk)));
    }
    if (this.riskLabels || this.dragging) return;
    this.riskLabels = true;
    for (const t of this.tokens) if (t.drawn && t.a === "replace" && t.node && t.at >= 0) this.label(t);
  }

  // The probability that each word is unchanged, as a bar under it.
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
}
