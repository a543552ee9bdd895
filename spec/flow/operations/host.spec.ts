// A host of a SQLite file, and the command that reaches it over the socket beside the file.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { System } from "signalbox";
import { defineFlow, flowHost, schedule } from "signalbox/flow";
import { memory, sqlite } from "signalbox/store";
import { expect, test } from "vitest";
import { reach, reachStore } from "../../../lib/cli/flows/reach.js";
import { flows as flowsTable } from "../../../lib/flow/journal/tables.js";
import { storeContext } from "../../support/store-context.js";

const order = defineFlow("order", async (flow, total: number) => {
  const paid = await flow.step("charge", () => total * 2);
  const ok = await flow.receive<boolean>("approval");
  if (!ok) throw new Error("not approved");
  return paid;
});
const warn = (text: string): void => expect.fail(text);

test("the command asks the host that has the file, and opens the file when no host has it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "host-"));
  const file = join(folder, "flows.db");
  try {
    await using system = new System({ report: false });
    await expect(reach(file, warn)).rejects.toThrow(`there is no file ${file}`);
    const host = await system.start(flowHost({ store: sqlite(file), flows: [order] }));
    const { operations, through, close } = await reach(file, warn);
    expect(through).toBe(`the host of ${file}`);
    expect(await operations.start("order", 5, { id: "a" })).toBe("a");
    expect(await operations.start("order", 6, { id: "b" })).toBe("b");
    await expect(operations.start("ordr", 5)).rejects.toMatchObject({ remote: { code: "ERR_FLOW_UNKNOWN" } });
    await operations.send("a", "approval", true);
    expect(await operations.outcome("a")).toEqual({ status: "completed", result: 10 });
    await operations.send("b", "approval", false);
    expect(await operations.outcome("b")).toMatchObject({
      status: "failed",
      error: { message: "not approved" },
    });
    // The same message is received again.
    await operations.retry("b", { from: "receive approval" });
    expect(await operations.outcome("b")).toMatchObject({ status: "failed" });
    await operations.start("order", 7, { id: "c" });
    await operations.pause("c");
    await expect.poll(async () => (await operations.inspect("c")).status).toBe("paused");
    const copy = await reachStore(file, warn);
    expect(await copy.store.count(flowsTable, {})).toBe(3);
    await copy.close();
    await close();
    await host.stop();
    expect(existsSync(`${file}.sock`)).toBe(false);
    const alone = await reach(file, warn);
    expect(alone.through).toContain("sqlite");
    expect((await alone.operations.list()).flows.map(({ id, status }) => [id, status])).toEqual([
      ["c", "paused"],
      ["b", "failed"],
      ["a", "completed"],
    ]);
    await expect(alone.operations.start("order", 1)).rejects.toThrow("started by a host");
    await alone.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("queues and schedules of a host are seen over its socket, and in its file afterwards [Z22]", async () => {
  const folder = mkdtempSync(join(tmpdir(), "host-"));
  const file = join(folder, "flows.db");
  try {
    await using system = new System({ report: false });
    const queued = defineFlow("queued", { queue: "emails" }, async (flow) => flow.receive("go"));
    const hourly = schedule("hourly", { every: "1 h", flow: order, input: 1 });
    const host = await system.start(
      flowHost({
        ...{ store: sqlite(file), flows: [queued, order], schedules: [hourly] },
        queues: { emails: { concurrency: 1, rate: { limit: 9, period: "1 min" } } },
      }),
    );
    const { operations, close } = await reach(file, warn);
    for (const id of ["a", "b", "c"]) await operations.start("queued", null, { id });
    const limits = { concurrency: 1, rate: { limit: 9, periodMs: 60_000 } };
    const expected = [{ name: "emails", limits, running: 1, waiting: 2, heldByRate: 0, recent: 1 }];
    await expect.poll(() => operations.queues()).toEqual(expected);
    await operations.pauseSchedule("hourly");
    expect(await host.schedules.list()).toMatchObject([{ name: "hourly", paused: true }]);
    await expect(operations.resumeSchedule("dayly")).rejects.toMatchObject({
      remote: { code: "ERR_SCHEDULE_NOT_FOUND" },
    });
    await close();
    await host.stop();
    const alone = await reach(file, warn);
    expect(await alone.operations.queues()).toEqual(expected);
    await alone.operations.resumeSchedule("hourly");
    expect(await alone.operations.schedules()).toMatchObject([{ name: "hourly", paused: false }]);
    await alone.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a host without a file, or that wants none, has no socket; a path of its own is taken", async () => {
  const folder = mkdtempSync(join(tmpdir(), "host-"));
  try {
    await using system = new System({ report: false });
    await system.start(flowHost({ store: memory(), flows: [order] }));
    await system.start(flowHost({ store: sqlite(join(folder, "a.db")), flows: [order], socket: false }));
    await system.start(flowHost({ store: memory(), flows: [order], socket: join(folder, "own") }));
    expect(existsSync(join(folder, "a.db.sock"))).toBe(false);
    expect(existsSync(join(folder, "own"))).toBe(true);
    expect(() => flowHost({ store: memory(), flows: [], socket: 5 as never })).toThrow(
      "socket must be a path",
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a host with a retention removes what is old when it starts", async () => {
  const store = memory();
  const note = defineFlow("note", async () => "done");
  await using system = new System({ report: false });
  const first = await system.start(flowHost({ store, flows: [note], hostId: "first" }));
  await (await first.start(note, undefined, { id: "old" })).result();
  await first.stop();
  const second = await system.start(
    flowHost({ store, flows: [note], hostId: "second", retention: { most: 0 } }),
  );
  await expect
    .poll(() =>
      second
        .get("old")
        .info()
        .catch((error) => error.code),
    )
    .toBe("ERR_FLOW_NOT_FOUND");
});

test("a host whose socket cannot be opened does not start, says why, and leaves its file free", async () => {
  const folder = mkdtempSync(join(tmpdir(), "host-"));
  const file = join(folder, "flows.db");
  try {
    await using system = new System({ report: false });
    writeFileSync(`${file}.sock`, "precious");
    const error = await system.start(flowHost({ store: sqlite(file), flows: [] })).then(
      () => undefined,
      (reason: Error) => reason,
    );
    const texts: string[] = [];
    for (let one: unknown = error; one instanceof Error; one = one.cause) texts.push(one.message);
    expect(texts.join("\n")).toContain("there is a file of this name that is no socket");
    const store = await sqlite(file, { durability: "process-kill" }).open([], storeContext());
    await store.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
