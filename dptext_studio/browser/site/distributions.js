// @ts-check
// The distribution of a word at every ε, and its sample with noise that is locked while ε moves. In float64, as in
// dptext_core/privacy/distribution.py.

import { highest, noiseOn } from "./noise.js";
import { gumbels, logUniform, sign, uniforms } from "./sampling.js";

/** @typedef {[number, number][]} Flips from which ε on which candidate is released, ascending */
/** @typedef {{flips: (low: number, high: number) => Flips, at: (epsilon: number) => number}} Noise */
/**
 * @typedef {object} Distribution
 * @property {readonly string[]} candidates
 * @property {number} source index of the original word, −1 where it is none
 * @property {Float64Array | null} scores the probability is ∝ exp(ε·score); null where it has another form
 * @property {(epsilon: number) => Float64Array} logProbs
 * @property {(epsilon: number, j: number) => number} [logProb] that of one candidate, where there are no scores
 * @property {(epsilon: number, j: number) => number} [weight] ln of the unnormalised probability of a candidate
 * @property {(epsilon: number) => number} [logZ] ln of the sum of these; missing where none is needed
 * @property {boolean} [isQuick] whether that sum takes less than a frame
 * @property {Float64Array} [proposal] the public scores, where there are any
 * @property {number[]} [near] candidates worth showing, where there are no scores
 * @property {() => Noise} noise new locked noise
 */

/** ln Σ exp(x) */
function logSumExp(/** @type {Float64Array} */ x) {
  let top = -Infinity;
  for (let j = 0; j < x.length; j += 1) if (x[j] > top) top = x[j];
  let sum = 0;
  for (let j = 0; j < x.length; j += 1) sum += Math.exp(x[j] - top);
  return top + Math.log(sum);
}

let scratch = new Float64Array(0);
const NEGLIGIBLE = 46; // a million candidates so far below the highest add 1e-14 of it

/** ln Σ exp of the first n numbers. */
function logSumOfScratch(/** @type {number} */ n) {
  let [top, sum] = [-Infinity, 0];
  for (let j = 0; j < n; j += 1) if (scratch[j] > top) top = scratch[j];
  for (let j = 0; j < n; j += 1) if (scratch[j] > top - NEGLIGIBLE) sum += Math.exp(scratch[j] - top);
  return top + Math.log(sum);
}

/** ln Σ exp(ε·score) */
function logZOf(/** @type {Float64Array} */ scores, /** @type {number} */ epsilon) {
  const n = scores.length;
  if (scratch.length < n) scratch = new Float64Array(n);
  for (let j = 0; j < n; j += 1) scratch[j] = epsilon * scores[j];
  return logSumOfScratch(n);
}

/** ln of the probabilities ∝ exp(ε·score). */
function logProbs(/** @type {Float64Array} */ scores, /** @type {number} */ epsilon) {
  const x = scores.map((s) => epsilon * s);
  const z = logSumExp(x);
  return x.map((v) => v - z);
}

export const SHOWN = 9; // candidates of a word that are shown
const BINS = 2048;

/**
 * The indices of numbers in descending order; within a narrow bin in any order, because sorting takes ten times as
 * long.
 */
function nearlySorted(/** @type {Float64Array} */ numbers) {
  const n = numbers.length;
  const high = numbers.reduce((a, b) => Math.max(a, b), -Infinity);
  const low = numbers.reduce((a, b) => Math.min(a, b), Infinity);
  const scale = (BINS - 1) / (high - low || 1);
  const bins = new Uint16Array(n);
  const next = new Uint32Array(BINS + 1);
  for (let j = 0; j < n; j += 1) next[(bins[j] = Math.round((high - numbers[j]) * scale)) + 1] += 1;
  for (let b = 0; b < BINS; b += 1) next[b + 1] += next[b];
  const out = new Uint32Array(n);
  for (let j = 0; j < n; j += 1) out[next[bins[j]]++] = j;
  return out;
}

/**
 * ln Σ exp(ε·score) at each of many ε, for display: of many scores, those in a narrow bin count as one with their mean
 * and spread. The error is of third order in ε times the width of a bin: below 1e-6 for scores within 1/2 and
 * an ε of 250.
 */
export function logZs(/** @type {Float64Array} */ scores, /** @type {number[]} */ epsilons) {
  if (scores.length < 2 * BINS) return epsilons.map((e) => logSumExp(scores.map((s) => e * s)));
  let low = Infinity;
  let high = -Infinity;
  for (let j = 0; j < scores.length; j += 1) {
    low = Math.min(low, scores[j]);
    high = Math.max(high, scores[j]);
  }
  const scale = (BINS - 1) / (high - low || 1);
  const count = new Float64Array(BINS);
  const sum = new Float64Array(BINS);
  const squares = new Float64Array(BINS);
  for (let j = 0; j < scores.length; j += 1) {
    const x = scores[j] - high;
    const bin = Math.round((scores[j] - low) * scale);
    count[bin] += 1;
    sum[bin] += x;
    squares[bin] += x * x;
  }
  return epsilons.map((e) => {
    let z = 0;
    for (let b = 0; b < BINS; b += 1) {
      const n = count[b];
      if (!n) continue;
      const mean = sum[b] / n;
      z += Math.exp(e * mean) * (n + ((e * e) / 2) * Math.max(0, squares[b] - n * mean * mean));
    }
    return e * high + Math.log(z);
  });
}

/**
 * The exponential mechanism over these scores: the highest ε·score + Gumbel noise.
 * @returns {Distribution}
 */
export function scored(
  /** @type {readonly string[]} */ candidates, /** @type {Float64Array} */ scores, /** @type {number} */ source,
) {
  return {
    candidates, scores, source,
    logProbs: (epsilon) => logProbs(scores, epsilon),
    weight: (/** @type {number} */ epsilon, /** @type {number} */ j) => epsilon * scores[j],
    logZ: (/** @type {number} */ epsilon) => logZOf(scores, epsilon),
    noise: noiseOn(scores),
  };
}

/** Scores clipped at both ends, as values from −1/2 to 0. A loop, because Float64Array.from takes ten times as long. */
export function clipped(/** @type {Float32Array} */ scores, /** @type {number} */ low, /** @type {number} */ high) {
  const out = new Float64Array(scores.length);
  const width = 2 * (high - low);
  for (let j = 0; j < out.length; j += 1) out[j] = (Math.min(Math.max(scores[j], low), high) - high) / width;
  return out;
}

/**
 * As `scored`, for candidates in descending order, sampled with one uniform: the last rank whose tail reaches it.
 * @returns {Distribution}
 */
export function ranked(
  /** @type {readonly string[]} */ candidates, /** @type {Float64Array} */ scores, /** @type {number} */ source,
) {
  return {
    ...scored(candidates, scores, source),
    noise() {
      const uniform = logUniform();
      const at = (/** @type {number} */ epsilon) => {
        const tails = logTails(scores, epsilon);
        let rank = 0;
        while (rank + 1 < tails.length && tails[rank + 1] >= uniform) rank += 1;
        return rank;
      };
      return { at, flips: (low, high) => falling(at, low, high) };
    },
  };
}

/** ln P(rank ≥ j) for every rank j, descending from 0. */
function logTails(/** @type {Float64Array} */ scores, /** @type {number} */ epsilon) {
  const tails = scores.map((s) => epsilon * s);
  for (let j = tails.length - 2; j >= 0; j -= 1) {
    const [a, b] = [Math.max(tails[j], tails[j + 1]), Math.min(tails[j], tails[j + 1])];
    tails[j] = a + Math.log1p(Math.exp(b - a));
  }
  const all = tails[0];
  return tails.map((t) => t - all);
}

/** The flips of a rank that never increases with ε. @returns {Flips} */
function falling(/** @type {(epsilon: number) => number} */ at, /** @type {number} */ low, /** @type {number} */ high) {
  /** @type {Flips} */
  const out = [[low, at(low)]];
  for (;;) {
    const [from, rank] = out[out.length - 1];
    if (rank === 0 || at(high) >= rank) return out;
    let [a, b] = [from, high];
    for (let k = 0; k < 50; k += 1) {
      const middle = (a + b) / 2;
      if (at(middle) < rank) b = middle;
      else a = middle;
    }
    out.push([b, at(b)]);
  }
}

/** The uniform distribution at every ε, which does not depend on the word. @returns {Distribution} */
export function constant(/** @type {readonly string[]} */ candidates) {
  const n = candidates.length;
  return {
    candidates, scores: null, source: -1,
    logProbs: () => new Float64Array(n).fill(-Math.log(n)),
    logProb: () => -Math.log(n),
    near: [0, 1, 2, 3, 4, 5, 6, 7, 8].slice(0, n),
    noise() {
      const drawn = Math.min(Math.floor(uniforms(1)[0] * n), n - 1);
      return { at: () => drawn, flips: (low) => [[low, drawn]] };
    },
  };
}

/**
 * Geometric noise on a place of a list, clipped at its ends: 1-Diffractor on one list.
 * @returns {Distribution}
 */
export function onList(/** @type {readonly string[]} */ list, /** @type {number} */ place) {
  const last = list.length - 1;
  const logProb = (/** @type {number} */ epsilon, /** @type {number} */ j) => {
    const rest = Math.log1p(Math.exp(-epsilon));
    // ln 1/(1+e^−ε) at the ends, which absorb what goes beyond them, and ln tanh(ε/2) between them.
    const weight = j === 0 || j === last ? -rest : Math.log(-Math.expm1(-epsilon)) - rest;
    return last ? -epsilon * Math.abs(j - place) + weight : 0;
  };
  return {
    candidates: list, source: place, scores: null, logProb,
    logProbs: (epsilon) => Float64Array.from(list, (_, j) => logProb(epsilon, j)),
    near: Array.from({ length: 13 }, (_, k) => place + (k % 2 ? 1 : -1) * Math.ceil(k / 2)).filter((j) => j >= 0 && j <= last),
    noise() {
      const [side, uniform] = [sign(), logUniform()];
      const steps = (/** @type {number} */ epsilon) =>
        Math.min(Math.floor((Math.LN2 - Math.log1p(Math.exp(-epsilon)) - uniform) / epsilon), list.length);
      const at = (/** @type {number} */ epsilon) => Math.min(Math.max(place + side * steps(epsilon), 0), last);
      return {
        at,
        flips(low, high) {
          /** @type {Flips} */
          const out = [[low, at(low)]];
          // Steps get fewer as ε grows.
          for (let from = low; steps(high) < steps(from); ) {
            let [a, b] = [from, high];
            for (let k = 0; k < 60; k += 1) {
              const middle = (a + b) / 2;
              if (steps(middle) < steps(from)) b = middle;
              else a = middle;
            }
            from = b;
            if (at(b) !== out[out.length - 1][1]) out.push([b, at(b)]);
          }
          return out;
        },
      };
    },
  };
}

/** The range that cosines are clipped to, as in dptext_core/mechanisms/sentence. */
function sentenceRange(/** @type {number} */ epsilon) {
  const low = Math.min(0.2, epsilon / 50);
  return [low, Math.min(1, low + Math.min(epsilon / 100, 0.3 + epsilon / 400))];
}

/**
 * The exponential mechanism over cosine similarity, clipped to a range that follows from ε unless it is given.
 * @returns {Distribution}
 */
export function alike(
  /** @type {readonly string[]} */ candidates, /** @type {Float64Array} */ cosines,
  /** @type {[number, number] | null} */ ends,
) {
  const weighs = (/** @type {number} */ epsilon) => {
    const [low, high] = ends ?? sentenceRange(epsilon);
    return (/** @type {number} */ cosine) => {
      const u = (Math.min(Math.max(cosine, low), high) - low) / (high - low);
      return (epsilon / 2) * (Math.min(Math.max(u, 0), 1) - 1);
    };
  };
  const weights = (/** @type {number} */ epsilon) => cosines.map(weighs(epsilon));
  /** @type {Float64Array | undefined} highest last */
  let sorted;
  /** @type {number[] | undefined} the places, the most similar first */
  let order;
  /** @type {Map<number, number>} */
  const sums = new Map();
  // Most cosines lie below the range, so they count together.
  const sum = (/** @type {number} */ epsilon) => {
    let found = sums.get(epsilon);
    if (found === undefined) {
      const [low] = ends ?? sentenceRange(epsilon);
      sorted ??= cosines.slice().sort();
      const weight = weighs(epsilon);
      let inside = 0;
      let j = sorted.length - 1;
      for (; j >= 0 && sorted[j] > low; j -= 1) inside += Math.exp(weight(sorted[j]));
      found = Math.log(inside + (j + 1) * Math.exp(-epsilon / 2));
      sums.set(epsilon, found);
    }
    return found;
  };
  return {
    candidates, source: -1, scores: null,
    logProb: (epsilon, j) => weighs(epsilon)(cosines[j]) - sum(epsilon),
    weight: (epsilon, j) => weighs(epsilon)(cosines[j]),
    logZ: sum,
    isQuick: true,
    logProbs(epsilon) {
      const x = weights(epsilon);
      const z = logSumExp(x);
      return x.map((v) => v - z);
    },
    near: highest(cosines, SHOWN),
    noise() {
      const noise = gumbels(cosines.length);
      // A sentence that is lower in both than another never wins, because weights never fall as cosines grow.
      order ??= Array.from(cosines.keys()).sort((a, b) => cosines[b] - cosines[a]);
      /** @type {number[]} */
      const front = [];
      for (const j of order) if (!front.length || noise[j] > noise[front[front.length - 1]]) front.push(j);
      front.sort((a, b) => a - b);
      const at = (/** @type {number} */ epsilon) => {
        const weight = weighs(epsilon);
        let [best, most] = [0, -Infinity];
        for (const j of front) {
          const value = weight(cosines[j]) + noise[j];
          if (value > most) [best, most] = [j, value];
        }
        return best;
      };
      return { at, flips: (low, high) => searched(at, low, high) };
    },
  };
}

/**
 * A proposal and a private shift whose clipping depends on ε, as in dptext_core/mechanisms/masked/dp_mlm_prior.py.
 * proposal, shift: the public scores, and the differences of the private ones from them.
 * @returns {Distribution}
 */
export function shifted(
  /** @type {readonly string[]} */ candidates, /** @type {Float64Array} */ proposal, /** @type {Float64Array} */ shift,
  /** @type {Record<string, number>} */ shape, /** @type {number} */ source, /** @type {[number, number]} */ [low, high],
) {
  const top = proposal.reduce((a, b) => Math.max(a, b), -Infinity);
  const shapeAt = (/** @type {number} */ epsilon) => {
    const tau = Math.min(1, (shape.firm / epsilon) ** shape.power);
    const from = shape.low * shape.sigma;
    const to = from + Math.min(shape.widest, shape.width + shape.growth * epsilon) * shape.sigma;
    return { tau, from, to, least: top / tau - shape.spread };
  };
  const weighs = (/** @type {number} */ epsilon) => {
    const { tau, from, to, least } = shapeAt(epsilon);
    return (/** @type {number} */ j) =>
      Math.max(proposal[j] / tau, least) + (epsilon * (Math.min(Math.max(shift[j], from), to) - to)) / (2 * (to - from));
  };
  const weights = (/** @type {number} */ epsilon) => {
    const weight = weighs(epsilon);
    return proposal.map((_, j) => weight(j));
  };
  /** @type {Map<number, number>} */
  const sums = new Map();
  const sum = (/** @type {number} */ epsilon) => {
    let found = sums.get(epsilon);
    if (found === undefined) sums.set(epsilon, (found = added(epsilon)));
    return found;
  };
  /** The same as the sum of `weighs`, without a call for each candidate. */
  const added = (/** @type {number} */ epsilon) => {
    const { tau, from, to, least } = shapeAt(epsilon);
    const n = proposal.length;
    if (scratch.length < n) scratch = new Float64Array(n);
    const wide = 2 * (to - from);
    for (let j = 0; j < n; j += 1) {
      const b = proposal[j] / tau;
      const s = shift[j];
      scratch[j] = (b > least ? b : least) + (epsilon * ((s < from ? from : s > to ? to : s) - to)) / wide;
    }
    return logSumOfScratch(n);
  };
  const logProbs = (/** @type {number} */ epsilon) => {
    const x = weights(epsilon);
    const z = sum(epsilon);
    return x.map((v) => v - z);
  };
  /** The most likely candidates at some ε, most likely first. */
  const likest = () => {
    /** @type {Map<number, number>} */
    const best = new Map();
    for (let k = 0; k < 5; k += 1) {
      const epsilon = low * (high / low) ** (k / 4);
      const x = weights(epsilon);
      const z = sum(epsilon);
      for (const j of highest(x, SHOWN)) best.set(j, Math.max(best.get(j) ?? -Infinity, x[j] - z));
    }
    return [...best].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, SHOWN).map(([j]) => j);
  };
  /** @type {number[] | undefined} */
  let near;
  /** @type {Uint32Array | undefined} */
  let order;
  return {
    candidates, source, scores: null, logProbs, proposal,
    logProb: (epsilon, j) => weighs(epsilon)(j) - sum(epsilon),
    weight: (epsilon, j) => weighs(epsilon)(j),
    logZ: sum,
    get near() {
      return (near ??= likest());
    },
    noise() {
      const noise = gumbels(proposal.length);
      // A word that is lower in all three than another never wins, because weights never fall as a score or a shift
      // grows.
      order ??= nearlySorted(proposal);
      /** @type {number[]} */
      const front = [];
      const less = (/** @type {number} */ j) => (/** @type {number} */ k) =>
        noise[k] >= noise[j] && shift[k] >= shift[j] && proposal[k] >= proposal[j];
      for (const j of order) if (!front.some(less(j))) front.push(j);
      front.sort((a, b) => a - b);
      const at = (/** @type {number} */ epsilon) => {
        const weight = weighs(epsilon);
        let [best, most] = [0, -Infinity];
        for (const j of front) {
          const value = weight(j) + noise[j];
          if (value > most) [best, most] = [j, value];
        }
        return best;
      };
      return { at, flips: (from, to) => searched(at, from, to) };
    },
  };
}

const POINTS = 160;

/** The flips of any rule with a winner at each ε: found on a grid, then by bisection. @returns {Flips} */
function searched(/** @type {(epsilon: number) => number} */ at, /** @type {number} */ low, /** @type {number} */ high) {
  const grid = Array.from({ length: POINTS }, (_, k) => low * (high / low) ** (k / (POINTS - 1)));
  const found = grid.map(at);
  /** @type {Flips} */
  const out = [[low, found[0]]];
  for (let k = 0; k + 1 < POINTS; k += 1) {
    if (found[k] === found[k + 1]) continue;
    let [a, b] = [grid[k], grid[k + 1]];
    for (let n = 0; n < 14; n += 1) {
      const middle = Math.sqrt(a * b);
      if (at(middle) !== found[k]) b = middle;
      else a = middle;
    }
    out.push([b, found[k + 1]]);
  }
  return out;
}
