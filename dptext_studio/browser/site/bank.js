// @ts-check
// Vectors of sentences as whole numbers, and how alike they are: products of whole numbers are exact.

const STEPS = 2 ** 14; // of a coordinate of a sentence's vector from 0 to 1

export function length(/** @type {Int8Array | Int16Array} */ codes) {
  let sum = 0;
  for (let a = 0; a < codes.length; a += 1) sum += codes[a] * codes[a];
  return Math.sqrt(sum);
}

/** A vector of any length scaled to length 1, in whole steps. */
export function steps(/** @type {Float32Array} */ vector) {
  let sum = 0;
  for (const x of vector) sum += x * x;
  const size = Math.sqrt(sum);
  return Int16Array.from(vector, (x) => Math.round((x / size) * STEPS));
}

/** The cosine of a sentence with each of the bank; −1 for an empty one. */
export function cosines(
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
