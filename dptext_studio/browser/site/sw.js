// The site from this device's own storage, once it was loaded: it works without a network.
// VERSION and SHELL are put in when the site is written; another version is another store.

const STORE = `dptext-${VERSION}`;
// The browser's own cache may still have a file of the version before.
const anew = (path) => new Request(path, { cache: "no-cache" });

self.addEventListener("install", (event) => {
  // Not every server answers for the folder itself.
  const all = (store) => Promise.all([store.addAll(SHELL.map(anew)), store.add(anew("./")).catch(() => {})]);
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
      // A page that found a file damaged asks for it anew.
      const again = event.request.cache === "reload" && event.request.mode !== "navigate";
      const kept = again ? undefined : await store.match(event.request, { ignoreSearch: true });
      if (kept) return kept;
      const answer = await fetch(event.request);
      if (answer.ok) event.waitUntil(store.put(event.request, answer.clone()));
      return answer;
    }),
  );
});

// What a page had before there was this worker.
self.addEventListener("message", (event) => {
  const { path, packed } = event.data;
  event.waitUntil(caches.open(STORE).then((store) => store.put(path, new Response(packed))));
});
