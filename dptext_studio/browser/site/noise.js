// @ts-check
// Locked Gumbel noise on the candidates of a word, sampled only as far as it can decide the winner.
//
// Noise comes in descending order: the k-th highest of n Gumbel variables is −ln of the k-th arrival among n
// exponential clocks, and each remaining candidate is equally likely to have it. Once no remaining candidate can win,
// the rest need not be sampled. The winner has the same distribution as with noise on every candidate.

import { gumbels, uniforms } from "./sampling.js";

/** @typedef {import("./distributions.js").Flips} Flips */
/** @typedef {import("./distributions.js").Noise} Noise */

const EXPLICIT = 64; // candidates with the highest scores, whose noise is drawn first
const FIRST = 128; // candidates of the rest that are drawn at first

/** The indices of the n highest scores, highest first, ties in the order of candidates. */
export function highest(/** @type {Float64Array} */ scores, /** @type {number} */ n) {
  /** @type {number[]} */
  const best = [];
  let least = -Infinity;
  for (let j = 0; j < scores.length; j += 1) {
    const score = scores[j];
    if (best.length === n && score <= least) continue;
    let at = best.length;
    while (at > 0 && scores[best[at - 1]] < score) at -= 1;
    best.splice(at, 0, j);
    if (best.length > n) best.pop();
    least = scores[best[best.length - 1]];
  }
  return best;
}

/**
 * The exponential mechanism over these scores, as a source of locked noise: the highest ε·score + Gumbel noise.
 * @param {Float64Array} scores
 * @returns {() => Noise}
 */
export function noiseOn(scores) {
  /** @type {number[] | undefined} */
  let top;
  return () => {
    top ??= highest(scores, EXPLICIT);
    const lines = new Lines(scores, top);
    return { at: (epsilon) => lines.at(epsilon), flips: (low, high) => lines.flips(low, high) };
  };
}

/** The lines ε·score + noise of the candidates that can win at some ε, among those sampled so far. */
class Lines {
  /**
   * @param {Float64Array} scores
   * @param {number[]} top the candidates with the highest scores
   */
  constructor(scores, top) {
    this.scores = scores;
    this.top = new Set(top);
    this.places = scores.length; // of a list of all candidates, from which those that were drawn are removed
    this.moved = /** @type {Map<number, number>} */ (new Map()); // the candidates that are not at their own place there
    this.left = scores.length - top.length; // of the other candidates
    this.arrived = 0;
    this.bound = this.left ? Infinity : -Infinity; // no noise that is not drawn yet is higher
    this.steepest = -Infinity; // the highest score among the others that were drawn
    this.next = FIRST;
    // The others have no score above the lowest of these.
    this.slope = scores[top[top.length - 1]];
    this.candidates = top.slice();
    this.slopes = top.map((j) => scores[j]);
    this.offsets = [...gumbels(top.length)];
  }

  /** Remove a candidate from the list: the one at this fraction of its length. */
  taken(/** @type {number} */ share) {
    const at = Math.min(Math.floor(share * this.places), this.places - 1);
    this.places -= 1;
    const found = this.moved.get(at) ?? at;
    this.moved.set(at, this.moved.get(this.places) ?? this.places);
    return found;
  }

  /** Sample the noise of more candidates. One with a lower score and less noise than another never wins. */
  draw() {
    const { scores } = this;
    const numbers = uniforms(2 * Math.min(this.next, this.places));
    for (let i = 0; i < numbers.length; i += 2) {
      const j = this.taken(numbers[i]);
      if (this.top.has(j)) continue;
      this.arrived += -Math.log1p(-numbers[i + 1]) / this.left;
      this.left -= 1;
      if (scores[j] <= this.steepest) continue;
      this.steepest = scores[j];
      this.candidates.push(j);
      this.slopes.push(scores[j]);
      this.offsets.push(-Math.log(this.arrived || Number.MIN_VALUE));
    }
    this.next *= 2;
    this.bound = this.left ? -Math.log(this.arrived || Number.MIN_VALUE) : -Infinity;
  }

  /** Whether no remaining candidate can exceed this value at ε. */
  decides(/** @type {number} */ value, /** @type {number} */ epsilon) {
    return value >= epsilon * this.slope + this.bound;
  }

  value(/** @type {number} */ line, /** @type {number} */ epsilon) {
    return epsilon * this.slopes[line] + this.offsets[line];
  }

  first(/** @type {number} */ epsilon) {
    let best = 0;
    for (let k = 1; k < this.slopes.length; k += 1) if (this.value(k, epsilon) > this.value(best, epsilon)) best = k;
    return best;
  }

  at(/** @type {number} */ epsilon) {
    for (;;) {
      const best = this.first(epsilon);
      if (this.decides(this.value(best, epsilon), epsilon)) return this.candidates[best];
      this.draw();
    }
  }

  /** Which candidate wins, and from which ε on. @returns {Flips} */
  flips(/** @type {number} */ low, /** @type {number} */ high) {
    for (;;) {
      const lines = this.envelope(low, high);
      // The highest of lines is convex, so it is closest to the line that bounds the others where it bends or ends.
      const ends = [...lines, /** @type {[number, number]} */ ([high, lines[lines.length - 1][1]])];
      if (ends.every(([epsilon, line]) => this.decides(this.value(line, epsilon), epsilon))) {
        return lines.map(([epsilon, line]) => [epsilon, this.candidates[line]]);
      }
      this.draw();
    }
  }

  /** Which of the lines is the highest, and from which ε on. @returns {[number, number][]} */
  envelope(/** @type {number} */ low, /** @type {number} */ high) {
    const { slopes, offsets } = this;
    let winner = this.first(low);
    /** @type {[number, number][]} */
    const out = [[low, winner]];
    for (let from = low; ; ) {
      let next = -1;
      let cross = Infinity;
      for (let k = 0; k < slopes.length; k += 1) {
        if (slopes[k] <= slopes[winner]) continue;
        const x = (offsets[winner] - offsets[k]) / (slopes[k] - slopes[winner]);
        if (x < cross) {
          next = k;
          cross = x;
        }
      }
      if (next < 0 || cross > high) return out;
      winner = next;
      from = Math.max(cross, from);
      out.push([from, winner]);
    }
  }
}
