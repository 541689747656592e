// The strongest attacker's guesses over the words: one button requests them from the server.

const GUESSES = "guesses"; // what the server hears that the words are marked by

class StripAttack {
  // The state of the marks for the server.
  get marks() {
    return this.guessing ? GUESSES : this.ui.tint.value;
  }

  toggleAttack(on = !this.guessing) {
    this.guessing = on;
    this.shownGuesses = undefined;
    this.queue(0, true);
    this.schedule();
  }

  loadAttack() {
    const { ui, data } = this;
    ui.attack.hidden = !data.attackable;
    if (!data.attackable) this.guessing = false;
    this.shownGuesses = undefined;
  }

  // The guesses for the displayed text; null if there are none.
  guessesAt(eps) {
    const found = this.guesses;
    return this.guessing && found?.words && Math.abs(found.eps - eps) <= 1e-9 * eps ? found : null;
  }

  paintAttack() {
    const { ui, data } = this;
    if (!data.stage) return;
    const eps = data.live ? this.eps : data.eps;
    const found = this.guessesAt(eps);
    const now = `${this.guessing}${this.dragging}${found ? eps : ""}${this.guesses?.why ?? ""}${found?.pending}`;
    if (this.shownGuesses === now) return;
    this.shownGuesses = now;
    put(ui.attack, this.guessing ? "Hide the attack" : "Show the attack");
    ui.attack.setAttribute("aria-pressed", String(Boolean(this.guessing)));
    this.el.classList.toggle("attacked", Boolean(found));
    const right = new Set(found?.right);
    for (const i of this.words) this.markGuess(this.tokens[i], found?.words[i] ?? "", right.has(i));
    const [mark, rest] = this.keySaid(found);
    ui.key.hidden = false;
    ui.key.replaceChildren(make("i", "", mark), ` ${rest}`);
  }

  markGuess(t, guess, right) {
    const { node } = t;
    node.classList.toggle("named", right);
    let label = node.querySelector(".guessed");
    const shown = t.drawn ? t.shown[t.at] : t.now;
    const told = guess && !sameWord(guess, shown) ? guess : "";
    if (!told) return label?.remove();
    label ??= node.appendChild(make("span", "guessed"));
    label.dir = "auto";
    put(label, told);
  }

  // The legend above the text.
  keySaid(found) {
    if (found) {
      const more = found.pending ? " Others are still guessing." : "";
      return ["recovered", `${found.right.length} of ${found.of} ${found.of === 1 ? "word" : "words"}. ${GUESSER[found.name] ?? `By “${found.name}”.`}${more}`];
    }
    if (this.guessing) return ["attack", this.guesses?.why && !this.dragging ? this.guesses.why : "Release the slider to attack this text."];
    return ["orange", this.aligned ? "= replaced" : "= sampled"];
  }
}

// The method of each attacker.
const GUESSER = {
  "Same word": "The attacker assumes that nothing changed.",
  "Nearest word": "The attacker guesses the nearest other word.",
  "Optimal guess": "The attacker makes the optimal guess for each word.",
  "Language model": "The attacker’s language model reads only the context.",
  "Contextual Bayes": "The attacker uses the mechanism and a language model.",
};
