// @ts-check
// The mechanisms: from a text to what each of its words is drawn from.

import { Blocklist } from "./blocklist.js";
import { breather } from "./work_slices.js";
import { replaced, standInsFor, substitute } from "./detected.js";
import { content } from "./files.js";
import { alike, clipped, constant, scored, shifted } from "./distributions.js";
import { StandIns } from "./flags.js";
import { Model } from "./model.js";
import { namesAndNumbers } from "./names_and_numbers.js";
import { guarantee as stateGuarantee } from "./guarantee.js";
import { custext, diffractor, santext } from "./tables.js";
import { Language, begins, skeleton, spaced } from "./text.js";
import { WordPieces, proposals, queries } from "./wordpiece.js";

/** @typedef {import("./distributions.js").Distribution} Distribution */
/** @typedef {import("./text.js").Document} Document */
/**
 * @typedef {object} Choice
 * @property {Record<string, any>} [options] of a mechanism
 * @property {Blocklist} [blocklist] words never released
 * @property {AbortSignal} [signal] ends the work between two passes of a model
 * @property {number} [slice] milliseconds after which the page has its turn
 * @property {Prepared} [like] another text with the same options, of which everything that is the same is used again
 * @property {Record<number, string>} [standIns] the stand-ins by their tokens; without them they are drawn
 */
/**
 * @typedef {object} Prepared
 * @property {any} spec the mechanism in core.json, with what the chosen options make of it
 * @property {Blocklist} blocklist
 * @property {Document} document
 * @property {(string | null)[]} reasons why each token is kept, null where it is drawn
 * @property {(Distribution | null)[]} distributions what each drawn token is drawn from
 * @property {boolean[]} known whether a drawn token is drawn by looking at it
 * @property {boolean[]} capitals whether the word at each place begins a sentence or a line
 * @property {string[]} gaps the blanks before each token, and after the last
 * @property {boolean} aligned whether what is released answers to the tokens; where not, the tokens are sentences
 * @property {(Int16Array | null)[]} [vectors] of the sentences, null for an empty one
 * @property {Table} [table] of a mechanism that draws each word from that word alone
 * @property {number[]} [rows] of the drawn words in that table, −1 for the others
 * @property {{scores: string[], proposals: string[]}} [asked] what the model was asked for each token
 * @property {import("./detected.js").Flagged} [flagged] the flagged tokens, where a detector decides what is replaced
 * @property {Set<number>} [deleted] tokens that are left out
 * @property {number} ms what the model took
 */

export const UNKNOWN = "not in the vocabulary";
const STEPS = 2 ** 14; // of a coordinate of a sentence's vector from 0 to 1

/**
 * What a word mechanism knows: its words, their places, what one of them is drawn from, and how it is made of fewer.
 * @typedef {object} Table
 * @property {string[]} words
 * @property {Map<string, number>} places
 * @property {(row: number) => Distribution} distribution
 * @property {(a: number, b: number) => number} distance of two words in the unit of the guarantee, ∞ where it does not
 *   compare them
 * @property {import("./tables.js").TableMaker} maker
 */

/** Words that are never released are in no list here. */
const NOTHING = new Blocklist([]);

/** What each drawn word is drawn from; null for the others. */
async function each(
  /** @type {Document} */ { tokens }, /** @type {boolean[]} */ drawn, /** @type {(i: number) => Distribution} */ distribution,
  /** @type {Choice} */ { signal, slice },
) {
  const breathe = breather(signal, slice);
  /** @type {(Distribution | null)[]} */
  const found = [];
  for (const i of tokens.keys()) {
    found.push(drawn[i] ? distribution(i) : null);
    await breathe();
  }
  return found;
}

/** What each word is drawn from, by that word alone. */
async function byTable(
  /** @type {Document} */ document, /** @type {boolean[]} */ drawn, /** @type {Table} */ table, /** @type {number[]} */ rows,
  /** @type {Choice} */ { signal, slice, like },
) {
  /** @type {Map<number, Distribution>} */
  const made = new Map();
  like?.rows?.forEach((row, i) => row >= 0 && made.set(row, /** @type {Distribution} */ (like.distributions[i])));
  const distribution = (/** @type {number} */ i) => {
    const row = rows[i];
    if (row < 0) return constant(table.words);
    const found = made.get(row) ?? table.distribution(row);
    made.set(row, found);
    return found;
  };
  return { distributions: await each(document, drawn, distribution, { signal, slice }), table, rows, ms: 0 };
}

/** What the model is asked for each token, as text. */
function keysOf(/** @type {ReturnType<typeof queries>} */ all) {
  /** @type {string[]} */
  const keys = [];
  for (const { ids, positions, targets } of all) {
    const sequence = ids.join();
    targets.forEach((t, n) => (keys[t] = `${positions[n]}: ${sequence}`));
  }
  return keys;
}

/** @returns {Table} */
function tableFrom(
  /** @type {import("./tables.js").TableMaker} */ maker, /** @type {string[]} */ words, /** @type {number[]} */ left,
) {
  const places = new Map(words.map((word, i) => [word, i]));
  return { words, places, distribution: maker.of(left), distance: maker.apart(left), maker };
}

export class Engine {
  /** @param {any} core what core.json holds */
  constructor(core) {
    this.core = core;
    this.language = new Language(core.language, core.visible);
    this.stop = new Set(core.stop_words);
    /** @type {Model | null} */
    this.model = null;
    /** @type {WordPieces | null} */
    this.pieces = null;
    /** @type {string[]} */
    this.candidates = [];
    /** The sentences that can be drawn, with their vectors as whole numbers and the lengths of these.
     * @type {{encoder: Model, sentences: string[], codes: Int8Array, lengths: Float64Array} | null} */
    this.bank = null;
    /** What each word mechanism knows: its words, their places, and what one of them is drawn from.
     * @type {Map<string, Table>} */
    this.tables = new Map();
    /** The last that was made without some words, with how far words are apart there.
     * @type {{of: Table, blocklist: Blocklist, made: Table, distances: Record<string, number>} | null} */
    this.shorter = null;
    /** @type {StandIns | null} */
    this.standIns = null;
    /** @type {Map<string, Promise<void>>} */
    this.loads = new Map();
    /** @type {Promise<{words: string[], places: Map<string, number>, near: Uint16Array}> | undefined} */
    this.neighbours = undefined;
  }

  /** A mechanism with some of its options. */
  spec(/** @type {string} */ mechanism, /** @type {Record<string, any>} */ options = {}) {
    const found = this.core.mechanisms.find((/** @type {any} */ m) => m.name === mechanism);
    if (!found) throw new Error(`there is no mechanism ${mechanism} here`);
    const named = (/** @type {any} */ c) => (c.name in options ? options[c.name] : c.value);
    const chosen = found.controls.map((/** @type {any} */ c) => (isUsed(found, c, options) ? named(c) : c.value));
    const variant = found.variants[JSON.stringify(chosen)];
    if (!variant) throw new Error(`${found.title} is not available with these options`);
    return { ...found, ...variant };
  }

  /** What a mechanism needs, loaded once. */
  async load(/** @type {any} */ spec, /** @type {(bytes: number, all: number) => void} */ onProgress = () => {}) {
    const { name, replaces, options } = spec;
    const parts = replaces ? [] : [tableOf(spec)];
    if (options.surrogates || name === "surrogates") parts.unshift("stand-ins");
    for (const key of parts) {
      const found = this.loads.get(key) ?? this.loadPart(key, onProgress);
      this.loads.set(key, found);
      found.catch(() => this.loads.delete(key));
      await found;
    }
  }

  /** @returns {Promise<void>} */
  loadPart(/** @type {string} */ key, /** @type {(bytes: number, all: number) => void} */ onProgress) {
    if (key === "dp-mlm") return this.loadModel(onProgress);
    if (key === "dp-sentence") return this.loadBank(onProgress);
    return key === "stand-ins" ? this.loadStandIns() : this.loadWords(key, onProgress);
  }

  async loadStandIns() {
    const [lists] = await this.fetch(["stand-ins"], () => {});
    this.standIns = new StandIns(this.core.language, JSON.parse(new TextDecoder().decode(lists)));
  }

  /** The files of these names. */
  async fetch(/** @type {string[]} */ names, /** @type {(bytes: number, all: number) => void} */ onProgress) {
    const files = names.map((name) => this.core.files[name]);
    const all = files.reduce((sum, file) => sum + file.bytes, 0);
    let come = 0;
    return Promise.all(files.map((file) => content(file, (bytes) => onProgress((come += bytes), all))));
  }

  async loadModel(/** @type {(bytes: number, all: number) => void} */ onProgress) {
    const [pieces, wasm, graph, weights] = await this.fetch(["vocabulary", "runtime", "model", "model-weights"], onProgress);
    const list = lines(pieces);
    const worker = new Model();
    await worker.load(wasm, graph, weights, this.core.files["model-weights"].path);
    this.candidates = this.core.candidates.flatMap((/** @type {[number, number]} */ [a, b]) => list.slice(a, b));
    this.placeOf = new Map(this.candidates.map((word, i) => [word, i]));
    [this.pieces, this.model] = [new WordPieces(list), worker];
  }

  async loadBank(/** @type {(bytes: number, all: number) => void} */ onProgress) {
    const [pieces, wasm, graph, weights, sentences, vectors] = await this.fetch(
      ["vocabulary", "runtime", "encoder", "encoder-weights", "sentences", "vectors"], onProgress,
    );
    const encoder = new Model();
    await encoder.load(wasm, graph, weights, this.core.files["encoder-weights"].path);
    const codes = new Int8Array(vectors);
    const found = lines(sentences);
    const wide = codes.length / found.length;
    const lengths = Float64Array.from(found, (_, j) => length(codes.subarray(j * wide, (j + 1) * wide)));
    this.pieces ??= new WordPieces(lines(pieces));
    this.bank = { encoder, sentences: found, codes, lengths };
  }

  async loadWords(/** @type {string} */ key, /** @type {(bytes: number, all: number) => void} */ onProgress) {
    const names = key === "diffractor" ? ["list"] : key === "santext" ? ["words", "codes", "nearest"] : ["words", key];
    const [list, table, nearest] = await this.fetch(names, onProgress);
    const words = lines(list);
    const make = key === "diffractor" ? diffractor : key === "santext" ? santext : custext;
    this.tables.set(key, tableFrom(make(words, table, nearest), words, all(words)));
  }

  /** Load the public lists of words that are near each other, once. */
  loadNeighbours() {
    this.neighbours ??= this.fetch(["neighbours-words", "neighbours"], () => {}).then(([list, table]) => {
      const words = lines(list);
      return { words, places: new Map(words.map((word, i) => [word, i])), near: new Uint16Array(table) };
    });
    this.neighbours.catch(() => (this.neighbours = undefined));
    return this.neighbours;
  }

  /** A table without the words that are never released. */
  without(/** @type {Table} */ table, /** @type {Blocklist} */ blocklist) {
    if (!blocklist.size) return table;
    if (this.shorter?.of !== table || this.shorter.blocklist !== blocklist) {
      const left = leftOf(table.words, blocklist);
      const words = left.map((i) => table.words[i]);
      const apart = [["near", table.maker.near?.(left)], ["largest", table.maker.largest?.(left)]];
      const distances = Object.fromEntries(apart.filter(([, d]) => d !== undefined));
      this.shorter = { of: table, blocklist, distances, made: tableFrom(table.maker, words, left) };
    }
    return this.shorter.made;
  }

  /** A text with what each of its words is drawn from, at every ε. @returns {Promise<Prepared>} */
  async prepare(
    /** @type {string} */ text, /** @type {string} */ mechanism, /** @type {Choice} */ { options, blocklist = NOTHING, signal, slice, like, standIns } = {},
  ) {
    if (typeof text !== "string") throw new Error("the text is a string");
    let spec = this.spec(mechanism, options);
    if (blocklist.size && !spec.takes_never) throw new Error(`${spec.title} does not support a blocklist here`);
    await this.load(spec);
    if (mechanism === "dp-sentence") return this.bySentence(text, spec, blocklist, { signal, slice, like });
    const given = this.language.parse(text);
    const { language } = this.core;
    const flagged = spec.options.surrogates || spec.name === "surrogates"
      ? standInsFor(given, spec, language, /** @type {StandIns} */ (this.standIns), blocklist, { like: like?.flagged, named: standIns })
      : null;
    if (spec.replaces) return replaced(given, spec, language, blocklist, flagged);
    // Which words are drawn depends on nothing that stood in a flagged place; the model reads the stand-ins.
    const planned = flagged ? substitute(given, flagged.fixed) : given;
    const document = flagged ? substitute(given, flagged.words) : given;
    const whole = this.tables.get(tableOf(spec));
    const table = whole && this.without(whole, blocklist);
    if (blocklist.size && whole) spec = { ...spec, guarantee: { ...spec.guarantee, ...this.shorter?.distances } };
    const place = (/** @type {import("./text.js").Token} */ t) =>
      t.kind === "word" || t.kind === "clitic" ? table?.places.get(t.text.toLowerCase()) : undefined;
    const keeps = spec.options.keep_stopwords;
    const written = keeps ? namesAndNumbers(planned, language.clues) : new Map();
    const reasons = planned.tokens.map((t, i) => {
      if (flagged?.words.has(i)) return language.detection.reasons.flagged;
      if (blocklist.bans(t.text)) return null;
      if (t.kind === "symbol") return "symbol";
      if (t.kind === "punct") return "punctuation";
      if ((t.kind === "number" && table) || !keeps || written.has(i)) return null;
      return t.kind === "clitic" || this.language.has(this.stop, t.text) ? "stop word" : null;
    });
    const drawn = reasons.map((r) => r === null);
    const frame = skeleton(document, drawn);
    const known = document.tokens.map((t, i) => drawn[i] && (!table || place(t) !== undefined));
    const made = table
      ? await byTable(document, drawn, table, document.tokens.map((t, i) => (known[i] ? place(t) ?? -1 : -1)), { signal, slice, like })
      : await this.byModel(document, drawn, spec, blocklist, { signal, slice, like });
    const capitals = begins(frame, this.language).map((begin, i) => begin && !flagged?.words.has(i));
    const gaps = spaced(flagged ? skeleton(given, drawn.map((d, i) => d || flagged.words.has(i))) : frame);
    const prepared = { spec, blocklist, document: given, reasons, known, capitals, gaps, aligned: true, ...made };
    if (!flagged) return prepared;
    return { ...prepared, flagged, distributions: made.distributions.map((d, i) => flagged.distributions.get(i) ?? d) };
  }

  /** Sentence bank: the tokens are the sentences, an empty one where there is none. @returns {Promise<Prepared>} */
  async bySentence(
    /** @type {string} */ given, /** @type {any} */ spec, /** @type {Blocklist} */ blocklist, /** @type {Choice} */ { signal, slice, like },
  ) {
    const { bank, pieces } = this;
    const { text, removed } = this.language.parse(given);
    if (!bank || !pieces) throw new Error("the sentence bank is missing");
    const { slots } = spec.options;
    const found = this.language.sentenceSpans(text);
    /** @type {[number, number][]} */
    const none = Array(slots ?? 1).fill([text.length, text.length]);
    const read = slots === null ? (found.length ? found : none) : [...found, ...none].slice(0, slots);
    const tokens = read.map(([start, end]) => ({ text: text.slice(start, end), start, end, kind: "sentence" }));
    const same = new Map(like?.document.tokens.map((t, i) => [t.text, i]));
    /** @type {(Int16Array | null)[]} */
    const vectors = [];
    let ms = 0;
    for (const { text: sentence } of tokens) {
      signal?.throwIfAborted();
      const before = same.get(sentence);
      if (before !== undefined) {
        vectors.push(like?.vectors?.[before] ?? null);
        continue;
      }
      const made = sentence ? await bank.encoder.ask({ ids: pieces.sequence(sentence, spec.max_length) }) : null;
      ms += made?.ms ?? 0;
      vectors.push(made ? steps(made.found) : null);
    }
    const left = blocklist.size ? this.sentencesLeft(bank.sentences, blocklist) : all(bank.sentences);
    const few = left.map((j) => bank.sentences[j]);
    const distributions = vectors.map((own, i) => {
      const before = same.get(tokens[i].text);
      if (like && before !== undefined) return like.distributions[before];
      const near = cosines(bank, own);
      const kept = Float64Array.from(left, (j) => near[j]);
      return slots === null
        ? alike(few, kept, null)
        : alike([...few, ""], Float64Array.from([...kept, own ? -1 : 1]), null);
    });
    return {
      spec, blocklist, document: { text, tokens, removed }, reasons: tokens.map(() => null), distributions, known: tokens.map(() => true),
      capitals: [], gaps: ["", ...tokens.slice(1).map(() => " "), ""], aligned: false, vectors, ms,
    };
  }

  /** The sentences that hold no word of the list, by their places. */
  sentencesLeft(/** @type {string[]} */ sentences, /** @type {Blocklist} */ blocklist) {
    const holds = (/** @type {string} */ s) => blocklist.touches(s) && this.language.parse(s).tokens.some((t) => blocklist.bans(t.text));
    const left = all(sentences).filter((j) => !holds(sentences[j]));
    if (!left.length) throw new Error("every sentence of the bank contains a word on the blocklist");
    return left;
  }

  /** DP-MLM: the model's clipped scores at a query for each word, all in one pass; or how far they are above those that
   * it gives what is public of the text, which are another pass. */
  async byModel(
    /** @type {Document} */ document, /** @type {boolean[]} */ drawn, /** @type {any} */ spec, /** @type {Blocklist} */ blocklist,
    /** @type {Choice} */ { signal, slice, like },
  ) {
    const { model, pieces, candidates } = this;
    if (!model || !pieces) throw new Error("the model is missing");
    const { clip_min: low, clip_max: high } = spec.options;
    const left = blocklist.size ? leftOf(candidates, blocklist) : null;
    const few = left ? left.map((j) => candidates[j]) : candidates;
    const places = left ? new Map(few.map((word, j) => [word, j])) : this.placeOf;
    const targets = document.tokens.flatMap((_, i) => (drawn[i] ? [i] : []));
    const queried = queries(pieces.encode(document), targets, pieces, spec.max_length);
    const proposing = spec.shape ? proposals(document, drawn, targets, pieces, spec.max_length) : [];
    const asked = { scores: keysOf(queried), proposals: keysOf(proposing) };
    const unchanged = (/** @type {"scores" | "proposals"} */ what, /** @type {number} */ t) =>
      Boolean(like?.asked && asked[what][t] === like.asked[what][t]);
    const same = (/** @type {number} */ t) => unchanged("scores", t) && unchanged("proposals", t);
    let ms = 0;
    /** The scores of each target, Float32Array; without a pass where all those of a sequence are known. */
    const rows = async (
      /** @type {ReturnType<typeof queries>} */ all, /** @type {number | null} */ mask, /** @type {(t: number) => boolean} */ known,
    ) => {
      /** @type {Map<number, Float32Array>} */
      const found = new Map();
      for (const { ids, positions, targets: own } of all) {
        if (own.every(known)) continue;
        signal?.throwIfAborted();
        const made = await model.ask({ ids, positions, mask });
        ms += made.ms;
        own.forEach((t, n) => {
          const row = made.found.subarray(n * candidates.length, (n + 1) * candidates.length);
          found.set(t, left ? Float32Array.from(left, (j) => row[j]) : row);
        });
      }
      return found;
    };
    const scores = await rows(queried, pieces.mask, same);
    const proposed = await rows(proposing, null, (t) => unchanged("proposals", t));
    const distribution = (/** @type {number} */ t) => {
      const before = like?.distributions[t];
      if (before && same(t)) return before;
      const row = /** @type {Float32Array} */ (scores.get(t));
      const source = places?.get(document.tokens[t].text.toLowerCase()) ?? -1;
      if (spec.shape) {
        const proposal = before?.proposal && unchanged("proposals", t) ? before.proposal : Float64Array.from(proposed.get(t) ?? []);
        return shifted(few, proposal, proposal.map((b, j) => row[j] - b), spec.shape, source, spec.axis);
      }
      return scored(few, clipped(row, low, high), source);
    };
    return { distributions: await each(document, drawn, distribution, { signal, slice }), asked, ms };
  }

  /** The guarantee of a rewrite of a prepared text. */
  guarantee(/** @type {Prepared} */ prepared, /** @type {number} */ epsilon) {
    /** @type {Record<string, number>} */
    const kept = {};
    prepared.reasons.forEach((r, i) => {
      if (prepared.deleted?.has(i)) return;
      const of = r ?? (prepared.known[i] ? null : "unknown");
      if (of) kept[of] = (kept[of] ?? 0) + 1;
    });
    const spent = prepared.spec.replaces && !prepared.reasons.length ? 0 : epsilon;
    return stateGuarantee(prepared.spec, spent, prepared.known.filter(Boolean).length, kept, prepared.blocklist.size > 0);
  }

  /** The text with other stand-ins, where it has any. */
  async redrawn(/** @type {Prepared} */ prepared, /** @type {AbortSignal | undefined} */ signal = undefined) {
    const { spec, blocklist, document, flagged } = prepared;
    if (!flagged || flagged.given) return prepared;
    const like = { ...prepared, flagged: undefined };
    return this.prepare(document.text, spec.name, { options: spec.options, blocklist, like, signal });
  }

  /** One rewrite, with fresh randomness: its text, and what became of each token. */
  rewrite(/** @type {Prepared} */ prepared, /** @type {number} */ epsilon) {
    check(prepared.spec, epsilon);
    let text = "";
    const releases = prepared.document.tokens.map((token, i) => {
      const distribution = prepared.distributions[i];
      const deleted = prepared.deleted?.has(i);
      const word = deleted ? "" : distribution ? this.written(prepared, i, distribution.candidates[distribution.noise().at(epsilon)]) : token.text;
      if (prepared.aligned || (text && word)) text += prepared.gaps[i];
      const start = [...text].length;
      text += word;
      return {
        text: word, start, end: [...text].length, epsilon: distribution && prepared.known[i] ? epsilon : 0,
        origin: deleted ? "deleted" : distribution ? "drawn" : "kept", original: prepared.aligned ? token.text : "", reason: prepared.reasons[i] ?? (prepared.known[i] ? "" : UNKNOWN),
      };
    });
    const { gaps, ms } = prepared;
    return { text: text + gaps[gaps.length - 1], releases, guarantee: this.guarantee(prepared, epsilon), ms };
  }

  /** How a word is written at a place; a sentence is written as it is. */
  written(/** @type {Prepared} */ prepared, /** @type {number} */ i, /** @type {string} */ word) {
    if (!prepared.aligned) return word;
    return this.language.written(word, prepared.capitals[i]);
  }
}

/** Refuse what is no ε of a mechanism with its options, as the core does: nothing is promised there. */
export function check(/** @type {any} */ { limits: [least, most] }, /** @type {unknown} */ epsilon) {
  if (typeof epsilon === "number" && epsilon >= least && epsilon <= most) return;
  throw new Error(`epsilon must be a number from ${least} to ${most} here, not ${String(epsilon)}`);
}

/** Whether an option has an effect beside the others. */
export function isUsed(/** @type {any} */ { controls }, /** @type {any} */ { used_with: needs }, /** @type {Record<string, any>} */ options) {
  if (!needs) return true;
  const other = controls.find((/** @type {any} */ c) => c.name === needs[0]);
  return (options[needs[0]] ?? other.value) === needs[1];
}

/** What is loaded for a mechanism with its options. */
const tableOf = (/** @type {any} */ { name, options, shape }) =>
  name === "custext" ? `custext-${options.k}` : shape ? "dp-mlm" : name;
const all = (/** @type {readonly any[]} */ list) => Array.from(list.keys());

/** The places of the words that may be released. */
function leftOf(/** @type {string[]} */ words, /** @type {Blocklist} */ blocklist) {
  const left = all(words).filter((j) => !blocklist.bans(words[j]));
  if (!left.length) throw new Error("the blocklist leaves no possible output");
  return left;
}

const lines = (/** @type {ArrayBuffer} */ file) => new TextDecoder().decode(file).split("\n");

function length(/** @type {Int8Array | Int16Array} */ codes) {
  let sum = 0;
  for (let a = 0; a < codes.length; a += 1) sum += codes[a] * codes[a];
  return Math.sqrt(sum);
}

/** A vector of any length as one of length 1, in whole steps. */
function steps(/** @type {Float32Array} */ vector) {
  let sum = 0;
  for (const x of vector) sum += x * x;
  const size = Math.sqrt(sum);
  return Int16Array.from(vector, (x) => Math.round((x / size) * STEPS));
}

/** The cosine of a sentence with each of the bank; −1 with an empty one. Products of whole numbers are exact. */
function cosines(
  /** @type {{codes: Int8Array, lengths: Float64Array}} */ { codes, lengths }, /** @type {Int16Array | null} */ own,
) {
  if (!own) return new Float64Array(lengths.length).fill(-1);
  const size = length(own) || 1;
  const wide = own.length;
  return lengths.map((other, j) => {
    let product = 0;
    for (let a = 0, at = j * wide; a < wide; a += 1, at += 1) product += own[a] * codes[at];
    return product / size / other;
  });
}
