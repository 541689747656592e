// @ts-check
// The files of the site: fetched once, checked by hash, unpacked, and kept for visits without a network.

/** @typedef {{path: string, bytes: number, sha256: string}} File */

async function unpacked(/** @type {Uint8Array<ArrayBuffer>} */ data) {
  // Some servers unpack .gz files themselves.
  if (data[0] !== 0x1f || data[1] !== 0x8b) return data.buffer;
  return new Response(new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/**
 * What a file holds.
 * @param {File} file bytes: its size on the wire; sha256: of what it holds
 * @param {(bytes: number) => void} [hear] is told how many bytes came, as they come
 */
export async function content(file, hear = () => {}) {
  const first = !navigator.serviceWorker?.controller;
  let packed = await fetched(file.path, hear);
  let data = await whole(packed, file);
  if (!data) {
    // What this device has kept may be damaged or of another version: the server is asked instead, once.
    packed = await fetched(file.path, () => {}, { cache: "reload" });
    data = await whole(packed, file);
  }
  if (!data) throw new Error(`${file.path} is not the file that this page was made with: load it again`);
  if (first) keep(file.path, packed);
  return data;
}

async function fetched(
  /** @type {string} */ path, /** @type {(bytes: number) => void} */ hear, /** @type {RequestInit} */ how = {},
) {
  const answer = await fetch(path, how);
  if (!answer.ok || !answer.body) throw new Error(`${path} could not be fetched (${answer.status})`);
  const parts = [];
  const reader = answer.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    hear(value.length);
  }
  return new Blob(parts);
}

/** What a file holds, unpacked; null where it is damaged, or another one. */
async function whole(/** @type {Blob} */ packed, /** @type {File} */ file) {
  const data = await unpacked(new Uint8Array(await packed.arrayBuffer())).catch(() => null);
  // Browsers have hashes only where the address is https or this machine.
  if (!data || !globalThis.crypto?.subtle) return data;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
  return [...digest].map((b) => b.toString(16).padStart(2, "0")).join("") === file.sha256 ? data : null;
}

/** On a first visit files come before the service worker does, which is given what it would have kept. */
async function keep(/** @type {string} */ path, /** @type {Blob} */ packed) {
  const there = await navigator.serviceWorker?.ready;
  there?.active?.postMessage({ path, packed });
}
