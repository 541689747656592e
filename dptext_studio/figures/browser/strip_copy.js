// Copies of the text, by the button or by hand: each counts as a release.

class StripCopy {
  plainText(tokens = this.tokens) {
    const text = spliced(tokens);
    return tokens === this.tokens ? text + (this.data.tail ?? "") : text.slice(tokens[0]?.pre.length ?? 0);
  }

  async copy() {
    // An ε typed a moment ago: record the ε of the displayed words.
    if (this.frame) this.paint();
    const text = this.plainText();
    // Another draw may have arrived before the browser answers.
    const { eps, draw, run } = this;
    let done = false;
    try {
      await navigator.clipboard.writeText(text);
      done = true;
    } catch {
      done = this.copyOldWay(text);
    }
    if (!done) {
      this.say("The browser did not allow copying. Select the text instead.", true);
      return;
    }
    this.left(draw, run, eps);
    this.ui.copy.textContent = "Copied ✓";
    clearTimeout(this.timers.copied);
    this.timers.copied = setTimeout(() => (this.ui.copy.textContent = "Copy text"), 2000);
  }

  // A copy counts as released: record it here and report it to the server at once.
  left(draw, run, eps) {
    const { copies } = this.memo;
    // No guarantee covers two versions from the same locked noise together.
    const other = copies.find((c) => c[0] === draw && c[2] !== eps)?.[2];
    if (!copies.some((c) => c[0] === draw && c[2] === eps)) copies.push([draw, run, eps]);
    this.queue(0);
    if (draw !== this.draw) return;
    const parts = [this.data.spread ? "Copied." : `Copied at ε ${plain(eps)}.`];
    if (this.data.seeded) parts.push("Demonstration, not private.");
    else if (other !== undefined) {
      parts.push(
        `The version at ε ${plain(other)} was also copied, so neither has a guarantee. Rewrite again and release only one.`,
      );
    }
    this.say(parts.join(" "), parts.length > 1);
  }

  // Words selected by hand are copied like those of the button.
  copiedByHand(event) {
    if (this.copying || !this.tokens.length || !this.memo) return;
    const root = this.ui.text.getRootNode();
    const ranges = [root.getSelection?.(), document.getSelection()].flatMap((s) => selected(s, root));
    let taken = this.tokens;
    // A selection that starts outside the strip has ends in two trees, so its words in the strip are unknown.
    const holds = (r) => {
      const [a, b] = [r.startContainer, r.endContainer].map((node) => node.getRootNode());
      if (a !== b) return a === root || b === root;
      const range = document.createRange();
      range.setStart(r.startContainer, r.startOffset);
      range.setEnd(r.endContainer, r.endOffset);
      if (range.collapsed) return false;
      if (a === root) {
        const buttons = this.tokens.filter((t) => t.node);
        const words = buttons.filter((t) => range.intersectsNode(t.node));
        // Punctuation between words has no buttons.
        const [from, to] = [words[0], words.at(-1)].map((t) => this.tokens.indexOf(t));
        if (words.length < buttons.length) taken = this.tokens.slice(from, to + 1);
        return words.some((t) => t.drawn) || this.tokens.some((t) => t.a === "whole");
      }
      return Boolean(root.host) && range.intersectsNode(root.host);
    };
    if (!ranges.some(holds)) return;
    // Each word is a button of two rows, which the browser would copy on separate lines.
    event.clipboardData?.setData("text/plain", this.plainText(taken));
    event.preventDefault();
    this.left(this.draw, this.run, this.data.live ? this.eps : this.data.eps);
  }

  copyOldWay(text) {
    this.copying = true;
    const area = make("textarea");
    area.value = text;
    area.setAttribute("readonly", "");
    area.style.cssText = "position:fixed;top:0;left:-9999px";
    document.body.append(area);
    area.select();
    let done = false;
    try {
      done = document.execCommand("copy");
    } catch {
      done = false;
    }
    area.remove();
    this.copying = false;
    this.ui.copy.focus();
    return done;
  }

  // Routine messages are only spoken (the button shows them); a warning is above the text until the next copy or draw.
  say(text, caution) {
    this.ui.copied.classList.toggle("caution", caution);
    this.ui.copied.textContent = text;
  }
}
