// @ts-check
// Which words are written as a name, a place, a date or a number, even if a list of stop words contains them, as in
// dptext_core/text/names_and_numbers.py.

import { isDigit, straight } from "./text.js";

/** @typedef {import("./text.js").Document} Document */

const BREAK = /[\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029]/;
const INNER_MARKS = new Set([",", ";", "(", ")", "&", "/", "’", "'"]);
const SPELLING_MARKS = new Set([",", "-", "/"]);

/** @type {{of: any, clues: any} | null} */
let made = null;

/** The lists of the language as sets, created once. */
export function cluesOf(/** @type {any} */ given) {
  if (!made || made.of !== given) {
    const sets = Object.entries(given).map(([name, x]) => [name, Array.isArray(x) ? new Set(x) : x]);
    made = { of: given, clues: Object.fromEntries(sets) };
  }
  return made.clues;
}

export const upper = (/** @type {string} */ c) => /^\p{Uppercase}$/u.test(c);
export const first = (/** @type {string} */ text) => String.fromCodePoint(text.codePointAt(0) ?? 0);
export const allUpper = (/** @type {string} */ text) =>
  /\p{Uppercase}/u.test(text) && !/[\p{Lowercase}\p{Lt}]/u.test(text);
const hasDigit = (/** @type {string} */ text) => [...text].some(isDigit);

/** A token in the form of the lists: lower case, without the full stop of an abbreviation. */
export const plainForm = (/** @type {string} */ text) => straight(text).toLowerCase().replace(/\.+$/, "") || text;

/** The text between a token and the previous one. */
export const gapOf = (/** @type {Document} */ { text, tokens }, /** @type {number} */ k) =>
  text.slice(k ? tokens[k - 1].end : 0, tokens[k].start);

/** Whether a capital at token k may be there because a sentence or a quotation begins. */
export function canBegin(/** @type {Document} */ document, /** @type {number} */ k) {
  if (k === 0 || BREAK.test(gapOf(document, k))) return true;
  const { kind, text } = document.tokens[k - 1];
  return (kind === "punct" || kind === "symbol") && !INNER_MARKS.has(text);
}

/** The kind of each token that is written as a name, place, date or number. @returns {Map<number, string>} */
export function namesAndNumbers(/** @type {Document} */ document, /** @type {any} */ given) {
  const clues = cluesOf(given);
  const found = new Map();
  document.tokens.forEach(({ kind }, k) => {
    const written = kind === "word" || kind === "number" ? kindOf(document, clues, k) : "";
    if (written) found.set(k, written);
  });
  return found;
}

function kindOf(/** @type {Document} */ document, /** @type {any} */ clues, /** @type {number} */ k) {
  const { text } = document.tokens[k];
  const word = plainForm(text);
  const size = sizeOf(word, clues);
  if (size === "large" || (size && inNumber(document, clues, k, size))) return "number";
  if (inDate(document, clues, k, word)) return "date";
  const lone = [...word].length === 1;
  if (clues.first_names.has(word) || (lone && isSpelled(document, clues, k))) return "name";
  const large = upper(first(text));
  if (clues.names_or_words.has(word) && (large || isCalled(document, clues, k))) return "name";
  const rest = text.slice(first(text).length);
  if (!allUpper(text) && rest !== rest.toLowerCase()) return "name";
  if (!large) return "";
  if (allUpper(text) && !lone) return clues.places_or_words.has(word) ? "place" : "";
  if (clues.always_large.has(word) || clues.titles.has(word) || clues.short_titles.has(word)) return "";
  const inside = clues.capitals && !canBegin(document, k);
  return inside && !(lone && shouted(document, k)) ? "name" : "";
}

/** Whether a small number word is part of a number, according to its neighbours. */
function inNumber(
  /** @type {Document} */ document,
  /** @type {any} */ clues,
  /** @type {number} */ k,
  /** @type {string} */ size,
) {
  const [before, after] = beside(document, k, clues.between_numbers).map((i) => wordAt(document, i));
  if (size === "small" && (clues.before_numbers.has(before) || clues.after_numbers.has(after))) return true;
  return [before, after].some((w) => sameNumber(size, sizeOf(w, clues)));
}

/** Whether a month or an ordinal is part of a date, according to its neighbours. */
function inDate(
  /** @type {Document} */ document,
  /** @type {any} */ clues,
  /** @type {number} */ k,
  /** @type {string} */ word,
) {
  const ordinal = clues.ordinal_words.has(word);
  if (!ordinal && !clues.months.has(word)) return false;
  const places = beside(document, k, clues.joining);
  if (ordinal) return places.some((i) => isMonth(document, clues, i, i > k));
  const words = places.map((i) => wordAt(document, i));
  if (words.some(hasDigit) || clues.before_months.has(wordAt(document, k - 1))) return true;
  return isMonth(document, clues, k, false) && words.some((w) => clues.ordinal_words.has(w));
}

/** Whether token i is certainly a month: no other word, or with a capital, or, if "after", after "of". */
function isMonth(
  /** @type {Document} */ document,
  /** @type {any} */ clues,
  /** @type {number} */ i,
  /** @type {boolean} */ after,
) {
  const word = wordAt(document, i);
  if (!clues.months.has(word)) return false;
  const sure = !clues.months_or_words.has(word) || upper(first(document.tokens[i].text));
  return sure || (after && clues.before_months.has(wordAt(document, i - 1)));
}

/** Whether a possible name is one, according to the previous or next token. */
const isCalled = (/** @type {Document} */ document, /** @type {any} */ clues, /** @type {number} */ k) =>
  clues.before_names.has(wordAt(document, k - 1)) || clues.after_names.has(wordAt(document, k + 1));

/** Whether token k, a lone letter, is one of several that spell a word. */
function isSpelled(/** @type {Document} */ document, /** @type {any} */ clues, /** @type {number} */ k) {
  const { tokens } = document;
  return [-1, 1].some((step) => {
    let i = k + step;
    while (tokens[i] && SPELLING_MARKS.has(tokens[i].text)) i += step;
    const word = wordAt(document, i);
    return [...word].length === 1 && tokens[i].kind === "word" && !clues.common.has(word);
  });
}

/** How a word counts as a number: "large" alone, "small", "digit" or "ordinal" next to another; or "". */
function sizeOf(/** @type {string} */ word, /** @type {any} */ clues) {
  if (hasDigit(word)) return "large";
  if (clues.small_numbers.has(word)) return "small";
  if (clues.digit_words.has(word)) return "digit";
  if (clues.ordinal_words.has(word)) return "ordinal";
  const parts = word.split("-");
  const lists = [clues.numbers, clues.small_numbers, clues.digit_words, clues.ordinal_words, clues.number_units];
  if (!parts.every((part) => lists.some((list) => list.has(part)))) return "";
  const small = parts.filter((part) => clues.small_numbers.has(part)).length;
  const digits = small + parts.filter((part) => clues.digit_words.has(part)).length;
  if (parts.some((part) => clues.numbers.has(part)) || (small && digits > 1)) return "large";
  return clues.small_numbers.has(parts[0]) ? "small" : "";
}

/** Whether a word alone is a number. */
export const isNumberWord = (/** @type {string} */ word, /** @type {any} */ clues) => sizeOf(word, clues) === "large";

function sameNumber(/** @type {string} */ one, /** @type {string} */ other) {
  if (!other || (one === "digit" && other === "digit")) return false;
  return (one !== "ordinal" && other !== "ordinal") || one === "large" || other === "large";
}

/** Token i in the form of the lists, "" if there is none. */
const wordAt = (/** @type {Document} */ { tokens }, /** @type {number} */ i) =>
  tokens[i] ? plainForm(tokens[i].text) : "";

/**
 * The indices of the nearest words on each side, past punctuation and connecting words; outside the text if there is
 * none.
 */
function beside(/** @type {Document} */ { tokens }, /** @type {number} */ k, /** @type {Set<string>} */ between) {
  const passed = (/** @type {import("./text.js").Token} */ { kind, text }) =>
    kind === "punct" || kind === "symbol" || between.has(plainForm(text));
  return [-1, 1].map((step) => {
    let i = k + step;
    while (tokens[i] && passed(tokens[i])) i += step;
    return i;
  });
}

/** Whether a word directly next to a token is in capitals. */
function shouted(/** @type {Document} */ { tokens }, /** @type {number} */ k) {
  return [k - 1, k + 1].some((i) => tokens[i] && allUpper(tokens[i].text) && [...tokens[i].text].length > 1);
}
