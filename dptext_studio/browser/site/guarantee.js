// @ts-check
// The sentences of a guarantee, from templates of the core (core.json), with numbers rounded like the core's: never to
// a smaller ε. As in dptext_core/privacy/sentences.py and numbers.py.

const NOISE = 10n ** 12n; // two floats that differ by a part of this stand for one number

/** x with this many digits, or more if there are more before the point, rounded up. */
function roundedUp(/** @type {number} */ x, /** @type {number} */ digits) {
  if (!Number.isFinite(x) || x <= 0 || x >= 1e15) return x;
  // The exact decimal expansion of a float has fewer digits than this, for what is rounded here.
  const [mantissa, power] = x.toExponential(100).split("e");
  const value = BigInt(mantissa.replace(".", "")); // times 10^(power − 100)
  const adjusted = Number(power);
  const unit = Math.min(0, adjusted - digits + 1);
  const divisor = 10n ** BigInt(unit - (adjusted - 100));
  const least = value - value / NOISE;
  const whole = (least + divisor - 1n) / divisor;
  return Number(`${whole}e${unit}`);
}

const integer = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** ε as people write it: 50, 2.5, 0.04, 12,000. */
export function number(/** @type {number} */ x) {
  if (!Number.isFinite(x)) return "∞";
  if (Number.isInteger(x) || Math.abs(x) >= 999.5) return integer.format(x);
  return general(x, 3);
}

/** A probability for people. A very likely outcome is never written as certain. */
export function percent(/** @type {number} */ p) {
  if (p === 0) return "0%";
  if (p > 0.995 && p < 1) return ">99%";
  return p >= 0.0995 ? `${(100 * p).toFixed(0)}%` : p >= 1e-4 ? `${Number((100 * p).toPrecision(2))}%` : "< 0.01%";
}

/** An upper bound of a probability for people: near 1, with enough digits to remain below it. */
export const limit = (/** @type {number} */ p) => (p > 0.995 && p < 1 ? `${Number((100 * p).toPrecision(5))}%` : percent(p));

/** Like Python's format "g" with this many digits. */
function general(/** @type {number} */ x, /** @type {number} */ digits) {
  const [mantissa, power] = x.toExponential(digits - 1).split("e");
  if (Number(power) < -4 || Number(power) >= digits) {
    const sign = power[0] === "-" ? "-" : "+";
    return `${Number(mantissa)}e${sign}${power.slice(1).padStart(2, "0")}`;
  }
  return String(Number(Number(`${mantissa}e${power}`).toFixed(Math.max(0, digits - 1 - Number(power)))));
}

export const bound = (/** @type {number} */ x) => number(roundedUp(x, 3));

/** e^ε in words, never rounded down. */
export function odds(/** @type {number} */ epsilon) {
  return epsilon > Math.log(1e9) ? "more than a billion times" : `${bound(Math.exp(epsilon))} times`;
}

/** A template with its placeholders filled. */
function fill(/** @type {string} */ template, /** @type {Record<string, string>} */ values) {
  return template.replace(/\{(\w+)\}/g, (/** @type {string} */ place, /** @type {string} */ name) => values[name] ?? place);
}

/**
 * The guarantee of one rewrite.
 * @param {any} spec the mechanism in core.json
 * @param {number} epsilon of a draw
 * @param {number} draws
 * @param {Record<string, number>} kept how many tokens are kept for each reason, and how many are "unknown"
 * @param {boolean} listed whether there is a blocklist
 */
export function guarantee(spec, epsilon, draws, kept, listed) {
  // Summed as in the core, so that both round the same number.
  let total = 0;
  for (let i = 0; i < draws; i += 1) total += epsilon;
  const which = draws === 0 ? "none" : draws === 1 ? "one" : "many";
  const exponent = spec.guarantee.notion === "metric" ? epsilon * spec.guarantee.near : epsilon;
  const size = exponent > Math.log(100) ? "large" : "plain";
  /** @type {Record<string, string>} */
  const values = {
    odds: odds(epsilon), each: bound(epsilon), draws: integer.format(draws), total: bound(total),
    near: odds(epsilon * spec.guarantee.near),
    largest: epsilon * spec.guarantee.near > Math.log(1e9) ? "even more" : odds(epsilon * spec.guarantee.largest),
  };
  const { notion, unit, adjacency, sentences, exposed: entries, blocklist } = spec.guarantee;
  const exposed = [];
  for (const entry of entries) {
    const n = entry.of ? kept[entry.of] ?? 0 : 1;
    if (n || (entry.always && (entry.of !== "allowed" || "allowed" in kept))) exposed.push(n === 1 ? entry.one : fill(entry.many, { count: integer.format(n) }));
  }
  if (listed) exposed.push(blocklist);
  return { notion, epsilon, unit, adjacency, draws, total, exposed, sentence: fill(sentences[which][size], values) };
}
