// @ts-check
// Long work in slices: between them the page paints, keys are heard, and the work can be stopped.

const SLICE_MS = 40;

/**
 * What a loop awaits at each of its steps; it takes no time before a slice is over.
 * @param {AbortSignal} [signal] what stops it
 * @returns {() => Promise<void> | void}
 */
export function breather(signal) {
  let since = performance.now();
  return () => {
    if (performance.now() - since < SLICE_MS) return undefined;
    return new Promise((done) => setTimeout(done)).then(() => {
      signal?.throwIfAborted();
      since = performance.now();
    });
  };
}
