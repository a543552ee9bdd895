// The client of the admin socket when answers do not come as they should: a caller that waits no longer, a host that is slow or gone.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { adminClient } from "../../lib/cli/shell/admin-client.js";
import { remoteOperations as remoteFlows } from "../../lib/flow/operations/operations-table.js";
import { remoteOperations as remotePipelines } from "../../lib/pipeline/operations/operations-table.js";
import { macrotask } from "../support/host.js";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

interface Request {
  readonly id: number;
  readonly op: string;
  answer(ok: unknown): void;
  /** Ends the connection without an answer. */
  hangUp(): void;
}

/** A host that answers when the test says so. */
async function slowHost() {
  const folder = mkdtempSync(join(tmpdir(), "client-"));
  const path = join(folder, "sock");
  const requests: Request[] = [];
  const sockets = new Set<Socket>();
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    open.add(socket.on("close", () => open.delete(socket)));
    socket.on("data", (bytes) => {
      for (const line of String(bytes).trim().split("\n")) {
        const { id, op } = JSON.parse(line);
        const answer = (ok: unknown): void => void socket.write(`${JSON.stringify({ id, ok })}\n`);
        requests.push({ id, op, answer, hangUp: () => socket.destroy() });
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const timers = new Map<() => void, number>();
  const after = (ms: number, fn: () => void): (() => void) => {
    timers.set(fn, ms);
    return () => void timers.delete(fn);
  };
  const client = await adminClient(path, { after });
  if (client === undefined) throw new Error("nobody listens");
  ends.push(client.close);
  const next = async (n: number): Promise<Request> => {
    while (requests.length <= n) await macrotask();
    return requests[n] as Request;
  };
  /** So much time passes after the request under way was sent. */
  const pass = (ms: number): void => {
    for (const [fn, at] of [...timers]) if (at <= ms) fn();
  };
  return { client, next, pass, connections: () => sockets.size, open: () => open.size };
}

test("the late answer to a request that was aborted is not taken for that of the next one [Z692]", async () => {
  const { client, next } = await slowHost();
  const caller = new AbortController();
  const first = client.ask("outcome", { id: "a", timeoutMs: 10_000 }, caller.signal);
  const outcome = await next(0);
  const reason = new Error("waits no longer");
  caller.abort(reason);
  await expect(first).rejects.toBe(reason);
  const second = client.ask("metrics", {});
  outcome.answer("late");
  const metrics = await next(1);
  metrics.answer({ lagMs: 3 });
  expect(await second).toEqual({ lagMs: 3 });
});

test("the request behind one that was aborted has a connection of its own, and does not wait for the end of that one [Z692]", async () => {
  const { client, next, connections } = await slowHost();
  const caller = new AbortController();
  const first = client.ask("outcome", { id: "a", timeoutMs: 10_000 }, caller.signal);
  await next(0);
  const second = client.ask("metrics", {});
  caller.abort(new Error("waits no longer"));
  await expect(first).rejects.toThrow("waits no longer");
  (await next(1)).answer(7);
  expect(await second).toBe(7);
  expect(connections()).toBe(2);
});

/** A client whose connection was given up: the next request makes another. */
async function givenUp() {
  const host = await slowHost();
  const caller = new AbortController();
  const first = host.client.ask("outcome", { id: "a", timeoutMs: 10_000 }, caller.signal);
  await host.next(0);
  caller.abort(new Error("waits no longer"));
  await expect(first).rejects.toThrow("waits no longer");
  return host;
}

test("a request that is aborted while its connection is made ends, and is never sent [Z692]", async () => {
  const { client, next } = await givenUp();
  const caller = new AbortController();
  const second = client.ask("outcome", { id: "b", timeoutMs: 10_000 }, caller.signal);
  const failed = expect(second).rejects.toThrow("neither");
  // It has begun to connect.
  await Promise.resolve();
  await Promise.resolve();
  caller.abort(new Error("neither"));
  await failed;
  const third = client.ask("metrics", {});
  expect((await next(1)).op).toBe("metrics");
  (await next(1)).answer(1);
  expect(await third).toBe(1);
});

test("a request that is aborted while it waits behind another one ends at once, and is never sent [Z699]", async () => {
  const { client, next, connections } = await slowHost();
  const first = client.ask("outcome", { id: "a", timeoutMs: 10_000 });
  const caller = new AbortController();
  const second = client.ask("outcome", { id: "b", timeoutMs: 10_000 }, caller.signal);
  const third = client.ask("metrics", {});
  const reason = new Error("waits no longer");
  caller.abort(reason);
  await expect(second).rejects.toBe(reason);
  (await next(0)).answer("a");
  expect(await first).toBe("a");
  const asked = await next(1);
  expect(asked.op).toBe("metrics");
  asked.answer(3);
  expect(await third).toBe(3);
  expect(connections()).toBe(1);
});

test("a client that was closed keeps no connection, also one that it was about to make [Z692]", async () => {
  const closing = await givenUp();
  const second = expect(closing.client.ask("metrics", {})).rejects.toMatchObject({ request: "withdrawn" });
  await Promise.resolve();
  await Promise.resolve();
  closing.client.close();
  await second;
  await expect(closing.client.ask("metrics", {})).rejects.toMatchObject({ request: "withdrawn" });
  for (let i = 0; i < 5; i++) await macrotask();
  expect(closing.open()).toBe(0);
});

const PIPELINES = [
  ["move", { to: "check" }],
  ["giveUp", { all: true, reason: "old" }],
  ["replay", { id: "b", dead: true }],
] as const;

test.each(PIPELINES)(
  "%s has as long as the host gives itself, and not only 30 s [Z693]",
  async (op, options) => {
    const { client, next, pass } = await slowHost();
    const changed = remotePipelines(client.ask)[op]("a", options as never);
    const asked = await next(0);
    pass(600_000);
    asked.answer({ messages: 3, sources: 0, more: false });
    expect(await changed).toMatchObject({ messages: 3 });
  },
);

test.each(PIPELINES)(
  "%s without an answer ends as one whose outcome is unknown [Z693]",
  async (op, options) => {
    const ending = [
      (_host: Request, pass: (ms: number) => void) => pass(615_000),
      (host: Request) => host.hangUp(),
    ];
    for (const end of ending) {
      const { client, next, pass } = await slowHost();
      const changed = remotePipelines(client.ask)[op]("a", options as never);
      const failed = expect(changed).rejects.toMatchObject({
        ...{ code: "ERR_PIPELINE_OUTCOME_UNKNOWN", operation: op, executionId: op === "replay" ? "b" : "a" },
        cause: { code: "ERR_ADMIN_REMOTE", request: "kept" },
      });
      end(await next(0), pass);
      await failed;
    }
  },
);

test("every change of a flow without an answer ends as one whose outcome is unknown [Z693]", async () => {
  const { client, next } = await slowHost();
  const flows = remoteFlows(client.ask);
  const paused = expect(flows.pause("a")).rejects.toMatchObject({
    ...{ code: "ERR_FLOW_OUTCOME_UNKNOWN", operation: "pause", flowId: "a" },
  });
  (await next(0)).hangUp();
  await paused;
  // It was never sent.
  await expect(flows.pause("a")).rejects.toMatchObject({ code: "ERR_ADMIN_REMOTE", request: "withdrawn" });
});

test("a look that has no answer ends after 30 s, and says that the host did not answer [Z695]", async () => {
  const { client, next, pass } = await slowHost();
  const looked = expect(remoteFlows(client.ask).metrics()).rejects.toThrow(
    "the host did not answer: it was given up after 30000 ms",
  );
  await next(0);
  pass(30_000);
  await looked;
});
