// A demonstration: a small site of which one page fails twice, one is missing, and one is private.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { System } from "signalbox";
import { pipelineHost } from "signalbox/pipeline";
import { memory } from "signalbox/store";
import { crawler, pages } from "./crawler.js";

const site: Record<string, string> = {
  "/robots.txt": "User-agent: *\nDisallow: /private",
  "/": '<a href="/green">green</a> <a href="/black">black</a> <a href="/private/prices">prices</a>',
  "/green": '<a href="/">home</a> <a href="/black#top">black</a>',
  "/black": '<a href="/lost">lost</a> <a href="https://elsewhere.example/">elsewhere</a>',
};
const requests = new Map<string, number>();
const server = createServer(({ url = "" }, response) => {
  const count = (requests.get(url) ?? 0) + 1;
  requests.set(url, count);
  if (url === "/green" && count < 3) response.writeHead(503).end();
  else if (site[url] === undefined) response.writeHead(404).end();
  else response.end(site[url]);
}).listen(0, "127.0.0.1");
await once(server, "listening");
const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;

await using system = new System({ name: "crawler", report: false });
const saved: string[] = [];
const crawl = crawler(system, {
  hosts: [host],
  userAgent: "tea-crawler (+https://shop.example/crawler)",
  save: async (url) => void saved.push(new URL(url).pathname),
  perSecond: { host: 50, all: 100 }, // this site is ours
  backoff: { minMs: 10, maxMs: 50 },
});
// In your program: sqlite("crawl.db"), and the host as a child of your supervisor.
const crawls = await system.start(pipelineHost({ store: memory(), pipelines: [crawl] }));
const run = await crawls.start(crawl, {
  id: "monday",
  messages: { to: pages, values: [{ url: `http://${host}/`, depth: 0 }] },
});
const { status, dead } = await run.completed();

console.log(`${status}; saved: ${saved.sort().join(" ")}; given up: ${dead}`);
console.log(
  [...requests]
    .map(([url, count]) => `${url} ${count}`)
    .sort()
    .join(", "),
);
server.close();
server.closeAllConnections();
