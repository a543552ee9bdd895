// The production scheduler in a real event loop: processes that never rest do not starve the host.

import { readFile } from "node:fs/promises";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { type Pid, type ReplyTo, System } from "signalbox";
import { expect, test } from "vitest";

interface Rally {
  readonly system: System;
  readonly returns: () => number;
}

/** Two processes that ping-pong for ever. */
function rally(system: System): Rally {
  let returns = 0;
  const pong = system.spawn<Pid<string>>({ handle: (ctx, ping) => ctx.send(ping, "pong") });
  system.spawn<string>({
    init: (ctx) => ctx.send(pong, ctx.self),
    handle: (ctx) => {
      returns++;
      ctx.send(pong, ctx.self);
    },
  });
  return { system, returns: () => returns };
}

test("while two processes ping-pong for ever, the host's timers, immediates and files are served [C7]", async () => {
  await using system = new System({ report: false });
  const { returns } = rally(system);
  await new Promise((resolve) => setTimeout(resolve, 1));
  const first = returns();
  await new Promise((resolve) => setImmediate(resolve));
  const text = await readFile(new URL("../../package.json", import.meta.url), "utf8");
  expect(JSON.parse(text)).toMatchObject({ name: "signalbox" });
  await new Promise((resolve) => setTimeout(resolve, 1));
  expect(returns()).toBeGreaterThan(first);
});

/** Keeps the thread busy until the clock has moved by `ms`. */
function work(ms: number): void {
  const from = performance.now();
  while (performance.now() - from < ms);
}

/** Each does its work in many steps, each of which takes longer than a turn may, and calls `step` at each. */
const BUSY: readonly [kind: string, begin: (system: System, steps: number, step: () => void) => void][] = [
  [
    "messages",
    (system, steps, step) => {
      const pid = system.spawn<number>({ handle: step });
      for (let i = 0; i < steps; i++) system.send(pid, i);
    },
  ],
  [
    "processes",
    (system, steps, step) => {
      for (let i = 0; i < steps; i++) system.spawn(step);
    },
  ],
  [
    "awaited calls",
    (system, steps, step) => {
      const echo = system.spawn<ReplyTo<undefined>>({
        handle: (ctx, replyTo) => {
          step();
          ctx.reply(replyTo, undefined);
        },
      });
      system.spawn(async (ctx) => {
        for (let i = 0; i < steps; i++) await ctx.call(echo, (replyTo: ReplyTo<undefined>) => replyTo);
      });
    },
  ],
];

test.each(BUSY)("slow %s use up the time of a turn, and then the host runs [C7]", async (_kind, begin) => {
  // No number of messages ends a turn: only its time does.
  const limits = { turnMs: 1, turnMessages: 1_000_000, activationMessages: 1 };
  await using system = new System({ limits, report: false });
  let done = 0;
  begin(system, 20, () => {
    work(2);
    done++;
  });
  const seen: number[] = [];
  while (done < 20) {
    await new Promise((resolve) => setImmediate(resolve));
    seen.push(done);
  }
  // The host had its go after every step, whatever the step was.
  expect(seen.filter((count) => count > 0 && count < 20).length).toBeGreaterThan(10);
});

test("while two processes ping-pong for ever, a socket is served", async () => {
  await using system = new System({ report: false });
  const { returns } = rally(system);
  const server = createServer((_request, response) => response.end("served"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const body = await new Promise<string>((resolve, reject) => {
    get({ port, host: "127.0.0.1", agent: false }, (response) => {
      response.setEncoding("utf8").once("data", resolve);
    }).once("error", reject);
  });
  server.close();
  expect(body).toBe("served");
  expect(returns()).toBeGreaterThan(0);
});

test("a function body that awaits calls for ever starves neither processes nor the host", async () => {
  await using system = new System({ report: false });
  let calls = 0;
  const echo = system.spawn<{ replyTo: Parameters<Parameters<typeof system.call>[1]>[0] }>({
    handle: (ctx, { replyTo }) => ctx.reply(replyTo, undefined),
  });
  system.spawn(async (ctx) => {
    for (;;) {
      await ctx.call(echo, (replyTo) => ({ replyTo }));
      calls++;
    }
  });
  await new Promise((resolve) => setTimeout(resolve, 1));
  await new Promise((resolve) => setImmediate(resolve));
  expect(calls).toBeGreaterThan(0);
});

test("a process with a full mailbox lets the other processes run", async () => {
  await using system = new System({ limits: { activationMessages: 10 }, report: false });
  const log: string[] = [];
  const note = (name: string) => ({
    handle: () => {
      log.push(name);
    },
  });
  const full = system.spawn<number>(note("full"));
  const quick = system.spawn<number>(note("quick"));
  for (let i = 0; i < 100; i++) system.send(full, i);
  system.send(quick, 0);
  await system.idle();
  expect(log.indexOf("quick")).toBe(10);
  expect(log).toHaveLength(101);
});

test("after the system has stopped, no code of its processes runs any more", async () => {
  const system = new System({ report: false });
  const { returns } = rally(system);
  await new Promise((resolve) => setImmediate(resolve));
  await system.stop();
  const last = returns();
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  expect(returns()).toBe(last);
});
