// @ts-check
// The mechanisms: from a text to what each of its words is drawn from.

import { content } from "./files.js";
import { alike, constant, onList, ranked, scored } from "./laws.js";
import { guarantee } from "./promise.js";
import { Language, begins, skeleton, spaced } from "./text.js";
import { WordPieces, queries } from "./wordpiece.js";

/** @typedef {import("./laws.js").Law} Law */
/** @typedef {import("./text.js").Document} Document */
/**
 * @typedef {object} Prepared
 * @property {any} spec the mechanism in core.json
 * @property {Document} document
 * @property {(string | null)[]} reasons why each token is kept, null where it is drawn
 * @property {(Law | null)[]} laws what each drawn token is drawn from
 * @property {boolean[]} known whether a drawn token is drawn by looking at it
 * @property {boolean[]} capitals whether the word at each place begins a sentence or a line
 * @property {string[]} gaps the blanks before each token, and after the last
 * @property {boolean} aligned whether what is released answers to the tokens; where not, the tokens are sentences
 * @property {(Int16Array | null)[]} [vectors] of the sentences, null for an empty one
 * @property {number} ms what the model took
 */

const UNKNOWN = "not in the vocabulary";
const STEPS = 2 ** 14; // of a coordinate of a sentence's vector from 0 to 1

/** A model behind a worker. */
class Model {
  constructor() {
    this.worker = new Worker("model_worker.js", { type: "module" });
    /** @type {Map<number, {done: (x: any) => void, failed: (x: any) => void}>} */
    this.waiting = new Map();
    this.next = 0;
    this.worker.onmessage = ({ data }) => {
      const one = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if (data.error) one?.failed(new Error(data.error));
      else one?.done(data);
    };
    this.worker.onerror = (event) => {
      for (const one of this.waiting.values()) one.failed(new Error(event.message || "the model's worker stopped"));
      this.waiting.clear();
    };
  }

  /** @returns {Promise<any>} */
  ask(/** @type {object} */ what, /** @type {Transferable[]} */ transfer = []) {
    this.next += 1;
    const id = this.next;
    return new Promise((done, failed) => {
      this.waiting.set(id, { done, failed });
      this.worker.postMessage({ id, ...what }, transfer);
    });
  }
}

export class Engine {
  /** @param {any} core what core.json holds */
  constructor(core) {
    this.core = core;
    this.language = new Language(core.language);
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
     * @type {Map<string, {words: string[], places: Map<string, number>, law: (row: number) => Law}>} */
    this.tables = new Map();
    /** @type {Map<string, Promise<void>>} */
    this.loads = new Map();
  }

  /** What a mechanism needs, loaded once. */
  load(/** @type {string} */ mechanism, /** @type {(bytes: number, all: number) => void} */ hear = () => {}) {
    let found = this.loads.get(mechanism);
    if (!found) {
      if (mechanism === "dp-mlm") found = this.loadModel(hear);
      else found = mechanism === "dp-sentence" ? this.loadBank(hear) : this.loadWords(mechanism, hear);
      this.loads.set(mechanism, found);
      found.catch(() => this.loads.delete(mechanism));
    }
    return found;
  }

  /** The files of these names. */
  async fetch(/** @type {string[]} */ names, /** @type {(bytes: number, all: number) => void} */ hear) {
    const files = names.map((name) => this.core.files[name]);
    const all = files.reduce((sum, file) => sum + file.bytes, 0);
    let come = 0;
    return Promise.all(files.map((file) => content(file, (bytes) => hear((come += bytes), all))));
  }

  async loadModel(/** @type {(bytes: number, all: number) => void} */ hear) {
    const [pieces, wasm, weights] = await this.fetch(["vocabulary", "runtime", "model"], hear);
    const list = lines(pieces);
    const worker = new Model();
    await worker.ask({ load: { runtime: wasm, model: weights } }, [wasm, weights]);
    this.candidates = this.core.candidates.flatMap((/** @type {[number, number]} */ [a, b]) => list.slice(a, b));
    this.placeOf = new Map(this.candidates.map((word, i) => [word, i]));
    [this.pieces, this.model] = [new WordPieces(list), worker];
  }

  async loadBank(/** @type {(bytes: number, all: number) => void} */ hear) {
    const [pieces, wasm, weights, sentences, vectors] = await this.fetch(
      ["vocabulary", "runtime", "encoder", "sentences", "vectors"], hear,
    );
    const encoder = new Model();
    await encoder.ask({ load: { runtime: wasm, model: weights } }, [wasm, weights]);
    const codes = new Int8Array(vectors);
    const found = lines(sentences);
    const wide = codes.length / found.length;
    const lengths = Float64Array.from(found, (_, j) => length(codes.subarray(j * wide, (j + 1) * wide)));
    this.pieces ??= new WordPieces(lines(pieces));
    this.bank = { encoder, sentences: found, codes, lengths };
  }

  async loadWords(/** @type {string} */ mechanism, /** @type {(bytes: number, all: number) => void} */ hear) {
    const needed = { custext: ["words", "custext"], santext: ["words", "codes"], diffractor: ["list"] }[mechanism];
    if (!needed) throw new Error(`there is no mechanism ${mechanism} here`);
    const [list, table] = await this.fetch(needed, hear);
    const words = lines(list);
    const laws = { custext: () => custext(words, table), santext: () => santext(words, table), diffractor: () => diffractor(words) };
    const law = laws[/** @type {keyof typeof laws} */ (mechanism)]();
    this.tables.set(mechanism, { words, places: new Map(words.map((word, i) => [word, i])), law });
  }

  /** A text with what each of its words is drawn from, at every ε. @returns {Promise<Prepared>} */
  async prepare(/** @type {string} */ text, /** @type {string} */ mechanism) {
    await this.load(mechanism);
    const spec = this.core.mechanisms.find((/** @type {any} */ m) => m.name === mechanism);
    if (!spec) throw new Error(`there is no mechanism ${mechanism} here`);
    if (mechanism === "dp-sentence") return this.bySentence(text, spec);
    const document = this.language.parse(text);
    const table = this.tables.get(mechanism);
    const place = (/** @type {import("./text.js").Token} */ t) =>
      t.kind === "word" ? table?.places.get(t.text.toLowerCase()) : undefined;
    const reasons = document.tokens.map((t) => {
      if (t.kind === "symbol") return "symbol";
      if (t.kind === "punct") return "punctuation";
      if (t.kind === "number" && table) return null;
      return t.kind === "clitic" || this.language.has(this.stop, t.text) ? "stop word" : null;
    });
    const drawn = reasons.map((r) => r === null);
    const frame = skeleton(document, drawn);
    const known = document.tokens.map((t, i) => drawn[i] && (!table || place(t) !== undefined));
    const byWord = (/** @type {import("./text.js").Token} */ t) => {
      const row = place(t);
      return row === undefined ? constant(table?.words ?? []) : /** @type {Law} */ (table?.law(row));
    };
    const { laws, ms } = table
      ? { laws: document.tokens.map((t, i) => (drawn[i] ? byWord(t) : null)), ms: 0 }
      : await this.byModel(document, drawn, spec);
    return { spec, document, reasons, laws, known, capitals: begins(frame, this.language), gaps: spaced(frame), aligned: true, ms };
  }

  /** One draw a sentence: the tokens are the sentences, an empty one where there is none. @returns {Promise<Prepared>} */
  async bySentence(/** @type {string} */ text, /** @type {any} */ spec) {
    const { bank, pieces } = this;
    if (!bank || !pieces) throw new Error("the bank of sentences is not there");
    const found = this.language.sentenceSpans(text);
    const tokens = (found.length ? found : [[0, 0]]).map(([start, end]) => ({ text: text.slice(start, end), start, end, kind: "sentence" }));
    const vectors = [];
    let ms = 0;
    for (const { text: sentence } of tokens) {
      const made = sentence ? await bank.encoder.ask({ ids: pieces.sequence(sentence, spec.options.max_length) }) : null;
      ms += made?.ms ?? 0;
      vectors.push(made ? steps(made.found) : null);
    }
    const laws = vectors.map((own) => alike(bank.sentences, cosines(bank, own), null));
    return {
      spec, document: { text, tokens }, reasons: tokens.map(() => null), laws, known: tokens.map(() => true),
      capitals: [], gaps: ["", ...tokens.slice(1).map(() => " "), ""], aligned: false, vectors, ms,
    };
  }

  /** DP-MLM: the model's clipped scores at a query for each word, all in one pass. */
  async byModel(/** @type {Document} */ document, /** @type {boolean[]} */ drawn, /** @type {any} */ spec) {
    const { model, pieces, candidates } = this;
    if (!model || !pieces) throw new Error("the model is not there");
    const { clip_min: low, clip_max: high, max_length: longest } = spec.options;
    const targets = document.tokens.flatMap((_, i) => (drawn[i] ? [i] : []));
    /** @type {(Law | null)[]} */
    const laws = document.tokens.map(() => null);
    let ms = 0;
    for (const asked of queries(pieces.encode(document), targets, pieces, longest)) {
      const found = await model.ask({ ids: asked.ids, positions: asked.positions, mask: pieces.mask });
      ms += found.ms;
      asked.targets.forEach((t, n) => {
        const row = found.found.subarray(n * candidates.length, (n + 1) * candidates.length);
        const scores = new Float64Array(row.length);
        for (let j = 0; j < row.length; j += 1) scores[j] = (Math.min(Math.max(row[j], low), high) - high) / (2 * (high - low));
        const source = this.placeOf?.get(document.tokens[t].text.toLowerCase()) ?? -1;
        laws[t] = scored(candidates, scores, source);
      });
    }
    return { laws, ms };
  }

  /** The promise of a rewrite of a prepared text. */
  promise(/** @type {Prepared} */ prepared, /** @type {number} */ epsilon) {
    /** @type {Record<string, number>} */
    const kept = {};
    prepared.reasons.forEach((r, i) => {
      const of = r ?? (prepared.known[i] ? null : "unknown");
      if (of) kept[of] = (kept[of] ?? 0) + 1;
    });
    return guarantee(prepared.spec, epsilon, prepared.known.filter(Boolean).length, kept);
  }

  /** One rewrite, with fresh randomness: its text, and what became of each token. */
  rewrite(/** @type {Prepared} */ prepared, /** @type {number} */ epsilon) {
    let text = "";
    const releases = prepared.document.tokens.map((token, i) => {
      const law = prepared.laws[i];
      const word = law ? this.written(prepared, i, law.candidates[law.noise().at(epsilon)]) : token.text;
      text += prepared.gaps[i];
      const start = [...text].length;
      text += word;
      return {
        text: word, start, end: [...text].length, epsilon: law && prepared.known[i] ? epsilon : 0,
        origin: law ? "drawn" : "kept", original: prepared.aligned ? token.text : "", reason: prepared.reasons[i] ?? (prepared.known[i] ? "" : UNKNOWN),
      };
    });
    const { gaps, ms } = prepared;
    return { text: text + gaps[gaps.length - 1], releases, guarantee: this.promise(prepared, epsilon), ms };
  }

  /** How a word is written at a place; a sentence is written as it is. */
  written(/** @type {Prepared} */ prepared, /** @type {number} */ i, /** @type {string} */ word) {
    if (!prepared.aligned) return word;
    return this.language.written(word, prepared.capitals[i]);
  }
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

/** CusText: the K words that a word shares with its group, the likest first. */
function custext(/** @type {string[]} */ words, /** @type {ArrayBuffer} */ table) {
  // float64 scores of all words, then their places as whole numbers of 16 bits.
  const size = table.byteLength / 10;
  const k = size / words.length;
  const scores = new Float64Array(table, 0, size);
  const outputs = new Uint16Array(table, 8 * size, size);
  return (/** @type {number} */ row) => {
    const own = outputs.subarray(row * k, (row + 1) * k);
    return ranked([...own].map((i) => words[i]), scores.slice(row * k, (row + 1) * k), own.indexOf(row));
  };
}

/** SanText: the distances of a word to all words, from vectors of whole numbers, axis by axis. */
function santext(/** @type {string[]} */ words, /** @type {ArrayBuffer} */ table) {
  const codes = new Int8Array(table);
  const n = words.length;
  const axes = codes.length / n;
  const lengths = new Float64Array(n);
  for (let a = 0; a < axes; a += 1) for (let j = 0; j < n; j += 1) lengths[j] += codes[a * n + j] ** 2;
  for (let j = 0; j < n; j += 1) lengths[j] = Math.sqrt(lengths[j]);
  return (/** @type {number} */ row) => {
    // Products of whole numbers are exact.
    const products = new Int32Array(n);
    for (let a = 0; a < axes; a += 1) {
      const own = codes[a * n + row];
      for (let j = 0, at = a * n; j < n; j += 1, at += 1) products[j] += own * codes[at];
    }
    const scores = new Float64Array(n);
    for (let j = 0; j < n; j += 1) {
      const square = products[j] * (-2 / lengths[j]) * (1 / lengths[row]) + 2;
      scores[j] = j === row ? -0 : Math.sqrt(Math.max(square, 0)) / -2;
    }
    return scored(words, scores, row);
  };
}

/** 1-Diffractor on one list, whose words these are in their order. */
const diffractor = (/** @type {string[]} */ list) => (/** @type {number} */ row) => onList(list, row);
