// The protocol of operations: what goes in at one end comes out at the other, and hostile requests are answered with errors.

import fc from "fast-check";
import { OptionError } from "signalbox";
import { describe, expect, test } from "vitest";
import {
  type AdminOperations,
  PROTOCOL_LIMITS,
  readAnswer,
  requestLine,
  serve,
} from "../../../lib/admin/protocol.js";
import type {
  FlowOperations,
  HistoryOptions,
  ResultOptions,
} from "../../../lib/flow/operations/operations.js";
import { flowService, remoteOperations } from "../../../lib/flow/operations/operations-table.js";
import { FlowWaitTimeoutError } from "../../../lib/flow/runtime/errors.js";
import type { FlowEventOptions } from "../../../lib/flow/runtime/event-page.js";
import { events, fakeOperations } from "./support/fake-operations.js";

const { signal } = new AbortController();

/** What one host offers. */
function offersOf(operations: FlowOperations): AdminOperations {
  const offered = flowService(operations, () => true).operations;
  return { names: [...offered.keys()], find: (op) => [offered.get(op) ?? []].flat() };
}

/** Both ends, with nothing but lines between them. */
function connected(answers: Parameters<typeof fakeOperations>[0]) {
  const { operations, calls } = fakeOperations(answers);
  let id = 0;
  const remote = remoteOperations(async (op, args) =>
    readAnswer(++id, await serve(offersOf(operations), requestLine(id, op, args), signal)),
  );
  return { remote, calls };
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const flow = { id: "a", name: "order", version: 1, status: "running", createdAt: 1, updatedAt: 2 };
const CASES: readonly [keyof FlowOperations, unknown[], unknown][] = [
  ["list", [{ status: ["failed", "paused"], name: "order", limit: 5 }], { flows: [flow], next: "x" }],
  ["inspect", ["a"], { ...flow, input: [1], pending: [] }],
  ["pause", ["a"], null],
  ["resume", ["a"], null],
  ["cancel", ["a"], null],
  ["kill", ["a"], null],
  ["retry", ["a", { from: "charge#2" }], null],
  ["fork", ["a", { id: "b", from: "charge", result: null }], "b"],
  ["fork", ["a", { input: { id: 1 } }], "c"],
  ["remove", ["a"], null],
  ["prune", [{ status: "failed", olderThanMs: 5 }], 7],
  ["send", ["a", "approval", { ok: true }, { id: "m1" }], null],
  ["start", ["order", { total: 5 }, { id: "a" }], "a"],
  ["metrics", [], { counts: { running: 1 }, lagMs: 0, inHospital: 0 }],
  ["discharge", ["a"], null],
  ["backup", ["copy.db"], null],
  ["schedules", [{}], [{ name: "nightly", paused: true }]],
  ["pauseSchedule", ["nightly"], null],
  ["resumeSchedule", ["nightly"], null],
  ["queues", [{}], [{ name: "emails", running: 1, waiting: 2, heldByRate: 1 }]],
];

describe("between both ends of a connection", () => {
  test.each(CASES)("%s%j is done as if it were done at the host", async (name, args, answer) => {
    const { remote, calls } = connected({ [name]: answer });
    const given = await (remote[name] as (...all: unknown[]) => Promise<unknown>)(...args);
    expect(given ?? null).toEqual(answer);
    expect(calls).toEqual([[name, ...args]]);
  });

  test("an error keeps its name, code and text", async () => {
    const { remote } = connected({
      pause: (id: string) => {
        throw new OptionError("id", id, "the id of a flow");
      },
    });
    await expect(remote.pause("x")).rejects.toMatchObject({
      code: "ERR_ADMIN_REMOTE",
      message: 'id must be the id of a flow; got "x"',
      remote: { name: "OptionError", code: "ERR_OPTION" },
    });
  });

  test("a history is read page by page, in bounded pages", async () => {
    const all = events(2 * PROTOCOL_LIMITS.pageItems + 10);
    const { remote, calls } = connected({
      history: (_id: string, { after = -1, limit }: HistoryOptions) =>
        all.filter(({ seq }) => seq > after).slice(0, limit),
    });
    expect(await collect(remote.history("a"))).toEqual(all);
    expect(calls.length).toBe(3);
    expect((await collect(remote.history("a", { after: 3, limit: 700 }))).map(({ seq }) => seq)).toEqual(
      all.slice(4, 704).map(({ seq }) => seq),
    );
  });

  test("a page of large values ends early, and nothing is missing", async () => {
    const all = events(12, "x".repeat(PROTOCOL_LIMITS.pageLength / 4));
    const { remote, calls } = connected({
      history: (_id: string, { after = -1, limit }: HistoryOptions) =>
        all.filter(({ seq }) => seq > after).slice(0, limit),
    });
    expect(await collect(remote.history("a"))).toEqual(all);
    expect(calls.length).toBe(4);
  });

  test("published events are read page by page, and followed until the flow has ended", async () => {
    const all = Array.from({ length: PROTOCOL_LIMITS.pageItems + 10 }, (_, i) => ({
      position: 2 * i + 1,
      topic: "n",
      value: i,
      at: 5,
    }));
    // The last two come later, each at the second wait for it.
    let [published, waits] = [all.length - 2, 0];
    const { remote, calls } = connected({
      events: (id: string, { after = 0, follow = true, timeoutMs }: FlowEventOptions) => {
        if (follow && published < all.length) {
          if (++waits % 2 === 1) throw new FlowWaitTimeoutError(id, timeoutMs as number, "publish an event");
          published++;
        }
        return all.slice(0, published).filter(({ position }) => position > after);
      },
    });
    expect(await collect(remote.events("a", { topic: "n" }))).toEqual(all);
    expect(calls.every(([, id, options]) => id === "a" && (options as FlowEventOptions).topic === "n")).toBe(
      true,
    );
    const stale = connected({
      events: (id: string, { follow = true }: FlowEventOptions) => {
        if (follow) throw new FlowWaitTimeoutError(id, 1, "publish an event");
        return [];
      },
    });
    const { waitMs } = PROTOCOL_LIMITS;
    await expect(collect(stale.remote.events("a", { timeoutMs: 2 * waitMs }))).rejects.toMatchObject({
      ...{ code: "ERR_FLOW_WAIT_TIMEOUT", timeoutMs: 2 * waitMs },
    });
    expect(
      stale.calls.filter(([, , options]) => (options as FlowEventOptions).follow !== false),
    ).toHaveLength(2);
    expect(await collect(stale.remote.events("a", { follow: false }))).toEqual([]);
  });

  test("a wait is asked for again until the flow ends, or the time is over", async () => {
    const waits: number[] = [];
    const { remote } = connected({
      outcome: (id: string, { timeoutMs }: ResultOptions) => {
        waits.push(timeoutMs as number);
        if (waits.length < 3) throw new FlowWaitTimeoutError(id, timeoutMs as number);
        return { status: "completed", result: 5 };
      },
    });
    const { waitMs } = PROTOCOL_LIMITS;
    await expect(remote.outcome("a", { timeoutMs: 2 * waitMs })).rejects.toMatchObject({
      code: "ERR_FLOW_WAIT_TIMEOUT",
      timeoutMs: 2 * waitMs,
    });
    expect(waits).toEqual([waitMs, waitMs]);
    expect(await remote.outcome("a")).toEqual({ status: "completed", result: 5 });
  });

  test("values arrive as JSON", async () => {
    const error = new TypeError("no", { cause: new Error("deep") });
    const cyclic: unknown[] = [1];
    cyclic.push(cyclic);
    const result = {
      when: new Date(0),
      big: 12n,
      map: new Map([["k", new Set([1])]]),
      pairs: new Map([[1, 2]]),
      bytes: new Uint8Array([1, 255]),
      none: undefined,
      nan: Number.NaN,
      error,
      cyclic,
      fn: () => 1,
    };
    const { remote } = connected({ inspect: { result } });
    expect(await remote.inspect("a")).toEqual({
      result: {
        when: "1970-01-01T00:00:00.000Z",
        big: "12n",
        map: { k: [1] },
        pairs: [[1, 2]],
        bytes: "Uint8Array, 2 bytes: 01ff",
        nan: "NaN",
        error: { name: "TypeError", message: "no", cause: { name: "Error", message: "deep" } },
        cyclic: [1, "(contains itself)"],
        fn: expect.any(String),
      },
    });
  });
});

describe("a request that is no request", () => {
  const refused = async (line: string): Promise<{ id: unknown; error: { code: string; message: string } }> =>
    JSON.parse(await serve(offersOf(fakeOperations().operations), line, signal));

  test.each([
    ["", "a request must be a line of JSON"],
    ["GET / HTTP/1.1", "a request must be a line of JSON"],
    ["[]", "a request must be an object"],
    ["null", "a request must be an object"],
    ['{"v":2,"id":1,"op":"list"}', "version 2 of the protocol; this host has version 1"],
    ['{"id":1,"op":"list"}', "version undefined"],
    ['{"v":1,"op":"list"}', "the id of a request must be a whole number"],
    ['{"v":1,"id":1,"op":"lisst"}', 'there is no operation "lisst": did you mean list?'],
    ['{"v":1,"id":1,"op":"constructor"}', 'there is no operation "constructor"'],
    ['{"v":1,"id":1,"op":"__proto__"}', 'there is no operation "__proto__"'],
    ['{"v":1,"id":1,"op":7}', "there is no operation 7"],
    ['{"v":1,"id":1}', "there is no operation undefined"],
    ['{"v":1,"id":1,"op":"pause","args":{"idd":"a"}}', "args.idd must be absent: did you mean id?"],
    ['{"v":1,"id":1,"op":"pause","args":[]}', "args must be an object of id"],
    ['{"v":1,"id":1,"op":"pause","args":null}', "args must be an object of id"],
  ])("%s is refused: %s", async (line, text) => {
    const { error } = await refused(line);
    expect(error.message).toContain(text);
    expect(["ERR_ADMIN_PROTOCOL", "ERR_OPTION"]).toContain(error.code);
  });

  test("gets one line as its answer, whatever it is [Z2]", async () => {
    const { operations } = fakeOperations({
      list: () => {
        throw "no error";
      },
    });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string(), fc.json(), fc.constant(requestLine(1, "list", {}))),
        async (line) => {
          const answer = await serve(offersOf(operations), line, signal);
          expect(answer).not.toContain("\n");
          expect(JSON.parse(answer)).toHaveProperty("error.message", expect.any(String));
        },
      ),
    );
  });
});

describe("an answer that is no answer", () => {
  test.each(["", "<html>", '{"id":2,"ok":1}', '{"id":1}', "7"])("%s is refused", (line) => {
    expect(() => readAnswer(1, line)).toThrow(/answer is n/);
  });
});
