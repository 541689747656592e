// Computations of the token view: probabilities, released words, capital letters, and the text to copy.
// Plain functions of the payload (dptext_studio/figures/token_payload.py), in front of token_strip.js in one module.
// tests/test_token_math.py runs them against the core on the same cases, so keep the page out of this file.

const IMPOSSIBLE = -9999; // a log-probability at most this stands for −∞

const clamp = (x, lo, hi) => Math.min(hi, Math.max(lo, x));

// "0%" means impossible; a possible event, however rare, is never written so.
function percent(p) {
  if (p <= 0) return "0%";
  if (p < 0.0001) return "< 0.01%";
  if (p < 0.00995) return `${(100 * p).toFixed(2)}%`;
  if (p < 0.0995) return `${(100 * p).toFixed(1)}%`;
  if (p < 0.995) return `${(100 * p).toFixed(0)}%`;
  return p < 0.9995 ? `${(100 * p).toFixed(1)}%` : ">99.9%";
}

// A share counted in n draws, with no more digits than they support.
function counted(p, n) {
  const unit = 10 ** Math.floor(Math.log10(100 / n) + 1e-9);
  const digits = Math.max(0, -Math.log10(unit));
  const least = Math.ceil(100 / n / unit - 1e-9) * unit;
  if (p < 0.99 / n) return `< ${least.toFixed(digits)}%`;
  if (p > 1 - 0.99 / n) return `>${(100 - least).toFixed(digits)}%`;
  const spread = 100 * Math.sqrt((p * (1 - p)) / n);
  return `${(100 * p).toFixed(clamp(Math.ceil(-Math.log10(spread)), 0, 2))}%`;
}

function number(eps) {
  const short = eps >= 100 ? eps.toFixed(0) : eps.toPrecision(3);
  return Number(short) === eps ? short : String(Number(eps.toPrecision(6)));
}

// For ends and marks: without the trailing zeros that keep the reading from jumping.
const plain = (eps) => String(Number(number(eps)));

// The position rule of the core: the first letter or digit, if its capital is one character.
function capital(word) {
  return word.replace(/[\p{L}\p{N}]/u, (char) => {
    const upper = char.toUpperCase();
    return [...upper].length === 1 ? upper : char;
  });
}

const hasWord = (text) => /[\p{L}\p{N}]/u.test(text);
const sameWord = (a, b) => a.toLowerCase() === b.toLowerCase();

// How many numbers of the ascending list are at most x.
function upTo(list, x) {
  let a = 0;
  let b = list.length;
  while (a < b) {
    const mid = (a + b) >> 1;
    if (list[mid] <= x) a = mid + 1;
    else b = mid;
  }
  return a;
}

// Where ε lies on the axis, 0 to 1.
function onAxis(eps, lo, hi) {
  return clamp(Math.log(eps / lo) / Math.log(hi / lo), 0, 1);
}

// Lagrange's polynomial through the six nearest grid values. At 60 points over two decades of ε it is off by 5e-6 at
// most, Catmull-Rom by 7e-3: too much for the small rest that "others" shows at a large ε.
function interpolate(z, x) {
  const n = Math.min(6, z.length);
  const first = clamp(Math.floor(x) - n / 2 + 1, 0, z.length - n) | 0;
  const t = x - first;
  let sum = 0;
  for (let j = 0; j < n; j += 1) {
    let weight = 1;
    for (let m = 0; m < n; m += 1) if (m !== j) weight *= (t - m) / (j - m);
    sum += weight * z[first + j];
  }
  return sum;
}

// The probability of this logarithm: one that is too small for a float is still possible.
const possible = (log) => Math.min(1, Math.max(Number.MIN_VALUE, Math.exp(log)));

// Give a token its probabilities at one ε, if they are known.
function tell(token, i, here) {
  token.here = here?.lp[i]; // ln p of each candidate at hereAt
  token.hereAt = here?.eps;
  if (token.here && token.here.length !== token.c.length) throw new Error(`the data of token ${i + 1} are incomplete`);
}

const isHere = (token, eps) => Boolean(token.here) && Math.abs(eps - token.hereAt) <= 1e-9 * eps;

// Whether a probability at ε lies between points of a curve that bends.
const rough = (token, eps) => token.bent && !isHere(token, eps);

// The probability of candidate k at ε, which is at x (0 to 1) on the axis; NaN if the word is not worth showing.
function chance(token, k, eps, x) {
  if (k < 0) return 0;
  if (isHere(token, eps)) return token.here[k] > IMPOSSIBLE ? possible(token.here[k]) : 0;
  if (!token.lp) {
    if (token.s[k] <= IMPOSSIBLE) return 0;
    return possible(eps * token.s[k] - interpolate(token.z, x * (token.z.length - 1)));
  }
  const row = token.lp[k];
  const at = x * token.last - token.off[k];
  if (at < -1e-9 || at > row.length - 1 + 1e-9) return NaN;
  const i = clamp(Math.floor(at), 0, row.length - 2);
  const first = clamp(i - 2, 0, Math.max(0, row.length - 6));
  let smooth = !token.draws;
  for (let j = first; smooth && j < Math.min(first + 6, row.length); j += 1) smooth = row[j] > IMPOSSIBLE;
  if (smooth) return possible(interpolate(row, at));
  // Counts have no smooth logarithm, and neither has an event that is impossible at a neighbouring point.
  return (1 - (at - i)) * Math.exp(row[i]) + (at - i) * Math.exp(row[i + 1]);
}

// How often the best guess recovers token i at ε, before sampling: the probability of the outputs whose best guess it
// is. null if no word was sampled; NaN if it is unknown at this ε.
function named(attack, i, eps) {
  const along = attack.along?.[i];
  if (!along) {
    const p = attack.p?.[i] ?? null;
    return p === null || attack.along || Math.abs(eps - attack.eps) <= 1e-9 * eps ? p : NaN;
  }
  const [scores, bases, won] = along;
  const x = scores.map((s, k) => eps * s + bases[k]);
  const top = Math.max(...x);
  let all = 0;
  let led = 0;
  x.forEach((v, k) => {
    const weight = Math.exp(v - top);
    all += weight;
    if (upTo(won[k], eps) % 2) led += weight;
  });
  return led / all;
}

// One token of the payload, ready for painting.
function prepare(raw, data, i) {
  const token = { pre: raw.pre ?? "", o: raw.o ?? "", a: raw.a, why: raw.why ?? "", at: -1, changed: false };
  token.drawn = raw.a === "replace" || raw.a === "insert";
  token.now = raw.t ?? token.o; // what stands there where nothing is drawn
  token.forms = raw.forms; // of an article: what it is before other words, and before those that the next token names
  token.counts = raw.a !== "insert" && raw.a !== "whole" && hasWord(token.o);
  token.button = token.drawn || raw.a === "delete" || token.counts;
  if (!token.drawn) return token;
  const off = raw.off ?? raw.c?.map(() => 0);
  const fits = raw.lp
    ? raw.lp.length === raw.c?.length && raw.lp.every((r, k) => r.length > 1 && off[k] + r.length <= data.lp_grid)
    : raw.s?.length === raw.c?.length && raw.z?.length === data.n_grid;
  if (!raw.c?.length || !fits || !raw.flips?.length) throw new Error(`the data of token ${i + 1} are incomplete`);
  token.counts ||= raw.a === "replace";
  token.c = raw.c;
  token.total = raw.total ?? data.total_candidates;
  token.draws = raw.draws ?? 0;
  token.bent = Boolean(raw.bent);
  tell(token, i, data.here);
  token.exact = raw.exact; // ln p of a candidate at an ε, where the page can work it out
  token.src = raw.src ?? -1;
  token.second = new Set(raw.second);
  token.from = raw.flips.map((f) => f[0]);
  token.to = raw.flips.map((f) => f[1]);
  token.shown = raw.cap ? raw.c.map(capital) : raw.c;
  // A candidate may be written differently from its list entry: a part of a word, a space, the end.
  if (raw.t !== undefined) token.shown = token.shown.map((c, k) => (token.to.includes(k) ? raw.t : c));
  token.kept = raw.c.map((word) => raw.a === "replace" && sameWord(word, token.o));
  if (raw.lp) return Object.assign(token, { lp: raw.lp, off, last: data.lp_grid - 1 });
  token.s = raw.s;
  token.z = raw.z;
  token.rank = raw.rank ?? raw.c.map((_, k) => k + 1);
  token.order = raw.c.map((_, k) => k).sort((a, b) => token.s[b] - token.s[a] || token.rank[a] - token.rank[b]);
  return token;
}

// How much meaning is preserved at ε; exact: whether that text itself was measured. Between two measured texts, it is
// interpolated. null before it is known.
function kept(meaning, eps) {
  const at = meaning ? upTo(meaning.at, eps) - 1 : -1;
  if (at < 0) return null;
  const { now, all, cosine } = meaning;
  if (now && Math.abs(now.eps - eps) <= 1e-9 * eps) return { share: Math.max(0, now.cosine), exact: true };
  if (all || at === cosine.length - 1) return { share: Math.max(0, cosine[at]), exact: all };
  const [a, b] = [meaning.at[at], meaning.at[at + 1]];
  const x = Math.log(eps / a) / Math.log(b / a);
  return { share: Math.max(0, (1 - x) * cosine[at] + x * cosine[at + 1]), exact: false };
}

// The cosine to the original in words.
function likeness(cosine) {
  if (cosine > 0.999) return "unchanged";
  const names = [[0.35, "another topic"], [0.5, "related topic"], [0.65, "same topic"], [0.8, "loose paraphrase"]];
  return names.find(([below]) => cosine < below)?.[1] ?? "close paraphrase";
}

// How a log-ratio of at most ``loss`` changes even odds: "73:27".
function oddsPair(loss) {
  const small = 100 / (1 + Math.exp(loss));
  const digits = Math.min(6, Math.max(0, -Math.floor(Math.log10(small))));
  return `${(100 - small).toFixed(digits)}:${small.toFixed(digits)}`;
}

const MATCHED = 0.05; // certainties this close to each other count as the same
const SAYABLE = 12; // a log-ratio from which on the odds that it allows exclude nothing

// What the low end of the dial is called at ε: private only if the guarantee of the whole text excludes something.
function dialEnd({ notion, draws, loss }, eps) {
  const limited = ["pure", "group", "metric"].includes(notion) && draws * loss * eps <= SAYABLE;
  return limited ? "private" : "hides more";
}

// The guarantee at ε in odds. odds: the page's data (OddsView).
function oddsWords(odds, eps) {
  const { notion, unit, draws, loss } = odds;
  if (notion === "none") return "This setting has no formal guarantee.";
  if (notion !== "pure" && notion !== "group" && notion !== "metric") return "";
  const one = loss * eps;
  const limit = one <= SAYABLE ? `50:50 becomes at most ${oddsPair(one)}` : "";
  if (notion === "metric") {
    const far = "Near words are harder to distinguish than far ones.";
    return `Per unit of distance, ${limit || "the guarantee has no practical limit"}. ${far}`;
  }
  if (notion === "group") {
    const rest = "The guarantee does not cover other words.";
    return `For words that share a set, ${limit || "the guarantee has no practical limit"}. ${rest}`;
  }
  if (!limit) {
    return `At ε = 1, 50:50 becomes at most ${oddsPair(loss)} for one ${unit}. At ε = ${plain(eps)}, ` +
      "the formal guarantee has no practical limit.";
  }
  const all = draws * one;
  const whole = draws < 2 ? "" : all > SAYABLE
    ? " For the whole text, there is no practical limit." : ` For the whole text, it becomes at most ${oddsPair(all)}.`;
  return `For one ${unit}, ${limit}.${whole}`;
}

// The index of the candidate that a drawn token releases at ε.
function winner(token, eps) {
  return token.to[Math.max(0, upTo(token.from, eps) - 1)];
}

// Whether the original word of a token is released, ignoring case; for tokens without an original word, only those that
// contain one are checked. among: the candidates that contain it, if given.
function stands(token, aligned, among) {
  if (among) return among.includes(token.at);
  return aligned && token.drawn ? token.kept[token.at] : token.a !== "delete";
}

// The count of each kind: "2 names, 1 date".
function tally(found) {
  const numbers = new Map();
  for (const { kind } of found) numbers.set(kind, (numbers.get(kind) ?? 0) + 1);
  const many = new Map(found.map((f) => [f.kind, f.kinds]));
  return [...numbers].map(([kind, n]) => `${n} ${n === 1 ? kind : many.get(kind)}`).join(", ");
}

// The text that these tokens release, with the current candidates of sampled ones. An empty sampled token removes the
// space before it.
function spliced(tokens) {
  let out = "", bare = false;
  for (const t of tokens) {
    const word = t.drawn ? t.shown[t.at] : t.a === "delete" ? "" : t.now;
    if (t.drawn && t.c[t.at] === "") bare ||= !out;
    else out += (bare && !out ? t.pre.trimStart() : t.pre) + word;
  }
  return out;
}

// The belief at ε: exact if it was sent or the page can compute it, and between two points with interpolated log-odds;
// null if unknown. p: of each word; guess: the index of the best guess, in a tie the last, so never the original by
// luck.
function believed(belief, eps) {
  const same = (x) => Math.abs(x.eps - eps) <= 1e-9 * eps;
  const { points, now } = belief;
  let found = belief.exact?.(eps) ?? (now && same(now) ? now : points.find(same));
  const exact = Boolean(found) && !found.isRough;
  if (!found) {
    const k = upTo(points.map((x) => x.eps), eps);
    if (!k || k === points.length) return null;
    const [a, b] = [points[k - 1], points[k]];
    const x = Math.log(eps / a.eps) / Math.log(b.eps / a.eps);
    const near = x < 0.5 ? a : b;
    const log = near.log.map((l, j) =>
      Math.min(a.log[j], b.log[j]) <= IMPOSSIBLE ? l : (1 - x) * a.log[j] + x * b.log[j]);
    found = { log, ceiling: a.ceiling.map((c, j) => (1 - x) * c + x * b.ceiling[j]) };
  }
  const top = Math.max(...found.log);
  const weights = found.log.map((l) => (l <= IMPOSSIBLE ? 0 : Math.max(Number.MIN_VALUE, Math.exp(l - top))));
  const sum = weights.reduce((s, w) => s + w, 0);
  const others = weights.filter((w) => w > 0).length - 1;
  // A very likely event is never written as certain.
  const p = weights.map((w) => (others ? Math.min(w / sum, 1 - Number.EPSILON) : w / sum));
  return { p, ceiling: found.ceiling, guess: p.lastIndexOf(Math.max(...p)), exact };
}

// What the guarantee allows at ε for a reader with a prior, rounded up like any limit. draws: those that the guarantee
// counts together, 0 for each separately.
function ceilingWords({ draws }, eps, prior, ceiling) {
  const most = Math.ceil(100 * ceiling - 1e-6);
  if (most >= 100) {
    const total = draws > 1 ? ` The budgets of all ${draws} draws add up.` : "";
    return `At ε = ${plain(eps)}, the guarantee sets no practical limit on a reader.${total}`;
  }
  return `No reader who starts at ${Math.round(100 * prior)}% can become more than ${most}% certain of this word, even if they know all other words.`;
}

// The step at which the tour continues after a reload; 0 if the page was opened in another way, or there was no tour.
function stepAfter(navigation, stored, last) {
  const step = Number(stored);
  return navigation === "reload" && Number.isInteger(step) && step > 0 && step <= last ? step : 0;
}

// The last point of ε up to which the reader is at most this certain at every point; null if that is none or all.
function surestAt(belief, most) {
  let last = null;
  for (const { eps } of belief.points) {
    if (Math.max(...believed(belief, eps).p) > most) return last;
    last = eps;
  }
  return null;
}

// The ε at which the reader is about as certain as ``target``: ``p`` there, and the lowest and highest certainty over
// these ε. ``reached``: whether p is close to the target. null if no belief is known.
function matchCertainty(belief, epsilons, target) {
  const known = epsilons.map((eps) => [eps, believed(belief, eps)]).filter(([, found]) => found)
    .map(([eps, found]) => ({ eps, p: found.p[found.guess] }));
  if (!known.length) return null;
  const away = ({ p }) => Math.abs(p - target);
  const best = known.reduce((a, b) => (away(b) < away(a) ? b : a));
  const each = known.map(({ p }) => p);
  return { ...best, low: Math.min(...each), high: Math.max(...each), reached: away(best) <= MATCHED };
}

// How many of the sampled words are unchanged; if none can be, how many are replaced.
function countedWords(tokens, same, many, write = String) {
  if (many && !tokens.some((t) => t.drawn && t.src >= 0)) return `${write(many)} ${many === 1 ? "word" : "words"} replaced`;
  return `${write(same)} of ${write(many)} ${many === 1 ? "word" : "words"} unchanged`;
}
