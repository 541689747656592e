// Helpers of the token strip for elements, numbers and the axis.

const integer = new Intl.NumberFormat("en");
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

// The ranges of a selection. Browsers differ in how they report one inside a shadow root.
function selected(selection, root) {
  if (!selection?.rangeCount) return [];
  try {
    if (root.host && selection.getComposedRanges) return selection.getComposedRanges({ shadowRoots: [root] });
  } catch {
    // Older browsers: the plain range below.
  }
  return [selection.getRangeAt(0)];
}

function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// Axis labels: powers of two if both ends are such, otherwise 1-2-5, more on a short axis, and never too close to the
// ends.
function ticks(lo, hi) {
  const two = (x) => Number.isInteger(Math.log2(x));
  const out = [];
  if (two(lo) && two(hi)) {
    for (let x = lo; x <= hi; x *= 2) out.push(x);
    return out;
  }
  const room = 0.05 * Math.log(hi / lo);
  const steps = hi / lo < 5 ? [1, 1.2, 1.5, 2, 3, 4, 5, 6, 8] : [1, 2, 5];
  for (let e = Math.floor(Math.log10(lo)); e <= Math.ceil(Math.log10(hi)); e += 1) {
    for (const m of steps) {
      const x = Number(`${m}e${e}`);
      if (Math.log(x / lo) > room && Math.log(hi / x) > room) out.push(x);
    }
  }
  return [lo, ...out, hi];
}
