// @ts-check
// The page: a text, a mechanism, the token view, the promise, and a ledger of what left this tab.

import { Engine } from "./engine.js";
import mount from "./strip.js";
import { bound } from "./promise.js";
import { payload } from "./view.js";

const TYPING_MS = 250; // quiet time before a text is rewritten

const get = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
const ui = {
  text: get("text"), mechanism: get("mechanism"), examples: get("examples"), again: get("again"), status: get("status"),
  progress: get("progress"), promise: get("promise"), exposed: get("exposed"), ledger: get("ledger"), save: get("save"),
  notes: get("notes"), summary: get("summary"), view: get("view"),
};
const state = {
  run: 0,
  draw: "",
  eps: /** @type {Record<string, number>} */ ({}),
  prepared: /** @type {import("./engine.js").Prepared | null} */ (null),
  released: /** @type {Map<string, {title: string, epsilon: number, draws: number, metric: boolean, draw: string}>} */ (new Map()),
  timer: 0,
  turn: 0,
  busy: false,
  stale: false,
};
/** @type {Engine} */
let engine;

function element(/** @type {string} */ tag, /** @type {string} */ text) {
  const node = document.createElement(tag);
  node.textContent = text;
  return node;
}

const megabytes = (/** @type {number} */ n) => `${(n / 1e6).toFixed(1)} MB`;

function say(/** @type {string} */ what, wrong = false) {
  ui.status.textContent = what;
  ui.status.classList.toggle("wrong", wrong);
}

// Loads what the mechanism needs, and rewrites the text: whether it could be loaded. What the user has asked for since
// then counts instead.
async function rewrite() {
  const turn = (state.turn += 1);
  const mechanism = ui.mechanism.value;
  const spec = engine.core.mechanisms.find((/** @type {any} */ m) => m.name === mechanism);
  ui.summary.textContent = spec.summary;
  ui.progress.hidden = true;
  try {
    await engine.load(mechanism, (bytes, all) => {
      if (ui.mechanism.value !== mechanism) return;
      ui.progress.hidden = bytes >= all;
      ui.progress.value = bytes / all;
      say(bytes < all ? `Loading ${spec.title}, once: ${megabytes(bytes)} of ${megabytes(all)}` : "Unpacking …");
    });
  } catch (problem) {
    if (turn === state.turn) instead(spec.title, problem);
    return false;
  }
  if (turn !== state.turn) return true;
  if (state.busy) {
    state.stale = true;
    return true;
  }
  state.busy = true;
  const waits = setTimeout(() => say("Working …"), 300);
  try {
    const start = performance.now();
    state.prepared = await engine.prepare(ui.text.value, mechanism);
    show();
    const took = performance.now() - start;
    const { ms } = state.prepared;
    clearTimeout(waits);
    say(`Rewritten on this device in ${took.toFixed(0)} ms${ms ? `, of which the model ${ms.toFixed(0)} ms` : ""}.`);
  } catch (problem) {
    clearTimeout(waits);
    say(`This did not work: ${/** @type {any} */ (problem)?.message ?? problem}`, true);
  }
  state.busy = false;
  if (state.stale) {
    state.stale = false;
    rewrite();
  }
  return true;
}

// A device on which the model cannot run gets a word mechanism, and is told so.
function instead(/** @type {string} */ title, /** @type {any} */ problem) {
  ui.progress.hidden = true;
  const why = `${title} could not be loaded here (${problem?.message ?? problem}).`;
  const other = engine.core.mechanisms.find((/** @type {any} */ m) => m.name !== ui.mechanism.value);
  if (title !== engine.core.mechanisms[0].title) {
    say(why, true);
    return;
  }
  ui.mechanism.value = other.name;
  rewrite().then((done) => done && say(`${why} ${other.title} needs no model.`, true));
}

// Something to drag while the model loads: a rewrite that the core made, with noise that everybody has.
async function demonstrate() {
  const { payload: data, sentence, exposed } = await (await fetch("first.json")).json();
  if (state.prepared) return;
  mount({ parentElement: ui.view, data, setStateValue() {} });
  ui.promise.textContent = sentence;
  ui.exposed.replaceChildren(...exposed.map((/** @type {string} */ item) => element("li", item)));
}

// New noise for the text that is there.
function show() {
  const { prepared } = state;
  if (!prepared) return;
  ui.again.disabled = ui.save.disabled = false;
  state.run += 1;
  state.draw = crypto.getRandomValues(new Uint32Array(2)).join("-");
  const name = prepared.spec.name;
  const epsilon = state.eps[name] ?? prepared.spec.axis[2];
  const data = payload(engine, prepared, { run: state.run, draw: state.draw, epsilon });
  data.key = name;
  mount({ parentElement: ui.view, data, setStateValue: (/** @type {string} */ _, /** @type {any} */ view) => seen(name, view) });
  promise(epsilon);
}

// The token view has moved, or text has left it.
function seen(/** @type {string} */ name, /** @type {any} */ view) {
  if (state.prepared?.spec.name !== name) return;
  state.eps[name] = view.eps;
  promise(view.eps);
  for (const [draw, , epsilon] of view.copies) release(draw, epsilon);
}

function promise(/** @type {number} */ epsilon) {
  if (!state.prepared) return;
  const made = engine.promise(state.prepared, epsilon);
  ui.promise.textContent = made.sentence;
  ui.exposed.replaceChildren(...made.exposed.map((item) => element("li", item)));
}

function release(/** @type {string} */ draw, /** @type {number} */ epsilon) {
  const { prepared } = state;
  if (!prepared || draw !== state.draw || state.released.has(`${draw} ${epsilon}`)) return;
  const { title, promise: { notion } } = prepared.spec;
  const { draws } = engine.promise(prepared, epsilon);
  state.released.set(`${draw} ${epsilon}`, { title, epsilon, draws, metric: notion === "metric", draw });
  const all = [...state.released.values()];
  let total = 0;
  const rows = all.map((r) => {
    if (!r.metric) total += r.epsilon * r.draws;
    const spent = `${bound(r.epsilon * r.draws)}${r.metric ? " for each unit of distance" : ""}`;
    const versions = all.filter((other) => other.draw === r.draw).length;
    // They share their noise, and together they show it.
    const shared = versions > 1 ? " Another version of this draw left too: no promise is left for either." : "";
    return element("li", `${r.title}, ε = ${bound(r.epsilon)}, ${r.draws} ${r.draws === 1 ? "draw" : "draws"}: ${spent}.${shared}`);
  });
  const apart = all.some((r) => r.metric) ? ", but for what counts by distance" : "";
  const sum = `Together at most ε = ${bound(total)}${apart}, if all of it is about the same person.`;
  ui.ledger.replaceChildren(...rows, ...(all.every((r) => r.metric) ? [] : [element("li", sum)]));
}

function save() {
  const { prepared } = state;
  if (!prepared) return;
  // Read off the view, so that what is saved is what is seen.
  const epsilon = Number(ui.view.querySelector(".exact").value);
  const text = shownText();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = "rewritten.txt";
  link.click();
  URL.revokeObjectURL(link.href);
  release(state.draw, epsilon);
}

/** The text as the token view shows it now. */
function shownText() {
  const { prepared } = state;
  if (!prepared) return "";
  const shown = [...ui.view.querySelectorAll(".text .word")];
  const at = new Map(shown.map((node) => [Number(/** @type {HTMLElement} */ (node).dataset.i), node]));
  let out = "";
  prepared.document.tokens.forEach((token, i) => {
    const word = prepared.laws[i] ? at.get(i)?.querySelector(".now")?.textContent : token.text;
    out += prepared.gaps[i] + (word ?? token.text);
  });
  return out + prepared.gaps[prepared.gaps.length - 1];
}

async function begin() {
  const answer = await fetch("core.json");
  engine = new Engine(await answer.json());
  for (const m of engine.core.mechanisms) ui.mechanism.append(new Option(m.title, m.name));
  for (const e of engine.core.examples) ui.examples.append(new Option(e.title, e.text));
  ui.text.value = engine.core.examples[0]?.text ?? "";
  for (const note of engine.core.notes) ui.notes.append(element("li", note));
  ui.again.disabled = ui.save.disabled = true;
  demonstrate().catch(() => {});
  rewrite();
  const soon = () => {
    clearTimeout(state.timer);
    state.timer = window.setTimeout(rewrite, TYPING_MS);
  };
  ui.text.addEventListener("input", soon);
  ui.mechanism.addEventListener("change", rewrite);
  ui.examples.addEventListener("change", () => {
    ui.text.value = ui.examples.value;
    rewrite();
  });
  ui.again.addEventListener("click", show);
  ui.save.addEventListener("click", save);
  if ("serviceWorker" in navigator) navigator.serviceWorker.register("sw.js").catch(() => {});
}

const ready = begin();
ready.catch((problem) => say(`This page could not start: ${problem?.message ?? problem}`, true));

/** @type {{text: string, mechanism: string, prepared: Promise<import("./engine.js").Prepared>} | null} */
let last = null;

/** The text that was asked for last is not read again for another word or another ε. */
function prepare(/** @type {string} */ text, /** @type {string} */ mechanism) {
  if (last?.text !== text || last.mechanism !== mechanism) {
    last = { text, mechanism, prepared: engine.prepare(text, mechanism) };
  }
  return last.prepared;
}

// For tests, and for the curious: the same functions as the page uses.
Object.assign(window, {
  dptext: {
    ready,
    /** What a word is drawn from: index counts tokens, as m.distribution(text, index) of the core. */
    async distribution(/** @type {string} */ text, /** @type {number} */ index, /** @type {any} */ { mechanism, epsilon }) {
      await ready;
      const prepared = await prepare(text, mechanism);
      const law = prepared.laws[index];
      if (!law) throw new Error(`no word is drawn for token ${index}`);
      const logProbs = [...law.logProbs(epsilon)];
      return { candidates: [...law.candidates], probs: logProbs.map(Math.exp), log_probs: logProbs };
    },
    async rewrite(/** @type {string} */ text, /** @type {any} */ { mechanism, epsilon }) {
      await ready;
      return engine.rewrite(await prepare(text, mechanism), epsilon);
    },
    /** The vectors of the sentences of a text, in steps of 2^-14. */
    async vectors(/** @type {string} */ text) {
      await ready;
      return (await prepare(text, "dp-sentence")).vectors?.map((v) => v && [...v]);
    },
    async sentences(/** @type {string} */ text) {
      await ready;
      return engine.language.sentenceSpans(text).map(([a, b]) => text.slice(a, b));
    },
    async tokens(/** @type {string} */ text) {
      await ready;
      return engine.language.parse(text).tokens.map((t) => [t.text, t.kind]);
    },
  },
});
