// @ts-check
// The files of the site: fetched once, checked by hash, unpacked.

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
  const answer = await fetch(file.path);
  if (!answer.ok || !answer.body) throw new Error(`${file.path} could not be fetched (${answer.status})`);
  const parts = [];
  const reader = answer.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    hear(value.length);
  }
  const data = await unpacked(new Uint8Array(await new Blob(parts).arrayBuffer()));
  // Browsers have hashes only where the address is https or this machine.
  if (globalThis.crypto?.subtle) {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
    const found = [...digest].map((b) => b.toString(16).padStart(2, "0")).join("");
    if (found !== file.sha256) throw new Error(`${file.path} is not the file that this page was made with: load it again`);
  }
  return data;
}
