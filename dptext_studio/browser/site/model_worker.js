// @ts-check
// A model in a worker, so that the page never waits: the masked language model, one pass of ONNX Runtime (WebAssembly,
// one thread) for each text, or the sentence encoder, one pass for each sentence. In float32.

import * as runtime from "./runtime/ort.mjs";

/** @type {any} */
let session;
/** @type {any} */
const ort = runtime;

/** Whole numbers of one text, as the runtime takes them. */
const whole = (/** @type {number[]} */ numbers) =>
  new ort.Tensor("int64", BigInt64Array.from(numbers, BigInt), [1, numbers.length]);
const floats = (/** @type {number[]} */ numbers) => new ort.Tensor("float32", Float32Array.from(numbers), [1, numbers.length]);

/** The vector of a sentence, of any length: Float32Array. */
async function vector(/** @type {number[]} */ ids) {
  const made = await session.run({ ids: whole(ids), there: floats(ids.map(() => 1)) }, ["mean"]);
  return made.mean.data;
}

/** Scores of all candidates at each position: of a query with a mask or, without one, of the token there.
 * Float32Array (positions · candidates). */
async function scores(/** @type {number[]} */ ids, /** @type {number[]} */ positions, /** @type {number | null} */ mask) {
  // A product of a single row would be rounded in another way.
  const places = positions.length === 1 ? [positions[0], positions[0]] : positions;
  const query = mask === null ? 0 : 1;
  const { found } = await session.run({
    ids: whole(ids),
    types: whole(ids.map(() => 0)),
    there: floats(ids.map(() => 1)),
    asked: whole(places.map((p) => mask ?? ids[p])),
    asked_types: whole(places.map(() => query)),
    places: whole(places),
    itself: floats(places.map(() => query)),
  });
  return found.data.subarray(0, positions.length * found.dims[2]);
}

self.onmessage = async ({ data }) => {
  try {
    if (data.load) {
      ort.env.wasm.numThreads = 1;
      ort.env.wasm.wasmBinary = data.load.runtime;
      session = await ort.InferenceSession.create(new Uint8Array(data.load.graph), {
        executionProviders: ["wasm"],
        logSeverityLevel: 3, // errors alone: it warns of initializers that are folded away
        externalData: [{ path: data.load.name, data: new Uint8Array(data.load.weights) }],
        // Convert the weights to float32 once, instead of computing in 8 bits.
        extra: { session: { disable_quant_qdq: "1" } },
      });
      postMessage({ id: data.id });
      return;
    }
    const start = performance.now();
    // The runtime returns a copy, so its memory can be transferred.
    const found = data.positions ? await scores(data.ids, data.positions, data.mask) : await vector(data.ids);
    postMessage({ id: data.id, found, ms: performance.now() - start }, { transfer: [found.buffer] });
  } catch (problem) {
    postMessage({ id: data.id, error: String(/** @type {any} */ (problem)?.message ?? problem) });
  }
};
