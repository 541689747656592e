const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1, Escape: 0 };
export default function ({ setTriggerValue }) {
  const pressed = (event) => {
    if (!(event.key in STEPS) || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    // Keys in text boxes, and arrow keys in sliders and lists, keep their meaning.
    const at = event.composedPath()[0];
    if (at instanceof Element && at.closest("input, textarea, select, [role=slider], [role=listbox]")) return;
    event.preventDefault();
    setTriggerValue("step", STEPS[event.key]);
  };
  document.addEventListener("keydown", pressed);
  return () => document.removeEventListener("keydown", pressed);
}
