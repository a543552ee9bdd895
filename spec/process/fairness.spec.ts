// The production scheduler in a real event loop: processes that never rest do not starve the host.

import { readFile } from "node:fs/promises";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { type Pid, System } from "signalbox";
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

test("while two processes ping-pong for ever, timers, immediates and files of the host have their go [C7]", async () => {
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

test("a function body that awaits calls for ever starves nobody either", async () => {
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

test("a process with a full mailbox lets the others have their turn", async () => {
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

test("after the system has stopped, nothing of it runs any more", async () => {
  const system = new System({ report: false });
  const { returns } = rally(system);
  await new Promise((resolve) => setImmediate(resolve));
  await system.stop();
  const last = returns();
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  expect(returns()).toBe(last);
});
