// ε in words under the dial; and after a switch of the mechanism, the way to the same certainty.

class StripOdds {
  loadOdds() {
    const { data, memo } = this;
    const other = memo.mechanism !== undefined && memo.mechanism !== data.mechanism;
    // What the reader was sure of under the mechanism before.
    if (other) this.switched = { certainty: memo.certainty ?? null };
    memo.mechanism = data.mechanism;
    this.shownOdds = undefined;
  }

  paintOdds() {
    const { ui, data, eps } = this;
    ui.oddsWords.hidden = !data.odds || Boolean(data.spread);
    if (ui.oddsWords.hidden) return;
    const now = this.panel.at(eps);
    const may = Boolean(this.switched?.certainty && now && data.live);
    const key = `${this.switched ? "switched" : eps}${may}`;
    if (this.shownOdds === key) return;
    this.shownOdds = key;
    if (!this.switched) return put(ui.oddsWords, oddsWords(data.odds, eps));
    ui.oddsWords.replaceChildren("ε scales differ between mechanisms. ");
    if (!may) return ui.oddsWords.append("Compare settings by the reader’s certainty, where it is known.");
    const match = ui.oddsWords.appendChild(make("button", "match", "Match the reader’s certainty"));
    match.type = "button";
    match.title = `Set ε so that a reader is about ${share(this.switched.certainty)} sure again`;
    match.addEventListener("click", () => this.match());
  }

  // Set ε where the reader is as sure as under the mechanism before.
  match() {
    const { certainty } = this.switched;
    const { told } = this.panel;
    let best = [Infinity, this.eps];
    for (let step = 0; step <= this.steps; step += 1) {
      const eps = this.stepEps(step);
      const found = believed(told, eps);
      if (!found) continue;
      const away = Math.abs(found.p[found.guess] - certainty);
      if (away < best[0]) best = [away, eps];
    }
    this.switched = null;
    this.setEps(best[1]);
    this.ui.slider.focus();
  }
}
