// The words of the text: their buttons, the displayed word at the current ε, and their space.

const FADE_LIMIT = 60; // beyond this many new words in a frame, fading them would cost more than it shows
const END = "∎"; // what stands for the token that ends a text
const UNBROKEN = 24; // letters of pieces without a space between them that stay on one line
const TRIED = 25; // points of ε at which the height of a text is tried out
const LONG_TEXT = 260; // words from which the text scrolls in a box of its own, so that the slider stays in sight

class StripWords {
  // Every change of a word, in order of ε: a drag moves along this list.
  makeEvents() {
    const events = [];
    this.tokens.forEach((t, i) => {
      if (t.drawn) for (let k = 1; k < t.from.length; k += 1) events.push([t.from[k], i]);
    });
    events.sort((a, b) => a[0] - b[0]);
    this.eventEps = events.map((e) => e[0]);
    this.eventToken = events.map((e) => e[1]);
  }

  // The button of a word; before: the text in front of it.
  makeWord(t, i, before) {
    const kind = { replace: "word", insert: "word added", delete: "word gone", keep: "word keep" }[t.a];
    t.node = make("button", kind);
    if (t.a === "replace" && t.why) t.node.classList.add("fixed");
    if (t.a === "delete" && !/\s$/.test(before)) t.node.classList.add("apart");
    t.node.type = "button";
    t.node.tabIndex = -1;
    t.node.dataset.i = i;
    t.node.setAttribute("aria-pressed", "false");
    t.word = make("span", "now", t.a === "delete" ? "·" : t.now);
    t.word.dir = "auto";
    const below = make("span", "was", t.a === "insert" ? (this.aligned ? "+" : "") : t.a === "keep" ? "" : t.o);
    below.dir = "auto";
    t.node.append(t.word, below);
    const did = { keep: "kept", insert: "added", delete: "deleted" }[t.a];
    if (did && t.why) t.node.title = `${did}: ${t.why}`;
    if (t.a === "keep") t.node.setAttribute("aria-label", `${t.o}, kept as it is`);
    if (t.a === "delete") t.node.setAttribute("aria-label", `${t.o}, deleted`);
  }

  setDirection() {
    const { ui } = this;
    // The direction of most words: single words have separate ones.
    const leftward = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}]/u;
    const rtl = this.words.filter((i) => leftward.test(this.tokens[i].o));
    ui.text.dir = rtl.length * 2 > this.words.length ? "rtl" : "ltr";
  }

  makeText() {
    const { ui } = this;
    // One block for each line of the text: a long text is then laid out only where it is visible.
    const page = document.createDocumentFragment();
    let line = page.appendChild(make("div", "line-of-text"));
    const put = (between) => {
      const parts = between.split("\n");
      parts.forEach((part, k) => {
        const last = k === parts.length - 1;
        if (part || !last) line.append(last ? part : `${part}\n`);
        if (!last) line = page.appendChild(make("div", "line-of-text"));
      });
    };
    const chosen = this.active;
    this.words = [];
    let text = ""; // what stands between the word before and the next one
    let before = null; // the last word
    let held = 0; // letters of the words that stand together with it
    const lay = (node, letters = 0) => {
      let [, head, gap, tail] = /^(\S*)([\s\S]*?)(\S*)$/.exec(text);
      if (!before && !gap) [head, tail] = ["", head];
      const holdHead = before && head && head.length <= 12;
      const holdTail = node && tail && tail.length <= 12;
      // Punctuation is inside the element of its word: next to the word, and not next to a longer original below it.
      if (holdHead) before.append(make("span", "mark", head));
      const between = (holdHead ? "" : head) + gap + (holdTail ? "" : tail);
      if (between) put(between);
      // Two tokens without a space between them form one word, or a word and its punctuation.
      if (node && !text && before && held + letters <= UNBROKEN) {
        let box = before.parentElement;
        if (!box.classList.contains("group")) {
          box = make("span", "group");
          before.replaceWith(box);
          box.append(before);
        }
        box.append(node);
        held += letters;
      } else if (node) {
        line.append(node);
        held = letters;
      }
      if (holdTail) node.prepend(make("span", "mark lead", tail));
      before = node ?? before;
      text = "";
    };
    this.tokens.forEach((t, i) => {
      text += t.pre;
      if (!t.button) {
        text += t.now;
        return;
      }
      this.makeWord(t, i, text);
      const shown = t.drawn ? t.shown[winner(t, this.eps)] : t.now;
      lay(t.node, t.a === "delete" ? UNBROKEN + 1 : shown.length);
      this.words.push(i);
    });
    text += this.data.tail ?? "";
    lay(null);
    if (!line.hasChildNodes()) line.remove();
    this.setDirection();
    ui.text.classList.toggle("long", this.words.length > LONG_TEXT);
    ui.text.classList.toggle("empty", !this.words.length);
    ui.text.replaceChildren(page);
    ui.text.scrollTop = 0;
    this.setStop(chosen ?? this.words[0] ?? null);
  }

  reserveSoon() {
    clearTimeout(this.timers.reserve);
    this.timers.reserve = setTimeout(() => this.reserve(), 60);
  }

  // Space for the text at every ε, so that nothing below it moves while ε does: a copy measures its height.
  reserve() {
    const { text } = this.ui;
    if (this.dragging) return this.reserveSoon();
    text.style.minHeight = "";
    if (!this.data?.live || !text.clientWidth || text.classList.contains("long")) return;
    const copy = text.cloneNode(true);
    // In a box that does not affect the layout around it: a measurement lays out the copy, not the page.
    const box = make("div", "");
    box.inert = true;
    box.style.cssText = `position:absolute;visibility:hidden;contain:strict;top:0;left:0;width:${text.offsetWidth}px;height:1px`;
    copy.style.margin = "0";
    box.append(copy);
    text.after(box);
    const drawn = [...copy.querySelectorAll(".word")]
      .map((node, k) => ({ node, now: node.querySelector(".now"), t: this.tokens[this.words[k]], at: -1 }))
      .filter(({ t }) => t.drawn);
    let most = 0;
    const points = this.words.length > 100 ? 9 : TRIED;
    for (let k = 0; k < points; k += 1) {
      const eps = this.lo * Math.exp((this.span * k) / (points - 1));
      for (const word of drawn) {
        const { node, now, t } = word;
        const at = winner(t, eps);
        if (at === word.at) continue;
        word.at = at;
        now.textContent = t.shown[at] || END;
        node.classList.toggle("changed", t.a === "replace" && !t.kept[at]);
      }
      most = Math.max(most, copy.offsetHeight);
    }
    box.remove();
    text.style.minHeight = `${most}px`;
  }

  repaintWords(fade) {
    const news = [];
    this.changed = 0;
    for (const t of this.tokens) {
      t.at = -1;
      if (t.drawn && this.setWord(t)) news.push(t);
      if (!t.drawn) t.changed = t.a === "delete";
      if (t.counts && t.changed) this.changed += 1;
    }
    this.atEvent = upTo(this.eventEps, this.eps);
    if (fade) this.fade(news);
  }

  moveWords() {
    const target = upTo(this.eventEps, this.eps);
    if (target === this.atEvent) return;
    const touched = new Set();
    const [first, end] = target > this.atEvent ? [this.atEvent, target] : [target, this.atEvent];
    for (let k = first; k < end; k += 1) touched.add(this.eventToken[k]);
    this.atEvent = target;
    const news = [];
    for (const i of touched) {
      const t = this.tokens[i];
      const before = t.changed;
      if (this.setWord(t)) news.push(t);
      if (t.counts) this.changed += t.changed - before;
    }
    this.fade(news);
  }

  // Write the winner at ε into a word; return true if the displayed word changed.
  setWord(t) {
    const at = winner(t, this.eps);
    if (at === t.at) return false;
    t.at = at;
    t.changed = t.a === "replace" && !t.kept[at];
    const shown = t.shown[at] || END;
    t.node.classList.toggle("changed", t.changed);
    this.label(t);
    this.agree(t);
    if (t.word.textContent === shown) return false;
    t.word.textContent = shown;
    return true;
  }

  // The article before a word, in the form that its winner needs.
  agree(t) {
    const article = this.tokens[this.tokens.indexOf(t) - 1];
    if (!article?.forms) return;
    article.now = article.forms[Number(t.second.has(t.at))];
    put(article.word, article.now);
  }

  // The label of a sampled word: with its original, and how often an attacker would recover it if words are marked so.
  label(t) {
    const shown = t.shown[t.at] || END;
    const parts = [shown];
    if (t.changed) parts.push(`was ${t.o}`);
    else if (t.a === "insert") parts.push("added");
    if (this.byRisk && t.risk >= 0) parts.push(`an attacker recovers it ${percent(t.risk)} of the time`);
    if (parts.length > 1) t.node.setAttribute("aria-label", parts.join(", "));
    else t.node.removeAttribute("aria-label");
  }

  fade(news) {
    if (calm.matches || news.length > FADE_LIMIT) return;
    for (const t of news) t.word.animate([{ opacity: 0.25 }, { opacity: 1 }], { duration: 220, easing: "ease-out" });
  }

  indexOf(target) {
    const node = target.closest?.(".word");
    return node ? Number(node.dataset.i) : null;
  }
}
