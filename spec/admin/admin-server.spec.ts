// The admin socket for real: a server process with a Unix socket, and clients that behave and misbehave.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { StartError, System } from "signalbox";
import { afterEach, describe, expect, test } from "vitest";
import type { AdminLimits } from "../../lib/admin/admin-limits.js";
import { adminServer } from "../../lib/admin/admin-server.js";
import { socketPathOf, socketTarget } from "../../lib/admin/admin-socket.js";
import { type Ask, requestLine } from "../../lib/admin/protocol.js";
import { adminClient } from "../../lib/cli/shell/admin-client.js";
import { flowService, remoteOperations } from "../../lib/flow/operations/operations-table.js";
import { fakeOperations } from "../flow/operations/support/fake-operations.js";
import { gate } from "../support/gate.js";
import { macrotask } from "../support/host.js";

const folders: string[] = [];
const systems: System[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const system of systems.splice(0)) await system.stop();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "admin-"));
  folders.push(made);
  return made;
}

interface Served {
  readonly path: string;
  readonly system: System;
  readonly calls: unknown[][];
}

async function served(
  answers: Parameters<typeof fakeOperations>[0] = {},
  path: string = socketPathOf(join(folder(), "flows.db")),
  limits: Partial<AdminLimits> = {},
): Promise<Served> {
  const system = new System({ report: false });
  systems.push(system);
  const { operations, calls } = fakeOperations(answers);
  await system.start(adminServer({ path, service: flowService(operations, () => true), limits }));
  return { path, system, calls };
}

/** A raw connection: what it sends, and all that it gets until it is closed. */
function raw(path: string): { socket: Socket; closed: Promise<string> } {
  const socket = connect({ path: socketTarget(path) ?? path, allowHalfOpen: true });
  sockets.push(socket);
  const closed = new Promise<string>((resolve) => {
    let got = "";
    socket.on("data", (bytes) => {
      got += bytes;
    });
    socket.on("error", () => undefined);
    socket.on("end", () => socket.end());
    socket.on("close", () => resolve(got));
  });
  return { socket, closed };
}

const client = async (path: string): Promise<{ ask: Ask; close(): void }> => {
  const found = await adminClient(socketTarget(path) as string);
  if (found === undefined) throw new Error("nobody listens");
  return found;
};

test("a client does what it asks for, one request after another [Z1]", async () => {
  const { path, calls } = await served({ pause: null, metrics: { lagMs: 3 } });
  const { ask, close } = await client(path);
  const remote = remoteOperations(ask);
  const [, metrics] = await Promise.all([remote.pause("a"), remote.metrics()]);
  expect(metrics).toEqual({ lagMs: 3 });
  expect(calls).toEqual([["pause", "a"], ["metrics"]]);
  close();
  await expect(remote.metrics()).rejects.toMatchObject({ code: "ERR_ADMIN_REMOTE" });
});

describe("the socket", () => {
  test("belongs to its owner alone, and is gone after the stop [Z3]", async () => {
    const { path, system } = await served();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(path))).toEqual(["flows.db.sock"]);
    await system.stop();
    expect(readdirSync(dirname(path))).toEqual([]);
  });

  test("of a host that was killed is replaced [Z4]", async () => {
    const path = socketPathOf(join(folder(), "flows.db"));
    // A socket that is renamed stays behind when its server closes, as that of a killed host.
    const dead = createServer();
    await new Promise<void>((resolve) => dead.listen(`${path}.old`, resolve));
    const { renameSync } = await import("node:fs");
    renameSync(`${path}.old`, path);
    await new Promise((resolve) => dead.close(resolve));
    expect(existsSync(path)).toBe(true);
    expect(await adminClient(path)).toBeUndefined();
    await served({ pause: null }, path);
    await (await client(path)).ask("pause", { id: "a" });
  });

  test("of another program that listens is left alone", async () => {
    const { path } = await served({ pause: null });
    const error: unknown = await served({}, path).catch((reason) => reason);
    expect(error).toBeInstanceOf(StartError);
    expect(String((error as Error).cause)).toContain("another program listens there");
    await (await client(path)).ask("pause", { id: "a" });
  });

  test("does not replace a file that is none", async () => {
    const path = socketPathOf(join(folder(), "flows.db"));
    writeFileSync(path, "precious");
    const error: unknown = await served({}, path).catch((reason) => reason);
    expect(String((error as Error).cause)).toContain("there is a file of this name that is no socket");
    expect(statSync(path).size).toBe(8);
  });

  test("with a path that is too long is reached by a link, and all of it is gone after the stop [Z5]", async () => {
    const long = join(folder(), "x".repeat(120));
    mkdirSync(long);
    const path = socketPathOf(join(long, "flows.db"));
    const { system } = await served({ pause: null }, path);
    const target = socketTarget(path) as string;
    expect(Buffer.byteLength(target)).toBeLessThan(104);
    expect(statSync(target).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(target)).mode & 0o777).toBe(0o700);
    await (await client(path)).ask("pause", { id: "a" });
    await system.stop();
    expect(readdirSync(long)).toEqual([]);
    expect(existsSync(dirname(target))).toBe(false);
  });

  test("that a later host has put there is not removed", async () => {
    const { path, system } = await served();
    rmSync(path);
    await served({ pause: null }, path);
    await system.stop();
    await (await client(path)).ask("pause", { id: "a" });
  });
});

describe("a client that misbehaves harms no other client", () => {
  test("with a request that never ends", async () => {
    const { path } = await served({}, undefined, { requestBytes: 1_000 });
    const { socket, closed } = raw(path);
    socket.write("x".repeat(2_000));
    expect(JSON.parse(await closed).error.message).toBe("the request has more than 1000 bytes");
  });

  test("with a request that takes too long: it is given up", async () => {
    let given: AbortSignal | undefined;
    const { path } = await served(
      {
        outcome: (_id: string, { signal }: { signal: AbortSignal }) => {
          given = signal;
          return new Promise(() => undefined);
        },
        pause: null,
      },
      undefined,
      { requestMs: 20 },
    );
    const { ask } = await client(path);
    await expect(ask("outcome", { id: "a", timeoutMs: 9_000 })).rejects.toThrow("within 20 ms");
    expect(given?.aborted).toBe(true);
    expect(await ask("pause", { id: "a" })).toBe(null);
  });

  test("with a change that the host gives up: its outcome is unknown, and the error says the limit [Z698]", async () => {
    const { path } = await served({ pause: () => new Promise(() => undefined) }, undefined, {
      requestMs: 20,
    });
    const { ask } = await client(path);
    await expect(remoteOperations(ask).pause("a")).rejects.toMatchObject({
      ...{ code: "ERR_FLOW_OUTCOME_UNKNOWN", operation: "pause", flowId: "a" },
      cause: {
        ...{ code: "ERR_ADMIN_REMOTE", request: "kept", remote: { code: "ERR_ADMIN_TIMEOUT" } },
        message: expect.stringContaining("within 20 ms"),
      },
    });
    const gone = { ...{ code: "ERR_ADMIN_REMOTE", request: "kept" }, remote: { code: "ERR_ADMIN_TIMEOUT" } };
    await expect(ask("pause", { id: "a" })).rejects.toMatchObject(gone);
  });

  test("that does not read its answers is cut off [Z6]", async () => {
    const answers = { inspect: "x".repeat(30_000_000), pause: null };
    const { path, system } = await served(answers, undefined, { readMs: 20 });
    const cutOff = new Promise<void>((resolve) => system.events.on("exit", () => resolve()));
    const { socket, closed } = raw(path);
    socket.pause();
    socket.write(`${requestLine(1, "inspect", { id: "a" })}\n`);
    const { ask } = await client(path);
    expect(await ask("pause", { id: "a" })).toBe(null);
    await cutOff;
    socket.resume();
    expect((await closed).length).toBeLessThan(30_000_000);
  });

  test("44: that dies in the middle of a request or of an answer takes nothing with it", async () => {
    const { path, system } = await served({ inspect: "x".repeat(3_000_000), pause: null });
    const crashes: unknown[] = [];
    system.events.on("exit", ({ reason }) => void (reason.type === "crash" && crashes.push(reason)));
    for (let i = 0; i < 5; i++) {
      const { socket } = raw(path);
      await new Promise((connected) => socket.once("connect", connected));
      const line = `${requestLine(1, "inspect", { id: "a" })}\n`;
      if (i % 2 === 0) socket.write(line.slice(0, line.length / 2));
      else {
        socket.write(line);
        await new Promise((answered) => socket.once("data", answered));
      }
      socket.destroy();
      const { ask } = await client(path);
      expect(await ask("pause", { id: "a" })).toBe(null);
    }
    expect(crashes).toEqual([]);
  });

  test("that says nothing is sent away", async () => {
    const { path } = await served({}, undefined, { idleMs: 20 });
    expect(await raw(path).closed).toBe("");
  });

  test("that is idle makes room for the next one, the longest idle first [Z25]", async () => {
    const { path } = await served({ pause: null });
    const { ask: first } = await client(path);
    const idle = Array.from({ length: 31 }, () => raw(path));
    await Promise.all(idle.map(({ socket }) => new Promise((resolve) => socket.once("connect", resolve))));
    await first("pause", { id: "a" });
    const { ask } = await client(path);
    expect(await ask("pause", { id: "b" })).toBe(null);
    expect(await idle[0]?.closed).toBe("");
    expect(await first("pause", { id: "c" })).toBe(null);
    expect(idle.slice(1).map(({ socket }) => socket.closed)).toEqual(Array(30).fill(false));
  });

  test("that has a request in progress is kept: the next one is closed [Z25]", async () => {
    const done = gate();
    const { path, calls } = await served({ pause: () => done.promise });
    const { ask } = await client(path);
    const answers = Array.from({ length: 31 }, () =>
      client(path).then((one) => one.ask("pause", { id: "b" })),
    );
    const first = ask("pause", { id: "a" });
    while (calls.length < 32) await macrotask();
    expect(await raw(path).closed).toBe("");
    done.open();
    expect(await Promise.all([first, ...answers])).toEqual(Array(32).fill(null));
  });

  test("that stops sending gets its answer", async () => {
    const { path } = await served({ metrics: 7 });
    const { socket, closed } = raw(path);
    socket.end(`${requestLine(1, "metrics", {})}\n`);
    expect(JSON.parse(await closed)).toEqual({ id: 1, ok: 7 });
  });
});
