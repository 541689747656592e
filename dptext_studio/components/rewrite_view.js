// A rewrite with marked differences from the original. All content of a text reaches the page through textContent or an
// attribute, never as markup.

// All views of the page: pointing at a word in one highlights it in the others.
const views = new Set();
const byRoot = new WeakMap();

export default function (component) {
  const root = component.parentElement;
  let view = byRoot.get(root);
  if (!view || !view.el.isConnected) {
    view?.destroy();
    view = new View(root.querySelector(".rewrite"));
    byRoot.set(root, view);
  }
  views.add(view);
  const turn = view.accept(component);
  // Several cleanups may exist; only the newest may remove the view.
  return () => {
    if (view.turn !== turn) return;
    view.destroy();
    if (byRoot.get(root) === view) byRoot.delete(root);
  };
}

function light(at) {
  for (const view of views) view.light(at);
}

class View {
  constructor(el) {
    this.el = el;
    this.turn = 0;
    this.data = undefined;
    this.words = [];
    this.told = [];
    this.off = new AbortController();
    this.ui = {
      text: el.querySelector(".text"),
      count: el.querySelector(".count"),
      copy: el.querySelector(".copy"),
      spoken: el.querySelector(".spoken"),
    };
    const on = (node, kind, act) => node.addEventListener(kind, act, { signal: this.off.signal });
    on(this.ui.text, "click", (event) => this.choose(event.target.closest?.(".word")));
    on(this.ui.text, "keydown", (event) => this.key(event));
    for (const kind of ["pointerover", "focusin"]) {
      on(this.ui.text, kind, (event) => light(event.target.closest?.(".word")?.dataset.at ?? null));
    }
    for (const kind of ["pointerleave", "focusout"]) on(this.ui.text, kind, () => light(null));
    on(this.ui.copy, "click", () => this.copy());
    on(this.ui.text, "copy", () => this.left());
  }

  destroy() {
    this.off.abort();
    views.delete(this);
  }

  accept({ data, setStateValue }) {
    this.turn += 1;
    this.tell = setStateValue;
    if (data === this.data) return this.turn;
    this.data = data;
    this.draw();
    return this.turn;
  }

  draw() {
    const { text, count, copy } = this.ui;
    const held = this.words.indexOf(text.getRootNode().activeElement);
    text.replaceChildren();
    text.setAttribute("aria-label", this.data.name);
    this.words = [];
    for (const [word, changed, original, at, drawn] of this.data.pieces) {
      if (!changed && at === null) {
        text.append(word);
        continue;
      }
      const node = document.createElement("span");
      node.textContent = word || "∅";
      node.className = changed ? "mark changed" : "mark";
      if (!word) node.classList.add("gone");
      if (changed) {
        node.title = word ? (original ? `was: ${original}` : "not in your text") : `deleted: ${original}`;
        node.setAttribute("aria-label", `${word || "nothing"}, ${node.title}`);
      }
      if (at !== null && drawn) {
        node.classList.add("word");
        node.dataset.at = at;
        node.setAttribute("role", "button");
        node.setAttribute("aria-pressed", String(at === this.data.chosen));
        node.tabIndex = -1;
        this.words.push(node);
      }
      text.append(node);
    }
    const stop = this.words.find((n) => Number(n.dataset.at) === this.data.chosen) ?? this.words[0];
    if (stop) stop.tabIndex = 0;
    // A long text scrolls; without selectable words, the keyboard must still reach it.
    text.tabIndex = stop ? -1 : 0;
    if (held >= 0) this.words[held]?.focus();
    count.textContent = this.data.count;
    copy.hidden = !this.data.button;
    copy.textContent = "Copy text";
  }

  light(at) {
    for (const node of this.words) node.classList.toggle("lit", at !== null && node.dataset.at === String(at));
  }

  choose(node) {
    // Selecting text by hand does not choose a word.
    if (!node || !document.getSelection()?.isCollapsed) return;
    for (const other of this.words) other.tabIndex = other === node ? 0 : -1;
    this.tell("word", Number(node.dataset.at));
  }

  key(event) {
    const at = this.words.indexOf(event.target);
    if (at < 0) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.tell("word", Number(event.target.dataset.at));
      return;
    }
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: this.words.length - 1 }[event.key];
    const next = this.words[to];
    if (!next) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  async copy() {
    const text = this.data.pieces.map((p) => p[0]).join("");
    const number = this.data.copies;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      this.ui.spoken.textContent = "The browser did not allow copying. Download the text instead.";
      this.ui.copy.textContent = "Not allowed";
      return;
    }
    this.left(number);
    this.ui.copy.textContent = "Copied ✓";
    this.ui.spoken.textContent = "Copied. This counts as released.";
  }

  // A copy counts as released, by button or by hand.
  left(number = this.data.copies) {
    if (number === null || this.told.includes(number)) return;
    this.told = [...this.told, number];
    this.tell("copies", this.told);
  }
}
