// After a change between light and dark, run the page again: figures and popovers have the colours of the last run.
// Streamlit calls this at each change, before the new colours apply.
let ground;
export default function ({ parentElement, setTriggerValue }) {
  const frame = requestAnimationFrame(() => {
    const now = getComputedStyle(parentElement.host).getPropertyValue("--st-background-color");
    if (ground !== undefined && now !== ground) setTriggerValue("ground", now);
    ground = now;
  });
  return () => cancelAnimationFrame(frame);
}
