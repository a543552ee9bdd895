// The recipe of the crawler, on a web that is a fake: limits hold, failures are repeated, and a crawl goes on after a restart.

import { System } from "signalbox";
import { pipelineHost } from "signalbox/pipeline";
import { memory } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { expect, it } from "vitest";
import { type CrawlOptions, crawler, pages } from "../../../examples/cookbook/crawler/crawler.js";
import { robots } from "../../../examples/cookbook/crawler/robots.js";

type Answer = (count: number, signal: AbortSignal | null | undefined) => Promise<Response>;
const html = (...links: readonly string[]): Answer => {
  const text = links.map((link) => `<a href="${link}">x</a>`).join();
  return async () => new Response(text);
};

function web(site: Readonly<Record<string, Answer>>, options: Partial<CrawlOptions> = {}) {
  const clock = testClock();
  const store = memory();
  const requests: { readonly url: string; readonly at: number }[] = [];
  const saved: string[] = [];
  const fetch = async (url: string, { signal }: RequestInit): Promise<Response> => {
    if (url.endsWith("/robots.txt")) return new Response("", { status: 404 });
    requests.push({ url, at: clock.now });
    const count = requests.filter((request) => request.url === url).length;
    return (await site[url]?.(count, signal)) ?? new Response("", { status: 404 });
  };
  const open = async (first: string) => {
    const system = new System({ environment: clock.environment, report: false });
    const crawl = crawler(system, {
      hosts: ["a.example", "b.example"],
      userAgent: "test",
      save: async (url) => void saved.push(url),
      fetch,
      ...options,
    });
    const host = await system.start(pipelineHost({ store, pipelines: [crawl] }));
    const run = await host.start(crawl, {
      id: "crawl",
      messages: { to: pages, values: [{ url: first, depth: 0 }] },
    });
    return { system, run };
  };
  const at = (host: string) => requests.filter(({ url }) => new URL(url).host === host).map(({ at }) => at);
  return { clock, open, requests, saved, at };
}
const A = "https://a.example/";
const B = "https://b.example/";
const gaps = (times: readonly number[]) => times.slice(1).map((at, i) => at - (times[i] as number));

it("each host gets a request a second, also for what is repeated, and hosts do not wait for each other", async () => {
  const site: Record<string, Answer> = {
    [A]: html("1", "2", "3", B),
    [B]: html("1", "2", "3", "https://c.example/"),
  };
  for (const n of [1, 2, 3]) {
    site[`${A}${n}`] = html("/");
    site[`${B}${n}`] = async (count) => new Response("", { status: count < 3 ? 503 : 200 });
  }
  const { clock, open, saved, at } = web(site);
  const { system, run } = await open(A);
  const { dead } = await clock.until(run.completed());
  expect([dead, saved.length, new Set(saved).size]).toEqual([0, 8, 8]);
  expect([at("a.example").length, at("b.example").length]).toEqual([4, 10]);
  for (const host of ["a.example", "b.example"])
    expect(Math.min(...gaps(at(host)))).toBeGreaterThanOrEqual(1_000);
  expect(at("a.example").at(-1)).toBeLessThan(5_000);
  await clock.until(system.stop());
});

it("pages that fail again and again are given up, missing pages at once, and the rest continues", async () => {
  const { clock, open, requests, saved } = web({
    [A]: html("broken", "missing", "good"),
    [`${A}broken`]: async () => new Response("", { status: 500 }),
    [`${A}good`]: html(),
  });
  const { system, run } = await open(A);
  expect(await clock.until(run.completed())).toMatchObject({ status: "completed", dead: 2 });
  expect(saved).toEqual([A, `${A}good`]);
  expect(requests.filter(({ url }) => url.endsWith("broken")).length).toBe(5);
  expect(requests.filter(({ url }) => url.endsWith("missing")).length).toBe(1);
  await clock.until(system.stop());
});

it("a stop cuts off what is in work, and the next start continues: no page is lost, none done is fetched again", async () => {
  let aborted = false;
  const { clock, open, requests, saved } = web({
    [A]: html("1", "2", "3"),
    [`${A}1`]: html(),
    [`${A}2`]: (count, signal) =>
      count > 1
        ? html()(count, signal)
        : new Promise((_resolve, reject) => {
            signal?.addEventListener("abort", () => {
              aborted = true;
              reject(new Error("cut off"));
            });
          }),
    [`${A}3`]: html(),
  });
  const { system } = await open(A);
  while (!requests.some(({ url }) => url === `${A}2`)) await clock.advance(500);
  await clock.until(system.stop());
  expect(aborted).toBe(true);
  const done = [...saved];
  requests.length = 0;
  const { system: next, run } = await open(A);
  expect(run.attached).toBe(true);
  await clock.until(run.completed());
  expect([...saved].sort()).toEqual([A, `${A}1`, `${A}2`, `${A}3`]);
  for (const { url } of requests) expect(done).not.toContain(url);
  await clock.until(next.stop());
});

it("no more pages are in work than allowed, and none lies deeper than allowed", async () => {
  let [active, most] = [0, 0];
  const slow: Answer = async () => {
    most = Math.max(most, ++active);
    await new Promise((resolve) => setImmediate(resolve));
    active--;
    return new Response('<a href="/deeper">x</a>');
  };
  const site: Record<string, Answer> = { [A]: html(...Array.from({ length: 9 }, (_, n) => `${n}`)) };
  for (let n = 0; n < 9; n++) site[`${A}${n}`] = slow;
  const limits = { maxDepth: 1, concurrency: 2, perSecond: { host: 1_000, all: 1_000 } };
  const { clock, open, saved } = web(site, limits);
  const { system, run } = await open(A);
  expect((await clock.until(run.completed())).dead).toBe(0);
  expect([most <= 2, saved.length]).toEqual([true, 10]);
  await clock.until(system.stop());
});

it("a site says which pages are private, and all are while its rules cannot be read", async () => {
  const { signal } = new AbortController();
  let status = 500;
  let reads = 0;
  const rules = "User-agent: evil\nDisallow: /\n\nUser-agent: *\nDisallow: /private # ours\nDisallow:\n";
  const isAllowed = robots(async () => {
    reads++;
    return new Response(rules, { status });
  });
  await expect(isAllowed(A, signal)).rejects.toThrow("robots.txt: status 500");
  status = 200;
  expect([await isAllowed(A, signal), await isAllowed(`${A}private/1`, signal)]).toEqual([true, false]);
  expect(reads).toBe(2);
});
