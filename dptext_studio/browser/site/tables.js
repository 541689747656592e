// @ts-check
// The distributions of the word mechanisms, from tables that the builder wrote.

import { onList, ranked, scored } from "./distributions.js";

/** @typedef {import("./distributions.js").Distribution} Distribution */
/**
 * @typedef {object} TableMaker
 * @property {(left: number[]) => (row: number) => Distribution} of the distribution of a word among the words at these
 *   places; rows count those
 * @property {(left: number[]) => (a: number, b: number) => number} apart the distance of two of those words in the unit
 *   of the guarantee; ∞ where it does not compare them
 * @property {(left: number[]) => number} [near] the median distance to the nearest other word
 * @property {(left: number[]) => number} [largest] the largest distance between two of those words
 */

const SPREAD = 400; // words of which the nearest are looked at

/** CusText: the K words that a word shares with its group, the likest first. @returns {TableMaker} */
export function custext(/** @type {string[]} */ words, /** @type {ArrayBuffer} */ table) {
  // float64 scores of all words, then their places as whole numbers of 16 bits.
  const size = table.byteLength / 10;
  const k = size / words.length;
  const scores = new Float64Array(table, 0, size);
  const outputs = new Uint16Array(table, 8 * size, size);
  const distribution = (/** @type {number} */ row) => {
    const own = outputs.subarray(row * k, (row + 1) * k);
    return ranked([...own].map((i) => words[i]), scores.slice(row * k, (row + 1) * k), own.indexOf(row));
  };
  const set = (/** @type {number} */ row) => outputs.slice(row * k, (row + 1) * k).sort().join();
  const apart = (/** @type {number} */ a, /** @type {number} */ b) => (a === b ? 0 : set(a) === set(b) ? 1 : Infinity);
  return { of: () => distribution, apart: () => apart };
}

/** SanText: the distances of a word to all words, from vectors of whole numbers, axis by axis. @returns {TableMaker} */
export function santext(/** @type {string[]} */ words, /** @type {ArrayBuffer} */ table, /** @type {ArrayBuffer} */ nearest) {
  const codes = new Int8Array(table);
  const n = words.length;
  const axes = codes.length / n;
  const lengths = new Float64Array(n);
  for (let a = 0; a < axes; a += 1) for (let j = 0; j < n; j += 1) lengths[j] += codes[a * n + j] ** 2;
  for (let j = 0; j < n; j += 1) lengths[j] = Math.sqrt(lengths[j]);
  const scoresOf = (/** @type {number} */ row) => {
    // Products of whole numbers are exact.
    const products = new Int32Array(n);
    for (let a = 0; a < axes; a += 1) {
      const own = codes[a * n + row];
      for (let j = 0, at = a * n; j < n; j += 1, at += 1) products[j] += own * codes[at];
    }
    const scores = new Float64Array(n);
    for (let j = 0; j < n; j += 1) {
      const square = products[j] * (-2 / lengths[j]) * (1 / lengths[row]) + 2;
      scores[j] = j === row ? -0 : Math.sqrt(Math.max(square, 0)) / -2;
    }
    return scores;
  };
  const distances = new Float64Array(nearest, 0, n);
  const others = new Uint16Array(nearest, 8 * n, n);
  return {
    of(/** @type {number[]} */ left) {
      const few = left.map((j) => words[j]);
      return (/** @type {number} */ row) => {
        const scores = scoresOf(left[row]);
        return scored(few, Float64Array.from(left, (j) => scores[j]), row);
      };
    },
    apart(left) {
      return (a, b) => {
        if (a === b) return 0;
        const [one, other] = [left[a], left[b]];
        let product = 0;
        for (let axis = 0; axis < axes; axis += 1) product += codes[axis * n + one] * codes[axis * n + other];
        return Math.sqrt(Math.max(product * (-2 / lengths[other]) * (1 / lengths[one]) + 2, 0));
      };
    },
    /** The median over so many words, spread evenly. */
    near(/** @type {number[]} */ left) {
      if (left.length < 2) return 0;
      const there = new Set(left);
      const few = Math.min(SPREAD, left.length);
      const step = (left.length - 1) / (few - 1);
      const rows = left.length <= SPREAD ? left : Array.from({ length: few }, (_, k) => left[Math.floor(k + 1 < few ? k * step : left.length - 1)]);
      const found = rows.map((row) => {
        if (there.has(others[row])) return distances[row];
        const scores = scoresOf(row);
        return -2 * left.reduce((best, j) => (j === row ? best : Math.max(best, scores[j])), -Infinity);
      });
      found.sort((a, b) => a - b);
      return (found[(few - 1) >> 1] + found[few >> 1]) / 2;
    },
  };
}

/** 1-Diffractor on one list, whose words these are in their order. @returns {TableMaker} */
export function diffractor(/** @type {string[]} */ list) {
  return {
    of(/** @type {number[]} */ left) {
      const few = left.map((j) => list[j]);
      return (/** @type {number} */ row) => onList(few, row);
    },
    apart: () => (a, b) => Math.abs(a - b),
    largest: (left) => left.length - 1,
  };
}
