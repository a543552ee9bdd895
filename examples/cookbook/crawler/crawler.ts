// A crawler as a pipeline: each page is a message. The store has the pages that wait and those that were seen.

import type { System } from "signalbox";
import {
  deduplicate,
  definePipeline,
  httpRequest,
  many,
  type PipelineDefinition,
  type Queue,
  queue,
  route,
} from "signalbox/pipeline";
import { rateLimiter } from "signalbox/service";
import { type Fetch, robots } from "./robots.js";

export interface Page {
  readonly url: string;
  /** How many links away from the first page. */
  readonly depth: number;
}

export interface CrawlOptions {
  /** Links to other hosts are not followed. */
  readonly hosts: readonly string[];
  /** Says who you are and where to complain. */
  readonly userAgent: string;
  /** Called with each page, at least once. */
  readonly save: (url: string, text: string) => Promise<void>;
  /** Default 10. */
  readonly maxDepth?: number;
  /** Pages in work at the same time, over all hosts. Default 10. */
  readonly concurrency?: number;
  /** Requests in a second, to one host and in all. Default 1 and 20. */
  readonly perSecond?: { readonly host: number; readonly all: number };
  /** The waits after failures, in milliseconds. Default 1 s to 1 minute. */
  readonly backoff?: { readonly minMs: number; readonly maxMs: number };
  readonly fetch?: Fetch;
}

export const pages: Queue<Page> = queue<Page>("pages");

export function crawler(system: System, options: CrawlOptions): PipelineDefinition {
  const {
    hosts,
    userAgent,
    save,
    maxDepth = 10,
    concurrency = 10,
    perSecond = { host: 1, all: 20 },
  } = options;
  const { backoff = { minMs: 1_000, maxMs: 60_000 }, fetch = globalThis.fetch } = options;
  const headers = { "user-agent": userAgent };
  const isAllowed = robots((url, init) => fetch(url, { ...init, headers }));
  const all = rateLimiter({ permits: perSecond.all, perMs: 1_000, burst: 1 }).local(system);
  const perHost = rateLimiter({ permits: perSecond.host, perMs: 1_000, burst: 1 }).local(system);

  const visit = route("visit", { from: pages, concurrency, retry: { attempts: 5, backoff } })
    .via(deduplicate<Page>("seen", { key: ({ url }) => url }))
    .via("robots", async (page, { signal }) => ((await isAllowed(page.url, signal)) ? page : undefined))
    .via("turn", async (page, { signal }) => {
      // Each attempt waits again: repeated requests count, too. The host comes last: the distance of its requests is exact.
      await all.acquire({ signal });
      await perHost.acquire({ key: new URL(page.url).host, signal });
      return page;
    })
    .via(
      httpRequest("fetch", {
        url: ({ url }: Page) => url,
        headers,
        fetch,
        attempts: 1, // the route repeats
        idempotencyHeader: false,
        result: (reply, page) => ({ page, text: reply.text() }),
      }),
    )
    .via("links", async ({ page, text }) => {
      await save(page.url, text);
      if (page.depth >= maxDepth) return undefined;
      const links = linksOf(text, page.url).filter((url) => hosts.includes(new URL(url).host));
      return many(links.map((url) => ({ url, depth: page.depth + 1 })));
    })
    .to(pages);
  // Pages lead to pages: the pipeline has a circle, and says how often a message may go round.
  return definePipeline("crawl", { routes: [visit], maxHops: maxDepth + 2 });
}

/** The links of a page, each once, without fragments. A parser of HTML finds more. */
function linksOf(html: string, base: string): readonly string[] {
  const found = new Set<string>();
  for (const [, href = ""] of html.matchAll(/<a\s[^>]*href="([^"]*)"/gi)) {
    if (!URL.canParse(href, base)) continue;
    const url = new URL(href, base);
    url.hash = "";
    if (/^https?:$/.test(url.protocol)) found.add(url.href);
  }
  return [...found];
}
