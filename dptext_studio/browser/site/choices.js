// @ts-check
// Mechanisms with the chosen options, from core.json.

/** A mechanism with some of its options. */
export function specOf(/** @type {any} */ core, /** @type {string} */ mechanism, /** @type {Record<string, any>} */ options = {}) {
  const found = core.mechanisms.find((/** @type {any} */ m) => m.name === mechanism);
  if (!found) throw new Error(`This site has no mechanism ${mechanism}. Choose another one.`);
  const named = (/** @type {any} */ c) => (c.name in options ? options[c.name] : c.value);
  /** @type {any[]} */
  const [writing, other] = [true, false].map((w) => found.controls.filter((/** @type {any} */ c) => c.writes_only === w));
  const chosen = other.map((/** @type {any} */ c) => (isUsed(found, c, options) ? named(c) : c.value));
  const variant = found.variants[JSON.stringify(chosen)];
  if (!variant || writing.some((/** @type {any} */ c) => !c.values.includes(named(c)))) {
    throw new Error(`${found.title} is not available with these options. Choose others.`);
  }
  const written = Object.fromEntries(writing.map((/** @type {any} */ c) => [c.name, named(c)]));
  return { ...found, ...variant, options: { ...variant.options, ...written } };
}

/** Reject an ε for which the core gives no guarantee. */
export function check(/** @type {any} */ { limits: [least, most] }, /** @type {unknown} */ epsilon) {
  if (typeof epsilon === "number" && epsilon >= least && epsilon <= most) return;
  throw new Error(`epsilon must be a number from ${least} to ${most} here, not ${String(epsilon)}.`);
}

/** Whether an option has an effect together with the others. */
export function isUsed(/** @type {any} */ { controls }, /** @type {any} */ { used_with: needs }, /** @type {Record<string, any>} */ options) {
  if (!needs) return true;
  const other = controls.find((/** @type {any} */ c) => c.name === needs[0]);
  return (options[needs[0]] ?? other.value) === needs[1];
}
