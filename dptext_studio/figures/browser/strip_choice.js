// The choice of a word: by mouse, touch and keyboard, and the sheet of a narrow screen.

class StripChoice {
  // tell: true: report this word to the server; false: report that none is chosen; null: report nothing.
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

  // On a narrow screen, the chosen word is above the sheet, not behind it.
  clearOfSheet() {
    this.rises = false;
    const { node } = this.tokens[this.active];
    const sheet = getComputedStyle(this.ui.inspector);
    if (!node || sheet.position !== "fixed") return;
    const before = node.getBoundingClientRect().top;
    // Its final position: it may still be moving.
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
}
