// @ts-check
// Public clean-up of a release: articles, capitals of copied words, and spaces next to punctuation, as in
// dptext_core/text/readable.py. It reads only the release, so it spends no ε.

import { ALNUMS, NEWLINE, begins } from "./text.js";

/** @typedef {import("./text.js").Language} Language */
/** @typedef {{kept: (string | null)[], gaps: string[]}} Skeleton null for a token that is replaced */
/**
 * @typedef {object} CleanUp
 * @property {Map<number, string>} copied the copied words that have a capital in their places
 * @property {Map<number, number>} articles the copied articles, each with the token whose word decides its form
 */

const ALPHA = /^\p{L}+$/u;
const LAST_LETTER = /\p{L}$/u;
const HAS_CAPITAL = /[\p{Uppercase}\p{Lt}]/u;
const HAS_SMALL = /\p{Lowercase}/u;
const BEGINNING = new RegExp(`^[${ALNUMS}]`, "u");
export const beginsWord = (/** @type {string} */ text) => BEGINNING.test(text);

/**
 * The changes of a clean-up. deleted: tokens that are left out.
 * @param {Skeleton} skeleton
 * @param {Language} language
 * @param {Set<number>} deleted
 * @returns {CleanUp}
 */
export function cleanUp(skeleton, language, deleted) {
  const starting = begins(skeleton, language);
  const { kept, gaps } = skeleton;
  /** @type {CleanUp} */
  const out = { copied: new Map(), articles: new Map() };
  let started = false; // a token that is left out leaves its beginning to the next one
  kept.forEach((word, i) => {
    started = starting[i] || (started && deleted.has(i - 1));
    if (word === null) return;
    if (ALPHA.test(word) && !HAS_CAPITAL.test(word) && HAS_SMALL.test(word)) {
      const cased = language.written(word, started && (i === 0 || !NEWLINE.test(gaps[i])));
      if (cased !== word) out.copied.set(i, cased);
    }
    const small = word.toLowerCase();
    // A capital inside a sentence belongs to a letter, as in "vitamin A".
    if (!language.articles.forms.includes(small) || !gaps[i + 1] || (word !== small && !starting[i])) return;
    const next = kept.findIndex((_, j) => j > i && !deleted.has(j));
    if (next > i && kept.slice(i + 1, next + 1).includes(null)) out.articles.set(i, next);
  });
  return out;
}

/** The skeleton without spaces next to punctuation that the language does not use, as in "well .". */
export function tight(/** @type {Skeleton} */ { kept, gaps }, /** @type {Language} */ { tightBefore, tightAfter }) {
  const out = gaps.slice();
  for (let i = 1; i < kept.length; i += 1) {
    const [last, mark] = [kept[i - 1], kept[i]];
    if (gaps[i] !== " ") continue;
    // A mark directly followed by something is separate, as in ":)". A sampled word takes no "n't".
    const ends = (mark !== null && LAST_LETTER.test(mark)) || gaps[i + 1] !== "" || i + 1 === kept.length;
    const before = mark !== null && tightBefore.has(mark) && ends && !(last === null && mark === "n't");
    if (before || (last !== null && tightAfter.has(last))) out[i] = "";
  }
  return { kept, gaps: out };
}

/** An article before a word, with its capital. */
export function agreeing(/** @type {Language} */ language, /** @type {string} */ article, /** @type {string} */ word) {
  const form = language.articles.forms[Number(language.takesSecond(word))];
  return /^\p{Uppercase}/u.test(article) ? form[0].toUpperCase() + form.slice(1) : form;
}

/**
 * A copied token in its released form. wordAt: the released word at a token.
 * @param {Language} language
 * @param {CleanUp | null} clean
 * @param {string} token
 * @param {number} i
 * @param {(i: number) => string} wordAt
 */
export function copied(language, clean, token, i, wordAt) {
  const written = clean?.copied.get(i) ?? token;
  const next = clean?.articles.get(i);
  if (next === undefined) return written;
  const following = wordAt(next);
  const form = beginsWord(following) ? agreeing(language, written, following) : written;
  return form.toLowerCase() === token.toLowerCase() ? written : form;
}
