// @ts-check
// What a reader can infer about one fact of a text, as dptext_core/attacks/belief.py computes it: the posterior over
// alternatives given a release, what the guarantee allows, and how often the reader is right. One pass of a model for
// each alternative serves every ε and every new draw.

import { logZs } from "./distributions.js";
import { uniforms } from "./sampling.js";
import { breather } from "./work_slices.js";

/** @typedef {import("./engine.js").Engine} Engine */
/** @typedef {import("./engine.js").Prepared} Prepared */
/** @typedef {import("./distributions.js").Distribution} Distribution */
/**
 * @typedef {object} Release
 * @property {number} of the text that it is a rewrite of, by its place among the alternatives
 * @property {number[]} index of the sampled candidate at each token; −1 where a token is kept
 */
/** @typedef {{log: number[], ceiling: number[]}} Posterior ln of the posterior of each alternative, and its largest value */

const MOST = 7; // alternatives that a visitor can name: each costs a pass of a model, and has a bar
const DRAWS = 64; // releases that estimate the expected success
const GRID = 60; // points of ε at which sums over candidates are computed, where there are many sums
const ROUGH = 28; // the same where these sums are no smooth function of ε
const MANY = 50_000; // candidates whose sums are computed in each frame
const SLICE_MS = 8; // so that a slider that is dragged meanwhile stays smooth
export const FLOOR = -1e4; // ln of what is impossible

/** The alternatives that public lists suggest for a word; none if the word is not in them. */
export async function suggested(/** @type {Engine} */ engine, /** @type {string} */ fact) {
  const word = fact.toLowerCase();
  const { alternatives, suggested: n } = engine.core;
  const list = alternatives.find((/** @type {string[]} */ words) => words.includes(word));
  if (list) return list.filter((/** @type {string} */ w) => w !== word).slice(0, n);
  const { words, places, near } = await engine.loadNeighbours();
  const row = places.get(word);
  if (row === undefined) throw new Error(`No public list contains “${fact}”. Enter similar alternatives yourself.`);
  return Array.from(near.subarray(row * n, (row + 1) * n), (j) => words[j]).filter((w) => w !== word);
}

/** The places of a fact in a text: every run of tokens with the same words. @returns {[number, number][]} */
function factSpans(/** @type {Engine} */ { language }, /** @type {string} */ text, /** @type {string} */ fact) {
  const { tokens } = language.parse(text);
  const words = tokens.map((t) => t.text.toLowerCase());
  const wanted = language.parse(fact.trim()).tokens.map((t) => t.text.toLowerCase());
  /** @type {[number, number][]} */
  const spans = [];
  for (let i = 0; wanted.length && i + wanted.length <= words.length; i += 1) {
    const [start, end] = [tokens[i].start, tokens[i + wanted.length - 1].end];
    const free = !spans.length || start >= spans[spans.length - 1][1];
    if (free && wanted.every((w, k) => words[i + k] === w)) spans.push([start, end]);
  }
  if (!spans.length) throw new Error("The text does not contain this fact as whole words. Copy a word from the text.");
  return spans;
}

/** The alternatives without the fact itself and without repetitions. */
function distinct(/** @type {string} */ word, /** @type {string[]} */ others) {
  const found = new Map(others.map((a) => a.trim()).filter((a) => a).reverse().map((a) => [a.toLowerCase(), a]));
  found.delete(word.toLowerCase());
  if (!found.size) throw new Error(`Enter at least one alternative to “${word}”, such as a similar word.`);
  if (found.size > MOST) throw new Error(`You entered ${found.size} alternatives. Enter at most ${MOST}.`);
  return [...found.values()].reverse();
}

const isUpper = (/** @type {string} */ c) => c === c.toUpperCase() && c !== c.toLowerCase();

/** One fact of a text and its alternatives, prepared once. */
export class BeliefQuestion {
  /**
   * The text with each alternative. Throws an Error whose message says what to do.
   * @param {Engine} engine
   * @param {Prepared} original
   * @param {string} fact
   * @param {string[] | null} others null: those of the public lists
   * @param {AbortSignal} [signal]
   */
  static async make(engine, original, fact, others, signal) {
    const { text } = original.document;
    const spans = factSpans(engine, text, fact);
    const word = text.slice(...spans[0]);
    const words = [word, ...distinct(word, others ?? (await suggested(engine, word)))];
    const { spec, blocklist, allowlist } = original;
    /** @type {Prepared[]} */
    const texts = [original];
    for (const other of words.slice(1)) {
      let [exchanged, at] = ["", 0];
      for (const [start, end] of spans) {
        exchanged += text.slice(at, start) + engine.language.written(other, isUpper(text[start]));
        at = end;
      }
      const choice = { options: spec.options, blocklist, allowlist, signal, like: original, slice: SLICE_MS };
      texts.push(await engine.prepare(exchanged + text.slice(at), spec.name, choice));
    }
    if (texts.some((t) => t.flagged?.key !== original.flagged?.key)) {
      throw new Error(`The detector flags “${word}” and these alternatives in different ways. Enter others of the same type, or use the full program.`);
    }
    const question = new BeliefQuestion(engine, words, texts);
    await question.tabulate(signal);
    return question;
  }

  /** @param {Engine} engine @param {string[]} words @param {Prepared[]} texts */
  constructor(engine, words, texts) {
    this.engine = engine;
    this.words = words;
    this.texts = texts;
    this.prior = words.map(() => 1 / words.length);
    this.fits = texts.map((a) => texts.map((b) => fit(a, b)));
    this.losses = texts.map((a) => texts.map((b) => loss(a, b)));
    /** False for all where there is no guarantee. */
    this.covered = this.losses[0].map((l) => Number.isFinite(l) && !texts[0].spec.no_epsilon);
    const own = texts[0].distributions;
    const alike = texts.filter((t) => t.distributions.length === own.length);
    /** The places that differ between the texts: the others cancel. */
    this.places = [...own.keys()].filter((i) => alike.some((t) => t.distributions[i] !== own[i]));
    /** @type {Map<readonly string[], Map<string, number>>} */
    this.indexes = new Map();
    const { axis: [low, high], shape } = texts[0].spec;
    const n = shape ? ROUGH : GRID;
    this.grid = Array.from({ length: n }, (_, k) => low * (high / low) ** (k / (n - 1)));
    /** @type {Map<Distribution, number[]> | null} ln of the sums at the grid, where they take long */
    this.sums = null;
    /** The ε whose sums were computed exactly. */
    this.settled = NaN;
  }

  /** Every distribution at a place that counts. */
  get counted() {
    const all = this.texts.flatMap((t) => this.places.map((i) => t.distributions[i]));
    return new Set(all.filter((d) => d !== null && d !== undefined));
  }

  /** Compute the sums over candidates in advance, if they take longer than a frame. */
  async tabulate(/** @type {AbortSignal | undefined} */ signal) {
    const breathe = breather(signal, SLICE_MS);
    const [low] = this.grid;
    const summed = [...this.counted].filter((d) => d.logZ);
    for (const d of summed.filter((d) => d.isQuick)) {
      d.logZ?.(low); // the first time it takes longer
      await breathe();
    }
    const slow = summed.filter((d) => !d.isQuick);
    if (slow.reduce((sum, d) => sum + d.candidates.length, 0) <= MANY) return;
    const sums = new Map();
    for (const d of slow) {
      if (d.scores) sums.set(d, logZs(d.scores, this.grid));
      else {
        const row = [];
        for (const epsilon of this.grid) {
          row.push(/** @type {any} */ (d).logZ(epsilon));
          await breathe();
        }
        sums.set(d, row);
      }
      await breathe();
    }
    this.sums = sums;
  }

  /** Whether the belief at ε is exact instead of interpolated. */
  isExact(/** @type {number} */ epsilon) {
    return !this.sums || !this.texts[0].spec.shape || epsilon === this.settled;
  }

  /** Make the belief at ε exact. */
  async settle(/** @type {number} */ epsilon, /** @type {AbortSignal | undefined} */ signal) {
    if (this.isExact(epsilon)) return;
    const breathe = breather(signal, SLICE_MS);
    for (const d of this.counted) {
      d.logZ?.(epsilon);
      await breathe();
    }
    this.settled = epsilon;
  }

  /** The place of a word among the candidates of a distribution. */
  indexOf(/** @type {Distribution} */ { candidates }, /** @type {string} */ word, /** @type {number} */ guess) {
    if (candidates[guess] === word) return guess;
    let found = this.indexes.get(candidates);
    if (!found) this.indexes.set(candidates, (found = new Map(candidates.map((c, k) => [c.toLowerCase(), k]))));
    return found.get(word.toLowerCase()) ?? -1;
  }

  /** ln of the sum of each distribution at one ε. @returns {(d: Distribution) => number} */
  sumsAt(/** @type {number} */ epsilon, exact = false) {
    const { sums, grid } = this;
    if (exact || !sums || epsilon === this.settled) return (d) => d.logZ?.(epsilon) ?? 0;
    const [first, weights] = this.texts[0].spec.shape ? linear(grid, epsilon) : lagrange(grid, epsilon);
    return (d) => {
      const row = sums.get(d);
      return row ? weights.reduce((sum, w, j) => sum + w * row[first + j], 0) : d.logZ?.(epsilon) ?? 0;
    };
  }

  /** ln of the probability of a release for each text, up to a common constant. */
  logLikelihood(
    /** @type {number} */ epsilon, /** @type {Release} */ { of, index }, /** @type {(d: Distribution) => number} */ sum,
  ) {
    const from = this.texts[of];
    const word = (/** @type {number} */ i) => from.distributions[i]?.candidates[index[i]] ?? from.document.tokens[i].text;
    return this.texts.map((text, j) => {
      const fits = this.fits[j][of];
      if (fits === "never" || (fits === "text" && this.written(j, of, index) !== this.written(of, of, index))) return -Infinity;
      let total = 0;
      for (const i of this.places) {
        const d = text.distributions[i];
        if (!d) continue;
        const k = this.indexOf(d, word(i), index[i]);
        if (k < 0) return -Infinity;
        total += d.weight ? d.weight(epsilon, k) - sum(d) : /** @type {any} */ (d).logProb(epsilon, k);
      }
      return total;
    });
  }

  /** The released text if text number j were the original. */
  written(/** @type {number} */ j, /** @type {number} */ of, /** @type {number[]} */ index) {
    const [text, from] = [this.texts[j], this.texts[of]];
    const shown = (/** @type {number} */ i) => {
      const d = from.distributions[i];
      return d ? this.engine.written(from, i, d.candidates[index[i]]) : from.document.tokens[i].text;
    };
    const parts = text.document.tokens.map((t, i) =>
      text.gaps[i] + (text.deleted?.has(i) ? "" : text.distributions[i] ? shown(i) : t.text));
    return parts.join("") + text.gaps[text.gaps.length - 1];
  }

  /** What the reader believes after a release at ε. exact: without the table of sums. @returns {Posterior} */
  given(/** @type {number} */ epsilon, /** @type {Release} */ release, exact = false) {
    const log = this.logLikelihood(epsilon, release, this.sumsAt(epsilon, exact)).map((l, j) => l + Math.log(this.prior[j]));
    const top = Math.max(...log);
    if (top === -Infinity) throw new Error("None of these alternatives could have produced the release. Use the rewrite of this text.");
    const z = top + Math.log(log.reduce((sum, l) => sum + Math.exp(l - top), 0));
    return { log: log.map((l) => Math.max(l - z, FLOOR)), ceiling: this.ceiling(epsilon) };
  }

  /** The largest posterior of each alternative that the guarantee allows: π_j / Σ_i π_i·e^−ℓ(i, j). */
  ceiling(/** @type {number} */ epsilon) {
    return this.prior.map((p, j) => {
      const sum = this.prior.reduce((s, q, i) => s + q * Math.exp(i === j ? 0 : -epsilon * this.losses[i][j]), 0);
      return Math.min(p / sum, 1);
    });
  }

  /**
   * How often the reader is right before any release: enumerated if one place of words decides, otherwise
   * estimated from releases.
   * @returns {Promise<{value: number, standard_error: number, draws: number}>}
   */
  async expected(/** @type {number} */ epsilon, /** @type {AbortSignal | undefined} */ signal = undefined) {
    const one = this.deciding();
    if (one !== null) {
      /** @type {Map<string, number>} */
      const best = new Map();
      this.texts.forEach(({ distributions }, j) => {
        const d = /** @type {Distribution} */ (distributions[one]);
        d.logProbs(epsilon).forEach((l, k) => {
          const p = this.prior[j] * Math.exp(l);
          if (p > (best.get(d.candidates[k]) ?? 0)) best.set(d.candidates[k], p);
        });
      });
      return { value: [...best.values()].reduce((a, b) => a + b, 0), standard_error: 0, draws: 0 };
    }
    const values = await this.sampled(epsilon, signal);
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    const variance = values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (values.length - 1);
    return { value: mean, standard_error: Math.sqrt(variance / values.length), draws: values.length };
  }

  /** The place of the only word that differs, if each word's distribution depends on that word alone; else null. */
  deciding() {
    if (!this.texts[0].table || this.fits.some((row) => row.some((f) => f !== "same"))) return null;
    const rows = this.texts.map((t) => t.document.tokens.map((token) => token.text.toLowerCase()));
    const places = [...rows[0].keys()].filter((i) => new Set(rows.map((row) => row[i])).size > 1);
    const words = new Set(rows.map((row) => row[places[0]]));
    if (places.length !== 1 || !this.texts[0].distributions[places[0]]) return null;
    return rows[0].some((w, i) => i !== places[0] && words.has(w)) ? null : places[0];
  }

  /** The largest posterior after each of some releases, for texts in proportion to the prior. */
  async sampled(/** @type {number} */ epsilon, /** @type {AbortSignal | undefined} */ signal) {
    const breathe = breather(signal, SLICE_MS);
    /** @type {Map<Distribution, number>} */
    const sums = new Map();
    for (const d of this.counted) {
      sums.set(d, d.logZ?.(epsilon) ?? 0);
      await breathe();
    }
    const releases = this.texts.map(() => /** @type {Release[]} */ ([]));
    uniforms(DRAWS).forEach((u) => {
      const of = Math.floor(u * this.texts.length);
      releases[of].push({ of, index: this.texts[of].distributions.map(() => -1) });
    });
    for (const [of, made] of releases.entries()) {
      for (const [i, d] of this.texts[of].distributions.entries()) {
        if (!d || !made.length) continue;
        const p = d.logProbs(epsilon);
        const order = Array.from(uniforms(made.length), (u, n) => /** @type {[number, number]} */ ([u, n])).sort((a, b) => a[0] - b[0]);
        let [k, sum] = [0, Math.exp(p[0])];
        for (const [u, n] of order) {
          while (sum < u && k + 1 < p.length) sum += Math.exp(p[(k += 1)]);
          made[n].index[i] = k;
        }
        await breathe();
      }
    }
    /** @type {number[]} */
    const values = [];
    for (const release of releases.flat()) {
      const log = this.logLikelihood(epsilon, release, (d) => sums.get(d) ?? 0).map((l, j) => l + Math.log(this.prior[j]));
      const top = Math.max(...log);
      values.push(1 / log.reduce((sum, l) => sum + Math.exp(l - top), 0));
      await breathe();
    }
    return values;
  }
}

/**
 * Whether a release of text b can be one of text a: "same" if everything around the words is equal, "never" if
 * impossible, "text" if it depends on the release.
 */
function fit(/** @type {Prepared} */ a, /** @type {Prepared} */ b) {
  if (a.distributions.length !== b.distributions.length) return "never";
  const tokens = [...a.distributions.keys()];
  const both = (/** @type {number} */ i) => a.distributions[i] && b.distributions[i];
  if (tokens.some((i) => both(i) && a.capitals[i] !== b.capitals[i])) return "never";
  const kept = (/** @type {number} */ i) => a.deleted?.has(i) || !a.distributions[i] && !b.distributions[i] && a.document.tokens[i].text === b.document.tokens[i].text;
  const same = tokens.every((i) => both(i) || kept(i)) && a.gaps.every((gap, i) => gap === b.gaps[i]);
  return same ? "same" : "text";
}

/** The largest guaranteed ln of the ratio of a release's probabilities for two texts at ε = 1. */
function loss(/** @type {Prepared} */ a, /** @type {Prepared} */ b) {
  if (a === b) return 0;
  const { guarantee } = a.spec;
  if (guarantee.notion === "none" || a.distributions.length !== b.distributions.length) return Infinity;
  const draws = (/** @type {Prepared} */ { known }) => known.filter(Boolean).length;
  if (!a.aligned) return Math.max(draws(a), draws(b));
  const flagged = (/** @type {number} */ i) => a.flagged?.words.has(i);
  const fixed = (/** @type {number} */ i) => flagged(i) || a.known[i] === b.known[i] && (a.known[i] || a.document.tokens[i].text === b.document.tokens[i].text);
  if (![...a.known.keys()].every(fixed) || !spacesOf(a).every((gap, i) => gap === spacesOf(b)[i])) return Infinity;
  if (!a.table) return Math.max(draws(a), draws(b));
  let total = 0;
  a.known.forEach((known, i) => {
    const [one, other] = [a.rows?.[i] ?? -1, b.rows?.[i] ?? -1];
    if (known && one !== other) total += /** @type {any} */ (a.table).distance(one, other);
  });
  return total;
}

/** The spaces between the tokens of a text. */
function spacesOf(/** @type {Prepared} */ { document: { text, tokens } }) {
  const ends = [0, ...tokens.map((t) => t.end)];
  return [...tokens.map((t) => t.start), text.length].map((start, i) => text.slice(ends[i], start));
}

/** Where ε lies among the points of a grid. */
function placeIn(/** @type {number[]} */ grid, /** @type {number} */ epsilon) {
  const last = grid.length - 1;
  return Math.min(Math.max((Math.log(epsilon / grid[0]) / Math.log(grid[last] / grid[0])) * last, 0), last);
}

/** The index of the first of the two points around ε, and their weights. @returns {[number, number[]]} */
function linear(/** @type {number[]} */ grid, /** @type {number} */ epsilon) {
  const x = placeIn(grid, epsilon);
  const first = Math.min(Math.floor(x), grid.length - 2);
  return [first, [1 - (x - first), x - first]];
}

/** The index of the first of the six points around ε, and their Lagrange weights. @returns {[number, number[]]} */
function lagrange(/** @type {number[]} */ grid, /** @type {number} */ epsilon) {
  const x = placeIn(grid, epsilon);
  const first = Math.min(Math.max(Math.floor(x) - 2, 0), grid.length - 6);
  const t = x - first;
  const weights = Array.from({ length: 6 }, (_, j) => {
    let weight = 1;
    for (let m = 0; m < 6; m += 1) if (m !== j) weight *= (t - m) / (j - m);
    return weight;
  });
  return [first, weights];
}
