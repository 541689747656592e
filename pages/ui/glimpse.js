// One rewrite under a slider. The words come from a text that everybody may read, and reach the page as text content.

const TOUR = [0.55, 0.05, 1, 0.55]; // where the slider goes by itself, as shares of the axis
const READ_MS = 2500; // what stands there first is read as long, before the slider moves
const TOUR_MS = 9000;

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".glimpse");
  for (const [name, value] of Object.entries(data.colours)) root.style.setProperty(name, value);
  if (root.dataset.ready) return;
  root.dataset.ready = "yes";
  const text = root.querySelector(".text");
  const slider = root.querySelector("input");
  const reading = root.querySelector("b");
  const count = root.querySelector(".count");
  const original = root.querySelector(".original");
  const span = Math.log(data.hi / data.lo);
  const words = data.tokens.map((token) => {
    text.append(token.pre);
    const node = document.createElement("span");
    node.textContent = token.o;
    text.append(node);
    return { ...token, node, shown: null };
  });
  text.append(data.tail);

  const paint = () => {
    const eps = data.lo * Math.exp((span * Number(slider.value)) / Number(slider.max));
    const said = eps >= 100 ? eps.toFixed(0) : eps.toPrecision(2);
    reading.textContent = `ε = ${Number(said)}`;
    slider.setAttribute("aria-valuetext", `ε ${Number(said)}`);
    let stay = 0;
    const plain = original.getAttribute("aria-pressed") === "true";
    for (const word of words) {
      if (!word.flips.length) continue;
      if (plain) {
        if (word.shown !== null) word.node.textContent = word.o;
        word.node.className = "";
        word.node.removeAttribute("title");
        word.shown = null;
        continue;
      }
      let at = 0;
      while (at + 1 < word.flips.length && word.flips[at + 1][0] <= eps) at += 1;
      const same = word.flips[at][1].toLowerCase() === word.o.toLowerCase();
      stay += same;
      if (word.shown === at) continue;
      word.shown = at;
      word.node.textContent = word.flips[at][1];
      word.node.className = same ? "same" : "changed";
      word.node.title = same ? "the original came back" : `was “${word.o}”`;
    }
    count.textContent = plain
      ? "This is what was written."
      : `${stay} of ${data.drawn} drawn words are the original. All others are made up.`;
  };

  const to = (share) => {
    slider.value = Math.round(share * Number(slider.max));
    paint();
  };
  let frame = 0;
  const stop = () => {
    cancelAnimationFrame(frame);
    frame = 0;
  };
  const show = (plain) => {
    original.setAttribute("aria-pressed", String(plain));
    paint();
  };
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  to(TOUR[0]);
  if (!still) {
    const began = performance.now() + READ_MS;
    const step = (now) => {
      frame = requestAnimationFrame(step);
      if (now < began) return;
      const way = Math.min(1, (now - began) / TOUR_MS) * (TOUR.length - 1);
      const leg = Math.min(TOUR.length - 2, Math.floor(way));
      const part = way - leg;
      const eased = part * part * (3 - 2 * part);
      to(TOUR[leg] + (TOUR[leg + 1] - TOUR[leg]) * eased);
      if (way >= TOUR.length - 1) stop();
    };
    frame = requestAnimationFrame(step);
  }
  for (const event of ["pointerdown", "keydown", "focus"]) slider.addEventListener(event, stop);
  slider.addEventListener("input", () => {
    stop();
    show(false);
  });
  original.addEventListener("click", () => {
    stop();
    show(original.getAttribute("aria-pressed") !== "true");
  });
  return stop;
}
