// Nothing of threads is left: host threads, ports and timers are counted, on every path.

import { createHook } from "node:async_hooks";
import { existsSync, readdirSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { macrotask } from "../../support/host.js";
import { workshop } from "./support.js";

const shop = workshop("threads-leaks");
const TASKS = "/proc/self/task";

/** Ports that are open, of those made since the test began. */
const ports = new Set<number>();
const hook = createHook({
  init: (id, type) => void (type === "MESSAGEPORT" && ports.add(id)),
  destroy: (id) => void ports.delete(id),
});
const tasks = (): number => (existsSync(TASKS) ? readdirSync(TASKS).length : 0);
/** What keeps the host alive and could be a thread's. */
const busy = (): number => process.getActiveResourcesInfo().filter((kind) => /Port|Worker/.test(kind)).length;
let before: { readonly tasks: number; readonly busy: number };

beforeEach(() => {
  ports.clear();
  hook.enable();
  before = { tasks: tasks(), busy: busy() };
});
afterEach(() => hook.disable());

/** More than the host needs to end a thread. */
const TURNS = 100_000;

const PATHS: readonly (readonly [string, () => Promise<unknown>])[] = [
  ["threads that work", async () => (await shop.open()).start("hand")],
  [
    "threads that were lost",
    async () => {
      const workers = await shop.open({ hungMs: 100 });
      for (const order of [{ type: "exit", code: 1 }, { type: "loop" }]) {
        const hand = await workers.start("hand");
        shop.system.send(hand, order);
        await shop.system.exited(hand);
      }
    },
  ],
  ["threads that do not start", async () => shop.open({ data: "refuse" }).catch(() => undefined)],
  [
    "threads whose supervisor is killed",
    async () => {
      const workers = await shop.open();
      shop.system.exit(workers.pid, "kill");
      await shop.system.exited(workers.pid);
    },
  ],
  ["threads that were stopped before", async () => (await shop.open())[Symbol.asyncDispose]()],
];

describe("after the stop of the system", () => {
  it.each(PATHS)("nothing is left of %s [N1099]", async (_what, use) => {
    const { system } = shop;
    await use();
    await system.stop();
    // Ports close, and the host joins its threads, in turns of their own.
    const left = (): unknown => ({
      tasks: tasks() > before.tasks,
      busy: busy() > before.busy,
      ports: ports.size,
      timers: system.kernel.pendingTimers,
    });
    const nothing = { tasks: false, busy: false, ports: 0, timers: 0 };
    for (let n = 0; n < TURNS && !isDeepStrictEqual(left(), nothing); n++) await macrotask();
    expect(left()).toEqual(nothing);
  });
});
