// Serves the site from this device's storage after the first visit, so that it works offline.
// VERSION and SHELL are added when the site is built. Each version has a separate store.

const STORE = `dptext-${VERSION}`;
// The browser's cache may still hold a file of the previous version.
const uncached = (path) => new Request(path, { cache: "no-cache" });

self.addEventListener("install", (event) => {
  // Not every server answers for the folder itself.
  const all = (store) => Promise.all([store.addAll(SHELL.map(uncached)), store.add(uncached("./")).catch(() => {})]);
  event.waitUntil(caches.open(STORE).then(all).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const old = (names) => names.filter((name) => name.startsWith("dptext-") && name !== STORE);
  event.waitUntil(
    caches.keys().then((names) => Promise.all(old(names).map((name) => caches.delete(name)))).then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== self.location.origin) return;
  event.respondWith(
    caches.open(STORE).then(async (store) => {
      // A page that found a damaged file asks the server again.
      const again = event.request.cache === "reload" && event.request.mode !== "navigate";
      const kept = again ? undefined : await store.match(event.request, { ignoreSearch: true });
      if (kept) return kept;
      const answer = await fetch(event.request);
      if (answer.ok) event.waitUntil(store.put(event.request, answer.clone()));
      return answer;
    }),
  );
});

// Files that the page fetched before this worker started.
self.addEventListener("message", (event) => {
  const { path, packed } = event.data;
  event.waitUntil(caches.open(STORE).then((store) => store.put(path, new Response(packed))));
});
