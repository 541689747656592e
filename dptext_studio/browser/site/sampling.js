// @ts-check
// Random numbers from the browser's cryptographic generator, with the full range of float64, so that improbable outcomes
// remain possible. As dptext_core/privacy/sampling.py, without seeds.

const MOST = 16384; // numbers of 32 bits per call of the generator
const MOST_BITS = 4096;

/** Random whole numbers of 32 bits. Tests replace it. */
export const source = {
  fill(/** @type {Uint32Array} */ words) {
    for (let i = 0; i < words.length; i += MOST) crypto.getRandomValues(words.subarray(i, i + MOST));
  },
};

function randoms(/** @type {number} */ n) {
  const words = new Uint32Array(n);
  source.fill(words);
  return words;
}

/** More bits of a uniform number whose first 64 are known, until 64 bits follow its leading zeros: [bits, how many]. */
function extended(/** @type {number} */ high, /** @type {number} */ low) {
  let bits = (BigInt(high) << 32n) | BigInt(low);
  let n = 64;
  while (bits.toString(2).length < 64 && n < MOST_BITS) {
    for (const word of randoms(4)) bits = (bits << 32n) | BigInt(word);
    n += 128;
  }
  return /** @type {[bigint, number]} */ ([bits, n]);
}

/** n uniform numbers in (0, 1). */
export function uniforms(/** @type {number} */ n) {
  const words = randoms(2 * n);
  const out = new Float64Array(n);
  for (let i = 0; i < n; i += 1) {
    const high = words[2 * i];
    const low = words[2 * i + 1];
    if (high >= 4096) out[i] = Math.min(high * 2 ** -32 + low * 2 ** -64, 1 - 2 ** -53);
    else {
      const [bits, m] = extended(high, low);
      const shift = Math.max(0, bits.toString(2).length - 64);
      // In two steps, since 2^-m itself may be 0.
      const shrink = shift - m;
      const half = Math.floor(shrink / 2);
      out[i] = Math.max(Number(bits >> BigInt(shift)) * 2 ** half * 2 ** (shrink - half), 5e-324);
    }
  }
  return out;
}

/** ln of a uniform number in (0, 1), even if that is too small for float64. */
export function logUniform() {
  const [high, low] = randoms(2);
  if (high >= 4096) return Math.log(Math.min(high * 2 ** -32 + low * 2 ** -64, 1 - 2 ** -53));
  const [bits, m] = extended(high, low);
  const shift = Math.max(0, bits.toString(2).length - 64);
  return Math.log(Number(bits >> BigInt(shift)) || 1) + (shift - m) * Math.LN2;
}

/** 1 or −1, equally likely. */
export const sign = () => (randoms(1)[0] & 1 ? 1 : -1);

/** n Gumbel variables, −ln(−ln(1−U)): the word with the highest ln p + g is a draw from p. */
export function gumbels(/** @type {number} */ n) {
  const out = uniforms(n);
  for (let i = 0; i < n; i += 1) out[i] = -Math.log(-Math.log1p(-out[i]));
  return out;
}
