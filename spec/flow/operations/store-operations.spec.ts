// The operations over a store, without a host: what they read, what they write, whom they notify, and what they refuse.

import { describe, expect, test } from "vitest";
import { symptomOf } from "../../../lib/flow/hospital/symptom.js";
import type { FlowStatus, FlowSummary } from "../../../lib/flow/operations/operations.js";
import { ENDED_STATUSES, FLOW_STATUSES } from "../../../lib/flow/operations/operations.js";
import { declaredQueues } from "../../../lib/flow/queues/declared.js";
import { starts } from "../../../lib/flow/queues/tables.js";
import { defined } from "../../../lib/flow/schedules/definition.js";
import { schedules } from "../../../lib/flow/schedules/tables.js";
import { flows, journal, mail, START, type Stored, storedFlows, values } from "./support/stored-flows.js";

const done = (key: string, ok = true, letter?: number) =>
  ({ type: "done", key, ok, ...(letter !== undefined && { mail: letter }) }) as const;
const ids = (page: { readonly flows: readonly FlowSummary[] }): string[] => page.flows.map(({ id }) => id);

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe("list", () => {
  async function many(): Promise<Stored> {
    const stored = await storedFlows();
    for (let i = 0; i < 40; i++) {
      await stored.add({
        id: `${i % 2 ? "b" : "a"}-${String(i).padStart(2, "0")}`,
        name: i % 3 ? "order" : "refund",
        version: (i % 2) + 1,
        status: FLOW_STATUSES[i % 4] as string,
        queue: i % 5 === 0 ? "q" : null,
        created: START + i,
        updated: START + 100 - i,
      });
    }
    return stored;
  }
  const number = (id: string): number => Number(id.slice(2));

  const FILTERS: readonly (readonly [object, (i: number) => boolean])[] = [
    [{}, () => true],
    [{ status: "running" }, (i) => i % 4 === 1],
    [{ status: ["paused", "pending"] }, (i) => i % 4 === 3 || i % 4 === 0],
    [{ name: "refund" }, (i) => i % 3 === 0],
    [{ name: "order", status: ["running", "waiting"] }, (i) => i % 3 > 0 && (i % 4 === 1 || i % 4 === 2)],
    [{ version: 2 }, (i) => i % 2 === 1],
    [{ queue: "q" }, (i) => i % 5 === 0],
    [{ createdFrom: START + 10, createdBelow: START + 20 }, (i) => i >= 10 && i < 20],
    [{ updatedFrom: START + 90 }, (i) => i <= 10],
    [{ updatedBelow: START + 70, status: "running" }, (i) => i > 30 && i % 4 === 1],
    [{ status: "completed" }, () => false],
  ];
  test.each(FILTERS)(
    "by %j gives these and no others, in order, on pages of any size [Z8]",
    async (filter, expected) => {
      const { operations } = await many();
      const oldest = Array.from({ length: 40 }, (_, i) => i).filter(expected);
      for (const order of ["oldest", "newest"] as const) {
        for (const limit of [1, 3, 100]) {
          const found: number[] = [];
          let cursor: string | undefined;
          do {
            const page = await operations.list({
              ...filter,
              order,
              limit,
              ...(cursor !== undefined && { cursor }),
            });
            expect(page.flows.length).toBeLessThanOrEqual(limit);
            found.push(...ids(page).map(number));
            cursor = page.next;
          } while (cursor !== undefined);
          expect(found).toEqual(order === "oldest" ? oldest : oldest.toReversed());
        }
      }
    },
  );

  test("by the beginning of ids gives them in the order of the ids", async () => {
    const { operations } = await many();
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await operations.list({
        idPrefix: "a-",
        limit: 7,
        ...(cursor !== undefined && { cursor }),
      });
      found.push(...ids(page));
      cursor = page.next;
    } while (cursor !== undefined);
    expect(found).toEqual(Array.from({ length: 20 }, (_, i) => `a-${String(i * 2).padStart(2, "0")}`));
    expect(ids(await operations.list({ idPrefix: "a-1", status: "running" }))).toEqual([]);
  });

  test("by parent gives its children, with its id", async () => {
    const { operations, add } = await many();
    const parent = await add({ id: "mother" });
    await add({ id: "child", parent });
    expect((await operations.list({ parent: "mother" })).flows).toMatchObject([
      { id: "child", parent: "mother" },
    ]);
    await expect(operations.list({ parent: "nobody" })).rejects.toMatchObject({ code: "ERR_FLOW_NOT_FOUND" });
  });

  test.each([
    [{ status: "done" }, "status must be one of"],
    [{ statsu: "failed" }, "did you mean status?"],
    [{ limit: 0 }, "limit must be"],
    [{ limit: 1_001 }, "limit must be at most 1000"],
    [{ order: "random" }, "order must be one of"],
    [{ cursor: "x" }, "cursor must be the `next`"],
    [{ cursor: "7", idPrefix: "a" }, "cursor must be the `next`"],
    [{ createdFrom: "today" }, "createdFrom must be milliseconds since 1970"],
    [{ name: "" }, "name must be a text"],
    [{ version: 0 }, "version must be"],
  ])("refuses %j: %s", async (options, text) => {
    const { operations } = await storedFlows();
    await expect(operations.list(options as never)).rejects.toThrow(text);
  });
});

describe("inspect and history", () => {
  test("show the row, what the code waits for, mail, children and the medical record", async () => {
    const { operations, add, entries, store } = await storedFlows();
    const number = await add({
      id: "a",
      due: START + 50,
      hospital: JSON.stringify({ fault: { name: "E", message: "no\nwhy" } }),
    });
    await add({ id: "child", parent: number, status: "completed" });
    await entries(
      number,
      {
        decision: done("charge"),
        value: { paid: 5 },
        asks: [
          { kind: "step", key: "charge" },
          { kind: "step", key: "ship" },
        ],
      },
      {
        decision: { type: "failed", key: "ship", attempt: 1, due: START + 50 },
        value: new TypeError("busy"),
        asks: [],
      },
      {
        decision: { type: "begun", key: "nap", due: START + 90 },
        asks: [
          { kind: "sleep", key: "nap" },
          { kind: "version", key: "v", answer: 2 },
        ],
      },
    );
    const letter = {
      flow: number,
      id: "outside/m1",
      topic: "message/go",
      value: null,
      sender: "x",
      unread: number,
      at: START,
    };
    await store.commit({ writes: [{ type: "insert", table: mail, row: letter }] });
    expect(await operations.inspect("a")).toMatchObject({
      ...{ id: "a", name: "order", status: "waiting", dueAt: START + 50, input: { of: "flow-1" } },
      ...{ entries: 3, generation: 0, problem: "E: no", hospital: { fault: { name: "E" } } },
      pending: [
        { kind: "step", key: "ship", attempts: 1, dueAt: START + 50 },
        { kind: "sleep", key: "nap", dueAt: START + 90 },
      ],
      mail: [{ topic: "go", sender: "x", at: START }],
      children: [{ id: "child", parent: "a", status: "completed" }],
    });
    const events = await collect(operations.history("a"));
    expect(events).toMatchObject([
      { seq: 0, type: "done", key: "charge", value: { paid: 5 } },
      { seq: 1, type: "retry", key: "ship", attempt: 1, value: { name: "TypeError", message: "busy" } },
      { seq: 2, type: "begun", key: "nap", dueAt: START + 90 },
    ]);
    expect((await collect(operations.history("a", { after: 0, limit: 1 }))).map(({ seq }) => seq)).toEqual([
      1,
    ]);
  });

  test("read a long journal page by page, and go on behind what cannot be read", async () => {
    const { operations, add, entries, store } = await storedFlows();
    const number = await add({ id: "a", input: "no JSON" });
    await entries(number, ...Array.from({ length: 2_500 }, (_, i) => `s#${i}`));
    await store.commit({
      writes: [{ type: "insert", table: journal, row: { flow: number, seq: 2_500, head: "?", value: null } }],
    });
    await entries(number, "last");
    const events = await collect(operations.history("a"));
    expect(events.length).toBe(2_502);
    expect(events.slice(-2)).toMatchObject([{ type: "unreadable" }, { type: "done", key: "last" }]);
    const { entries: count, input } = await operations.inspect("a");
    expect(count).toBe(2_502);
    expect(input).toBeInstanceOf(Error);
  });
});

describe("every operation", () => {
  const all: [string, (stored: Stored, id: string) => Promise<unknown>][] = [
    ...(
      [
        "inspect",
        "pause",
        "resume",
        "cancel",
        "kill",
        "retry",
        "fork",
        "outcome",
        "remove",
        "discharge",
      ] as const
    ).map((name): [string, (stored: Stored, id: string) => Promise<unknown>] => [
      name,
      ({ operations }, id) => operations[name](id),
    ]),
    ["send", ({ operations }, id) => operations.send(id, "go", 1)],
    ["history", ({ operations }, id) => collect(operations.history(id))],
  ];

  test.each(all)("%s of an id that no flow has is refused [Z9]", async (_name, act) => {
    const stored = await storedFlows();
    await expect(act(stored, "nobody")).rejects.toMatchObject({ code: "ERR_FLOW_NOT_FOUND" });
    await expect(act(stored, "")).rejects.toMatchObject({ code: "ERR_OPTION" });
    await expect(act(stored, 7 as never)).rejects.toMatchObject({ code: "ERR_OPTION" });
  });

  const refusals: readonly [string, readonly FlowStatus[]][] = [
    ["pause", ["hospitalized", ...ENDED_STATUSES]],
    ["resume", ["pending", "running", "waiting", "hospitalized", ...ENDED_STATUSES]],
    ["cancel", ENDED_STATUSES],
    ["kill", ENDED_STATUSES],
    ["discharge", ["pending", "running", "waiting", "paused", ...ENDED_STATUSES]],
    ["send", ENDED_STATUSES],
    ["retry", ["pending", "running", "waiting", "completed"]],
    ["remove", ["pending", "running", "waiting", "paused", "hospitalized"]],
  ];
  test.each(refusals)("%s is refused for flows that are %j, and for no others", async (name, statuses) => {
    const stored = await storedFlows();
    const act = all.find(([one]) => one === name)?.[1] as (typeof all)[number][1];
    for (const status of FLOW_STATUSES) {
      await stored.add({ id: status, status, holder: status === "running" ? 7 : null });
      const refused = await act(stored, status).then(
        () => undefined,
        (error) => error.code,
      );
      expect([status, refused]).toEqual([status, statuses.includes(status) ? "ERR_FLOW_STATE" : undefined]);
    }
  });
});

describe("a flow that a host holds", () => {
  test.each(["pause", "cancel", "kill"] as const)(
    "gets the wish to %s, and its host is notified",
    async (wish) => {
      const { operations, add, row, notified } = await storedFlows();
      const number = await add({ id: "a", status: "running", holder: 7 });
      await operations[wish]("a");
      expect(await row("a")).toMatchObject({ status: "running", holder: 7, wish });
      expect(notified).toEqual([`wish/${number}`]);
    },
  );

  test("whose pause has not happened yet goes on when it is resumed", async () => {
    const { operations, add, row } = await storedFlows();
    await add({ id: "a", status: "running", holder: 7, wish: "pause" });
    await operations.resume("a");
    expect(await row("a")).toMatchObject({ status: "running", holder: 7, wish: null });
  });

  test("is tried again only when it is paused", async () => {
    const { operations, add } = await storedFlows();
    await add({ id: "a", status: "running", holder: 7 });
    await expect(operations.retry("a", { from: "x" })).rejects.toThrow("it is running; pause it first");
  });
});

describe("a flow without a holder", () => {
  test("is paused and resumed by its row alone", async () => {
    const { operations, add, row, notified } = await storedFlows();
    const number = await add({ id: "a", due: START + 5 });
    await operations.pause("a");
    await operations.pause("a");
    expect(await row("a")).toMatchObject({ status: "paused", due: null, wish: null });
    expect(notified).toEqual([]);
    await operations.resume("a");
    expect(await row("a")).toMatchObject({ status: "waiting", due: 0 });
    expect(notified).toEqual([`ready/${number}`]);
  });

  test.each(["paused", "hospitalized", "waiting"])("and is %s is woken to be cancelled", async (status) => {
    const { operations, add, row, notified } = await storedFlows();
    const number = await add({ id: "a", status });
    await operations.cancel("a");
    expect(await row("a")).toMatchObject({ status: "waiting", due: 0, wish: "cancel" });
    expect(notified).toEqual([`wish/${number}`]);
  });

  test("is discharged with the record of a flow that has not failed there before [Z16]", async () => {
    const { operations, add, row, notified } = await storedFlows();
    const symptom = { kind: "code", name: "TypeError", message: "no such account" };
    const suspension = { name: "charge", position: 2 };
    const visit = { at: START, symptom, suspension, decision: "observe", by: ["maxDischarges"] };
    const record = {
      ...{ version: 1, definition: "order", symptom, suspension, by: ["maxDischarges"] },
      ...{ dueAt: START + 60_000, counts: { nurse: 7 }, discharges: 1_000, visits: [visit] },
    };
    const number = await add({
      ...{ id: "a", status: "hospitalized", due: record.dueAt, crashes: 3 },
      hospital: JSON.stringify(record),
    });
    await operations.discharge("a");
    const found = await row("a");
    expect(found).toMatchObject({ status: "pending", due: 0, crashes: 0 });
    // Its past stays for people; what was counted does not keep it from its next discharge.
    const { dueAt: _, ...kept } = record;
    expect(JSON.parse(found?.hospital as string)).toEqual({ ...kept, counts: {}, discharges: 0 });
    expect(notified).toEqual([`ready/${number}`]);
    await add({ id: "b", status: "hospitalized", hospital: "{" });
    await operations.discharge("b");
    expect(await row("b")).toMatchObject({ status: "pending", hospital: null });
  });

  test("is killed at once, also when no host has its definition; its parent hears of it [Z10]", async () => {
    const { operations, add, row, notified, store } = await storedFlows();
    const parent = await add({ id: "mother" });
    const number = await add({ id: "a", status: "hospitalized", parent, parent_key: "child" });
    await operations.kill("a");
    expect(await row("a")).toMatchObject({ status: "killed", finished: START, due: 0 });
    expect(notified.toSorted()).toEqual(["end/a", `mail/${parent}`, `ready/${number}`]);
    // It stays until a host has told the peers of its sessions.
    expect(await operations.prune()).toBe(0);
    await expect(operations.remove("a")).rejects.toThrow("a host has not told all others yet");
    const [letter] = await store.scan(mail, { index: "unread", prefix: [parent] });
    expect(letter).toMatchObject({ id: `end/${number}`, sender: "a" });
  });

  test("gets a message once for each message id", async () => {
    const { operations, add, row, store, notified } = await storedFlows();
    const number = await add({ id: "a", due: null });
    await operations.send("a", "go", { n: 1 }, { id: "m" });
    await operations.send("a", "go", { n: 2 }, { id: "m" });
    await operations.send("a", "go", { n: 3 });
    const letters = await store.scan(mail, { index: "unread", prefix: [number] });
    expect(letters.map(({ topic, value }) => [topic, values.decode(value)])).toEqual([
      ["message/go", { n: 1 }],
      ["message/go", { n: 3 }],
    ]);
    expect((await row("a"))?.due).toBe(0);
    expect(notified).toEqual(Array(3).fill(`mail/${number}`));
  });

  test("is decided on anew when it changes at the same moment", async () => {
    const { operations, add, row, store } = await storedFlows();
    const number = await add({ id: "a" });
    const taken = store.commit({
      writes: [{ type: "update", table: flows, key: [number], set: { status: "running", holder: 9 } }],
    });
    await Promise.all([operations.pause("a"), taken]);
    const found = await row("a");
    // Either the pause came first, and the host took what it may not have; or the host came first, and gets a wish.
    expect([found?.status, found?.wish]).toEqual(["running", "pause"]);
  });
});

describe("outcome", () => {
  test("is there at once for a flow that has ended", async () => {
    const { operations, add } = await storedFlows();
    await add({ id: "a", status: "completed", outcome: values.encode({ sum: 5 }, "", "result") as string });
    await add({
      id: "b",
      status: "failed",
      outcome: values.encode(new RangeError("no"), "", "result") as string,
    });
    expect(await operations.outcome("a")).toEqual({ status: "completed", result: { sum: 5 } });
    expect(await operations.outcome("b")).toMatchObject({ status: "failed", error: { name: "RangeError" } });
  });

  test("comes with the end of the flow", async () => {
    const { operations, add, store } = await storedFlows();
    const number = await add({ id: "a" });
    const outcome = operations.outcome("a", { timeoutMs: 1_000 });
    const set = { status: "cancelled", finished: START };
    await store.commit({ writes: [], notify: ["end/ab"] });
    await store.commit({ writes: [{ type: "update", table: flows, key: [number], set }], notify: ["end/a"] });
    expect(await outcome).toEqual({ status: "cancelled", error: undefined });
  });

  test("is given up after its timeout, and with its signal", async () => {
    const { operations, add, pass, store } = await storedFlows();
    await add({ id: "a" });
    const outcome = operations.outcome("a", { timeoutMs: 1_000 });
    await store.commit({ writes: [] });
    pass(1_000);
    await expect(outcome).rejects.toMatchObject({ code: "ERR_FLOW_WAIT_TIMEOUT", timeoutMs: 1_000 });
    const abort = new AbortController();
    const aborted = operations.outcome("a", { signal: abort.signal });
    await store.commit({ writes: [] });
    abort.abort(new Error("enough"));
    await expect(aborted).rejects.toThrow("enough");
    await expect(operations.outcome("a", { signal: abort.signal })).rejects.toThrow("enough");
    const glance = operations.outcome("a", { timeoutMs: 0 });
    pass(0);
    await expect(glance).rejects.toMatchObject({ code: "ERR_FLOW_WAIT_TIMEOUT" });
  });
});

describe("retry", () => {
  const failed = (key: string, message: string) => ({
    decision: done(key, false),
    value: new Error(message),
  });

  test("of a failed flow forgets the error that ended it, and what came after [Z11]", async () => {
    const { operations, add, entries, row, journalOf, notified } = await storedFlows();
    const outcome = values.encode(new Error("bank closed"), "", "result") as string;
    const number = await add({ id: "a", status: "failed", outcome, finished: START, crashes: 2 });
    await entries(
      number,
      "order",
      failed("check", "caught by the code"),
      "pack",
      failed("charge", "bank closed"),
      "log",
    );
    await operations.retry("a");
    expect((await journalOf(number)).map(({ decision }) => "key" in decision && decision.key)).toEqual([
      "order",
      "check",
      "pack",
    ]);
    expect(await row("a")).toMatchObject({
      status: "waiting",
      due: 0,
      outcome: null,
      finished: null,
      crashes: 0,
    });
    expect(notified).toEqual([`ready/${number}`]);
  });

  test("of a flow in the hospital forgets the error that brought it there, and what came after", async () => {
    const { operations, add, entries, row, journalOf } = await storedFlows();
    const symptom = symptomOf(new Error("bank closed"));
    const number = await add({ id: "a", status: "hospitalized", hospital: JSON.stringify({ symptom }) });
    await entries(
      number,
      "order",
      failed("check", "caught by the code"),
      failed("charge", "bank closed"),
      "log",
    );
    await operations.retry("a");
    expect((await journalOf(number)).map(({ decision }) => "key" in decision && decision.key)).toEqual([
      "order",
      "check",
    ]);
    expect(await row("a")).toMatchObject({ status: "waiting", due: 0, hospital: null });
    // Its code failed by itself, or its record cannot be read.
    for (const [id, hospital] of [
      ["b", JSON.stringify({ symptom: symptomOf(new TypeError("x is undefined")) })],
      ["c", "{"],
      ["d", "null"],
    ] as const) {
      const other = await add({ id, status: "hospitalized", hospital });
      await entries(other, "order", failed("charge", "bank closed"));
      await operations.retry(id);
      expect((await journalOf(other)).length).toBe(2);
    }
  });

  test("of a flow whose code failed by itself forgets nothing", async () => {
    const { operations, add, entries, journalOf } = await storedFlows();
    const outcome = values.encode(new Error("x is undefined"), "", "result") as string;
    const number = await add({ id: "a", status: "failed", outcome, finished: START });
    await entries(number, "order", failed("check", "caught by the code"), "pack");
    await operations.retry("a");
    expect((await journalOf(number)).length).toBe(3);
  });

  test("of a cancelled flow forgets the cancellation", async () => {
    const { operations, add, entries, journalOf } = await storedFlows();
    const number = await add({ id: "a", status: "cancelled", finished: START });
    await entries(number, "order", { decision: { type: "cancelled" }, asks: [] }, "undo order");
    await operations.retry("a");
    expect((await journalOf(number)).length).toBe(1);
  });

  test("from a step forgets it and everything after it; messages received since are received again", async () => {
    const { operations, add, entries, journalOf, store } = await storedFlows();
    const number = await add({ id: "a", status: "completed", finished: START });
    const letter = (id: string) => ({
      ...{ type: "insert" as const, table: mail },
      row: { flow: number, id, topic: "message/go", value: null, sender: null, unread: null, at: START },
    });
    const { results } = await store.commit({ writes: [letter("m1"), letter("m2")] });
    await entries(
      number,
      { decision: done("receive go", true, results[0] as number) },
      { decision: { type: "failed", key: "charge", attempt: 1, due: START } },
      { decision: done("receive go#2", true, results[1] as number) },
      "charge",
    );
    await expect(operations.retry("a")).rejects.toThrow("name the step from which it is done again");
    await operations.retry("a", { from: "charge" });
    expect((await journalOf(number)).length).toBe(1);
    const unread = await store.scan(mail, { index: "unread", prefix: [number] });
    expect(unread.map(({ id }) => id)).toEqual(["m2"]);
  });

  test("from a step that the flow never asked for names those that it did", async () => {
    const { operations, add, entries } = await storedFlows();
    const number = await add({ id: "a", status: "failed", finished: START });
    await expect(operations.retry("a", { from: "x" })).rejects.toThrow(
      "from must be absent: the journal of the flow is empty",
    );
    await entries(number, "order", "charge");
    await expect(operations.retry("a", { from: "charg" })).rejects.toThrow(
      'from must be a step or wait in the journal of the flow: order, charge; got "charg"',
    );
  });
});

describe("fork", () => {
  test("copies the journal up to a step [Z12]", async () => {
    const { operations, add, entries, row, journalOf, notified } = await storedFlows();
    const number = await add({
      id: "a",
      status: "completed",
      finished: START,
      holder: null,
      parent: 99,
      mail: 4,
    });
    await entries(number, "order", "charge", "ship");
    expect(await operations.fork("a", { id: "b", from: "charge" })).toBe("b");
    const copy = await row("b");
    expect(copy).toMatchObject({
      ...{ name: "order", status: "waiting", due: 0, wish: null, finished: null, parent: null, mail: 0 },
      ...{ seed: "flow-1", input: values.encode({ of: "flow-1" }, "", "result") },
    });
    expect(await journalOf(copy?.number as number)).toEqual((await journalOf(number)).slice(0, 1));
    expect((await journalOf(number)).length).toBe(3);
    expect(notified).toEqual([`ready/${copy?.number}`]);
  });

  test("gives a step another result", async () => {
    const { operations, add, entries, row, journalOf } = await storedFlows();
    const number = await add({ id: "a", status: "failed", finished: START });
    await entries(number, "order", { decision: done("charge", false), value: new Error("no") }, "ship");
    await operations.fork("a", { id: "b", from: "charge", result: { paid: true } });
    const copied = await journalOf((await row("b"))?.number as number);
    expect(copied.map(({ decision, value }) => [decision, values.decode(value)])).toEqual([
      [done("order"), "order"],
      [done("charge"), { paid: true }],
    ]);
  });

  test("does everything again with another input, under a new id", async () => {
    const { operations, add, entries, row, journalOf } = await storedFlows();
    const number = await add({ id: "a" });
    await entries(number, "order");
    const copy = await row(await operations.fork("a", { input: { of: "other" } }));
    expect(copy).toMatchObject({ id: "new-1", input: values.encode({ of: "other" }, "", "result") });
    expect(await journalOf(copy?.number as number)).toEqual([]);
  });

  test("copies a long journal, whose copy no host takes before it is whole", async () => {
    const { operations, add, entries, row, journalOf, store } = await storedFlows();
    const number = await add({ id: "a" });
    await entries(number, ...Array.from({ length: 1_300 }, (_, i) => `s#${i}`), "last");
    const seen: string[] = [];
    const look = async (): Promise<void> => {
      const found = await row("b");
      if (found !== undefined)
        seen.push(`${found.status} ${found.due} ${(await journalOf(found.number)).length === 1_300}`);
    };
    const commit = store.commit.bind(store);
    store.commit = async (set) => {
      const committed = await commit(set);
      await look();
      return committed;
    };
    await operations.fork("a", { id: "b", from: "last" });
    expect(new Set(seen)).toEqual(new Set(["paused null false", "paused null true", "waiting 0 true"]));
  });

  test("that was interrupted is removed, not resumed", async () => {
    const { operations, add, row } = await storedFlows();
    await add({ id: "a", status: "paused", wish: "fork" });
    await expect(operations.resume("a")).rejects.toThrow("its fork was interrupted");
    await operations.remove("a");
    expect(await row("a")).toBeUndefined();
  });

  test.each([
    [{ from: "charge", input: 1 }, "input must be absent"],
    [{ result: 1 }, "result must be absent"],
    [{ from: "nothing" }, "from must be a step or wait in the journal"],
    [{ from: "ship", result: 1 }, "from must be a step or wait in the journal of the flow: charge"],
    [{ id: "a" }, "the id"],
    [{ form: "charge" }, "did you mean from?"],
    [{ id: "" }, "id must be a text"],
  ])("with %j is refused: %s", async (options, text) => {
    const { operations, add, entries } = await storedFlows();
    const number = await add({ id: "a" });
    await entries(number, "charge", { decision: { type: "failed", key: "ship", attempt: 1, due: START } });
    await expect(operations.fork("a", options as never)).rejects.toThrow(text);
  });

  test("behind the begin of a child is refused: the child answers the first flow", async () => {
    const { operations, add, entries } = await storedFlows();
    const number = await add({ id: "a" });
    const begun = { type: "begun", key: "child", due: undefined } as const;
    await entries(number, { decision: begun, asks: [{ kind: "call", key: "child" }] }, "charge");
    await expect(operations.fork("a", { from: "charge" })).rejects.toThrow('before call "child"');
    await operations.fork("a", { from: "child" });
  });
});

test("metrics count by status, and tell how late the flows are", async () => {
  const { operations, add, pass } = await storedFlows();
  await add({ status: "pending" });
  pass(100);
  await add({ status: "pending" });
  await add({ status: "waiting", due: START + 130 });
  await add({ status: "hospitalized" });
  await add({ status: "completed", finished: START });
  expect(await operations.metrics()).toMatchObject({ oldestPendingMs: 100, lagMs: 0, inHospital: 1 });
  pass(50);
  const { counts, ...delays } = await operations.metrics();
  expect(delays).toEqual({ oldestPendingMs: 150, lagMs: 20, inHospital: 1 });
  expect(counts).toMatchObject({ pending: 2, waiting: 1, hospitalized: 1, completed: 1, failed: 0 });
});

test("prune keeps so many of the flows that are meant, those that ended last [Z24]", async () => {
  const { operations, add } = await storedFlows();
  for (let i = 0; i < 6; i++)
    await add({ id: `a${i}`, name: i % 2 ? "odd" : "even", status: "completed", finished: START - i });
  expect(await operations.prune({ name: "odd", keep: 3 })).toBe(0);
  expect(await operations.prune({ name: "odd", keep: 2 })).toBe(1);
  expect(await operations.prune({ keep: 2 })).toBe(3);
  expect(ids(await operations.list({ order: "oldest" }))).toEqual(["a0", "a1"]);
  await expect(operations.prune({ keep: -1 })).rejects.toMatchObject({ code: "ERR_OPTION" });
});

describe("queues", () => {
  test("are counted, declared or not, with those that only the rate holds back [Z22]", async () => {
    const { operations, add, store } = await storedFlows();
    expect(await operations.queues()).toEqual([]);
    const limits = { concurrency: 5, rate: { limit: 3, periodMs: 1_000 } };
    const row = { queue: "emails", limits: JSON.stringify(limits) };
    await store.commit({ writes: [{ type: "put", table: declaredQueues, row }] });
    const queue = "emails";
    for (let i = 0; i < 4; i++) await add({ queue, waiting: queue });
    for (const status of ["running", "waiting"]) await add({ queue, slot: queue, status });
    for (const name of ["a", "a", "z"]) await add({ queue: name, waiting: name });
    const at = [START - 2_000, START - 500, START - 1];
    const rows = at.map((one) => ({ queue, lane: "", at: one }));
    await store.commit({ writes: rows.map((one) => ({ type: "insert", table: starts, row: one })) });
    expect(await operations.queues()).toEqual([
      { name: "a", running: 0, waiting: 2, heldByRate: 0 },
      // Three more could run at once; one more start is allowed in this second.
      { name: "emails", limits, running: 2, waiting: 4, heldByRate: 2, recent: 2 },
      { name: "z", running: 0, waiting: 1, heldByRate: 0 },
    ]);
    expect(await operations.queues({ atMost: 1 })).toMatchObject([
      { waiting: 1 },
      { running: 1, waiting: 1, recent: 1 },
      { waiting: 1 },
    ]);
    await expect(operations.queues({ atMost: 0 })).rejects.toMatchObject({ code: "ERR_OPTION" });
  });

  test("have keys with counts of what waits and runs, and a look reads no more of them than it was asked for [N1635]", async () => {
    const { operations, add } = await storedFlows();
    const queue = "emails";
    expect(await operations.queueKeys(queue)).toEqual({ keys: [], more: false });
    const waits: [key: string, rank: number][] = [
      ...(
        [
          ["ada", 9],
          ["ada", 9],
          ["ada", 0],
        ] as const
      ).map(([key, rank]): [string, number] => [key, rank]),
      ["bob", 9],
      ["", 5],
    ];
    for (const [queue_key, rank] of waits) await add({ queue, waiting: queue, queue_key, rank });
    for (const queue_key of ["bob", "bob", "cy"])
      await add({ queue, slot: queue, queue_key, status: "running" });
    await add({ queue: "other", waiting: "other", queue_key: "dee" });
    const keys = [
      { key: "ada", waiting: 3, running: 0 },
      { key: "bob", waiting: 1, running: 2 },
      { key: "", waiting: 1, running: 0 },
      { key: "cy", waiting: 0, running: 1 },
    ];
    expect(await operations.queueKeys(queue)).toEqual({ keys, more: false });
    const bounded = keys.map((one) => ({
      ...one,
      waiting: Math.min(one.waiting, 1),
      running: Math.min(one.running, 1),
    }));
    const { keys: found } = await operations.queueKeys(queue, { atMost: 1 });
    expect(found).toEqual(expect.arrayContaining(bounded));
    // The highest priority first: of ada only the one that comes first was counted.
    expect(await operations.queueKeys(queue, { limit: 1 })).toEqual({
      keys: [
        { key: "ada", waiting: 1, running: 0 },
        { key: "bob", waiting: 0, running: 2 },
      ],
      more: true,
    });
    await expect(operations.queueKeys(queue, { limit: 0 })).rejects.toMatchObject({ code: "ERR_OPTION" });
  });
});

describe("schedules", () => {
  test("are paused and resumed from now, and their hosts hear of it [Z21]", async () => {
    const { operations, store, notified, pass } = await storedFlows();
    const definition = { ...defined("hourly", { every: "1 h" }, undefined) };
    const row = {
      ...{ name: "hourly", flow: "sync", input: null, definition: JSON.stringify(definition) },
      ...{ fired: null, judged: START, due: 3_600_000, wake: 3_600_000, paused: 0, last: null },
      ...{ skipped: 0, revision: 4, declared: 1 },
    };
    await store.commit({ writes: [{ type: "put", table: schedules, row }] });
    expect(await operations.schedules()).toMatchObject([{ name: "hourly", paused: false, due: 3_600_000 }]);
    await store.commit({ writes: [{ type: "put", table: schedules, row: { ...row, name: "weekly" } }] });
    expect(await operations.schedules({ limit: 1 })).toMatchObject([{ name: "hourly" }]);
    expect(await operations.schedules({ limit: 1, after: "hourly" })).toMatchObject([{ name: "weekly" }]);
    await expect(operations.schedules({ limit: 0 })).rejects.toMatchObject({ code: "ERR_OPTION" });
    await store.commit({ writes: [{ type: "delete", table: schedules, key: ["weekly"] }] });
    await operations.pauseSchedule("hourly");
    await operations.pauseSchedule("hourly");
    expect(notified).toEqual(["schedules"]);
    expect(await operations.schedules()).toMatchObject([{ paused: true, due: undefined }]);
    pass(3 * 3_600_000);
    await operations.resumeSchedule("hourly");
    expect(await operations.schedules()).toMatchObject([{ paused: false, due: 4 * 3_600_000 }]);
    expect((await store.get(schedules, [["hourly"]]))[0]).toMatchObject({ revision: 6, flow: "sync" });
    for (const act of ["pauseSchedule", "resumeSchedule"] as const)
      await expect(operations[act]("hurly")).rejects.toMatchObject({ code: "ERR_SCHEDULE_NOT_FOUND" });
  });
});

test("start goes to the host, and is refused where there is none", async () => {
  const started: unknown[] = [];
  const { operations } = await storedFlows({
    start: async (...args) => {
      started.push(args);
      return args[2];
    },
  });
  expect(await operations.start("order", { n: 1 }, { id: "a" })).toBe("a");
  expect(await operations.start("order", undefined)).toBe("new-1");
  expect(started).toEqual([
    ["order", { n: 1 }, "a"],
    ["order", undefined, "new-1"],
  ]);
  await expect((await storedFlows()).operations.start("order", 1)).rejects.toThrow("started by a host");
});
