// @ts-check
// A text as tokens with spans, as in dptext_core/text/document.py, and back, as in text/skeleton.py. The lists of the
// language (core.json, "language") are the core's. Offsets are those of JavaScript strings in the visible part of a
// text, as nothing else is read.

import { reader } from "./visible.js";

/** @typedef {{text: string, start: number, end: number, kind: string}} Token */
/** text: the visible part of the input; removed: how many characters are invisible.
 * @typedef {{text: string, tokens: Token[], removed?: number}} Document */

// Python's character classes isalnum, \w and isspace. JavaScript's \s and \w differ.
const A = "\\p{L}\\p{N}";
export const ALNUMS = A;
export const W = `${A}_`;
export const S = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const re = (/** @type {string} */ source, flags = "u") => new RegExp(source, flags);
// Letters of either case according to Python. The flag "i" would also let a class like \\p{L} match marks.
export const anyCase = (/** @type {string} */ text) =>
  text.replace(/[a-z]/g, (c) => `[${c}${c.toUpperCase()}${{ s: "ſ", k: "\u212a", i: "ıİ" }[c] ?? ""}]`);
export const escaped = (/** @type {string} */ text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

const ALNUM = re(`^[${A}]$`);
const ALPHA = /^\p{L}+$/u;
const SPACE = re(`^[${S}]$`);
const MODIFIER = /^[\p{Mn}\p{Mc}\p{Me}\p{Cf}]$/u;
const FORMAT = /^\p{Cf}$/u;
export const NEWLINE = /[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;
const CLOSERS = "\"'”’»›)]}」』）】";
const WIDE_ENDERS = "。！？｡";
const APOSTROPHES = "'’ʼ＇";
const BREAKS = new Set("，。、；：！？｡「」『』（）《》【】،؛؟۔।…“”„«»—");
const ADDRESS_TAIL = ".,;:!?'’)]}>…»”*_";
const LONGEST_SENTENCE = 20000;
const LETTERS = 100; // of a word or number that are read, in code points
const PUNCT = "!-\\/:-@\\[-`{-~";

const ADDRESS = re(
  `(?<![${W}.+\\-])[${W}.+\\-]+@[${W}\\-]+(?:\\.[${W}\\-]+)+` +
    `|(?<![${W}])(?:[a-zA-ZıİſK][a-zA-ZıİſK0-9+.\\-]{1,15}:\\/\\/|[wW]{3}\\.)[^${S}<>"“”«»]+`,
  "gu",
);
const INITIALS = /^[\p{L}\p{Nl}\p{No}](?:\.[\p{L}\p{Nl}\p{No}])*$/u;
const NEXT_WORD = re(`[${S}"'“‘«(\\[]*([${A}]+)`, "uy");

const isAlnum = (/** @type {string} */ c) => ALNUM.test(c);
const isSpace = (/** @type {string} */ c) => SPACE.test(c);
export const wordish = (/** @type {string} */ c) => isAlnum(c) || MODIFIER.test(c);
const symbolic = (/** @type {string} */ c) =>
  /^[\p{So}\p{Co}\p{Cn}]$/u.test(c) || (/^\p{Sk}$/u.test(c) && (c.codePointAt(0) ?? 0) > 0xffff);

/** The character that begins at i, and the one that ends before i. */
const at = (/** @type {string} */ text, /** @type {number} */ i) => String.fromCodePoint(text.codePointAt(i) ?? 0);
function before(/** @type {string} */ text, /** @type {number} */ i) {
  const low = text.charCodeAt(i - 1);
  const pair = i > 1 && low >= 0xdc00 && low < 0xe000 && (text.charCodeAt(i - 2) & 0xfc00) === 0xd800;
  return text.slice(i - (pair ? 2 : 1), i);
}

/** The text with straight apostrophes, as the core's ``straight``. */
export const straight = (/** @type {string} */ text) => text.replace(/[’ʼ＇]/g, "'");

/** The kind of a token, which depends on its characters only. */
export function kindOf(/** @type {string} */ text) {
  if (/\p{L}/u.test(text)) return "word";
  if (/\p{N}/u.test(text)) return "number";
  const visible = [...text].filter((c) => !wordish(c));
  return visible.length && visible.every((c) => c === "`" || /\p{P}/u.test(c)) ? "punct" : "symbol";
}

// NLTK's word tokenizer (nltk/tokenize/destructive.py), substitution by substitution, in its order. Its engine's \w and
// \s are Unicode's, and wider and narrower than Python's.
const V = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\u200c\\u200d";
const B = `(?:(?<=[${W}])(?![${W}])|(?<![${W}])(?=[${W}]))`;
/** @type {[RegExp, string][]} */
const NLTK = [
  [/([«“‘„]|`+)/gu, " $1 "],
  [/^"/u, "``"],
  [/(``)/gu, " $1 "],
  [/([ ([{<])("|'{2})/gu, "$1 `` "],
  [re(`(?<![${V}])(')(?!(?:${anyCase("re|ve|ll|m|t|s|d|n")})(?![${V}]))(?=[${V}])`, "gu"), "$1 "],
  [/([^.])(\.)([\])}>"'»”’ ]*)\s*$/u, "$1 $2 $3 "],
  [/([:,])(\P{Nd})/gu, " $1 $2"],
  [/([:,])$/u, " $1 "],
  [/\.{2,}/gu, " $& "],
  [/[;@#$%&]/gu, " $& "],
  [/[\u2012-\u2015]/gu, " $& "],
  [/([^.])(\.)([\])}>"']*)\s*$/u, "$1 $2$3 "],
  [/[?!]/gu, " $& "],
  [/([^'])' /gu, "$1 ' "],
  [/[*]/gu, " $& "],
  [/[\][(){}<>]/gu, " $& "],
  [/--/gu, " -- "],
  [/^/u, " "],
  [/$/u, " "],
  [/([»”’])/gu, " $1 "],
  [/''/gu, " '' "],
  [/"/gu, " '' "],
  [/[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/gu, " "],
  [/([^' ])('[sS]|'[mM]|'[dD]|') /gu, "$1 $2 "],
  [/([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) /gu, "$1 $2 "],
  ...["(can)(not)", "(d)('ye)", "(gim)(me)", "(gon)(na)", "(got)(ta)", "(lem)(me)", "(more)('n)"].map(
    (pair) => /** @type {[RegExp, string]} */ ([re(`${B}${anyCase(pair)}${B}`, "gu"), " $1 $2 "]),
  ),
  [re(`${B}${anyCase("(wan)(na)")}(?=[${S}])`, "gu"), " $1 $2 "],
  [re(` ${anyCase("('t)(is)")}${B}`, "gu"), " $1 $2 "],
  [re(` ${anyCase("('t)(was)")}${B}`, "gu"), " $1 $2 "],
];

function nltk(/** @type {string} */ sentence) {
  let text = sentence;
  for (const [pattern, by] of NLTK) text = text.replace(pattern, by);
  return text.split(re(`[${S}]+`)).filter((t) => t);
}

/** The language's rules, from the lists of the core. */
export class Language {
  /**
   * @param {any} lists "language" of core.json
   * @param {any} table "visible" of core.json
   */
  constructor(lists, table) {
    this.visible = reader(table);
    const ends = anyCase(lists.clitics.map(escaped).join("|"));
    const apart = lists.detached.map((/** @type {string} */ d) => anyCase(escaped(d)).replace(/'/g, `[${APOSTROPHES}]`)).join("|");
    const enders = escaped(lists.enders);
    this.titles = new Set(lists.titles);
    this.abbreviations = new Set(lists.abbreviations);
    this.beforeNumber = new Set(lists.before_number);
    this.starters = new Set(lists.starters);
    this.noInitials = new Set(lists.no_initials);
    this.enders = new Set(lists.enders);
    this.cliticTokens = new Set([...lists.clitics.map((/** @type {string} */ c) => `'${c}`), ...lists.detached]);
    this.irregular = new Map(Object.entries(lists.irregular));
    this.articles = lists.articles;
    this.second = re(`^(?:${lists.articles.second})`);
    this.spelled = re(`^(?:${lists.articles.spelled})`);
    this.tightBefore = new Set(lists.tight_before);
    this.tightAfter = new Set(lists.tight_after);
    const { title, upper } = lists.capitals;
    /** Words in lower case whose most frequent form has capitals. @type {Map<string, string>} */
    this.forms = new Map(title.map((/** @type {string} */ w) => [w, w[0].toUpperCase() + w.slice(1)]));
    for (const w of upper) this.forms.set(w, w.toUpperCase());
    // The closers are matched completely before the text after them is examined.
    this.ending = re(`([${enders}]+)(?:(?=([${escaped(CLOSERS)}]*))\\2(?:(?=[${S}])|(?<=[${WIDE_ENDERS}]))()|)`, "gu");
    const curly = APOSTROPHES.slice(1);
    this.innerApostrophe = re(
      `(?<=[${W}])[${curly}](?=[${W}])|(?<=[${S}])[${curly}](?=(?:${ends})(?![${W}]))`, "gu",
    );
    this.clitic = re(`^[${APOSTROPHES}](?:${ends})$`);
    this.cliticEnd = re(`(?<=[${A}])[${APOSTROPHES}](?:${ends})$`);
    this.reach = Math.max(...lists.clitics.map((/** @type {string} */ c) => c.length)) + 2;
    this.cliticToken = re(`^(?:[${APOSTROPHES}](?:${ends})|${apart})$`);
    const inside = `[^${S}${PUNCT}“”„‘«»—–…]+`;
    this.chunk = re(
      `(?<![^${S}])['’](?:${ends})(?![${A}])|` +
        `${inside}(?:(?:['’._\\/+\\-]|[:,](?=\\p{Nd}))${inside})*(?:\\.(?!\\.))?` +
        `|\\.\\.+|--+|\`\`|''|[^${S}]`,
      "gu",
    );
  }

  /** @returns {Document} */
  parse(/** @type {string} */ given) {
    const { text, removed } = this.visible(given);
    /** @type {[number, number][]} */
    const spans = [];
    for (const [start, end, dots] of this.sentences(text)) {
      if (re(`[^${S}]`).test(text.slice(start, end))) spans.push(...this.spans(text, start, end, dots));
    }
    /** @type {Token[]} */
    const tokens = [];
    for (const [start, end] of spans) {
      const word = text.slice(start, end);
      let kind = kindOf(word);
      const last = tokens.at(-1);
      const after = last && ["word", "number", "clitic"].includes(last.kind) && !ALPHA.test(word);
      if (after && this.cliticToken.test(word) && !NEWLINE.test(text.slice(last.end, start))) kind = "clitic";
      tokens.push({ text: word, start, end, kind });
    }
    return tokens.some((t) => t.text.length > LETTERS) ? { ...cut(text, tokens), removed } : { text, tokens, removed };
  }

  /** @returns {[number, number, Set<number>][]} */
  sentences(/** @type {string} */ text) {
    const ends = [];
    const inner = [];
    for (const match of text.matchAll(this.ending)) {
      if (match[3] === undefined) continue;
      if (match[0] === "." && this.abbreviates(text, match.index)) inner.push(match.index);
      else ends.push(match.index + match[0].length);
    }
    for (const match of text.matchAll(re(NEWLINE.source, "g"))) ends.push(match.index);
    ends.push(text.length);
    ends.sort((a, b) => a - b);
    let start = 0;
    /** @type {[number, number, Set<number>][]} */
    const out = [];
    for (const end of ends) {
      if (end <= start) continue;
      const from = start;
      out.push([from, end, new Set(inner.filter((i) => i >= from && i < end))]);
      start = end;
    }
    return out;
  }

  /** The sentences without surrounding spaces; an empty one does not count. @returns {[number, number][]} */
  sentenceSpans(/** @type {string} */ text) {
    return this.sentences(text).flatMap(([start, end]) => {
      const inside = text.slice(start, end);
      const head = /** @type {RegExpExecArray} */ (re(`^[${S}]*`).exec(inside))[0].length;
      const size = inside.slice(head).replace(re(`[${S}]+$`), "").length;
      return size ? [/** @type {[number, number]} */ ([start + head, start + head + size])] : [];
    });
  }

  abbreviates(/** @type {string} */ text, /** @type {number} */ dot) {
    let start = dot;
    for (let n = 0; start > 0 && n < 12 && !isSpace(before(text, start)); n += 1) start -= before(text, start).length;
    const word = text.slice(start, dot).toLowerCase().replace(/^["'“‘«([]+/, "");
    NEXT_WORD.lastIndex = dot + 1;
    const following = NEXT_WORD.exec(text);
    const after = following ? following[1].toLowerCase() : "";
    if (!word || !after || NEWLINE.test(text.slice(dot + 1, NEXT_WORD.lastIndex))) return false;
    if (this.titles.has(word)) return true;
    if (this.beforeNumber.has(word)) return isDigit(at(after, 0));
    const initials = !this.noInitials.has(word) && INITIALS.test(word);
    return (initials || this.abbreviations.has(word)) && !this.starters.has(after);
  }

  /** @returns {[number, number][]} */
  spans(/** @type {string} */ text, /** @type {number} */ start, /** @type {number} */ end, /** @type {Set<number>} */ dots) {
    let plain = text.slice(start, end).replace(this.innerApostrophe, "'");
    if (plain.includes("@") || plain.includes("://") || plain.toLowerCase().includes("www.")) {
      plain = plain.replace(ADDRESS, hideAddress);
    }
    const found = tokenizerSpans(plain) ??
      [...plain.matchAll(this.chunk)].map((m) => /** @type {[number, number]} */ ([m.index, m.index + m[0].length]));
    /** @type {[number, number][]} */
    const out = [];
    for (const [a, b] of this.joined(plain, found)) {
      for (const [c, d] of this.refined(plain, a, b, start, dots)) out.push([start + c, start + d]);
    }
    return out;
  }

  /** Undo boundaries inside words, but not those before clitics. @returns {[number, number][]} */
  joined(/** @type {string} */ text, /** @type {[number, number][]} */ spans) {
    /** @type {[number, number][]} */
    const out = [];
    for (const [a, b] of spans) {
      const last = out.at(-1);
      if (last && last[1] === a && wordish(before(text, a))) {
        const first = at(text, a);
        const next = a + first.length;
        const inside = wordish(first) ||
          ("'’".includes(first) && next < b && wordish(at(text, next)) && !this.clitic.test(text.slice(a, b)));
        if (inside) {
          last[1] = b;
          continue;
        }
      }
      out.push([a, b]);
    }
    return out;
  }

  /** Split a token at symbols and separating marks, strip marks from its edges, and split off its clitics. */
  refined(
    /** @type {string} */ text, /** @type {number} */ start, /** @type {number} */ end, /** @type {number} */ offset,
    /** @type {Set<number>} */ dots,
  ) {
    /** @type {[number, number][]} */
    const parts = [];
    let run = start;
    let state = "";
    let i = start;
    for (const c of text.slice(start, end)) {
      let now = "word";
      if (!isAlnum(c)) {
        if (BREAKS.has(c)) now = "break";
        else if (symbolic(c) || (state === "symbol" && /^[\p{Mn}\p{Me}\p{Cf}]$/u.test(c))) now = "symbol";
      }
      if (state && now !== state) {
        parts.push(...this.stripped(text, run, i, offset, dots));
        run = i;
      }
      state = now;
      i += c.length;
    }
    parts.push(...this.stripped(text, run, end, offset, dots));
    return parts;
  }

  /** @returns {[number, number][]} */
  stripped(
    /** @type {string} */ text, /** @type {number} */ a, /** @type {number} */ b, /** @type {number} */ offset,
    /** @type {Set<number>} */ dots,
  ) {
    const whole = text.slice(a, b);
    let first = -1;
    let last = -1;
    let i = a;
    for (const c of whole) {
      if (isAlnum(c)) {
        if (first < 0) first = i;
        last = i + c.length;
      }
      i += c.length;
    }
    if (first < 0 || this.clitic.test(whole)) return [[a, b]];
    while (first > a && FORMAT.test(before(text, first))) first -= before(text, first).length;
    while (last < b && MODIFIER.test(at(text, last))) last += at(text, last).length;
    if (["-", "+", "−", ".", "-.", "−."].includes(text.slice(a, first)) && isDigit(at(text, first))) first = a;
    if (last < b && /^\++$/.test(text.slice(last, b))) last = b;
    else if (last < b && text[last] === "." && this.keepsDot(text, first, last, b, offset, dots)) last += 1;
    /** @type {[number, number][]} */
    const parts = first > a ? [[a, first]] : [];
    /** @type {[number, number][]} */
    const clitics = [];
    for (;;) {
      const found = this.cliticEnd.exec(text.slice(Math.max(first, last - this.reach), last));
      if (!found) break;
      clitics.push([last - found[0].length, last]);
      last -= found[0].length;
    }
    parts.push([first, last], ...clitics.slice().reverse());
    const tail = clitics.length ? clitics[0][1] : last;
    return tail < b ? [...parts, [tail, b]] : parts;
  }

  keepsDot(
    /** @type {string} */ text, /** @type {number} */ first, /** @type {number} */ last, /** @type {number} */ end,
    /** @type {number} */ offset, /** @type {Set<number>} */ dots,
  ) {
    if (dots.has(offset + last)) return true;
    if (end === text.length || isSpace(at(text, end))) return false;
    const word = text.slice(first, last).toLowerCase();
    if (this.titles.has(word) || this.abbreviations.has(word)) return true;
    return word.includes(".") && INITIALS.test(word);
  }

  /** Whether a list of stop words has a word or what it is a contraction of. */
  has(/** @type {Set<string>} */ list, /** @type {string} */ word) {
    return this.hasPlain(list, straight(word.toLowerCase()));
  }

  /** @returns {boolean} */
  hasPlain(/** @type {Set<string>} */ list, /** @type {string} */ word) {
    if (list.has(word) || this.cliticTokens.has(word)) return true;
    if (word.endsWith("n't")) {
      const verb = this.irregular.get(word) ?? word.slice(0, -3);
      return list.has(verb) || list.has(word.replaceAll("'", ""));
    }
    const cut = word.lastIndexOf("'");
    return cut > 0 && this.cliticTokens.has(word.slice(cut)) && this.hasPlain(list, word.slice(0, cut));
  }

  /** Whether this word takes the second form of the article, "an". */
  takesSecond(/** @type {string} */ word) {
    return this.spelled.test(word) ? this.articles.letters.includes(word[0]) : this.second.test(word.toLowerCase());
  }

  /** The written form of a released word, which depends only on its place. */
  written(/** @type {string} */ word, /** @type {boolean} */ begins) {
    if (word[0] === "i" && (word.length === 1 || APOSTROPHES.includes(word[1]))) return `I${word.slice(1)}`;
    if (!begins) return word;
    return word.replace(re(`[${A}]`), (c) => ([...c.toUpperCase()].length === 1 ? c.toUpperCase() : c));
  }
}

/** The document with at most LETTERS characters of each word. @returns {Document} */
function cut(/** @type {string} */ text, /** @type {Token[]} */ tokens) {
  let out = "";
  let at = 0;
  const shorter = tokens.map((token) => {
    const long = ["word", "number"].includes(token.kind) && token.text.length > LETTERS;
    const word = long ? [...token.text].slice(0, LETTERS).join("") : token.text;
    const start = out.length + token.start - at;
    out += text.slice(at, token.start) + word;
    at = token.end;
    return { ...token, text: word, start, end: out.length };
  });
  return { text: out + text.slice(at), tokens: shorter };
}

// What Python's isdigit accepts: decimal digits, and digits in other forms (superscripts, circled).
export const isDigit = (/** @type {string} */ c) =>
  /^[\p{Nd}²³¹⁰⁴-⁹₀-₉፩-፱᧚①-⑨⑴-⑼⒈-⒐⓪⓵-⓽⓿❶-❾➀-➈➊-➒𐩀-𐩃𐹠-𐹨𑁒-𑁚🄀-🄊]$/u.test(c);

function hideAddress(/** @type {string} */ address) {
  let end = address.length;
  while (end && ADDRESS_TAIL.includes(address[end - 1])) end -= 1;
  if (address[end] === ")" && address.slice(0, end).includes("(")) end += 1;
  return "x".repeat(end) + address.slice(end);
}

/** The tokenizer's words as spans, or null where they cannot be aligned. @returns {[number, number][] | null} */
function tokenizerSpans(/** @type {string} */ sentence) {
  if (sentence.length > LONGEST_SENTENCE) return null;
  /** @type {[number, number][]} */
  const spans = [];
  let i = 0;
  for (const token of nltk(sentence)) {
    while (i < sentence.length && isSpace(sentence[i])) i += 1;
    let size = 0;
    if (sentence.startsWith(token, i)) size = token.length;
    else if (token === "``" || token === "''") {
      const quote = sentence.slice(i, i + 2);
      size = quote === "``" || quote === "''" ? 2 : quote[0] === '"' ? 1 : 0;
    }
    if (!size) return null;
    spans.push([i, i + size]);
    i += size;
  }
  return re(`[^${S}]`).test(sentence.slice(i)) ? null : spans;
}

// ---------------------------------------------------------------- the way back

/**
 * What is released in addition to sampled words: kept tokens (null for a hole) and gaps.
 * @returns {{kept: (string | null)[], gaps: string[]}}
 */
export function skeleton(/** @type {Document} */ { text, tokens }, /** @type {boolean[]} */ drawn) {
  const ends = [0, ...tokens.map((t) => t.end)];
  const starts = [...tokens.map((t) => t.start), text.length];
  return { kept: tokens.map((t, i) => (drawn[i] ? null : t.text)), gaps: ends.map((e, i) => text.slice(e, starts[i])) };
}

/** For each token whether it is the first word of a sentence or a line; a hole counts as a word. */
export function begins(
  /** @type {{kept: (string | null)[], gaps: string[]}} */ { kept, gaps }, /** @type {Language} */ language,
) {
  let starting = true;
  let ended = false;
  return kept.map((text, i) => {
    const gap = gaps[i];
    if (gap) {
      starting ||= ended || NEWLINE.test(gap);
      ended = false;
    }
    const kind = text === null ? "word" : kindOf(text);
    if (kind === "word" || kind === "number") {
      const was = starting;
      starting = ended = false;
      return was;
    }
    if (kind === "punct" && text) {
      const marks = [...text];
      if (WIDE_ENDERS.includes(marks[marks.length - 1])) starting = true;
      ended = marks.some((c) => language.enders.has(c)) || (ended && marks.every((c) => CLOSERS.includes(c)));
    } else ended = false;
    return false;
  });
}

/** The spaces before each token and after the last, if each hole is filled by one word. */
export function spaced(/** @type {{kept: (string | null)[], gaps: string[]}} */ { kept, gaps }) {
  const out = gaps.slice();
  for (let i = 1; i < kept.length; i += 1) {
    const [left, right] = [kept[i - 1], kept[i]];
    if (!out[i] && (left === null || right === null) && endsAsWord(left) && beginsAsWord(right)) out[i] = " ";
  }
  return out;
}

export const beginsAsWord = (/** @type {string | null} */ kept) => kept === null || wordish(at(kept, 0));
export function endsAsWord(/** @type {string | null} */ kept) {
  if (kept === null) return true;
  for (const c of [...kept].reverse()) if (!MODIFIER.test(c)) return isAlnum(c);
  return true;
}
