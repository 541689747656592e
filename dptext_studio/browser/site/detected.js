// @ts-check
// What replaces flagged words: placeholders, or stand-ins from public lists, alone or before a mechanism that samples
// the other words, as in dptext_core/mechanisms/detected.

import { constant } from "./distributions.js";
import { flagSpans, flagTokens } from "./flags.js";
import { uniforms } from "./sampling.js";
import { NEWLINE, beginsAsWord, endsAsWord } from "./text.js";

/** @typedef {import("./blocklist.js").Blocklist} Blocklist */
/** @typedef {import("./distributions.js").Distribution} Distribution */
/** @typedef {import("./flags.js").StandIns} StandIns */
/** @typedef {import("./text.js").Document} Document */
/**
 * @typedef {object} Flagged
 * @property {string} key what two texts share that are compared: places, types, shapes and repetitions of their flags
 * @property {Map<number, string>} words the stand-in of each flagged token, sampled without looking at it
 * @property {Map<number, string>} fixed a public word for each, the same for every text with these flags
 * @property {Map<number, Distribution>} distributions
 * @property {boolean} given whether the caller named the stand-ins, so that they are not sampled again
 */

/** A distribution that was already sampled. @returns {Distribution} */
function settled(/** @type {readonly string[]} */ candidates, /** @type {number} */ drawn) {
  return { ...constant(candidates), noise: () => ({ at: () => drawn, flips: (low) => [[low, drawn]] }) };
}

/**
 * Stand-ins for the flagged tokens of a text. Equal words share theirs.
 * @param {Document} document
 * @param {any} spec the mechanism with its options
 * @param {any} language "language" of core.json
 * @param {StandIns} lists
 * @param {{blocklist: Blocklist, allowlist: Blocklist, like?: Flagged, named?: Record<number, string>}} choice like: those
 *   of another text, which are used again where its flags are the same; named: the stand-ins by their tokens
 * @returns {Flagged}
 */
export function standInsFor(document, spec, language, lists, { blocklist, allowlist, like, named }) {
  const flags = flagTokens(document, language, spec.options.detector, allowlist);
  const key = JSON.stringify(flags);
  if (like?.key === key) return like;
  /** @type {Map<string, readonly string[]>} */
  const allowed = new Map();
  /** @type {Map<number, number>} */
  const drawn = new Map();
  /** @type {Flagged} */
  const out = { key, words: new Map(), fixed: new Map(), distributions: new Map(), given: Boolean(named) };
  for (const { token, form, same } of flags) {
    const words = allowed.get(form) ?? lists.of(form).filter((word) => !blocklist.bans(word));
    if (!words.length) throw new Error("The blocklist contains every stand-in of a type. Shorten the blocklist.");
    allowed.set(form, words);
    const j = named ? words.indexOf(named[token]) : drawn.get(same) ?? Math.min(Math.floor(uniforms(1)[0] * words.length), words.length - 1);
    if (j < 0) throw new Error(`“${named?.[token]}” is not a stand-in for token ${token}. Rewrite the text again.`);
    drawn.set(token, j);
    out.words.set(token, words[j]);
    out.fixed.set(token, words[0]);
    out.distributions.set(token, settled(words, j));
  }
  return out;
}

/** A document with other words in some places. @returns {Document} */
export function substitute(/** @type {Document} */ document, /** @type {Map<number, string>} */ words) {
  let text = "";
  let at = 0;
  const tokens = document.tokens.map((token, i) => {
    const shown = words.get(i) ?? token.text;
    text += document.text.slice(at, token.start);
    const start = text.length;
    text += shown;
    at = token.end;
    return { ...token, text: shown, start, end: text.length, kind: words.has(i) ? "word" : token.kind };
  });
  return { ...document, text: text + document.text.slice(at), tokens };
}

/** What becomes of the words of a text if flagged words are replaced and all others are released. */
export function replaced(
  /** @type {Document} */ document, /** @type {any} */ spec, /** @type {any} */ language, /** @type {Blocklist} */ allowlist,
  /** @type {Flagged | null} */ flagged,
) {
  const { reasons: { flagged: yes, unflagged: no }, placeholders } = language.detection;
  const n = document.tokens.length;
  /** @type {Map<number, Distribution>} */
  const distributions = flagged?.distributions ?? new Map();
  /** @type {Set<number>} */
  const deleted = new Set();
  let key = flagged?.key ?? "";
  if (!flagged) {
    const spans = flagSpans(document, language, spec.options.detector, allowlist);
    key = JSON.stringify(spans);
    for (const [kind, first, end] of spans) {
      distributions.set(first, settled([placeholders[kind]], 0));
      for (let i = first + 1; i < end; i += 1) deleted.add(i);
    }
  }
  const holes = document.tokens.map((_, i) => distributions.has(i) || deleted.has(i));
  return {
    reasons: holes.map((hole) => (hole ? yes : no)), known: Array(n).fill(false), capitals: Array(n).fill(false),
    distributions: document.tokens.map((_, i) => distributions.get(i) ?? null), holes, deleted, ms: 0,
    flagged: flagged ?? { key, words: new Map(), fixed: new Map(), distributions, given: true },
  };
}

/**
 * The spaces if some holes are left out, as in Skeleton._gaps of the core: each takes one run of spaces with it, the
 * one
 * before it, or the one after it if it is first on its line or follows an opening bracket or quote.
 */
export function closed(/** @type {{kept: (string | null)[], gaps: string[]}} */ { kept, gaps }, /** @type {Set<number>} */ deleted) {
  /** @type {string[]} */
  const out = [];
  let [last, lone, lineStart, asWord, edited, drop] = ["", false, true, false, false, false];
  const write = (/** @type {string} */ text, word = false, drawn = false) => {
    if (!text) return;
    lone = !last || /\s/u.test(last);
    [last, asWord, edited] = [[...text].at(-1) ?? "", word, drawn];
    const rest = text.replace(/[ \t]+$/, "");
    if (rest) lineStart = NEWLINE.test(rest[rest.length - 1]);
  };
  const opened = () => last !== "" && ("\"'".includes(last) ? lone : /^[\p{Ps}\p{Pi}]$/u.test(last));
  kept.forEach((text, i) => {
    let gap = drop ? gaps[i].replace(/^[ \t]+/, "") : gaps[i];
    drop = false;
    if (deleted.has(i)) {
      const shorter = gap.replace(/[ \t]+$/, "");
      drop = (shorter ? NEWLINE.test(shorter[shorter.length - 1]) : lineStart) || (!gap && opened());
      out.push(drop ? gap : shorter);
      write(out[i]);
      edited = true;
      return;
    }
    write(gap);
    const drawn = text === null;
    if ((drawn || edited) && asWord && beginsAsWord(text)) write((gap = " "));
    out.push(gap);
    write(text ?? "x", endsAsWord(text), drawn);
  });
  const tail = gaps[gaps.length - 1];
  return [...out, drop ? tail.replace(/^[ \t]+/, "") : tail];
}
