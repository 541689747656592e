// ε in words under the dial and, after a change of mechanism, a button for the same certainty.

class StripOdds {
  loadOdds() {
    const { data, memo } = this;
    const other = memo.mechanism !== undefined && memo.mechanism !== data.mechanism;
    // The reader's certainty with the previous mechanism.
    if (other) this.switched = { certainty: memo.certainty ?? null };
    memo.mechanism = data.mechanism;
    this.shownOdds = undefined;
  }

  paintOdds() {
    const { ui, data, eps } = this;
    put(ui.lowEnd, dialEnd(data.odds ?? {}, eps));
    ui.oddsWords.hidden = !data.odds || Boolean(data.spread);
    if (ui.oddsWords.hidden) return;
    const now = this.panel.at(eps);
    const may = Boolean(this.switched?.certainty && now && data.live);
    const key = `${this.switched ? `switched ${this.panel.told?.fact}` : eps}${may}`;
    if (this.shownOdds === key) return;
    this.shownOdds = key;
    if (!this.switched) return put(ui.oddsWords, oddsWords(data.odds, eps));
    ui.oddsWords.replaceChildren("ε scales differ between mechanisms. ");
    if (!may) return ui.oddsWords.append("Compare settings by the reader’s certainty if it is known.");
    const match = ui.oddsWords.appendChild(make("button", "match", "Match the reader’s certainty"));
    match.type = "button";
    match.title = `Set ε so that a reader is about ${share(this.switched.certainty)} sure again`;
    match.addEventListener("click", () => this.match());
  }

  // Set ε so that the reader is as certain as with the previous mechanism; if no ε does that, say so and change
  // nothing.
  match() {
    const { ui, switched: { certainty } } = this;
    const epsilons = Array.from({ length: this.steps + 1 }, (_, step) => this.stepEps(step));
    const found = matchCertainty(this.panel.told, epsilons, certainty);
    if (!found?.reached) {
      ui.oddsWords.replaceChildren(`A certainty of ${share(certainty)} cannot be matched: ${unmatched(found, certainty)}`);
      return ui.slider.focus();
    }
    this.switched = null;
    this.setEps(found.eps);
    ui.slider.focus();
  }
}

// Why no ε gives this certainty. found: from matchCertainty.
function unmatched(found, certainty) {
  if (!found) return "no certainty is known here.";
  if (found.low > certainty) return `the lowest here is ${share(found.low)}.`;
  if (found.high < certainty) return `the highest here is ${share(found.high)}.`;
  return `the nearest here is ${share(found.p)}.`;
}
