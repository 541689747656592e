// @ts-check
// The word pieces of a text, as the tokenizer of the bundled model makes them (BERT: normalise, split at blanks and
// marks, then take the longest pieces from the left), each with its token.

const LONGEST = 100; // characters of a word beyond which it is unknown
const SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/** @typedef {import("./text.js").Document} Document */

const isMark = (/** @type {string} */ c) => /^[!-/:-@[-`{-~]$/.test(c) || /^\p{P}$/u.test(c);
const isBlank = (/** @type {string} */ c) => /^[\t\n\v\f\r\x85\p{White_Space}]$/u.test(c);
const isControl = (/** @type {string} */ c) => !/^[\t\n\r]$/.test(c) && /^[\p{Cc}\p{Cf}\p{Cn}\p{Co}]$/u.test(c);

function isChinese(/** @type {number} */ c) {
  return (
    (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
    (c >= 0x2a700 && c <= 0x2b73f) || (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
    (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f)
  );
}

export class WordPieces {
  /** @param {string[]} pieces the vocabulary in the order of ids */
  constructor(pieces) {
    this.ids = new Map(pieces.map((piece, id) => [piece, id]));
    this.unknown = this.id("[UNK]");
    this.mask = this.id("[MASK]");
    this.frame = [this.id("[CLS]"), this.id("[SEP]")];
    /** Pieces without a letter or digit, which are not queried. */
    this.signs = new Set(pieces.flatMap((piece, id) => (/[\p{L}\p{N}]/u.test(piece) ? [] : [id])));
  }

  id(/** @type {string} */ piece) {
    const id = this.ids.get(piece);
    if (id === undefined) throw new Error(`The vocabulary has no ${piece}. Reload this page.`);
    return id;
  }

  /** Pieces with their places in the text: [id, start, end]. @returns {[number, number, number][]} */
  pieces(/** @type {string} */ text) {
    /** @type {[number, number, number][]} */
    const out = [];
    /** @type {[string, number, number][]} */
    let word = [];
    const close = () => {
      if (word.length) out.push(...this.cut(word));
      word = [];
    };
    let i = 0;
    for (const c of text) {
      const start = i;
      i += c.length;
      const code = c.codePointAt(0) ?? 0;
      if (code === 0 || code === 0xfffd || (code >= 0xd800 && code < 0xe000) || isControl(c)) continue;
      if (isBlank(c)) {
        close();
        continue;
      }
      const chinese = isChinese(code);
      if (chinese) close();
      for (const part of c.normalize("NFD")) {
        if (/^\p{Mn}$/u.test(part)) continue;
        for (const lower of part.toLowerCase()) {
          if (isMark(lower)) {
            close();
            word.push([lower, start, i]);
            close();
          } else word.push([lower, start, i]);
        }
      }
      if (chinese) close();
    }
    close();
    return out;
  }

  /** @returns {[number, number, number][]} */
  cut(/** @type {[string, number, number][]} */ word) {
    const [start, end] = [word[0][1], word[word.length - 1][2]];
    if (word.length > LONGEST) return [[this.unknown, start, end]];
    /** @type {[number, number, number][]} */
    const out = [];
    for (let from = 0; from < word.length; ) {
      let to = word.length;
      let id;
      for (; to > from; to -= 1) {
        id = this.ids.get((from ? "##" : "") + word.slice(from, to).map((x) => x[0]).join(""));
        if (id !== undefined) break;
      }
      if (id === undefined) return [[this.unknown, start, end]];
      out.push([id, word[from][1], word[to - 1][2]]);
      from = to;
    }
    return out;
  }

  /** The input of the sentence encoder, which reads a written-out special token as that token. */
  sequence(/** @type {string} */ text, /** @type {number} */ maxLength) {
    const parts = text.split(/(\[(?:PAD|UNK|CLS|SEP|MASK)\])/);
    const ids = parts.flatMap((part) => (SPECIAL.includes(part) ? [this.id(part)] : this.pieces(part).map((p) => p[0])));
    return [this.frame[0], ...ids.slice(0, maxLength - 2), this.frame[1]];
  }

  /**
   * The pieces of each token: a piece belongs to the first token it overlaps, one between tokens to the token before it;
   * a token without a piece gets the unknown one.
   * @returns {number[][]}
   */
  encode(/** @type {Document} */ { text, tokens }) {
    /** @type {number[][]} */
    const out = tokens.map(() => []);
    if (!tokens.length) return out;
    let at = 0;
    for (const [id, start, end] of this.pieces(text)) {
      while (at < tokens.length - 1 && tokens[at].end <= start) at += 1;
      out[at && end <= tokens[at].start ? at - 1 : at].push(id);
    }
    return out.map((pieces) => (pieces.length ? pieces : [this.unknown]));
  }
}

/** Windows over tokens with these numbers of pieces, as in models/windows.py. @returns {[number, number][]} */
function overlapping(/** @type {number[]} */ lengths, /** @type {number} */ room) {
  const starts = [0];
  for (const n of lengths) starts.push(starts[starts.length - 1] + n);
  const ends = starts.slice(1);
  const total = starts[starts.length - 1];
  const firstAtLeast = (/** @type {number} */ x) => {
    const found = starts.slice(0, -1).findIndex((s) => s >= x);
    return found < 0 ? lengths.length : found;
  };
  /** @type {[number, number][]} */
  const found = [];
  for (let first = 0; ; ) {
    const fits = ends.findIndex((e) => e > starts[first] + room);
    const after = Math.max(first + 1, fits < 0 ? ends.length : fits);
    if (after >= ends.length) {
      found.push([Math.min(first, firstAtLeast(total - room)), ends.length]);
      return found;
    }
    found.push([first, after]);
    first = Math.min(Math.max(first + 1, firstAtLeast(starts[first] + Math.floor(room / 2))), after);
  }
}

/**
 * The model's input for tokens: sequences of ids with the positions of the queries, and the tokens that they are for.
 * @param {number[][]} pieces of each token
 * @param {number[]} targets tokens to query
 * @param {WordPieces} words
 * @param {number} maxLength positions of a sequence
 * @returns {{ids: number[], positions: number[], targets: number[]}[]}
 */
export function queries(pieces, targets, words, maxLength) {
  const room = maxLength - 2;
  const lengths = pieces.map((p) => p.length);
  const starts = [0];
  for (const n of lengths) starts.push(starts[starts.length - 1] + n);
  /** @type {{ids: number[], positions: number[], targets: number[]}[]} */
  const made = overlapping(lengths, room).map(([a, b]) => ({
    ids: [words.frame[0], ...pieces.slice(a, b).flat().slice(0, room), words.frame[1]],
    positions: [],
    targets: [],
    span: [a, b],
  }));
  for (const t of targets) {
    const middle = starts[t] + starts[t + 1];
    let best = -1;
    let least = Infinity;
    made.forEach((w, n) => {
      const [a, b] = /** @type {any} */ (w).span;
      const off = Math.abs(starts[a] + starts[b] - middle);
      if (a <= t && t < b && off < least) [best, least] = [n, off];
    });
    const asked = pieces[t].slice(0, room).findLastIndex((id) => !words.signs.has(id));
    made[best].positions.push(1 + starts[t] - starts[/** @type {any} */ (made[best]).span[0]] + Math.max(0, asked));
    made[best].targets.push(t);
  }
  return made.filter((w) => w.targets.length);
}

/**
 * The model's input for tokens that it must not read: one mask in the place of each token of `hidden`, the others
 * alone, in the window around each target, as in models/windows.py. Targets with the same input share a sequence.
 * @param {Document} document
 * @param {boolean[]} hidden
 * @param {number[]} targets tokens to query, all of them hidden
 * @param {WordPieces} words
 * @param {number} maxLength positions of a sequence
 * @returns {{ids: number[], positions: number[], targets: number[]}[]}
 */
export function proposals({ tokens }, hidden, targets, words, maxLength) {
  const room = maxLength - 2;
  const alone = (/** @type {string} */ text) => words.pieces(text).map((p) => p[0]);
  const pieces = tokens.map((t, i) => (hidden[i] ? [words.mask] : alone(t.text))).map((p) => (p.length ? p : [words.unknown]));
  /** @type {Map<string, {ids: number[], positions: number[], targets: number[]}>} */
  const made = new Map();
  for (const t of targets) {
    const [left, right] = [pieces.slice(0, t).flat(), pieces.slice(t + 1).flat()];
    const rest = room - 1;
    const shown = Math.min(left.length, Math.max(Math.floor(rest / 2), rest - right.length));
    const before = left.slice(left.length - shown);
    const ids = [words.frame[0], ...before, words.mask, ...right.slice(0, rest - shown), words.frame[1]];
    const key = ids.join();
    const one = made.get(key) ?? { ids, positions: [], targets: [] };
    made.set(key, one);
    one.positions.push(1 + shown);
    one.targets.push(t);
  }
  return [...made.values()];
}
