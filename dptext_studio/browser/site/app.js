// @ts-check
// The page: a text, a mechanism, the token view, the guarantee, and the ledger of releases from this tab.

import { expose } from "./api.js";
import { Blocklist, parseBlocklist } from "./blocklist.js";
import { BeliefPage, tellDemonstration } from "./belief_page.js";
import { isUsed } from "./choices.js";
import { Engine } from "./engine.js";
import { json } from "./files.js";
import mount from "./strip.js";
import { bound } from "./guarantee.js";
import { payload } from "./view.js";

const EMPTY = "∎"; // how the token view shows an empty sentence
const TYPING_MS = 250; // pause in typing before a text is rewritten
const LARGEST = 100_000; // bytes of a dropped file

const get = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
const ui = {
  text: get("text"), mechanism: get("mechanism"), examples: get("examples"), again: get("again"), status: get("status"),
  progress: get("progress"), guarantee: get("guarantee"), between: get("between"), exposed: get("exposed"), ledger: get("ledger"), save: get("save"),
  notes: get("notes"), reader: get("reader"), summary: get("summary"), view: get("view"), controls: get("controls"), blocklist: get("blocklist"),
  blocklist_label: get("blocklist_label"), blocklist_note: get("blocklist_note"), problem: get("problem"), edit: get("edit"), editor: get("editor"), removed: get("removed"), asked: get("asked"),
  allowlist: get("allowlist"), allowlist_label: get("allowlist_label"), allowlist_note: get("allowlist_note"),
};
const state = {
  run: 0,
  draw: "",
  eps: /** @type {Record<string, number>} */ ({}),
  options: /** @type {Record<string, Record<string, any>>} */ ({}),
  /** Both lists as they were last read, by the names of their fields. */
  lists: /** @type {Record<string, {text: string, made: Blocklist}>} */ ({}),
  prepared: /** @type {import("./engine.js").Prepared | null} */ (null),
  draws: /** @type {Map<string, {title: string, draws: number, metric: boolean, none: boolean}>} */ (new Map()),
  released: /** @type {Map<string, {title: string, epsilon: number, draws: number, metric: boolean, none: boolean, draw: string}>} */ (new Map()),
  timer: 0,
  turn: 0,
  working: /** @type {AbortController | null} */ (null),
  stale: false,
  chosen: /** @type {number | null} */ (null), // the selected token
  /** The facts that the visitor named, and their alternatives, for each mechanism. */
  asked: /** @type {Map<string, {fact: string, others: [string, string][]}>} */ (new Map()),
};
/** @type {Engine} */
let engine;
/** @type {BeliefPage} */
let beliefs;

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

// Loads what the mechanism needs and rewrites the text. Returns whether it was loaded. A later request of the user
// replaces this one.
async function rewrite() {
  const turn = (state.turn += 1);
  beliefs.stop();
  const mechanism = ui.mechanism.value;
  const options = state.options[mechanism];
  const spec = engine.spec(mechanism, options);
  ui.summary.textContent = spec.summary;
  ui.progress.hidden = true;
  let failed = false;
  try {
    await engine.load(spec, (bytes, all) => {
      // Other files may still arrive after one has failed.
      if (failed || ui.mechanism.value !== mechanism) return;
      ui.progress.hidden = bytes >= all;
      ui.progress.value = bytes / all;
      say(bytes < all ? `Loading ${spec.title} (only once): ${megabytes(bytes)} of ${megabytes(all)}` : "Unpacking …");
    });
  } catch (problem) {
    failed = true;
    if (turn === state.turn) instead(spec.title, problem);
    return false;
  }
  engine.loadNeighbours().catch(() => {}); // so that they are available offline too
  if (turn !== state.turn) return true;
  if (state.working) {
    state.stale = true;
    state.working.abort();
    return true;
  }
  await work(async (signal) => {
    const start = performance.now();
    const prepared = await engine.prepare(ui.text.value, mechanism, { options, ...typedLists(spec), signal });
    await show(prepared, signal);
    const took = performance.now() - start;
    const { ms } = prepared;
    return `Rewritten on this device in ${took.toFixed(0)} ms${ms ? ` (model: ${ms.toFixed(0)} ms)` : ""}.`;
  }, () => {
    // The page shows the rewrite of another text, which must not be mistaken for this one's. A slider in use stays
    // usable.
    ui.save.disabled = true;
    ui.view.inert = !ui.view.matches(":focus-within");
  });
  return true;
}

// Runs a job that may take long. A new request stops it and runs afterwards. job returns what the status line says.
// late is called if the job takes longer than a moment.
async function work(/** @type {(signal: AbortSignal) => Promise<string>} */ job, late = () => {}) {
  const { signal } = (state.working = new AbortController());
  const waits = setTimeout(() => {
    say("Computing …");
    late();
  }, 300);
  let said = "";
  try {
    said = await job(signal);
  } catch (problem) {
    if (!signal.aborted) {
      hold();
      say(`The rewrite failed. ${sentence(problem)}`, true);
    }
  }
  clearTimeout(waits);
  ui.progress.hidden = true;
  if (said) say(said);
  state.working = null;
  if (state.stale) {
    state.stale = false;
    rewrite();
  }
}

// Block what the page shows: it belongs to an earlier request, so it is neither sampled again nor released.
function hold() {
  state.prepared = null;
  ui.view.inert = ui.again.disabled = ui.save.disabled = true;
}

// The words of both lists as they are typed, where the mechanism takes such a list.
function typedLists(/** @type {any} */ spec) {
  const read = (/** @type {"blocklist" | "allowlist"} */ field, /** @type {boolean} */ taken) => {
    if (!taken) return undefined;
    const text = ui[field].value;
    if (state.lists[field]?.text !== text) state.lists[field] = { text, made: parseBlocklist(text, engine.language) };
    return state.lists[field].made;
  };
  return { blocklist: read("blocklist", spec.takes_never), allowlist: read("allowlist", spec.takes_allowlist) };
}

// The options of the mechanism that is chosen.
function offer() {
  const name = ui.mechanism.value;
  const spec = engine.spec(name);
  const chosen = (state.options[name] ??= {});
  const shown = (/** @type {any} */ value, /** @type {any} */ { unset }) =>
    value === true ? "yes" : value === false ? "no" : value === null ? unset : String(value);
  const used = spec.controls.filter((/** @type {any} */ control) => isUsed(spec, control, chosen));
  ui.controls.replaceChildren(...used.map((/** @type {any} */ control) => {
    const label = element("label", `${control.label} `);
    label.title = control.help;
    const select = document.createElement("select");
    select.dataset.option = control.name;
    select.append(...control.values.map((/** @type {any} */ v, /** @type {number} */ k) => new Option(shown(v, control), String(k))));
    select.value = String(control.values.indexOf(chosen[control.name] ?? control.value));
    select.addEventListener("change", () => {
      chosen[control.name] = control.values[Number(select.value)];
      offer();
      get("controls").querySelector(`[data-option=${control.name}]`)?.focus();
      rewrite();
    });
    label.append(select);
    return label;
  }));
  get("drag").hidden = Boolean(spec.no_epsilon);
  ui.blocklist_label.hidden = !spec.takes_never;
  ui.allowlist_label.hidden = ui.allowlist_note.hidden = !engine.spec(name, chosen).takes_allowlist;
  ui.blocklist_note.textContent = spec.takes_never
    ? "Exactly these forms are excluded from the output. The guarantee holds only if you made the list without looking at the text."
    : spec.replaces ? "" : `${spec.title} does not support a blocklist here, because the list would change its groups. The full program supports it.`;
}

// Describes what the text reveals, and selects its example.
function introduce() {
  const { examples, own } = engine.core;
  const at = examples.findIndex((/** @type {any} */ e) => e.text === ui.text.value);
  ui.problem.textContent = at < 0 ? own : examples[at].problem;
  [...ui.examples.children].forEach((pill, k) => pill.setAttribute("aria-pressed", String(k === at)));
}

// The message of an error, with a full stop.
function sentence(/** @type {any} */ problem) {
  const said = String(problem?.message ?? problem);
  return /[.!?]$/.test(said) ? said : `${said}.`;
}

// Falls back to a word mechanism on a device on which the model cannot run, and says so.
function instead(/** @type {string} */ title, /** @type {any} */ problem) {
  ui.progress.hidden = true;
  hold();
  const why = `${title} could not be loaded. ${sentence(problem)}`;
  const other = engine.core.mechanisms.find((/** @type {any} */ m) => m.name !== ui.mechanism.value);
  if (title !== engine.core.mechanisms[0].title) {
    say(why, true);
    return;
  }
  ui.mechanism.value = other.name;
  offer();
  rewrite().then((done) => done && say(`${why} The page now uses ${other.title}, which needs no model.`, true));
}

// Shows a rewrite with public noise, made by the library, so that there is something to drag while the model loads.
async function demonstrate() {
  const { payload: data, belief, sentence, exposed } = await json("first.json");
  tellDemonstration(data, belief);
  mount({ parentElement: ui.view, data, setStateValue() {} });
  ui.guarantee.textContent = sentence;
  ui.exposed.replaceChildren(...exposed.map((/** @type {string} */ item) => element("li", item)));
}

// Fresh noise for the current text.
function again() {
  const { prepared } = state;
  if (!prepared || state.working) return;
  work(async (signal) => {
    await show(await engine.redrawn(prepared, signal), signal);
    return "Rewritten with fresh noise.";
  });
}

// Shows a text with fresh noise. Until then, the page is unchanged.
async function show(/** @type {import("./engine.js").Prepared} */ prepared, /** @type {AbortSignal} */ signal) {
  const run = state.run + 1;
  const draw = crypto.getRandomValues(new Uint32Array(2)).join("-");
  const begun = performance.now();
  const onProgress = (/** @type {number} */ share) => {
    ui.progress.hidden = performance.now() - begun < 300;
    ui.progress.value = share;
  };
  const { title, guarantee: { notion } } = prepared.spec;
  const { name, axis: [low, high, usual] } = prepared.spec;
  const now = () => {
    // The view reports ε only when the slider rests.
    const shown = state.prepared?.spec.name === name ? Number(ui.view.querySelector(".slider")?.dataset.eps) : NaN;
    if (shown > 0) state.eps[name] = shown;
    return Math.min(Math.max(state.eps[name] ?? usual, low), high);
  };
  const { data: made, flips } = await payload(engine, prepared, { run, draw, epsilon: now() }, { signal, onProgress });
  const epsilon = (made.eps = now()); // it may have been dragged meanwhile
  const before = state.prepared;
  ui.view.inert = ui.again.disabled = ui.save.disabled = false;
  Object.assign(state, { run, draw, prepared });
  const { draws } = engine.guarantee(prepared, epsilon);
  state.draws.set(draw, { title, draws, metric: notion === "metric", none: notion === "none" });
  const word = secretOf(prepared);
  if (prepared.aligned) state.chosen = chosenIn(prepared, before, made.tokens, word);
  const pin = prepared.aligned && state.chosen !== null ? { pin: state.chosen } : {};
  const data = { ...made, key: name, stage: true, ...pin };
  const view = { token: state.chosen, eps: Number(epsilon.toPrecision(6)), ...state.asked.get(name) };
  beliefs.show({ key: name, run, prepared, flips, word, epsilon: view.eps }, view);
  mount({ parentElement: ui.view, data, setStateValue: (/** @type {string} */ _, /** @type {any} */ view) => seen(name, view) });
  showGuarantee(epsilon);
}

/** The sensitive word of an example; "" for any other text. */
function secretOf(/** @type {import("./engine.js").Prepared} */ { document }) {
  return engine.core.examples.find((/** @type {any} */ e) => e.text === document.text)?.sensitive ?? "";
}

// The selected token of a new rewrite: the same one for the same text, else the sensitive word of an example, else the
// same word if it is still in its place.
function chosenIn(
  /** @type {import("./engine.js").Prepared} */ { document: { text, tokens } },
  /** @type {import("./engine.js").Prepared | null} */ before, /** @type {any[]} */ placed, /** @type {string} */ word,
) {
  const { chosen } = state;
  if (before?.document.text === text && chosen !== null) return chosen;
  const at = placed.findIndex((t) => t.a === "replace" && t.o.toLowerCase() === word.toLowerCase());
  if (at >= 0) return at;
  const stays = chosen !== null && before?.aligned && before.document.tokens[chosen]?.text === tokens[chosen]?.text;
  return stays ? chosen : null;
}

// The token view changed, or text was copied from it.
function seen(/** @type {string} */ name, /** @type {any} */ view) {
  for (const [draw, , epsilon] of view.copies) release(draw, epsilon);
  if (state.prepared?.spec.name !== name) return;
  state.eps[name] = view.eps;
  state.asked.set(name, { fact: view.fact, others: view.others });
  if (state.prepared.aligned) state.chosen = view.token;
  showGuarantee(view.eps);
  beliefs.seen(view);
}

function showGuarantee(/** @type {number} */ epsilon) {
  if (!state.prepared) return;
  const { removed = 0 } = state.prepared.document;
  ui.removed.textContent = removed ? `${removed} invisible character${removed === 1 ? "" : "s"} removed.` : "";
  const made = engine.guarantee(state.prepared, epsilon);
  ui.guarantee.textContent = made.sentence;
  // Kept words are not secret: texts with other kept words are distinguishable.
  ui.between.textContent = made.draws ? `It holds between ${made.adjacency}.` : "";
  ui.exposed.replaceChildren(...made.exposed.map((item) => element("li", item)));
}

// A slow copy may belong to an earlier draw. It counts as released too.
function release(/** @type {string} */ draw, /** @type {number} */ epsilon) {
  const made = state.draws.get(draw);
  if (!made || state.released.has(`${draw} ${epsilon}`)) return;
  state.released.set(`${draw} ${epsilon}`, { ...made, epsilon, draw });
  const all = [...state.released.values()];
  let total = 0;
  const rows = all.map((r) => {
    if (r.none) return element("li", `${r.title}: no guarantee.`);
    if (!r.metric) total += r.epsilon * r.draws;
    const spent = `${bound(r.epsilon * r.draws)}${r.metric ? " for each unit of distance" : ""}`;
    const versions = all.filter((other) => other.draw === r.draw).length;
    // They share their noise, so together they reveal it.
    const shared = versions > 1 ? " Another version of this draw was also released, so neither has a guarantee." : "";
    return element("li", `${r.title}: ${r.draws} ${r.draws === 1 ? "draw" : "draws"} at ε = ${bound(r.epsilon)}, a total of ${spent}.${shared}`);
  });
  const apart = all.some((r) => r.metric) ? ", except for releases with ε per unit of distance" : "";
  const sum = all.some((r) => r.none)
    ? "Together they have no guarantee if all are about the same person."
    : `If all are about the same person, their total is at most ε = ${bound(total)}${apart}.`;
  ui.ledger.replaceChildren(...rows, ...(all.every((r) => r.metric) ? [] : [element("li", sum)]));
}

function save() {
  const { prepared } = state;
  if (!prepared) return;
  // Read from the view, so that the file contains the displayed text: the ε box may contain an unused value.
  const epsilon = Number(ui.view.querySelector(".slider").dataset.eps);
  const text = shownText();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = "rewritten.txt";
  link.click();
  URL.revokeObjectURL(link.href);
  release(state.draw, epsilon);
}

/** The displayed text of the token view. */
function shownText() {
  const { prepared } = state;
  if (!prepared) return "";
  const shown = [...ui.view.querySelectorAll(".text .word")];
  const at = new Map(shown.map((node) => [Number(/** @type {HTMLElement} */ (node).dataset.i), node]));
  const { document: { tokens }, deleted, distributions, gaps, aligned } = prepared;
  // A sampled word that is not shown is an error here: the original must not take its place.
  const released = tokens.map((_, i) =>
    deleted?.has(i) ? "" : distributions[i] ? /** @type {any} */ (at.get(i)).querySelector(".now").textContent : null);
  let out = "";
  tokens.forEach((token, i) => {
    const word = released[i] ?? engine.copied(prepared, i, (k) => released[k] ?? tokens[k].text);
    // The mark for an empty sentence is not part of the text.
    if (aligned) out += gaps[i] + word;
    else if (word && word !== EMPTY) out += (out && gaps[i]) + word;
  });
  return out + gaps[gaps.length - 1];
}

function edit(/** @type {boolean} */ open) {
  ui.editor.hidden = !open;
  ui.edit.setAttribute("aria-expanded", String(open));
  ui.edit.textContent = open ? "Close the editor" : "Your text";
  if (open) ui.text.focus();
}

// Replaces the text by a dropped file, which a browser would otherwise open instead of the page. Returns True if it
// did.
async function take(/** @type {DragEvent} */ event) {
  const [file] = event.dataTransfer?.files ?? [];
  if (!file) return false;
  event.preventDefault();
  try {
    if (file.size > LARGEST) throw new Error("too large");
    ui.text.value = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    say(`“${file.name}” is not a UTF-8 text file of at most ${LARGEST / 1000} kB. Choose another file.`, true);
    return false;
  }
  edit(true);
  return true;
}

// The address of a frame in a course page can name an example, a mechanism or a lesson.
const address = new URLSearchParams(location.search);
if (window.top !== window) document.documentElement.dataset.embedded = "";

/** What the address names among these, or the first. The page reports a name that is not there. */
function askedFor(/** @type {string} */ what, /** @type {any[]} */ among, /** @type {(one: any) => string} */ name) {
  const wanted = address.get(what);
  const found = among.find((one) => name(one) === wanted);
  if (wanted && !found) ui.asked.textContent += `This site has no ${what.replace("text-", "")} “${wanted}”, so it shows the default. `;
  return found ?? among[0];
}

async function begin() {
  get("idle").remove();
  if (address.get("lesson")) return location.replace(`lessons.html${location.search}`);
  get("whole").href = location.href;
  const core = json("core.json");
  // An address without a query shows the first example.
  if (!location.search) await demonstrate().catch(() => {});
  engine = new Engine(await core);
  beliefs = new BeliefPage(engine, (sentence) => (ui.reader.textContent = sentence));
  for (const m of engine.core.mechanisms) ui.mechanism.append(new Option(m.title, m.name));
  ui.examples.append(...engine.core.examples.map((/** @type {any} */ e) => {
    const pill = element("button", e.title);
    pill.setAttribute("type", "button");
    pill.addEventListener("click", () => {
      ui.text.value = e.text;
      introduce();
      rewrite();
    });
    return pill;
  }));
  const example = askedFor("text-example", engine.core.examples, (e) => e.slug);
  ui.text.value = example.text;
  ui.mechanism.value = askedFor("mechanism", engine.core.mechanisms, (m) => m.name).name;
  for (const note of engine.core.notes) ui.notes.append(element("li", note));
  ui.again.disabled = ui.save.disabled = true;
  offer();
  const first = example === engine.core.examples[0] && ui.mechanism.value === engine.core.mechanisms[0].name;
  if (first && location.search) await demonstrate().catch(() => {});
  rewrite();
  introduce();
  const soon = () => {
    introduce();
    clearTimeout(state.timer);
    state.timer = window.setTimeout(rewrite, TYPING_MS);
  };
  ui.text.addEventListener("input", soon);
  ui.blocklist.addEventListener("input", soon);
  ui.allowlist.addEventListener("input", soon);
  ui.mechanism.addEventListener("change", () => {
    offer();
    rewrite();
  });
  ui.edit.addEventListener("click", () => edit(ui.editor.hidden));
  addEventListener("dragover", (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
  addEventListener("drop", (event) => take(event).then((taken) => taken && soon()));
  ui.again.addEventListener("click", again);
  // Draw a typed ε first.
  ui.save.addEventListener("click", () => requestAnimationFrame(save));
  if ("serviceWorker" in navigator) navigator.serviceWorker.register("sw.js").catch(() => {});
}

const ready = begin();
ready.catch((problem) => say(`This page could not start. ${sentence(problem)}`, true));
expose(ready, () => engine);
