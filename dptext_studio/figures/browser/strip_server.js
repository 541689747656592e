// Messages to and from the server, and what survives a switch of pages.

const SETTLE_MS = 350; // quiet time before a change is sent

class StripServer {
  // What the page knows of the ε that it heard of last comes beside the rewrite, which is much longer.
  hear() {
    const told = document.dptextHere;
    if (!told || this.data.here || told.key !== this.data.key || told.run !== this.run) return;
    this.heard = told.eps;
    // Where ε moves nothing, a text has one figure, and what was told of another ε is of another text.
    this.meaning = this.data.live || told.eps === this.data.eps ? told.meaning : null;
    this.belief = told.belief ?? undefined;
    this.tourNumbers = told.tour ?? undefined;
    this.guesses = told.guesses ?? undefined;
    this.tour.heard();
    this.tokens.forEach((t, i) => t.bent && tell(t, i, told));
  }

  // Where the page has not heard of this ε yet, what it would give away is another text than the one in sight.
  behind() {
    const moved = Math.abs((this.heard ?? this.eps) - this.eps) > 1e-9 * this.eps;
    document.documentElement.toggleAttribute("data-behind", Boolean(this.data.live && !this.data.spread && moved));
  }

  queue(wait = SETTLE_MS, always = false) {
    clearTimeout(this.timers.send);
    if (this.dragging) return;
    this.timers.send = setTimeout(() => {
      if (this.dragging) return;
      // All copies each time: a message may overtake another, and the server counts each of them once.
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
}
