// Names, numbers, dates and places of the original: which of them the rewrite still contains.

const CHIPS = 24; // names, dates and places that are listed; the others are counted

class StripIdentifiers {
  // Identifiers that rules found in the original: their words refer to them, and each has a fixed place below the text.
  findTelling() {
    const { ui, data } = this;
    this.telling = (data.telling ?? []).map((f) => ({ ...f, stands: null, at: f.at.filter((i) => this.tokens[i]) }));
    for (const t of this.tokens) t.tells = null;
    for (const f of this.telling) for (const i of f.at) this.tokens[i].tells = f;
    // On a first screen the list covers the text, and its counter opens it.
    (data.stage ? ui.dial : ui.legend.parentElement).insertBefore(ui.standing, data.stage ? null : ui.legend);
    ui.standing.hidden = !data.telling;
    this.enable(ui.whichStand, this.telling.length > 0 && data.tools !== false, "Which words these are");
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

  // A gauge's line that opens nothing is plain text: no hint and no change under the mouse.
  enable(line, does, hint) {
    line.disabled = !does;
    line.title = does ? hint : "";
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
    return `${tally(found)} of your text still visible`;
  }

  // Which identifiers are visible at this ε. Each keeps its place and its width, so that nothing below moves.
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
      if (f.chip) f.state.textContent = is ? `, ${f.kind}, still visible` : `, ${f.kind}, gone`;
    }
    for (const t of this.tokens) {
      if (!t.tells || !t.node) continue;
      const kind = kinds.get(t);
      t.node.classList.toggle("stands", kind !== undefined);
      if (kind) t.node.setAttribute("aria-description", `${kind}, still visible`);
      else t.node.removeAttribute("aria-description");
    }
    const left = this.telling.filter((f) => f.stands);
    const said = left.length
      ? this.standing(left)
      : this.telling.length
        ? "None of these words of your text is still visible"
        : "No names, numbers, dates or places were found in your text";
    if (ui.stood.textContent !== said) ui.stood.textContent = said;
    ui.standing.classList.toggle("none", !left.length);
  }
}
