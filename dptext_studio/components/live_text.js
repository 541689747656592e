// Sends the content of a text box while the user types. The box sends its content on Ctrl+Enter, so this script presses
// that key for the user, which preserves focus, cursor and undo. The text goes nowhere else.

const LOOK_MS = 50; // from one look at what is not sent to the next
const BEGIN_MS = 300; // by then the page runs, or it has been so quick that nobody saw it
const BUSY = ["running", "rerunRequested", "stopRequested"];

const followers = new Map();

export default function ({ data }) {
  let follower = followers.get(data.box);
  const begins = !follower;
  if (begins) followers.set(data.box, (follower = new Follower(data.box)));
  follower.data = data;
  if (begins) follower.catchUp();
  const turn = (follower.turn += 1);
  // Several cleanups may exist; only the newest may end it.
  return () => {
    if (follower.turn !== turn) return;
    follower.destroy();
    followers.delete(data.box);
  };
}

class Follower {
  constructor(box) {
    this.turn = 0;
    this.inside = `.st-key-${box}`;
    this.first = null; // when the first key was pressed of what is not sent yet
    this.last = 0; // and the last one
    this.composing = false;
    this.sent = null; // when something was sent that is not answered yet
    this.seen = false; // whether the page has been seen at work on it
    this.free = 0; // from when on something may be sent while keys are still pressed
    this.timer = 0;
    this.dim = null; // what dims the answer to the text before
    this.off = new AbortController();
    const on = (kind, act) =>
      document.addEventListener(kind, (event) => event.target.closest?.(this.inside) && act(event), {
        capture: true, signal: this.off.signal,
      });
    on("input", (event) => this.typed(event.isComposing));
    on("compositionstart", () => (this.composing = true));
    on("compositionend", () => this.typed(false));
    // In both cases the box sends automatically.
    on("focusout", () => this.forget());
    on("keydown", (event) => {
      if (event.isTrusted && event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.forget();
    });
  }

  destroy() {
    this.off.abort();
    clearTimeout(this.timer);
    this.undim();
  }

  // Text typed before this listener started is not lost: it differs from the text that the page knows.
  catchUp() {
    const text = document.querySelector(`${this.inside} textarea`)?.value;
    if (text && [...text].length !== this.data.size) this.typed(false);
  }

  typed(composing) {
    if (!this.data.along) this.dims();
    this.composing = composing;
    this.last = performance.now();
    this.first ??= this.last;
    this.soon();
  }

  forget() {
    this.first = null;
    this.composing = false;
    if (this.dim) this.waits(performance.now());
  }

  dims() {
    const { shows } = this.data;
    if (this.dim || !shows) return;
    this.dim = document.createElement("style");
    this.dim.textContent = `[class*=st-key-${shows}] { opacity: 0.45; transition: opacity 100ms; }`;
    document.head.append(this.dim);
  }

  undim() {
    this.dim?.remove();
    this.dim = null;
  }

  soon(wait = LOOK_MS) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), wait);
  }

  // Whether the page has answered everything that was sent.
  idle() {
    const state = document.querySelector("[data-testid=stApp]")?.dataset.testScriptState;
    return !BUSY.includes(state) && !this.data.busy;
  }

  look() {
    const now = performance.now();
    if (this.sent !== null) {
      const idle = this.idle();
      this.seen ||= !idle || now - this.sent > BEGIN_MS;
      if (idle && this.seen) {
        // Wait half as long as the answer took, which leaves the server to others.
        this.free = now + (now - this.sent) / 2;
        this.sent = null;
        if (this.first === null) this.undim();
      }
    }
    if (this.first !== null && !this.composing) {
      const { pause, along } = this.data;
      const rested = now - this.last >= pause;
      const due = along && this.sent === null && now >= this.free && now - this.first >= pause;
      if (rested || due) this.send(now);
    }
    if (this.first !== null || this.sent !== null) this.soon();
  }

  send(now) {
    const area = document.querySelector(`${this.inside} textarea`);
    if (!area || area.disabled) return; // without a connection: later
    this.first = null;
    this.waits(now);
    const key = { key: "Enter", code: "Enter", ctrlKey: true, bubbles: true, cancelable: true };
    area.dispatchEvent(new KeyboardEvent("keydown", key));
  }

  // Something was sent, here or by the box: wait for its answer.
  waits(now) {
    this.sent = now;
    this.seen = false;
    this.soon();
  }
}
