const still = (event) => {
  const at = event.target instanceof Element ? event.target : null;
  const mark = at?.closest("[data-testid=stCheckbox] [data-testid=stTooltipIcon]");
  // The mark itself hears of it on the way down, and the switch would on the way up.
  mark?.addEventListener("pointerdown", (event) => event.stopPropagation(), { once: true });
};
export default function () { document.addEventListener("pointerdown", still, true); }
