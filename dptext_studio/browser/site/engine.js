// @ts-check
// The mechanisms: from a text to the distribution of each word.

import { cosines, length, steps } from "./bank.js";
import { Blocklist } from "./blocklist.js";
import { breather } from "./work_slices.js";
import { check, specOf } from "./choices.js";
import { closed, replaced, standInsFor, substitute } from "./detected.js";
import { content } from "./files.js";
import { alike, clipped, constant, scored, shifted } from "./distributions.js";
import { StandIns } from "./flags.js";
import { Model } from "./model.js";
import { namesAndNumbers } from "./names_and_numbers.js";
import { guarantee as stateGuarantee } from "./guarantee.js";
import { cleanUp, copied, tight } from "./readable.js";
import { custext, diffractor, santext } from "./tables.js";
import { Language, begins, skeleton, spaced } from "./text.js";
import { WordPieces, proposals, queries } from "./wordpiece.js";

/** @typedef {import("./distributions.js").Distribution} Distribution */
/** @typedef {import("./text.js").Document} Document */
/**
 * @typedef {object} Choice
 * @property {Record<string, any>} [options] of a mechanism
 * @property {Blocklist} [blocklist] words never released
 * @property {Blocklist} [allowlist] words that are copied, even where a detector flags them
 * @property {AbortSignal} [signal] ends the work between two passes of a model
 * @property {number} [slice] milliseconds of work before the page can react
 * @property {Prepared} [like] another text with the same options, whose unchanged parts are reused
 * @property {Record<number, string>} [standIns] the stand-ins by their tokens; without them they are sampled
 */
/**
 * @typedef {object} Prepared
 * @property {any} spec the mechanism in core.json, with what the chosen options make of it
 * @property {Blocklist} blocklist
 * @property {Blocklist} allowlist
 * @property {number} allowed how many tokens are copied because the allowlist has them
 * @property {Document} document
 * @property {(string | null)[]} reasons why each token is kept, null where it is sampled
 * @property {(Distribution | null)[]} distributions of the sampled tokens
 * @property {boolean[]} known whether the sampling of a token depends on it
 * @property {boolean[]} capitals whether the word at each place begins a sentence or a line
 * @property {string[]} gaps the blanks before each token, and after the last
 * @property {import("./readable.js").CleanUp | null} clean which copied words are written otherwise, where that is chosen
 * @property {boolean} aligned whether each released word replaces one token; otherwise the tokens are sentences
 * @property {(Int16Array | null)[]} [vectors] of the sentences, null for an empty one
 * @property {Table} [table] of a mechanism that draws each word from that word alone
 * @property {number[]} [rows] of the sampled words in that table, −1 for the others
 * @property {{scores: string[], proposals: string[]}} [asked] the model's input for each token
 * @property {import("./detected.js").Flagged} [flagged] the flagged tokens, where a detector decides what is replaced
 * @property {Set<number>} [deleted] tokens that are left out
 * @property {number} ms what the model took
 */

export const UNKNOWN = "not in the vocabulary";

/**
 * The vocabulary of a word mechanism: its words, their places and distributions, and how to make a smaller one.
 * @typedef {object} Table
 * @property {string[]} words
 * @property {Map<string, number>} places
 * @property {(row: number) => Distribution} distribution
 * @property {(a: number, b: number) => number} distance of two words in the unit of the guarantee, ∞ where it does not
 *   compare them
 * @property {import("./tables.js").TableMaker} maker
 */

/** The empty list. */
const NOTHING = new Blocklist([]);

/** The distributions of the sampled words; null for the others. */
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

/** The distribution of each word, which depends on that word alone. */
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

/** The model's input for each token, as text. */
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
    /** The sentences of the bank, with their vectors as whole numbers and the lengths of these.
     * @type {{encoder: Model, sentences: string[], codes: Int8Array, lengths: Float64Array} | null} */
    this.bank = null;
    /** The table of each word mechanism.
     * @type {Map<string, Table>} */
    this.tables = new Map();
    /** The last table without blocked words, with the distances in it.
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
    return specOf(this.core, mechanism, options);
  }

  /** Load what a mechanism needs, once. */
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

  /** Load the public lists of similar words, once. */
  loadNeighbours() {
    this.neighbours ??= this.fetch(["neighbours-words", "neighbours"], () => {}).then(([list, table]) => {
      const words = lines(list);
      return { words, places: new Map(words.map((word, i) => [word, i])), near: new Uint16Array(table) };
    });
    this.neighbours.catch(() => (this.neighbours = undefined));
    return this.neighbours;
  }

  /** A table without the words of the blocklist. */
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

  /** A text with the distribution of each word at every ε. @returns {Promise<Prepared>} */
  async prepare(/** @type {string} */ text, /** @type {string} */ mechanism, /** @type {Choice} */ choice = {}) {
    if (typeof text !== "string") throw new Error("The text must be a string.");
    const { options, blocklist = NOTHING, allowlist = NOTHING, like, standIns } = choice;
    const spec = this.spec(mechanism, options);
    if (blocklist.size && !spec.takes_never) throw new Error(`${spec.title} does not support a blocklist here. Clear it.`);
    if (allowlist.size && !spec.takes_allowlist) throw new Error(`${spec.title} does not support an allowlist with these options. Clear it.`);
    const both = [...allowlist.words].find((word) => blocklist.bans(word));
    if (both) throw new Error(`“${both}” is on both the allowlist and the blocklist. Remove it from one of them.`);
    await this.load(spec);
    if (mechanism === "dp-sentence") return this.bySentence(text, spec, { ...choice, blocklist });
    const given = this.language.parse(text);
    const flagged = spec.options.surrogates || spec.name === "surrogates"
      ? standInsFor(given, spec, this.core.language, /** @type {StandIns} */ (this.standIns), { blocklist, allowlist, like: like?.flagged, named: standIns })
      : null;
    const made = spec.replaces
      ? replaced(given, spec, this.core.language, allowlist, flagged)
      : await this.sampled(given, spec, flagged, { ...choice, blocklist, allowlist });
    const { holes, deleted } = made;
    const whole = skeleton(given, holes);
    const clean = spec.options.recase === "public" ? cleanUp(whole, this.language, deleted) : null;
    const frame = clean ? tight(whole, this.language) : whole;
    const gaps = deleted.size ? closed(frame, deleted) : spaced(frame);
    const allowed = given.tokens.filter((t) => allowlist.holds(t.text)).length;
    return { spec, document: given, aligned: true, blocklist, allowlist, allowed, clean, gaps, ...made };
  }

  /** The distributions of a mechanism that samples word by word. */
  async sampled(
    /** @type {Document} */ given, /** @type {any} */ spec, /** @type {import("./detected.js").Flagged | null} */ flagged, /** @type {Choice} */ choice,
  ) {
    const { blocklist = NOTHING, allowlist = NOTHING } = choice;
    const { flagged: isFlagged, allowed: isAllowed } = this.core.language.detection.reasons;
    // The choice of sampled words does not depend on flagged words; the model reads the stand-ins.
    const planned = flagged ? substitute(given, flagged.fixed) : given;
    const document = flagged ? substitute(given, flagged.words) : given;
    const whole = this.tables.get(tableOf(spec));
    const table = whole && this.without(whole, blocklist);
    if (blocklist.size && whole) spec = { ...spec, guarantee: { ...spec.guarantee, ...this.shorter?.distances } };
    const place = (/** @type {import("./text.js").Token} */ t) =>
      t.kind === "word" || t.kind === "clitic" ? table?.places.get(t.text.toLowerCase()) : undefined;
    const keeps = spec.options.keep_stopwords;
    const written = keeps ? namesAndNumbers(planned, this.core.language.clues) : new Map();
    const reasons = planned.tokens.map((t, i) => {
      if (flagged?.words.has(i)) return isFlagged;
      if (allowlist.holds(t.text)) return isAllowed;
      if (blocklist.bans(t.text)) return null;
      if (t.kind === "symbol") return "symbol";
      if (t.kind === "punct") return "punctuation";
      if ((t.kind === "number" && table) || !keeps || written.has(i)) return null;
      return t.kind === "clitic" || this.language.has(this.stop, t.text) ? "stop word" : null;
    });
    const drawn = reasons.map((r) => r === null);
    const known = document.tokens.map((t, i) => drawn[i] && (!table || place(t) !== undefined));
    const made = table
      ? await byTable(document, drawn, table, document.tokens.map((t, i) => (known[i] ? place(t) ?? -1 : -1)), choice)
      : await this.byModel(document, drawn, spec, choice);
    const capitals = begins(skeleton(document, drawn), this.language).map(
      (begin, i) => begin && !flagged?.words.has(i) && spec.options.recase !== "none",
    );
    const holes = drawn.map((d, i) => d || Boolean(flagged?.words.has(i)));
    const distributions = made.distributions.map((d, i) => flagged?.distributions.get(i) ?? d);
    return { spec, reasons, known, capitals, ...made, distributions, holes, deleted: new Set(), ...(flagged ? { flagged } : {}) };
  }

  /** Sentence bank: the tokens are the sentences, an empty one where there is none. @returns {Promise<Prepared>} */
  async bySentence(
    /** @type {string} */ given, /** @type {any} */ spec, /** @type {Choice} */ { blocklist = NOTHING, signal, like },
  ) {
    const { bank, pieces } = this;
    const { text, removed } = this.language.parse(given);
    if (!bank || !pieces) throw new Error("The sentence bank is missing. Reload this page.");
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
      spec, blocklist, allowlist: NOTHING, allowed: 0, document: { text, tokens, removed }, reasons: tokens.map(() => null),
      distributions, known: tokens.map(() => true), capitals: [], clean: null, gaps: ["", ...tokens.slice(1).map(() => " "), ""],
      aligned: false, vectors, ms,
    };
  }

  /** The indices of sentences without a word of the list. */
  sentencesLeft(/** @type {string[]} */ sentences, /** @type {Blocklist} */ blocklist) {
    const holds = (/** @type {string} */ s) => blocklist.touches(s) && this.language.parse(s).tokens.some((t) => blocklist.bans(t.text));
    const left = all(sentences).filter((j) => !holds(sentences[j]));
    if (!left.length) throw new Error("Every sentence of the bank contains a word on the blocklist. Remove common words from it.");
    return left;
  }

  /** DP-MLM: the model's clipped scores for each word, all in one pass. With a public prior: how far they are above the
   * scores for the public part of the text, which take another pass. */
  async byModel(
    /** @type {Document} */ document, /** @type {boolean[]} */ drawn, /** @type {any} */ spec,
    /** @type {Choice} */ { blocklist = NOTHING, signal, slice, like },
  ) {
    const { model, pieces, candidates } = this;
    if (!model || !pieces) throw new Error("The model is missing. Reload this page.");
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
    /** The scores of each target, Float32Array. A sequence with known scores needs no pass. */
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
    const { spec, blocklist, allowlist, allowed } = prepared;
    if (allowlist.size) kept.allowed = allowed;
    const spent = spec.replaces && !prepared.reasons.length ? 0 : epsilon;
    return stateGuarantee(spec, spent, prepared.known.filter(Boolean).length, kept, blocklist.size > 0);
  }

  /** The text with other stand-ins, if it has any. */
  async redrawn(/** @type {Prepared} */ prepared, /** @type {AbortSignal | undefined} */ signal = undefined) {
    const { spec, blocklist, allowlist, document, flagged } = prepared;
    if (!flagged || flagged.given) return prepared;
    const like = { ...prepared, flagged: undefined };
    return this.prepare(document.text, spec.name, { options: spec.options, blocklist, allowlist, like, signal });
  }

  /** One rewrite with fresh randomness: its text, and what happened to each token. */
  rewrite(/** @type {Prepared} */ prepared, /** @type {number} */ epsilon) {
    check(prepared.spec, epsilon);
    const { document, distributions, deleted, aligned, reasons, known } = prepared;
    const words = distributions.map((d, i) => (deleted?.has(i) ? "" : d ? this.written(prepared, i, d.candidates[d.noise().at(epsilon)]) : null));
    let text = "";
    const releases = document.tokens.map((token, i) => {
      const drawn = words[i] !== null && !deleted?.has(i);
      const word = words[i] ?? this.copied(prepared, i, (k) => words[k] ?? document.tokens[k].text);
      if (aligned || (text && word)) text += prepared.gaps[i];
      const start = [...text].length;
      text += word;
      return {
        text: word, start, end: [...text].length, epsilon: drawn && known[i] ? epsilon : 0,
        origin: deleted?.has(i) ? "deleted" : drawn ? "drawn" : "kept", original: aligned ? token.text : "", reason: reasons[i] ?? (known[i] ? "" : UNKNOWN),
      };
    });
    const { gaps, ms } = prepared;
    return { text: text + gaps[gaps.length - 1], releases, guarantee: this.guarantee(prepared, epsilon), ms };
  }

  /** How a sampled word is written at a place; a sentence is written as it is. */
  written(/** @type {Prepared} */ { aligned, capitals, spec, reasons }, /** @type {number} */ i, /** @type {string} */ word) {
    const rule = spec.options.recase;
    if (!aligned || rule === "none" || reasons[i] !== null) return word;
    return this.language.written(rule === "public" ? this.language.forms.get(word) ?? word : word, capitals[i]);
  }

  /** A copied token in its released form. wordAt: the released word at a token. */
  copied(/** @type {Prepared} */ { clean, document }, /** @type {number} */ i, /** @type {(i: number) => string} */ wordAt) {
    return copied(this.language, clean, document.tokens[i].text, i, wordAt);
  }
}

/** The assets that are loaded for a mechanism with its options. */
const tableOf = (/** @type {any} */ { name, options, shape }) =>
  name === "custext" ? `custext-${options.k}` : shape ? "dp-mlm" : name;
const all = (/** @type {readonly any[]} */ list) => Array.from(list.keys());

/** The indices of words that are not on the blocklist. */
function leftOf(/** @type {string[]} */ words, /** @type {Blocklist} */ blocklist) {
  const left = all(words).filter((j) => !blocklist.bans(words[j]));
  if (!left.length) throw new Error("The blocklist leaves no possible output. Shorten the blocklist.");
  return left;
}

const lines = (/** @type {ArrayBuffer} */ file) => new TextDecoder().decode(file).split("\n");
