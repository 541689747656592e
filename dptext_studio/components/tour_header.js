// Title and buttons of the tour, which replace the page's own. The view sends the current step
// (dptext_studio/figures/browser/strip_tour.js) and receives button presses.

const ask = (step) => document.dispatchEvent(new CustomEvent("dptext-tour-go", { detail: step }));

// Words between asterisks are emphasised.
function marked(text) {
  return text.split("*").map((part, k) => {
    if (k % 2 === 0) return part;
    const strong = document.createElement("strong");
    strong.textContent = part;
    return strong;
  });
}

export default function ({ parentElement }) {
  const q = (s) => parentElement.querySelector(s);
  const [all, title, say, dots, skip, back, next] =
    [".tour", "h1", ".say", ".dots", ".skip", ".back", ".next"].map(q);
  const off = new AbortController();
  const on = (node, kind, act) => node.addEventListener(kind, act, { signal: off.signal });
  let now = { step: 0 };
  let mounted = false;

  function show() {
    const before = now.step;
    now = document.dptextTour ?? { step: 0 };
    const { step, last } = now;
    all.hidden = !step;
    if (!step) return;
    if (step === before && dots.childElementCount) return;
    title.textContent = now.title;
    say.replaceChildren(...marked(now.say));
    dots.replaceChildren(...Array.from({ length: last }, (_, k) => {
      const dot = document.createElement("button");
      dot.type = "button";
      dot.setAttribute("aria-label", `Step ${k + 1} of ${last}`);
      if (k + 1 === step) dot.setAttribute("aria-current", "step");
      dot.className = k + 1 < step ? "done" : "";
      dot.addEventListener("click", () => ask(k + 1));
      return dot;
    }));
    skip.classList.toggle("last", step === last);
    back.classList.toggle("first", step === 1);
    next.textContent = step === last ? "Finish" : "Next";
    next.classList.toggle("main", step !== last);
    if (mounted) keepFocus(before);
  }

  // What had the focus is gone: a control of the step before, or the menu in which the tour was asked for.
  function keepFocus(before) {
    if (!before && now.n > 1) next.focus({ preventScroll: true });
    requestAnimationFrame(() => requestAnimationFrame(() => {
      if (before && document.activeElement === document.body) next.focus({ preventScroll: true });
    }));
  }

  on(document, "dptext-tour", show);
  on(skip, "click", () => ask(0));
  on(back, "click", () => ask(now.step - 1));
  on(next, "click", () => ask(now.step === now.last ? 0 : now.step + 1));
  show();
  mounted = true;
  return () => off.abort();
}
