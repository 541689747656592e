const paths = new WeakMap();
export default function ({ data, parentElement }) {
  // A late message for a page that is no longer shown must not change the address.
  if (!paths.has(parentElement)) paths.set(parentElement, location.pathname);
  if (paths.get(parentElement) !== location.pathname) return;
  const here = new URLSearchParams(location.search);
  const next = new URLSearchParams(data.query);
  for (const [name, value] of here) if (name.startsWith("embed")) next.append(name, value);
  if (next.toString() === here.toString()) return;
  history.replaceState(history.state, "", `${location.pathname}?${next}${location.hash}`);
}
