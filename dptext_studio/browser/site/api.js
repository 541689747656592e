// @ts-check
// The functions of the page under window.dptext, for tests and experiments.

import { BeliefQuestion } from "./belief.js";
import { parseBlocklist } from "./blocklist.js";
import { check } from "./choices.js";
import { flagTokens } from "./flags.js";
import { findPii } from "./identifiers.js";

/**
 * Put the functions into the window. ready: settles once the page has started; engine: returns the engine.
 * @param {Promise<void>} ready
 * @param {() => import("./engine.js").Engine} engine
 */
export function expose(ready, engine) {
  /** @type {{key: string, prepared: Promise<import("./engine.js").Prepared>} | null} */
  let last = null;

  /** Repeated requests reuse the last prepared text. never, allow: words of lists. */
  function prepare(/** @type {string} */ text, /** @type {any} */ { mechanism, options, never, allow, standIns } = {}) {
    const key = JSON.stringify([text, mechanism, options, never, allow, standIns]);
    if (last?.key !== key) {
      const [blocklist, allowlist] = [never, allow].map((words) => words && parseBlocklist(words.join(" "), engine().language));
      const made = engine().prepare(text, mechanism, { options, blocklist, allowlist, standIns });
      last = { key, prepared: made };
      // A failed preparation is repeated the next time.
      made.catch(() => (last = last?.prepared === made ? null : last));
    }
    return last.prepared;
  }

  // how: {mechanism, epsilon, options, never, allow, standIns}.
  Object.assign(window, {
    dptext: {
      ready,
      /** The distribution of a word. index counts tokens, as in m.distribution(text, index) of the library. */
      async distribution(/** @type {string} */ text, /** @type {number} */ index, /** @type {any} */ how) {
        await ready;
        const prepared = await prepare(text, how);
        check(prepared.spec, how.epsilon);
        const distribution = Number.isInteger(index) ? prepared.distributions[index] : null;
        if (!distribution) throw new Error(`No word was sampled for token ${index}. Choose another token.`);
        const logProbs = [...distribution.logProbs(how.epsilon)];
        return { candidates: [...distribution.candidates], probs: logProbs.map(Math.exp), log_probs: logProbs };
      },
      /**
       * What the optimal reader believes about a fact after a release, at each of how.epsilons, as dpt.belief in the
       * core.
       * how.released: the candidate at each token, null if it is kept; without it there is no posterior. how.others:
       * the
       * alternatives, by default those of the public lists. how.expected: whether to compute the expected success.
       */
      async belief(/** @type {string} */ text, /** @type {string} */ fact, /** @type {any} */ how) {
        await ready;
        const { epsilons, released, others = null, expected } = how;
        const question = await BeliefQuestion.make(engine(), await prepare(text, how), fact, others);
        const [{ distributions }] = question.texts;
        const index = released?.map((/** @type {string | null} */ word, /** @type {number} */ i) =>
          distributions[i] && word !== null ? question.indexOf(distributions[i], word, 0) : -1);
        const given = (/** @type {boolean} */ exact) =>
          released && epsilons.map((/** @type {number} */ e) => question.given(e, { of: 0, index }, exact));
        return {
          alternatives: question.words, prior: question.prior, covered: question.covered, exact: given(true), shown: given(false),
          expected: expected && (await Promise.all(epsilons.map((/** @type {number} */ e) => question.expected(e)))),
        };
      },
      async rewrite(/** @type {string} */ text, /** @type {any} */ how) {
        await ready;
        return engine().rewrite(await engine().redrawn(await prepare(text, how)), how.epsilon);
      },
      /** The flagged tokens of a text, and the possible stand-ins of each. */
      async flags(/** @type {string} */ text, /** @type {string} */ detector, /** @type {string[]} */ allow = []) {
        await ready;
        const { language } = engine().core;
        await engine().load(engine().spec("surrogates"));
        const flags = flagTokens(engine().language.parse(text), language, detector, parseBlocklist(allow.join(" "), engine().language));
        return flags.map((f) => ({ ...f, words: engine().standIns?.of(f.form) }));
      },
      /** The vectors of the sentences of a text, in steps of 2^-14. */
      async vectors(/** @type {string} */ text) {
        await ready;
        return (await prepare(text, { mechanism: "dp-sentence" })).vectors?.map((v) => v && [...v]);
      },
      /** What a detector flags, each with the words that identify. */
      async pii(/** @type {string} */ text, detector = "rules") {
        await ready;
        const document = engine().language.parse(text);
        const found = findPii(document, engine().core.language, detector);
        return found.map((t) => [t.kind, t.text, t.words.map((k) => document.tokens[k].text)]);
      },
      async sentences(/** @type {string} */ text) {
        await ready;
        const { text: seen } = engine().language.parse(text);
        return engine().language.sentenceSpans(seen).map(([a, b]) => seen.slice(a, b));
      },
      async tokens(/** @type {string} */ text) {
        await ready;
        return engine().language.parse(text).tokens.map((t) => [t.text, t.kind]);
      },
    },
  });
}
