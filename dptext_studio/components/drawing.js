export default function ({ data, parentElement }) {
  const box = parentElement.querySelector(".drawing");
  box.classList.toggle("across", data.across);
  for (const [name, value] of Object.entries(data.colours)) box.style.setProperty(name, value);
  // Parsed separately, so that nothing in it can run.
  const parsed = new DOMParser().parseFromString(data.html, "text/html");
  box.replaceChildren(...parsed.body.childNodes);
}
