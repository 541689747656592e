// @ts-check
// The files of the site: fetched once, checked by hash, unpacked, and stored for offline visits.

export const AGAIN = "Reload this page.";
const CONNECTION = "Check your connection and reload this page.";

/** @typedef {{path: string, bytes: number, sha256: string}} File */

async function unpacked(/** @type {Uint8Array<ArrayBuffer>} */ data) {
  // Some servers unpack .gz files.
  if (data[0] !== 0x1f || data[1] !== 0x8b) return data.buffer;
  return new Response(new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/**
 * The content of a file.
 * @param {File} file bytes: its transferred size; sha256: of its content
 * @param {(bytes: number) => void} [onProgress] receives the number of bytes of each part
 */
export async function content(file, onProgress = () => {}) {
  const first = !navigator.serviceWorker?.controller;
  let packed = await fetched(file.path, onProgress);
  let data = await whole(packed, file);
  if (!data) {
    // The stored copy may be damaged or of another version, so ask the server once.
    packed = await fetched(file.path, () => {}, { cache: "reload" });
    data = await whole(packed, file);
  }
  if (!data) throw new Error(`${file.path} does not match this page. ${AGAIN}`);
  if (first) keep(file.path, packed);
  return data;
}

/**
 * Fetch a file of the site. The error says what to do.
 * @param {string} path
 * @param {RequestInit} [how]
 */
async function asked(path, how = {}) {
  const answer = await fetch(path, how).catch(() => null);
  if (!answer) throw new Error(`${path} could not be loaded: the server did not answer. ${CONNECTION}`);
  if (answer.status === 404 || answer.status === 410) {
    throw new Error(`${path} is not on the server. ${AGAIN} Its owner can upload all files of the site again.`);
  }
  if (!answer.ok || !answer.body) {
    throw new Error(`${path} could not be loaded: the server answered ${answer.status}. Wait a minute. ${AGAIN}`);
  }
  return answer;
}

async function fetched(
  /** @type {string} */ path, /** @type {(bytes: number) => void} */ onProgress, /** @type {RequestInit} */ how = {},
) {
  const answer = await asked(path, how);
  const parts = [];
  const reader = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (answer.body).getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => stopped(path));
    if (done) break;
    parts.push(value);
    onProgress(value.length);
  }
  return new Blob(parts);
}

/** The content of a JSON file. */
export async function json(/** @type {string} */ path) {
  const text = await (await asked(path)).text().catch(() => stopped(path));
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${path} does not match this page. ${AGAIN}`);
  }
}

/** The content of a packed JSON file, without a check by hash. */
export async function packedJson(/** @type {string} */ path) {
  const packed = await (await asked(path)).arrayBuffer().catch(() => stopped(path));
  try {
    return JSON.parse(new TextDecoder().decode(await unpacked(new Uint8Array(packed))));
  } catch {
    throw new Error(`${path} does not match this page. ${AGAIN}`);
  }
}

/** @returns {never} */
function stopped(/** @type {string} */ path) {
  throw new Error(`${path} was not loaded completely. ${CONNECTION}`);
}

/** The unpacked content of a file; null if it is damaged or another file. */
async function whole(/** @type {Blob} */ packed, /** @type {File} */ file) {
  const data = await unpacked(new Uint8Array(await packed.arrayBuffer())).catch(() => null);
  // Browsers provide hashes only if the address is https or this machine.
  if (!data || !globalThis.crypto?.subtle) return data;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
  return [...digest].map((b) => b.toString(16).padStart(2, "0")).join("") === file.sha256 ? data : null;
}

/** On a first visit, files arrive before the service worker starts, so pass them on to it. */
async function keep(/** @type {string} */ path, /** @type {Blob} */ packed) {
  const there = await navigator.serviceWorker?.ready;
  there?.active?.postMessage({ path, packed });
}
