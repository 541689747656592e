// @ts-check
// Long work in slices: between them the page paints, keys are heard, and the work can be stopped.

const SLICE_MS = 40;

/**
 * What a loop awaits at each of its steps; it takes no time before a slice is over.
 * @param {AbortSignal} [signal] what stops it
 * @param {number} [slice] milliseconds
 * @returns {() => Promise<void> | void}
 */
export function breather(signal, slice = SLICE_MS) {
  let since = performance.now();
  return () => {
    if (performance.now() - since < slice) return undefined;
    return new Promise((done) => setTimeout(done)).then(() => {
      signal?.throwIfAborted();
      since = performance.now();
    });
  };
}
