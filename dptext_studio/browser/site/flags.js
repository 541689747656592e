// @ts-check
// The tokens that a detector flags, their types, and the shapes that stand-ins keep, as in
// dptext_core/mechanisms/detected/flags.py.

import { findPii, isWhole } from "./identifiers.js";
import { cluesOf, plainForm, upper } from "./names_and_numbers.js";
import { sha512 } from "./sha512.js";
import { isDigit } from "./text.js";

/** @typedef {import("./blocklist.js").Blocklist} Blocklist */
/** @typedef {import("./text.js").Document} Document */
/** @typedef {import("./identifiers.js").PiiSpan} PiiSpan */
/** form: the list or the shape that a stand-in comes from; same: the first token with the same form and word.
 * @typedef {{token: number, kind: string, form: string, same: number}} Flag */

/** The spans that a detector flags, cut at words of the allowlist: [kind, first token, end].
 * @returns {[string, number, number][]} */
export function flagSpans(
  /** @type {Document} */ document, /** @type {any} */ language, /** @type {string} */ detector, /** @type {Blocklist} */ allowlist,
) {
  /** @type {[string, number, number][]} */
  const out = [];
  for (const { kind, first, end } of findPii(document, language, detector)) {
    let from = first;
    for (let i = first; i <= end; i += 1) {
      if (i < end && !allowlist.holds(document.tokens[i].text)) continue;
      if (i > from) out.push([kind, from, i]);
      from = i + 1;
    }
  }
  return out;
}

/** The tokens that a detector flags and that are not on the allowlist. @returns {Flag[]} */
export function flagTokens(
  /** @type {Document} */ document, /** @type {any} */ language, /** @type {string} */ detector, /** @type {Blocklist} */ allowlist,
) {
  /** @type {[number, string, string, string][]} */
  const found = [];
  for (const span of findPii(document, language, detector)) {
    for (const [place, token] of span.words.entries()) {
      const { text } = document.tokens[token];
      if (allowlist.holds(text)) continue;
      found.push([token, span.kind, formOf(document, language, span, token, place, detector), plainForm(text)]);
    }
  }
  // "Haddad" alone is the family name of "Omar Haddad", so that both get one stand-in.
  const families = new Set(found.filter(([, , form]) => form === "family name").map(([, , , word]) => word));
  /** @type {Map<string, number>} */
  const seen = new Map();
  return found.map(([token, kind, alone, word]) => {
    const form = alone === "first name" && families.has(word) ? "family name" : alone;
    const same = seen.get(`${form}\n${word}`) ?? token;
    seen.set(`${form}\n${word}`, same);
    return { token, kind, form, same };
  });
}

function formOf(
  /** @type {Document} */ { tokens }, /** @type {any} */ language, /** @type {PiiSpan} */ span, /** @type {number} */ token,
  /** @type {number} */ place, /** @type {string} */ detector,
) {
  const clues = cluesOf(language.clues);
  const { text } = tokens[token];
  const word = plainForm(text);
  if (span.kind === "e-mail address" || span.kind === "web address") return span.kind;
  if ([...text].some(isDigit)) return digitsForm(text, span.kind, language, clues);
  if (span.kind === "name") {
    if ([...word].length === 1) return "initial";
    const before = span.first && language.detection.context[detector] ? plainForm(tokens[span.first - 1].text) : "";
    // The last name of a line may have its surname on the next one.
    const wrapped = clues.first_names.has(before) && !clues.first_names.has(word);
    return place || clues.titles.has(before) || wrapped ? "family name" : "first name";
  }
  if (span.kind === "place") {
    const ends = tokens.slice(span.first, span.end).some((t) => clues.place_ends.has(plainForm(t.text)));
    return ends ? "street" : "place";
  }
  if (clues.months.has(word) || clues.weekdays.has(word)) return clues.months.has(word) ? "month" : "weekday";
  return clues.ordinal_words.has(word) ? "ordinal word" : "number word";
}

function digitsForm(/** @type {string} */ text, /** @type {string} */ kind, /** @type {any} */ language, /** @type {any} */ clues) {
  const endings = new Set([...clues.ordinals].flatMap((o) => [...o]));
  const chars = [...text];
  while (chars.length && endings.has(chars[chars.length - 1])) chars.pop();
  const digits = chars.join("");
  const decimal = (/** @type {string} */ s) => /^\p{Nd}+$/u.test(s);
  if (decimal(digits) && clues.ordinals.has(text.slice(digits.length).toLowerCase())) return "ordinal";
  const size = [...text].length;
  if (kind === "date" && decimal(text) && [1, 2, 4].includes(size)) return size === 4 ? "year" : "day";
  return shapeOf(text, language, clues);
}

/** A token with 9 for each digit, A and a for letters. Units such as "years" and "kg" are unchanged. */
function shapeOf(/** @type {string} */ text, /** @type {any} */ language, /** @type {any} */ clues) {
  const unit = new RegExp(language.detection.patterns.unit, "u").exec(text);
  const head = unit ? text.slice(0, unit.index) : text;
  const parts = head.split(/([-\u2010\u2011])/u);
  const shaped = parts.map((p) => (clues.number_units.has(p.toLowerCase()) ? p : [...p].map(classOf).join("")));
  return shaped.join("") + (unit ? unit[0] : "");
}

function classOf(/** @type {string} */ c) {
  if (isDigit(c)) return "9";
  if (!/^\p{L}$/u.test(c)) return c;
  return upper(c) ? "A" : "a";
}

/** Public stand-ins by form, in a fixed order, each once, as in dptext_core/mechanisms/detected/stand_ins.py. */
export class StandIns {
  /** @param {any} language "language" of core.json @param {Record<string, string[]>} lists those of forms that are no shape */
  constructor(language, lists) {
    this.language = language;
    this.lists = new Map(Object.entries(lists));
  }

  /** The possible outputs for a form. A shape comes from a text, so its words are not cached. @returns {string[]} */
  of(/** @type {string} */ form) {
    return this.lists.get(form) ?? this.shaped(form);
  }

  shaped(/** @type {string} */ shape) {
    const { many, ages: [youngest, oldest] } = this.language.detection;
    const all = Array.from({ length: many }, (_, k) => k);
    if (isWhole(this.language, "date_shape", shape)) return [...new Set(all.map((k) => this.dated(shape, k)))];
    if (isWhole(this.language, "time_shape", shape)) return [...new Set(all.map((k) => timed(shape, k)))];
    const runs = shape.match(/9+/g) ?? [];
    const chars = [...shape];
    const letter = this.letters(chars);
    if (runs.length === 1 && runs[0].length <= 3 && !letter.includes(true)) {
      const size = runs[0].length;
      const [from, to] = size === 2 ? [youngest, oldest] : [10 ** (size - 1), 10 ** size];
      return Array.from({ length: to - from }, (_, n) => shape.replace(runs[0], String(from + n)));
    }
    return [...new Set(all.map((k) => filled(chars, letter, sha512(`${shape}:${k}`))))];
  }

  /** Which characters stand for a letter. Those of a unit are unchanged. */
  letters(/** @type {string[]} */ chars) {
    const mask = chars.map((c) => c === "A" || c === "a");
    const units = cluesOf(this.language.clues).number_units;
    for (let from = 0; from < chars.length; ) {
      let to = from;
      while (to < chars.length && /^[a-z]$/.test(chars[to])) to += 1;
      const part = chars.slice(from, to).join("");
      if (part && (units.has(part) || /[^a]/.test(part))) mask.fill(false, from, to);
      from = to + 1;
    }
    return mask;
  }

  /** A valid day in this order of year, month and day; day is at most 12. */
  dated(/** @type {string} */ shape, /** @type {number} */ k) {
    const when = new Date(Date.UTC(this.language.detection.years[0], 0, 1 + ((k * 7919) % 35_000)));
    const parts = shape.match(/9+|[^9]+/g) ?? [];
    const slots = [...parts.keys()].filter((i) => parts[i][0] === "9");
    const values = { year: when.getUTCFullYear(), month: when.getUTCMonth() + 1, day: (when.getUTCDate() % 12) + 1 };
    const withoutDay = slots.length === 2 && parts[slots[1]].length === 4;
    const order = /** @type {("year" | "month" | "day")[]} */ (
      parts[slots[0]].length === 4 ? ["year", "month", "day"] : ["day", "month", "year"].slice(Number(withoutDay)));
    slots.forEach((slot, n) => {
      const size = parts[slot].length;
      const value = order[n] === "year" ? values.year % 10 ** Math.min(size, 4) : values[order[n]];
      parts[slot] = String(size === 1 && order[n] !== "year" ? (value % 9) + 1 : value).padStart(size, "0");
    });
    return parts.join("");
  }
}

/** A time of day: before "am" and "pm", from 1 to 12 o'clock. */
function timed(/** @type {string} */ shape, /** @type {number} */ k) {
  const moment = (k * 7919) % 1440;
  const [head, ...rest] = shape.split(":");
  const halved = shape.endsWith("m");
  const hour = Math.floor(moment / 60);
  const shown = head.length === 1 ? (hour % 9) + 1 : halved ? (hour % 12) + 1 : hour;
  const values = [moment % 60, (k * 31) % 60].slice(0, rest.length).map((v) => String(v).padStart(2, "0"));
  return [String(shown).padStart(head.length, "0"), ...values].join(":") + (halved ? shape.slice(-2) : "");
}

/** A word of a shape, by the bytes of its hash. */
function filled(/** @type {string[]} */ chars, /** @type {boolean[]} */ letter, /** @type {Uint8Array} */ bytes) {
  return chars.map((c, i) => {
    const byte = bytes[i % bytes.length];
    if (c === "9") return String(i === 0 || chars[i - 1] !== "9" ? (byte % 9) + 1 : byte % 10);
    return letter[i] ? String.fromCharCode(c.charCodeAt(0) + (byte % 26)) : c;
  }).join("");
}
