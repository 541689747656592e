// @ts-check
// A synchronous SHA-512 for every address: the browser's own is asynchronous and needs https.

const MASK = (1n << 64n) - 1n;

/** The first n primes. */
function primes(/** @type {number} */ n) {
  /** @type {number[]} */
  const found = [];
  for (let x = 2; found.length < n; x += 1) if (found.every((p) => x % p)) found.push(x);
  return found;
}

/** The first 64 bits after the point of a root of a prime. */
function bits(/** @type {number} */ prime, /** @type {bigint} */ degree) {
  const wanted = BigInt(prime) << (64n * degree);
  let [low, high] = [0n, 1n << 70n];
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** degree <= wanted) low = middle;
    else high = middle;
  }
  return low & MASK;
}

const halves = (/** @type {bigint[]} */ words) => Int32Array.from(words.flatMap((w) => [Number(w >> 32n), Number(w & 0xffffffffn)]), (x) => x | 0);
const K = halves(primes(80).map((p) => bits(p, 3n)));
const START = halves(primes(8).map((p) => bits(p, 2n)));

// Words of 64 bits as two halves, the high one first.
let high = 0;
let low = 0;
function set(/** @type {Int32Array} */ words, /** @type {number} */ i) {
  high = words[i];
  low = words[i + 1];
}
function add(/** @type {number} */ h, /** @type {number} */ l) {
  const sum = (low >>> 0) + (l >>> 0);
  high = (high + h + (sum > 0xffffffff ? 1 : 0)) | 0;
  low = sum | 0;
}
/** The high half of a word rotated to the right; with swapped halves, the low one. */
const turned = (/** @type {number} */ h, /** @type {number} */ l, /** @type {number} */ n) =>
  n < 32 ? (h >>> n) | (l << (32 - n)) : (l >>> (n - 32)) | (h << (64 - n));
const mixed = (
  /** @type {number} */ h, /** @type {number} */ l, /** @type {number} */ a, /** @type {number} */ b, /** @type {number} */ c,
) =>
  turned(h, l, a) ^ turned(h, l, b) ^ turned(h, l, c);

/** The bytes of the hash of a text. */
export function sha512(/** @type {string} */ text) {
  const bytes = new TextEncoder().encode(text);
  const padded = new Uint8Array(Math.ceil((bytes.length + 17) / 128) * 128);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 4, bytes.length * 8);
  const state = START.slice();
  const w = new Int32Array(160);
  for (let at = 0; at < padded.length; at += 128) {
    for (let i = 0; i < 32; i += 1) w[i] = view.getInt32(at + 4 * i);
    for (let i = 32; i < 160; i += 2) {
      const ah = w[i - 30];
      const al = w[i - 29];
      const bh = w[i - 4];
      const bl = w[i - 3];
      set(w, i - 32);
      add(turned(ah, al, 1) ^ turned(ah, al, 8) ^ (ah >>> 7), turned(al, ah, 1) ^ turned(al, ah, 8) ^ ((al >>> 7) | (ah << 25)));
      add(w[i - 14], w[i - 13]);
      add(turned(bh, bl, 19) ^ turned(bh, bl, 61) ^ (bh >>> 6), turned(bl, bh, 19) ^ turned(bl, bh, 61) ^ ((bl >>> 6) | (bh << 26)));
      w[i] = high;
      w[i + 1] = low;
    }
    round(state, w);
  }
  const out = new DataView(new ArrayBuffer(64));
  state.forEach((x, i) => out.setInt32(4 * i, x));
  return new Uint8Array(out.buffer);
}

/** One block: state is changed by the schedule w. */
function round(/** @type {Int32Array} */ state, /** @type {Int32Array} */ w) {
  const s = state.slice();
  for (let i = 0; i < 160; i += 2) {
    const eh = s[8];
    const el = s[9];
    const ah = s[0];
    const al = s[1];
    set(s, 14);
    add(mixed(eh, el, 14, 18, 41), mixed(el, eh, 14, 18, 41));
    add((eh & s[10]) ^ (~eh & s[12]), (el & s[11]) ^ (~el & s[13]));
    add(K[i], K[i + 1]);
    add(w[i], w[i + 1]);
    const th = high;
    const tl = low;
    add(s[6], s[7]);
    const dh = high;
    const dl = low;
    high = th;
    low = tl;
    add(mixed(ah, al, 28, 34, 39), mixed(al, ah, 28, 34, 39));
    add((ah & s[2]) ^ (ah & s[4]) ^ (s[2] & s[4]), (al & s[3]) ^ (al & s[5]) ^ (s[3] & s[5]));
    s.copyWithin(2, 0, 14);
    s[0] = high;
    s[1] = low;
    s[8] = dh;
    s[9] = dl;
  }
  for (let i = 0; i < 16; i += 2) {
    set(state, i);
    add(s[i], s[i + 1]);
    state[i] = high;
    state[i + 1] = low;
  }
}
