// @ts-check
// Lists of words, compared as in dptext_core/mechanisms/blocklist.py.

import { ALNUMS, kindOf } from "./text.js";

const LONGEST = 100; // letters of a word of the list
const IGNORABLE = new RegExp(
  "[\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u3164" +
    "\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}\\p{Cf}]",
  "gu",
);
// Combining marks of no script, by their blocks.
const OVER = /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]/gu;
const ASCII = /^[\x00-\x7f]*$/;
const BETWEEN = new RegExp(`[^${ALNUMS}]+`, "u");
const APART = new RegExp(`[^${ALNUMS}']+`, "u"); // as it, but that a word may have an apostrophe in it
const WHOLE = new RegExp(`^[${ALNUMS}]+$`, "u");

const visible = (/** @type {string} */ text) => text.replace(IGNORABLE, "");
// Case folding by letter: lower case for letters that have a capital; ı and Cherokee fold differently.
const folded = (/** @type {string} */ c) =>
  c === "ı" ? c : /^[\u13a0-\u13f5]$/.test(c) ? c : /^[\u13f8-\u13fd\uab70-\uabbf]$/.test(c) ? c.toUpperCase() : c.toUpperCase().toLowerCase();

/** A text in the form in which words are compared. */
export function fold(/** @type {string} */ text) {
  if (ASCII.test(text)) return text.toLowerCase();
  let out = text;
  for (let n = 0; n < 2; n += 1) {
    out = visible([...visible(out).normalize("NFKC")].map(folded).join(""));
    out = out.normalize("NFKC").replace(OVER, "");
  }
  return out.replaceAll("’", "'");
}

/** A list of words: never released as a blocklist, always copied as an allowlist. */
export class Blocklist {
  /** @param {string[]} words folded */
  constructor(words) {
    this.words = new Set(words);
  }

  get size() {
    return this.words.size;
  }

  /** Whether this token as a whole is a word of the list. */
  holds(/** @type {string} */ token) {
    return this.words.size > 0 && this.words.has(fold(token));
  }

  /** Whether this token may not be released. */
  bans(/** @type {string} */ token) {
    if (!this.words.size) return false;
    const whole = fold(token);
    if (this.words.has(whole)) return true;
    if (WHOLE.test(whole)) return false;
    const parts = [...whole.split(BETWEEN), ...whole.split(APART).map((part) => part.replace(/^'+|'+$/g, ""))];
    return parts.some((part) => this.words.has(part));
  }

  /** Whether a text may contain a word of the list. False means that it contains none. */
  touches(/** @type {string} */ text) {
    const whole = fold(text);
    return [...this.words].some((word) => whole.includes(word));
  }
}

/**
 * Read a list of words separated by spaces, commas or semicolons.
 * @param {string} text
 * @param {import("./text.js").Language} language
 */
export function parseBlocklist(text, language) {
  /** @type {Set<string>} */
  const out = new Set();
  for (const given of text.split(/[\s,;]+/).filter((t) => t)) {
    const word = fold(given);
    if (!word) continue;
    if (word.length > LONGEST) throw new Error(`“${given.slice(0, 20)}…” has more than ${LONGEST} letters. Remove it.`);
    if (kindOf(word) === "punct") throw new Error(`“${given}” is punctuation, not a word. Remove it from the list.`);
    const parts = language.parse(word).tokens.map((t) => t.text);
    if (!WHOLE.test(word) && parts.length > 1) {
      const several = parts.map((p) => `“${p}”`).join(", ");
      throw new Error(`“${given}” is read as ${parts.length} words (${several}). List the ones that you mean.`);
    }
    out.add(word);
  }
  return new Blocklist([...out].sort());
}
