// @ts-check
// What a reader believes, for the token view (figures/browser/belief_panel.js): prepared after a rewrite is shown, and
// then computed here at every ε of the slider.

import { BeliefQuestion } from "./belief.js";
import { limit, percent } from "./guarantee.js";

/** @typedef {import("./engine.js").Prepared} Prepared */
/** @typedef {import("./distributions.js").Flips} Flips */
/**
 * @typedef {object} Shown
 * @property {string} key of the token view
 * @property {number} run
 * @property {Prepared} prepared
 * @property {(Flips | null)[]} flips which candidate each token releases, from which ε on
 * @property {string} word the word that is looked at first
 * @property {number} epsilon where the slider rests
 */

const POINTS = 28; // of ε, at which the dial looks for its mark

/** Give the token view a belief. */
function tell(/** @type {string} */ key, /** @type {number} */ run, /** @type {object} */ belief) {
  Object.assign(document, { dptextHere: { key, run, meaning: null, belief } });
  document.dispatchEvent(new Event("dptext-here"));
}

/** The belief that was computed when the site was built. */
export const tellDemonstration = (/** @type {any} */ data, /** @type {object} */ belief) => tell(data.key, data.run, belief);

export class BeliefPage {
  /** @param {import("./engine.js").Engine} engine @param {(sentence: string) => void} say receives the belief in words */
  constructor(engine, say) {
    this.engine = engine;
    this.say = say;
    /** @type {Shown | null} */
    this.shown = null;
    /** @type {{prepared: Prepared, fact: string, others: string, made: Promise<BeliefQuestion>, done: BeliefQuestion | null} | null} */
    this.held = null;
    this.working = new AbortController();
    this.resting = new AbortController();
    this.asked = "";
  }

  /** The running computation is for another text. */
  stop() {
    this.working.abort();
    this.resting.abort();
  }

  /** A rewrite is about to be shown: a belief about it that needs no computation is there from the start. */
  show(/** @type {Shown} */ shown, /** @type {any} */ view) {
    this.shown = shown;
    this.asked = "";
    this.say("");
    this.seen(view);
  }

  /** The token view has changed: another word, other alternatives, or another ε. */
  seen(/** @type {any} */ view) {
    const { shown } = this;
    if (!shown) return;
    if (view?.eps) shown.epsilon = view.eps;
    const fact = this.factOf(shown, view);
    const others = new Map(view?.others ?? []).get(fact) ?? "";
    const asked = JSON.stringify([fact, others]);
    if (asked === this.asked) {
      this.rest();
      return;
    }
    this.asked = asked;
    this.ask(shown, fact, others);
  }

  factOf(/** @type {Shown} */ { prepared, word }, /** @type {any} */ view) {
    if (!prepared.aligned) return view?.fact || word;
    const at = view?.token;
    return at === null || at === undefined ? word : prepared.document.tokens[at]?.text ?? "";
  }

  async ask(/** @type {Shown} */ shown, /** @type {string} */ fact, /** @type {string} */ others) {
    this.stop();
    const { key, run, prepared } = shown;
    const same = (/** @type {{text: string}} */ t) => t.text.toLowerCase() === fact.toLowerCase();
    const tokens = prepared.aligned ? [...prepared.document.tokens.keys()].filter((i) => same(prepared.document.tokens[i])) : [];
    const about = { fact, tokens };
    this.say("");
    const held = this.hold(shown, fact, others);
    if (held?.done) {
      tell(key, run, { ...about, ...this.belief(shown, held.done) });
      this.rest();
      return;
    }
    tell(key, run, about);
    if (!held) return;
    const { signal } = this.working;
    try {
      held.done = await held.made;
    } catch (problem) {
      if (this.held === held) this.held = null;
      if (!signal.aborted) tell(key, run, { ...about, why: /** @type {any} */ (problem)?.message ?? String(problem) });
      return;
    }
    if (signal.aborted) return;
    tell(key, run, { ...about, ...this.belief(shown, held.done) });
    this.rest();
  }

  /** The question about a fact, which is shared with other draws of the same text. */
  hold(/** @type {Shown} */ { prepared }, /** @type {string} */ fact, /** @type {string} */ others) {
    const { held } = this;
    if (held && held.prepared === prepared && held.fact === fact && held.others === others && held.done) return held;
    this.working = new AbortController();
    if (!fact) return null;
    const named = others ? others.split(",") : null;
    const made = BeliefQuestion.make(this.engine, prepared, fact, named, this.working.signal);
    this.held = { prepared, fact, others, made, done: null };
    return this.held;
  }

  /** The data of the panel. */
  belief(/** @type {Shown} */ { prepared, flips }, /** @type {BeliefQuestion} */ question) {
    const [low, high] = prepared.spec.axis;
    /** @type {{eps: number, exact: boolean, found: any}} */
    let last = { eps: NaN, exact: false, found: null };
    const exact = (/** @type {number} */ eps) => {
      const isExact = question.isExact(eps);
      if (last.eps !== eps || last.exact !== isExact) {
        const index = flips.map((f) => (f ? released(f, eps) : -1));
        last = { eps, exact: isExact, found: { ...question.given(eps, { of: 0, index }), isRough: !isExact } };
      }
      return last.found;
    };
    return {
      words: question.words, prior: question.prior, exact,
      covered: question.covered,
      points: Array.from({ length: POINTS }, (_, k) => ({ eps: low * (high / low) ** (k / (POINTS - 1)) })),
      draws: prepared.table ? 0 : prepared.known.filter(Boolean).length,
    };
  }

  /** At rest: the exact belief in words, and how often such a reader is right. */
  async rest() {
    const { shown, held } = this;
    const question = held?.done;
    this.resting.abort();
    if (!shown || !question || held.prepared !== shown.prepared) return;
    this.resting = new AbortController();
    const { signal } = this.resting;
    const { epsilon, flips } = shown;
    try {
      const rough = !question.isExact(epsilon);
      await question.settle(epsilon, signal);
      if (rough && !signal.aborted) document.dispatchEvent(new Event("dptext-here"));
      const index = flips.map((f) => (f ? released(f, epsilon) : -1));
      const posterior = question.given(epsilon, { of: 0, index }, true);
      const expected = await question.expected(epsilon, signal);
      if (!signal.aborted) this.say(`${inWords(question, posterior)} ${onAverage(expected, shown.prepared)}`);
    } catch (problem) {
      if (!signal.aborted) this.say(String(/** @type {any} */ (problem)?.message ?? problem));
    }
  }
}

/** The candidate that is released at ε. */
function released(/** @type {Flips} */ flips, /** @type {number} */ epsilon) {
  let at = 0;
  while (at + 1 < flips.length && flips[at + 1][0] <= epsilon) at += 1;
  return flips[at][1];
}

/** As Belief.sentence of the core. */
function inWords(/** @type {BeliefQuestion} */ question, /** @type {import("./belief.js").Posterior} */ { log, ceiling }) {
  const best = log.lastIndexOf(Math.max(...log));
  const { words, covered, prior } = question;
  const sure = `A reader who knows everything else is ${percent(Math.exp(log[best]))} sure: “${words[best]}”` +
    `${best ? ", which is wrong" : ""} (${percent(prior[best])} before).`;
  if (!covered.includes(true)) return `${sure} There is no guarantee that limits this.`;
  const allowed = covered[best] ? ` The guarantee allows at most ${limit(ceiling[best])}.` : "";
  const missing = words.filter((_, j) => !covered[j]).map((w) => `“${w}”`);
  return sure + allowed + (missing.length ? ` The guarantee does not cover ${missing.join(", ")}.` : "");
}

/** As ExpectedSuccess.sentence of the core, except that a model has read one set of stand-ins. */
function onAverage(
  /** @type {{value: number, standard_error: number, draws: number}} */ { value, standard_error: error, draws },
  /** @type {Prepared} */ { flagged, table, spec },
) {
  const given = flagged && !table && !spec.replaces ? " with these stand-ins" : "";
  const said = `Over all releases${given}, such a reader is right ${percent(Math.min(value, 1))} of the time`;
  if (!draws) return `${said}.`;
  const [low, high] = [Math.max(0, value - 1.96 * error), Math.min(1, value + 1.96 * error)];
  return `${said} (95% CI ${percent(low)} to ${percent(high)}, ${draws} releases).`;
}
