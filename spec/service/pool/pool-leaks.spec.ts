// Nothing of a pool is left: threads, ports and listeners are counted, on every path.

import { createHook } from "node:async_hooks";
import { getEventListeners } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { pool } from "signalbox/service";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { begun, bench, errorOf, file, TOOLS, type Tools } from "./support.js";

const on = bench();
const TASKS = "/proc/self/task";

/** Ports that are open, of those made since the test began. */
const ports = new Set<number>();
const hook = createHook({
  init: (id, type) => void (type === "MESSAGEPORT" && ports.add(id)),
  destroy: (id) => void ports.delete(id),
});
const threads = (): number => (existsSync(TASKS) ? readdirSync(TASKS).length : 0);
let before: { readonly threads: number; readonly busy: string[] };
/** What keeps the host alive and could be a pool's. Its timers are those of its system. */
const busy = (): string[] => process.getActiveResourcesInfo().filter((kind) => /Port|Worker/.test(kind));

beforeEach(() => {
  ports.clear();
  hook.enable();
  before = { threads: threads(), busy: busy() };
});
afterEach(() => hook.disable());

/** More than the host needs to end a thread. */
const TURNS = 100_000;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const PATHS: readonly (readonly [string, () => Promise<unknown>])[] = [
  ["jobs that return", async () => (await on.start<Tools>(TOOLS, { size: 2 })).run.add(1)],
  ["a deadline", async () => errorOf((await on.start<Tools>(TOOLS, { deadlineMs: 5 })).run.loop())],
  ["a thread that exits", async () => errorOf((await on.start<Tools>(TOOLS)).run.exit(1))],
  [
    "a caller that gives up",
    async () => {
      const tools = await on.start<Tools>(TOOLS);
      for (const killOnAbort of [true, false]) {
        const first = begun();
        const stop = new AbortController();
        const options = { killOnAbort, signal: stop.signal, onProgress: first.onProgress };
        const wait = errorOf(tools.with(options).run.wait());
        await first.promise;
        stop.abort();
        await wait;
        expect(getEventListeners(stop.signal, "abort")).toEqual([]);
      }
      await tools.run.add(1);
    },
  ],
  ["a file that does not load", async () => errorOf(on.start(file("throw 1;"), { size: 3 }))],
  [
    "threads that are replaced and threads that are idle",
    async () => {
      const tools = await on.start<Tools>(TOOLS, { size: 2, minSize: 0, maxJobs: 1, idleMs: 1 });
      await Promise.all([1, 2, 3, 4, 5].map((n) => tools.run.add(n)));
      while ((await tools.stats()).workers > 0) await turn();
    },
  ],
  [
    "a pool that is killed at work",
    async () => {
      const tools = await on.start<Tools>(TOOLS, { size: 2 });
      const first = begun();
      const lost = errorOf(tools.with({ onProgress: first.onProgress }).run.wait());
      await first.promise;
      on.system.exit(tools.pid, "kill");
      await lost;
    },
  ],
  [
    "a pool that is killed while it starts",
    async () => {
      const started = errorOf(on.system.startWith({ timeoutMs: 1 }, pool(file("for (;;);"), { size: 2 })));
      await started;
    },
  ],
];

describe("after a stop", () => {
  it.each(PATHS)("nothing is left of %s [W10]", async (_what, use) => {
    await use();
    await on.system.stop();
    // Ports close, and the host joins its threads, in turns of their own.
    const left = (): unknown => ({ threads: threads() > before.threads, busy: busy(), ports: ports.size });
    const nothing = { threads: false, busy: before.busy, ports: 0 };
    for (let n = 0; n < TURNS && !isDeepStrictEqual(left(), nothing); n++) await turn();
    expect(left()).toEqual(nothing);
  });

  it("the threads of a pool are gone, not only told to end", async () => {
    const tools = await on.start<Tools>(TOOLS, { size: 2, deadlineMs: 5 });
    await errorOf(tools.run.loop());
    await tools[Symbol.asyncDispose]();
    expect(threads()).toBeLessThanOrEqual(before.threads);
    expect(on.system.isAlive(tools.pid)).toBe(false);
  });
});

describe("an idle pool", () => {
  it("does not keep the host alive; a job does [W10]", async () => {
    const tools = await on.start<Tools>(TOOLS);
    expect(await tools.run.add(1)).toBe(2);
    expect([busy(), on.system.kernel.pendingTimers]).toEqual([before.busy, 0]);
    const first = begun();
    const stop = new AbortController();
    const wait = errorOf(tools.with({ signal: stop.signal, onProgress: first.onProgress }).run.wait());
    await first.promise;
    expect(busy()).not.toEqual(before.busy);
    stop.abort();
    await wait;
    expect(await tools.run.add(1)).toBe(2);
    expect([busy(), on.system.kernel.pendingTimers]).toEqual([before.busy, 0]);
  });
});
