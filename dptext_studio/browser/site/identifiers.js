// @ts-check
// Names, places, dates, numbers and addresses of a text, found by rules and short lists as in
// dptext_core/detectors/rules.py, with its patterns and lists from core.json.

import { allUpper, canBegin, cluesOf, first, gapOf, isNumberWord, namesAndNumbers, plainForm, upper } from "./names_and_numbers.js";
import { isDigit } from "./text.js";

/** @typedef {import("./text.js").Document} Document */
/**
 * @typedef {object} PiiSpan
 * @property {string} kind
 * @property {string} text
 * @property {number} first its first token
 * @property {number} end the token after its last one
 * @property {number[]} words the tokens that identify
 */

const alnum = (/** @type {string} */ text) => /[\p{L}\p{N}]/u.test(text);

/** @type {{of: any, search: Record<string, RegExp>, whole: Record<string, RegExp>} | null} */
let made = null;

/** The patterns of the language, compiled once: for searching, and for whole words. */
function patternsOf(/** @type {any} */ given) {
  if (!made || made.of !== given) {
    const all = (/** @type {(source: string) => RegExp} */ compile) =>
      Object.fromEntries(Object.entries(given.detection.patterns).map(([name, source]) => [name, compile(source)]));
    made = { of: given, search: all((s) => new RegExp(s, "dgu")), whole: all((s) => new RegExp(`^(?:${s})$`, "u")) };
  }
  return made;
}

/** Whether a whole word matches a pattern. */
export const isWhole = (/** @type {any} */ language, /** @type {string} */ name, /** @type {string} */ text) =>
  patternsOf(language).whole[name].test(text);

/**
 * What a detector flags in a text, in order; no two overlap.
 * @param {Document} document
 * @param {any} language "language" of core.json
 * @param {string} detector "rules", or "words": those that identify by themselves
 * @returns {PiiSpan[]}
 */
export function findPii(document, language, detector = "rules") {
  const search = new Search(document, language);
  if (detector === "rules") search.rules();
  else search.alone();
  return search.spans();
}

/** One search of a text, like the class of that name in rules.py. */
class Search {
  constructor(/** @type {Document} */ document, /** @type {any} */ given) {
    const { text, tokens } = document;
    this.document = document;
    this.text = text;
    this.tokens = tokens;
    this.language = given;
    this.patterns = patternsOf(given);
    this.clues = cluesOf(given.clues);
    this.words = tokens.map((t) => plainForm(t.text));
    this.written = namesAndNumbers(document, given.clues);
    this.small = !/\p{Uppercase}/u.test(text);
    /** @type {Map<number, string>} */
    this.kinds = new Map();
    /** @type {Map<number, number>} */
    this.ends = new Map();
    /** @type {Set<number>} */
    this.used = new Set();
  }

  rules() {
    this.addresses();
    this.dates();
    this.listedPlaces();
    this.namedPlaces();
    this.names();
    this.others();
  }

  /** The words that identify in every context. */
  alone() {
    this.tokens.forEach((_, k) => {
      const kind = this.kindAlone(k);
      if (kind) this.take(kind, k, k + 1);
    });
  }

  /** The spans that were found, in order. */
  spans() {
    return [...this.kinds].sort((a, b) => a[0] - b[0]).map(([from, kind]) => {
      const end = this.ends.get(from) ?? from + 1;
      const words = [];
      for (let k = from; k < end; k += 1) if (alnum(this.tokens[k].text)) words.push(k);
      const tell = words.filter((k) => this.tokens[k].kind !== "clitic" && !this.joins(kind, this.words[k]));
      const text = this.text.slice(this.tokens[from].start, this.tokens[end - 1].end);
      return { kind, text, first: from, end, words: tell.length ? tell : words };
    });
  }

  joins(/** @type {string} */ kind, /** @type {string} */ word) {
    const { joining, particles, place_ends: ends } = this.clues;
    return joining.has(word) || particles.has(word) || (kind === "place" && ends.has(word));
  }

  take(/** @type {string} */ kind, /** @type {number} */ from, /** @type {number} */ end) {
    for (let k = from; k < end; k += 1) if (this.used.has(k)) return;
    if (from >= end) return;
    this.kinds.set(from, kind);
    this.ends.set(from, end);
    for (let k = from; k < end; k += 1) this.used.add(k);
  }

  takeSpan(/** @type {string} */ kind, /** @type {number} */ a, /** @type {number} */ b) {
    const after = this.tokens.findIndex((t) => t.start > a);
    const end = this.tokens.findIndex((t) => t.start >= b);
    const all = this.tokens.length;
    this.take(kind, Math.max(0, (after < 0 ? all : after) - 1), end < 0 ? all : end);
  }

  /** The kind of a token that identifies alone; "" for any other. */
  kindAlone(/** @type {number} */ k) {
    const { text, kind } = this.tokens[k];
    const [word, { clues }, large] = [this.words[k], this, upper(first(text))];
    const whole = (/** @type {string} */ name) => this.patterns.whole[name].test(text);
    if (whole("mail")) return "e-mail address";
    if (whole("web")) return "web address";
    if ([...text].some(isDigit)) return whole("numeric") ? "date" : "number";
    if (kind !== "word") return "";
    if (clues.first_names.has(word) || (large && clues.names_or_words.has(word))) return "name";
    if (clues.months.has(word) || clues.weekdays.has(word)) return large || !clues.months_or_words.has(word) ? "date" : "";
    if (clues.places.has(word)) return large || !clues.places_or_words.has(word) ? "place" : "";
    return isNumberWord(word, clues) ? "number" : "";
  }

  /** Whether a token is capitalised like a name. */
  capital(/** @type {number} */ k) {
    const { text, kind } = this.tokens[k];
    return (
      !this.used.has(k) && kind === "word" && upper(first(text)) &&
      (!allUpper(text) || [...text.replace(/\.+$/, "")].length === 1) &&
      (!this.clues.common.has(this.words[k]) || this.written.get(k) === "name") &&
      !this.clues.always_large.has(this.words[k])
    );
  }

  follows(/** @type {number} */ k) {
    return k > 0 && k < this.tokens.length && /^[ \u00a0]+$/.test(gapOf(this.document, k));
  }

  /** Whether a capital begins the line directly after the previous token, and is no label. */
  beginsLine(/** @type {number} */ k) {
    const wraps = /^[ \u00a0]*(?:\r\n|\n|\r)[ \u00a0]*$/.test(gapOf(this.document, k));
    return wraps && upper(first(this.tokens[k].text)) && this.tokens[k + 1]?.text !== ":";
  }

  /** The token after the title at k, in the same line, or after a short one on the next; −1 if there is none. */
  afterTitle(/** @type {number} */ k) {
    if (this.follows(k + 1)) return k + 1;
    if (!this.clues.short_titles.has(this.words[k])) return -1;
    const dot = k + 2 < this.tokens.length && this.tokens[k + 1].text === "." && gapOf(this.document, k + 1) === "";
    const after = k + (dot ? 2 : 1);
    return this.beginsLine(after) ? after : -1;
  }

  begins(/** @type {number} */ k) {
    return canBegin(this.document, k);
  }

  addresses() {
    for (const [kind, pattern] of /** @type {[string, string][]} */ ([["e-mail address", "mail"], ["web address", "web"]])) {
      for (const m of this.text.matchAll(this.patterns.search[pattern])) this.takeSpan(kind, m.index, m.index + m[0].length);
    }
  }

  dates() {
    for (const m of this.text.matchAll(this.patterns.search.dates)) {
      const [a, b] = m.indices?.groups?.year ?? [m.index, m.index + m[0].length];
      const found = this.text.slice(a, b);
      if (this.clues.months_or_words.has(found.toLowerCase().replace(/\.+$/, ""))) {
        const at = this.tokens.findIndex((t) => t.start >= a);
        if (!upper(first(found)) || (at >= 0 && this.begins(at))) continue;
      }
      this.takeSpan("date", a, b);
    }
    for (const m of this.text.matchAll(this.patterns.search.phone)) {
      const found = m[0];
      const apart = found.replace(/^[+()]+|[+()]+$/g, "").split(/\P{Nd}+/u);
      if (this.patterns.whole.years.test(found) || !apart.every((part) => part)) continue;
      if ("+(0".includes(found[0]) || apart.length > 1) this.takeSpan("phone number", m.index, m.index + found.length);
    }
  }

  listedPlaces() {
    const { places, places_or_words: either, longest_place: longest } = this.clues;
    const n = this.tokens.length;
    for (let k = 0; k < n; k += 1) {
      for (let size = Math.min(longest, n - k); size > 0; size -= 1) {
        const name = this.words.slice(k, k + size).join(" ");
        if (!places.has(name)) continue;
        let together = true;
        for (let j = k + 1; j < k + size; j += 1) together &&= this.follows(j);
        const large = upper(first(this.tokens[k].text));
        if (!together || (either.has(name) && (!large || this.begins(k)))) continue;
        if (large || this.small) {
          this.take("place", k, k + size);
          break;
        }
      }
    }
  }

  /** Capitals before Lane or Hospital, with the number of the house. */
  namedPlaces() {
    this.words.forEach((word, k) => {
      if (!this.clues.place_ends.has(word) || !upper(first(this.tokens[k].text)) || this.used.has(k)) return;
      let from = k;
      while (from) {
        const before = this.tokens[from - 1].kind === "clitic" ? from - 2 : from - 1;
        if (before < 0 || !this.follows(from) || !this.capital(before)) break;
        from = before;
      }
      if (from === k) return;
      if (this.follows(from) && this.tokens[from - 1].kind === "number") from -= 1;
      this.take("place", from, k + 1);
    });
  }

  names() {
    const { titles, common, capitals, first_names: firsts, before_place: before, short_titles: short } = this.clues;
    const n = this.tokens.length;
    for (let k = 0; k < n - 1; k += 1) {
      const after = titles.has(this.words[k]) ? this.afterTitle(k) : -1;
      if (after < 0) continue;
      if (!this.small) this.take("name", after, this.run(after));
      else if (short.has(this.words[k]) && !common.has(this.words[after])) this.take("name", after, after + 1);
    }
    for (let k = 0; k < n; k += 1) {
      if (!(this.capital(k) && capitals && !this.begins(k)) || titles.has(this.words[k])) continue;
      const clitic = k + 1 < n && this.tokens[k + 1].kind === "clitic";
      // A token precedes k, because k begins nothing.
      const place = before.has(this.words[k - 1]) && !firsts.has(this.words[k]) && !clitic;
      const own = !place && this.follows(k) && this.begins(k - 1) && this.capital(k - 1);
      const known = titles.has(this.words[k - 1]) || firsts.has(this.words[k]);
      this.take(place ? "place" : "name", own && !known ? k - 1 : k, this.run(k));
    }
    /** @type {Set<string>} */
    const known = new Set();
    for (const [from, kind] of this.kinds) {
      if (kind !== "name") continue;
      for (let k = from; k < (this.ends.get(from) ?? from); k += 1) known.add(this.words[k]);
    }
    for (let k = 0; k < n; k += 1) {
      const { kind, text } = this.tokens[k];
      if (kind !== "word" || this.used.has(k) || !(this.small || upper(first(text)))) continue;
      let is = firsts.has(this.words[k]) || (!this.small && this.clues.names_or_words.has(this.words[k]));
      if (!this.small && this.begins(k) && capitals && !titles.has(this.words[k])) {
        const beside = this.follows(k + 1) && this.capital(k + 1) && this.capital(k);
        is = is || beside || (known.has(this.words[k]) && this.capital(k));
      }
      if (is) this.take("name", k, Math.max(k + 1, this.run(k)));
    }
    this.wrappedNames();
  }

  /** A surname that begins the line after its first name; two capitals there are more likely a heading. */
  wrappedNames() {
    for (const [from, kind] of [...this.kinds]) {
      const k = this.ends.get(from) ?? from;
      if (kind !== "name" || k >= this.tokens.length || !this.clues.first_names.has(this.words[k - 1])) continue;
      if (this.beginsLine(k) && !this.clues.titles.has(this.words[k]) && this.run(k) === k + 1) this.take("name", k, k + 1);
    }
  }

  /** The end of a run of capitals, which may contain small words such as "von". */
  run(/** @type {number} */ from) {
    let end = from;
    for (let k = from; k < this.tokens.length && (k === from || this.follows(k)); k += 1) {
      if (this.capital(k)) end = k + 1;
      else if (this.used.has(k) || !this.clues.particles.has(this.words[k])) break;
    }
    return end;
  }

  /** Numbers, and other words that are replaced even if they are stop words. */
  others() {
    for (const [k, kind] of this.written) {
      const word = this.words[k];
      const common = [...word].length === 1 || this.clues.common.has(word) || this.clues.names_or_words.has(word);
      if (kind !== "name" || this.small || common || upper(first(this.tokens[k].text))) this.take(kind, k, k + 1);
    }
    this.tokens.forEach((token, k) => {
      if ([...token.text].some(isDigit)) this.take("number", k, k + 1);
    });
  }
}
