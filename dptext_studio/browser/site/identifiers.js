// @ts-check
// Names, places, dates, numbers and addresses of a text by rules and short lists, as dptext_core/measure/pii_survival.py finds
// them, without a pipeline beside the rules.

import { allUpper, canBegin, cluesOf, first, gapOf, namesAndNumbers, plainForm, upper } from "./names_and_numbers.js";
import { S, W, anyCase, escaped, isDigit } from "./text.js";

/** @typedef {import("./text.js").Document} Document */
/** @typedef {{kind: string, text: string, words: number[]}} PiiSpan words: the tokens that tell something */

const re = (/** @type {string} */ source, flags = "gu") => new RegExp(source, flags);
const D = "\\p{Nd}";
const START = `(?<![${W}])`;
const END = `(?![${W}])`;
const MAIL = re(`(?<![${W}.+\\-])[${W}.+\\-]{1,64}@[${W}\\-]+(?:\\.[${W}\\-]+)+`);
const WEB = re(
  `${START}(?:[a-zA-ZıİſK][a-zA-ZıİſK0-9+.\\-]{1,15}:\\/\\/|[wW]{3}\\.)[^${S}<>"“”«»]*[^${S}<>"“”«».,;:!?'’)\\]]`,
);
const PHONE = re(`(?<![${W}.,\\/+\\-])(?:\\+|\\()?${D}(?:[ .()\\/\\-]{0,2}${D}){6,14}(?![${W}]|[.,\\/\\-]${D})`);
const YEAR = `(?:19|20)${D}${D}`;
const YEARS = re(`^${YEAR}[ .\\/\\-]{1,2}${YEAR}$`, "u");
const NUMERIC =
  `${D}{4}[\\-\\/.]${D}{1,2}[\\-\\/.]${D}{1,2}|${D}{1,2}[\\-\\/.]${D}{1,2}[\\-\\/.](?:${D}{4}|${D}${D})`;
const BLANK = "[ \\u00a0]";

const alnum = (/** @type {string} */ text) => /[\p{L}\p{N}]/u.test(text);

/** What dates are made of in this language. */
function dates(/** @type {any} */ clues) {
  const either = (/** @type {Iterable<string>} */ words) =>
    [...words].sort((a, b) => b.length - a.length).map((w) => anyCase(escaped(w))).join("|") || "(?!)";
  const day = `${D}{1,2}(?:${either(clues.ordinals)})?`;
  const month =
    `(?:${day}${BLANK}(?:(?:${either(clues.joining)})${BLANK})?)?(?:${either(clues.months)})${END}(?:\\.(?=${BLANK}${D}))?` +
    `(?:${BLANK}${day}${END})?(?:,?${BLANK}${YEAR}${END})?`;
  const year = `(?:${either(clues.before_year)})${BLANK}(?:${anyCase("the")}${BLANK})?(?<year>${YEAR})`;
  return re(
    `(?<![${W}.\\/\\-])(?:${NUMERIC})(?![${W}]|[\\/\\-])|${START}${month}|${START}(?:${either(clues.weekdays)})${END}` +
      `|${START}${year}(?![${W}]|[.,\\/\\-]${D})`,
    "dgu",
  );
}

/** @type {{of: any, pattern: RegExp} | null} */
let made = null;

/** The pattern of dates, made once. */
function patternOf(/** @type {any} */ given) {
  if (!made || made.of !== given) made = { of: given, pattern: dates(given) };
  return made.pattern;
}

/** What the rules find in a text, in order; no two overlap. @returns {PiiSpan[]} */
export function findPii(/** @type {Document} */ document, /** @type {any} */ given) {
  return new Search(document, given).found();
}

/** One pass over a text, as the core's class of that name. */
class Search {
  constructor(/** @type {Document} */ document, /** @type {any} */ given) {
    const { text, tokens } = document;
    this.document = document;
    this.text = text;
    this.tokens = tokens;
    this.pattern = patternOf(given);
    this.clues = cluesOf(given);
    this.words = tokens.map((t) => plainForm(t.text));
    this.written = namesAndNumbers(document, given);
    this.small = !/\p{Uppercase}/u.test(text);
    /** @type {Map<number, string>} */
    this.kinds = new Map();
    /** @type {Map<number, number>} */
    this.ends = new Map();
    /** @type {Set<number>} */
    this.used = new Set();
  }

  found() {
    this.addresses();
    this.dates();
    this.listedPlaces();
    this.namedPlaces();
    this.names();
    this.others();
    return [...this.kinds].sort((a, b) => a[0] - b[0]).map(([from, kind]) => {
      const end = this.ends.get(from) ?? from + 1;
      const words = [];
      for (let k = from; k < end; k += 1) if (alnum(this.tokens[k].text)) words.push(k);
      const tell = words.filter((k) => this.tokens[k].kind !== "clitic" && !this.joins(kind, this.words[k]));
      const text = this.text.slice(this.tokens[from].start, this.tokens[end - 1].end);
      return { kind, text, words: tell.length ? tell : words };
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

  /** Whether a token is written with a capital as a name is. */
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

  begins(/** @type {number} */ k) {
    return canBegin(this.document, k);
  }

  addresses() {
    for (const [kind, pattern] of /** @type {[string, RegExp][]} */ ([["e-mail address", MAIL], ["web address", WEB]])) {
      for (const m of this.text.matchAll(pattern)) this.takeSpan(kind, m.index, m.index + m[0].length);
    }
  }

  dates() {
    for (const m of this.text.matchAll(this.pattern)) {
      const [a, b] = m.indices?.groups?.year ?? [m.index, m.index + m[0].length];
      const found = this.text.slice(a, b);
      if (this.clues.months_or_words.has(found.toLowerCase().replace(/\.+$/, ""))) {
        const at = this.tokens.findIndex((t) => t.start >= a);
        if (!upper(first(found)) || (at >= 0 && this.begins(at))) continue;
      }
      this.takeSpan("date", a, b);
    }
    for (const m of this.text.matchAll(PHONE)) {
      const found = m[0];
      const apart = found.replace(/^[+()]+|[+()]+$/g, "").split(/\P{Nd}+/u);
      if (YEARS.test(found) || !apart.every((part) => part)) continue;
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
      if (!titles.has(this.words[k]) || !this.follows(k + 1)) continue;
      if (!this.small) this.take("name", k + 1, this.run(k + 1));
      else if (short.has(this.words[k]) && !common.has(this.words[k + 1])) this.take("name", k + 1, k + 2);
    }
    for (let k = 0; k < n; k += 1) {
      if (!(this.capital(k) && capitals && !this.begins(k)) || titles.has(this.words[k])) continue;
      const clitic = k + 1 < n && this.tokens[k + 1].kind === "clitic";
      // k is no beginning, so that a token stands before it.
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
  }

  /** The end of a run of capitals, in which small words as "von" may stand. */
  run(/** @type {number} */ from) {
    let end = from;
    for (let k = from; k < this.tokens.length && (k === from || this.follows(k)); k += 1) {
      if (this.capital(k)) end = k + 1;
      else if (this.used.has(k) || !this.clues.particles.has(this.words[k])) break;
    }
    return end;
  }

  /** Numbers, and what else is replaced though it may be a stop word. */
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
