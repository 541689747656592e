export default function ({ data, parentElement }) {
  const svg = new DOMParser().parseFromString(data.svg, "text/html").body.firstElementChild;
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "QR code of the address");
  parentElement.querySelector(".qr").replaceChildren(svg);
}
