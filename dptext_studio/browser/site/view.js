// @ts-check
// The data of the token view (dptext_studio/figures/token_view.py), made here from a prepared text and fresh noise.

import { UNKNOWN } from "./engine.js";
import { breather } from "./work_slices.js";
import { SHOWN, logZs } from "./distributions.js";
import { findPii } from "./identifiers.js";
import { highest } from "./noise.js";
import { beginsWord } from "./readable.js";
import { W, escaped, isDigit } from "./text.js";

/** @typedef {import("./engine.js").Prepared} Prepared */
/** @typedef {import("./distributions.js").Distribution} Distribution */

const N_GRID = 40;
const FLOOR = -1e4; // ln p of what is impossible

/** The candidates worth showing: the best, those released at some ε, and the original word. */
function chosen(/** @type {number[]} */ best, /** @type {Distribution} */ distribution, /** @type {import("./distributions.js").Flips} */ flips) {
  return [...new Set([...best, ...flips.map((f) => f[1]), ...(distribution.source < 0 ? [] : [distribution.source])])];
}

/**
 * Numbers that are computed when they are read. Each needs a pass over all candidates, and most words are never opened.
 */
const later = (/** @type {(k: number) => number} */ value, length = N_GRID) =>
  new Proxy(/** @type {number[]} */ ([]), { get: (_, k) => (k === "length" ? length : value(Number(k))) });

/** Numbers that are computed together when the first of them is read. */
function once(/** @type {() => number[]} */ values) {
  /** @type {number[] | null} */
  let made = null;
  return later((k) => (made ??= values())[k]);
}

/** How many scores are higher than this. */
function above(/** @type {Float64Array} */ scores, /** @type {number} */ x) {
  let n = 0;
  for (let j = 0; j < scores.length; j += 1) if (scores[j] > x) n += 1;
  return n;
}

/** The identifiers that the rules find in a text, equal ones together, with the tokens that may still show them. */
function piiOf(/** @type {import("./engine.js").Engine} */ { core }, /** @type {import("./text.js").Document} */ document) {
  /** @type {Map<string, {kind: string, kinds: string, text: string, at: number[]}>} */
  const out = new Map();
  for (const { kind, text, words } of findPii(document, core.language)) {
    const key = `${kind} ${text.toLowerCase()}`;
    const said = out.get(key) ?? { kind, kinds: core.kinds[kind], text, at: [] };
    said.at = [...new Set([...said.at, ...words])].sort((a, b) => a - b);
    out.set(key, said);
  }
  return [...out.values()];
}

/**
 * The same for sampled sentences: for each identifier the candidates, among those released at some ε, that
 * contain it, or a word of it for a name or place.
 * @param {import("./engine.js").Engine} engine
 * @param {string} text
 * @param {{c?: string[], flips?: number[][]}[]} tokens
 */
function piiAmong({ core, language }, text, tokens) {
  const document = language.parse(text);
  const released = tokens.map((t) => [...new Set(t.flips?.map((f) => f[1]))]);
  const pieces = tokens.map((t) => t.c?.map((c) => c.toLowerCase()) ?? []);
  /** @type {Map<string, {kind: string, kinds: string, text: string, at: number[], among: number[][]}>} */
  const out = new Map();
  for (const { kind, text, words } of findPii(document, core.language)) {
    const key = `${kind} ${text.toLowerCase()}`;
    if (out.has(key)) continue;
    const some = ["name", "place"].includes(kind)
      ? words.map((k) => document.tokens[k].text).filter((word) => ![...word].every(isDigit))
      : [text];
    const any = [...new Set(some)].sort((a, b) => b.length - a.length).map((word) => escaped(word.toLowerCase()));
    const pattern = any.length ? new RegExp(`(?<![${W}])(?:${any.join("|")})(?![${W}])`, "u") : null;
    const found = released.map((numbers, i) => numbers.filter((j) => pattern?.test(pieces[i][j])));
    const at = [...found.keys()].filter((i) => found[i].length);
    out.set(key, { kind, kinds: core.kinds[kind], text, at, among: at.map((i) => found[i]) });
  }
  return [...out.values()];
}

/**
 * Copied words in the form of a clean-up: at this ε, and an article next to a sampled word at any ε.
 * @param {import("./engine.js").Engine} engine
 * @param {Prepared} prepared
 * @param {Record<string, any>[]} tokens
 * @param {(import("./distributions.js").Flips | null)[]} flips
 * @param {number} epsilon
 */
function agree(engine, prepared, tokens, flips, epsilon) {
  const { language } = engine;
  const { clean, document, distributions } = prepared;
  const wordAt = (/** @type {number} */ i) => {
    const winner = flips[i]?.findLast((f) => f[0] <= epsilon) ?? flips[i]?.[0];
    return winner ? engine.written(prepared, i, distributions[i]?.candidates[winner[1]] ?? "") : document.tokens[i].text;
  };
  tokens.forEach((token, i) => {
    if (token.a !== "keep") return;
    const form = engine.copied(prepared, i, wordAt);
    if (form !== token.o) token.t = form;
    const next = tokens[i + 1];
    if (clean?.articles.get(i) !== i + 1 || !next?.c?.every(beginsWord)) return;
    token.forms = ["b", "a"].map((word) => engine.copied(prepared, i, () => word));
    next.second = [...next.c.keys()].filter((k) => language.takesSecond(next.c[k]));
  });
}

/**
 * One rewrite for the token view, and which candidate each token releases from which ε on.
 * @param {import("./engine.js").Engine} engine
 * @param {Prepared} prepared
 * @param {{run: number, draw: string, epsilon: number}} shown
 * @param {{signal?: AbortSignal, onProgress?: (share: number) => void}} [watched] signal stops it; onProgress receives the share that is done
 */
export async function payload(engine, prepared, { run, draw, epsilon }, { signal, onProgress } = {}) {
  const { spec, document, reasons, distributions, known, capitals, gaps, aligned } = prepared;
  const [low, high, usual] = spec.axis;
  const grid = Array.from({ length: N_GRID }, (_, k) => low * (high / low) ** (k / (N_GRID - 1)));
  const total = Math.max(0, ...distributions.map((distribution) => distribution?.candidates.length ?? 0));
  /** @type {(import("./distributions.js").Flips | null)[]} */
  const drawnAt = distributions.map(() => null);
  let before = ""; // what is between the last token and this one, where some are left out
  const one = (/** @type {import("./text.js").Token} */ token, /** @type {number} */ i) => {
    const placed = { pre: before + gaps[i], o: aligned ? token.text : "", a: "keep", why: reasons[i] ?? "" };
    before = "";
    if (prepared.deleted?.has(i)) {
      before = placed.pre;
      return { ...placed, pre: "", a: "delete" };
    }
    const distribution = distributions[i];
    if (!distribution) return placed;
    const flips = (drawnAt[i] = distribution.noise().flips(low, high));
    const n = Math.min(SHOWN, distribution.candidates.length);
    const best = distribution.scores ? highest(distribution.scores, n) : distribution.near ?? [];
    const shown = chosen(best, distribution, flips);
    const place = new Map(shown.map((j, k) => [j, k]));
    const drawn = {
      ...placed,
      a: aligned ? "replace" : "insert",
      why: reasons[i] ?? (known[i] ? "" : UNKNOWN),
      cap: capitals[i] ? 1 : 0,
      c: shown.map((j) => engine.written({ ...prepared, capitals: [] }, i, distribution.candidates[j])),
      src: place.get(distribution.source) ?? -1,
      flips: flips.map(([e, j]) => [e, place.get(j) ?? 0]),
      ...(distribution.candidates.length === total ? {} : { total: distribution.candidates.length }),
    };
    const { scores } = distribution;
    const logProb = (/** @type {number} */ j, /** @type {number} */ at) => Math.max(distribution.logProb?.(at, j) ?? 0, FLOOR);
    if (!scores) {
      const exact = (/** @type {number} */ k, /** @type {number} */ at) => logProb(shown[k], at);
      return { ...drawn, exact, lp: shown.map((j) => later((k) => logProb(j, grid[k]))) };
    }
    return {
      ...drawn,
      s: shown.map((j) => scores[j]),
      rank: later((k) => 1 + above(scores, scores[shown[k]]), shown.length),
      z: once(() => logZs(scores, grid)),
    };
  };
  const breathe = breather(signal);
  const tokens = /** @type {Record<string, any>[]} */ ([]);
  for (const [i, token] of document.tokens.entries()) {
    tokens.push(one(token, i));
    const pause = breathe();
    if (pause) {
      onProgress?.(i / document.tokens.length);
      await pause;
    }
  }
  if (prepared.clean) agree(engine, prepared, tokens, drawnAt, epsilon);
  const data = {
    run, draw, key: "pocket", eps: epsilon, lo: low, hi: high, n_grid: N_GRID, lp_grid: N_GRID, default_eps: usual,
    unit: spec.unit, live: true, seeded: false, total_candidates: total, aligned, tokens,
    telling: aligned ? piiOf(engine, document) : piiAmong(engine, document.text, tokens),
    tail: before + gaps[gaps.length - 1], ...(spec.no_epsilon ? { spread: spec.no_epsilon } : {}), ...(aligned ? {} : { original: document.text }),
    belief: { why: "" },
  };
  return { data, flips: drawnAt };
}
