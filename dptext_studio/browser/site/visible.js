// @ts-check
// The visible part of a text, as in dptext_core/text/visible.py, with the same table (core.json, "visible").

const COMBINING = /^\p{M}$/u;
const ALNUM = /^[\p{L}\p{N}]$/u;
const BLANK_AT_END = /[\t\n ]+$/;
const RUN = /[ \t]{2,}|[ \t](?=\n)/g;

/** Whether a code point lies in one of these ranges, in order. */
function within(/** @type {[number, number][]} */ ranges, /** @type {number} */ code) {
  let [low, high] = [0, ranges.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const [first, last] = ranges[middle];
    if (code < first) high = middle - 1;
    else if (code > last) low = middle + 1;
    else return true;
  }
  return false;
}

/**
 * @param {{removed: [number, number][], unlisted: [number, number][], letter: string, forms: Record<string, string>}} table
 */
export function reader({ removed, unlisted, letter, forms }) {
  const known = new Map(Object.entries(forms));
  const form = (/** @type {string} */ c) => {
    const code = c.codePointAt(0) ?? 0;
    if (code > 0x1f && code < 0x7f) return c;
    return known.get(c) ?? (within(removed, code) ? "" : within(unlisted, code) ? letter : c);
  };
  /** The visible part of a text, and the number of invisible characters. */
  return (/** @type {string} */ given) => {
    let text = "";
    let gone = 0;
    let onLetter = false;
    let last = "";
    for (const c of given) {
      const now = form(c);
      const combines = COMBINING.test(c);
      if (!now || (combines && !onLetter)) {
        gone += 1;
        continue;
      }
      if (c !== "\n" || last !== "\r") text += now;
      onLetter = combines || ALNUM.test([...now].at(-1) ?? "");
      last = c;
    }
    text = text.replace(BLANK_AT_END, "");
    const blanks = (/** @type {string} */ run, /** @type {number} */ at, /** @type {string} */ whole) => {
      if (whole[at + run.length] === "\n") return "";
      if (run.includes("\t")) return run.replace(/ /g, "");
      return at && whole[at - 1] !== "\n" ? " " : run;
    };
    return { text: text.replace(RUN, blanks), removed: gone };
  };
}
