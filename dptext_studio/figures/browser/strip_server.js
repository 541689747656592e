// Messages to and from the server, and state that survives a change of page.

const SETTLE_MS = 350; // quiet time before a change is sent

class StripServer {
  // The page's results for the last reported ε arrive separately from the rewrite, which is much longer.
  hear() {
    const told = document.dptextHere;
    if (!told || this.data.here || told.key !== this.data.key || told.run !== this.run) return;
    this.heard = told.eps;
    // If ε has no effect, a text has one value, and a value for another ε belongs to another text.
    this.meaning = this.data.live || told.eps === this.data.eps ? told.meaning : null;
    this.belief = told.belief ?? undefined;
    this.tourNumbers = told.tour ?? undefined;
    this.guesses = told.guesses ?? undefined;
    this.tour.heard();
    this.tokens.forEach((t, i) => t.bent && tell(t, i, told));
  }

  // Until the page knows this ε, it would release another text than the displayed one.
  behind() {
    const moved = Math.abs((this.heard ?? this.eps) - this.eps) > 1e-9 * this.eps;
    document.documentElement.toggleAttribute("data-behind", Boolean(this.data.live && !this.data.spread && moved));
  }

  queue(wait = SETTLE_MS, always = false) {
    clearTimeout(this.timers.send);
    if (this.dragging) return;
    this.timers.send = setTimeout(() => {
      if (this.dragging) return;
      // All copies each time: a message may overtake another, and the server counts each copy once.
      const tint = this.marks;
      const { copies, fact = "", others = new Map() } = this.memo;
      const view = { run: this.run, eps: this.eps, token: this.told, copies: [...copies], tint, fact, others: [...others],
        step: this.tour.step };
      const text = JSON.stringify(view);
      if (!always && (this.lastSent === null ? !this.news() : text === this.lastSent)) return;
      this.lastSent = text;
      if (!this.data.live) this.askedEps = this.eps;
      this.setState("view", view);
      this.schedule();
    }, wait);
  }

  // Whether the displayed state differs from what the server assumes before the first message: the original payload.
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
}
