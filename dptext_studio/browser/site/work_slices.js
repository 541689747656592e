// @ts-check
// Long work in slices: between them the page paints, reacts to keys, and can stop the work.

const SLICE_MS = 40;

/**
 * Return what a loop awaits at each step. It takes no time before a slice is over.
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
