const still = (event) => {
  const at = event.target instanceof Element ? event.target : null;
  const mark = at?.closest("[data-testid=stCheckbox] [data-testid=stTooltipIcon]");
  // The mark handles the event in the capture phase, before the switch would.
  mark?.addEventListener("pointerdown", (event) => event.stopPropagation(), { once: true });
};
export default function () { document.addEventListener("pointerdown", still, true); }
