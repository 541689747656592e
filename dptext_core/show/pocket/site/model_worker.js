// @ts-check
// A model in a worker, so that the page never waits: the masked language model, one pass of ONNX Runtime (WebAssembly,
// one thread) for each text, or the sentence encoder, one pass for each sentence. In float32.

import * as runtime from "./runtime/ort.mjs";

/** @type {any} */
let session;
/** @type {any} */
const ort = runtime;

const whole = (/** @type {number[]} */ numbers) =>
  new ort.Tensor("int64", BigInt64Array.from(numbers, BigInt), [numbers.length]);

/** The vector of a sentence, of any length: Float32Array. */
async function vector(/** @type {number[]} */ ids) {
  const made = await session.run({ ids: whole(ids), places: whole(ids.map((_, i) => i)), types: whole(ids.map(() => 0)) });
  return made.found.data;
}

/** Scores of all candidates at each position that is asked for, by a query, or where there is no mask to ask with, at
 * the position itself: Float32Array (positions · candidates). */
async function scores(/** @type {number[]} */ ids, /** @type {number[]} */ positions, /** @type {number | null} */ mask) {
  const n = ids.length;
  const asked = mask === null ? 0 : positions.length;
  const rows = n + asked;
  const every = Array.from({ length: rows }, (_, i) => i);
  // Nobody reads a query but itself.
  const hides = new Float32Array(rows * rows);
  for (let r = 0; r < rows; r += 1) for (let c = n; c < rows; c += 1) if (c !== r) hides[r * rows + c] = -1e9;
  const made = await session.run({
    ids: whole(mask === null ? ids : [...ids, ...positions.map(() => mask)]),
    places: whole(mask === null ? every : [...every.slice(0, n), ...positions]),
    types: whole(every.map((i) => (i < n ? 0 : 1))),
    hides: new ort.Tensor("float32", hides, [rows, rows]),
    asked: whole(mask === null ? positions : every.slice(n)),
  });
  return made.found.data;
}

self.onmessage = async ({ data }) => {
  try {
    if (data.load) {
      ort.env.wasm.numThreads = 1;
      ort.env.wasm.wasmBinary = data.load.runtime;
      session = await ort.InferenceSession.create(new Uint8Array(data.load.model), { executionProviders: ["wasm"] });
      postMessage({ id: data.id });
      return;
    }
    const start = performance.now();
    const made = data.positions ? await scores(data.ids, data.positions, data.mask) : await vector(data.ids);
    const found = made.slice();
    postMessage({ id: data.id, found, ms: performance.now() - start }, { transfer: [found.buffer] });
  } catch (problem) {
    postMessage({ id: data.id, error: String(/** @type {any} */ (problem)?.message ?? problem) });
  }
};
