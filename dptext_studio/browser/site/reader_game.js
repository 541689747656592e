// @ts-check
// The game "Beat the optimal reader", as dptext_studio/lessons/reader_game.py plays it: guess which of k public texts was
// rewritten. The distributions of the words are in game.json, so no model is needed.

import { ranked } from "./distributions.js";
import { cleanUp, copied, tight } from "./readable.js";
import { uniforms } from "./sampling.js";
import { begins, skeleton, spaced } from "./text.js";

/** @typedef {import("./distributions.js").Distribution} Distribution */
/**
 * @typedef {{name: string, question: string, before: string, after: string, facts: string[], rows: (string | null)[][],
 *   place: number}} LineUp
 * @typedef {object} Round one release
 * @property {LineUp} lineUp
 * @property {number} epsilon
 * @property {number} secret which fact the text had
 * @property {string} word what stands in the release in the place of the fact
 * @property {[string, "" | "secret" | "changed"][]} release its pieces: the word, other replaced words, and the rest
 * @property {number[]} posterior the probability of each fact, given the release
 * @property {number} expected how often the optimal reader is right in the long run
 */
/**
 * Points after some rounds. deserved: the probability that the guesses were right. reader: the right guesses of the
 * optimal reader. certainty: the probability that those were right. chance: points of blind guessing.
 * @typedef {{rounds: number, players: number, deserved: number, reader: number, certainty: number, expected: number,
 *   chance: number}} Score
 */

/** e^ε / (e^ε + k − 1): no reader with a uniform prior over k facts is surer, on any release. */
export const ceiling = (/** @type {number} */ epsilon, /** @type {number} */ k) => 1 / (1 + (k - 1) * Math.exp(-epsilon));

export class ReaderGame {
  /**
   * @param {any} data game.json
   * @param {import("./text.js").Language} language
   */
  constructor(data, language) {
    this.data = data;
    this.language = language;
    /** @type {Map<string, Distribution>} */
    this.distributions = new Map();
  }

  /** The distribution of a word. @returns {Distribution} */
  distribution(/** @type {string} */ word) {
    let found = this.distributions.get(word);
    if (!found) {
      const { candidates, scores } = this.data.tables[word];
      found = ranked(candidates, Float64Array.from(scores), candidates.indexOf(word));
      this.distributions.set(word, found);
    }
    return found;
  }

  /** ln of the probability of each word that some text of the line-up gives in the place of the fact. */
  chances(/** @type {LineUp} */ { rows, place }, /** @type {number} */ epsilon) {
    return rows.map((words) => {
      const d = this.distribution(/** @type {string} */ (words[place]));
      return new Map([...d.logProbs(epsilon)].map((l, j) => /** @type {[string, number]} */ ([d.candidates[j], l])));
    });
  }

  /** The probability of each fact, given the word in its place. */
  posterior(/** @type {LineUp} */ lineUp, /** @type {number} */ epsilon, /** @type {string} */ word) {
    const p = this.chances(lineUp, epsilon).map((of) => Math.exp(of.get(word) ?? -Infinity));
    const sum = p.reduce((a, b) => a + b, 0);
    return p.map((x) => x / sum);
  }

  /** How often the optimal reader is right in the long run, enumerated over all words. */
  expected(/** @type {LineUp} */ lineUp, /** @type {number} */ epsilon) {
    /** @type {Map<string, number>} */
    const best = new Map();
    for (const of of this.chances(lineUp, epsilon)) {
      for (const [word, l] of of) best.set(word, Math.max(best.get(word) ?? 0, Math.exp(l) / lineUp.facts.length));
    }
    return [...best.values()].reduce((a, b) => a + b, 0);
  }

  /** Draw a fact and rewrite its text. @returns {Round} */
  draw(/** @type {LineUp} */ lineUp, /** @type {number} */ epsilon) {
    const { before, after, facts, rows, place } = lineUp;
    const secret = Math.min(Math.floor(uniforms(1)[0] * facts.length), facts.length - 1);
    const words = rows[secret];
    const document = this.language.parse(before + facts[secret] + after);
    const { language } = this;
    const frame = tight(skeleton(document, words.map((w) => w !== null)), language);
    const [capitals, gaps, clean] = [begins(frame, language), spaced(frame), cleanUp(frame, language, new Set())];
    const drawn = words.map((word) => {
      const d = word === null ? null : this.distribution(word);
      return d && d.candidates[d.noise().at(epsilon)];
    });
    const wordAt = (/** @type {number} */ i) => {
      const word = drawn[i];
      return word === null ? document.tokens[i].text : language.written(language.forms.get(word) ?? word, capitals[i]);
    };
    const shown = drawn.map((word, i) => (word === null ? copied(language, clean, wordAt(i), i, wordAt) : wordAt(i)));
    const same = (/** @type {number} */ i) => drawn[i] === null || shown[i].toLowerCase() === document.tokens[i].text.toLowerCase();
    const pieces = shown.flatMap((text, i) => [[gaps[i], ""], [text, i === place ? "secret" : same(i) ? "" : "changed"]]);
    return {
      lineUp, epsilon, secret, expected: this.expected(lineUp, epsilon), word: shown[place],
      release: /** @type {Round["release"]} */ ([...pieces, [gaps[shown.length], ""]]),
      posterior: this.posterior(lineUp, epsilon, /** @type {string} */ (drawn[place])),
    };
  }

  /** Rounds in the order in which they are played: no line-up comes twice before all have come once. */
  rounds() {
    const { epsilons, rounds_each: each, line_ups: lineUps } = this.data;
    const keys = uniforms(lineUps.length);
    const order = [...lineUps.keys()].sort((a, b) => keys[a] - keys[b]);
    const levels = epsilons.flatMap((/** @type {number} */ e) => Array(each).fill(e));
    return levels.map((/** @type {number} */ e, /** @type {number} */ i) => this.draw(lineUps[order[i % order.length]], e));
  }
}

/** The fact that the optimal reader names. */
export const readerGuess = (/** @type {Round} */ { posterior }) => posterior.indexOf(Math.max(...posterior));

/** The score of one guess. @returns {Score} */
export function scoreOf(/** @type {Round} */ round, /** @type {number} */ guess) {
  const { posterior, secret, expected } = round;
  return {
    rounds: 1, players: Number(guess === secret), deserved: posterior[guess], reader: Number(readerGuess(round) === secret),
    certainty: Math.max(...posterior), expected, chance: 1 / posterior.length,
  };
}

/** The sum of scores. @returns {Score} */
export function total(/** @type {Score[]} */ scores) {
  const sum = { rounds: 0, players: 0, deserved: 0, reader: 0, certainty: 0, expected: 0, chance: 0 };
  for (const score of scores) for (const key of /** @type {(keyof Score)[]} */ (Object.keys(sum))) sum[key] += score[key];
  return sum;
}
