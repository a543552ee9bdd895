// The values of real flows: the same live and on replay, or refused at the step that returned them.

import { isDeepStrictEqual } from "node:util";
import { System } from "signalbox";
import {
  defineFlow,
  type FlowContext,
  FlowFailedError,
  FlowInputError,
  flowHost,
  jsonCodec,
  MessageError,
  openFlowOperations,
  type PayloadCodec,
  type PayloadOptions,
  PayloadTooLargeError,
  UnstorableValueError,
  wrapCodec,
} from "signalbox/flow";
import { memory, type StoreSource } from "signalbox/store";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { blobs } from "../../../lib/flow/journal/blobs.js";
import { FLOW_SCHEMA, flows as flowTable } from "../../../lib/flow/journal/tables.js";
import { storeContext } from "../../support/store-context.js";

class Declined extends Error {
  readonly at = new Date(5);
}

/** Answers later, and each value at another time than its sibling. */
const later: PayloadCodec = wrapCodec(jsonCodec(), {
  name: "later",
  encode: async (bytes) => {
    for (let i = 0; i < bytes.length % 5; i++) await null;
    return bytes.slice().reverse();
  },
  decode: async (bytes) => {
    for (let i = 0; i < bytes.length % 3; i++) await null;
    return bytes.slice().reverse();
  },
});

/**
 * Runs a flow until it waits for a message, stops its host, runs it on another one to its end, and gives what the code saw both times.
 */
async function twice(
  code: (flow: FlowContext, see: (value: unknown) => void) => Promise<void>,
  payloads: PayloadOptions = {},
  store: StoreSource = memory(),
): Promise<[live: unknown[], replayed: unknown[]]> {
  const runs: unknown[][] = [];
  const flow = defineFlow("values", { errors: [Declined] }, async (context) => {
    const seen: unknown[] = [];
    runs.push(seen);
    await code(context as never, (value) => seen.push(value));
    await context.receive("go");
  });
  for (const last of [false, true]) {
    await using system = new System({ report: false });
    const host = await system.start(flowHost({ store, flows: [flow], payloads }));
    const run = await host.start(flow as never, undefined as never, { id: "one" });
    if (last) await run.send("go", 1);
    if (last) await run.result();
    else await system.idle();
    await host.stop();
  }
  return runs as [unknown[], unknown[]];
}

const rich = (): unknown[] => {
  const shared = { at: new Date(0) };
  const circle: { self?: unknown } = {};
  circle.self = circle;
  return [
    undefined,
    5n,
    -0,
    new Map([["a", new Set([shared])]]),
    [shared, shared],
    circle,
    new Uint16Array([1, 2]),
    new TypeError("a", { cause: new RangeError("b") }),
  ];
};

describe("a value of a step", () => {
  test.each<[string, PayloadOptions]>([
    ["the default codec", {}],
    ["a codec that answers later", { codec: later }],
    ["values apart from the journal", { apartBytes: 0 }],
  ])(
    "is the same live and on replay, one after the other and side by side (bugs 35, 37): %s [J41]",
    async (_, payloads) => {
      const [live, replayed] = await twice(async (flow, see) => {
        for (const [i, value] of rich().entries()) see(await flow.step(`step ${i}`, () => value));
        const both = await Promise.all(rich().map((value, i) => flow.step(`side ${i}`, () => value)));
        see(both);
      }, payloads);
      expect(live).toHaveLength(9);
      expect(isDeepStrictEqual(replayed, live)).toBe(true);
      expect(isDeepStrictEqual(live, [...rich(), rich()])).toBe(true);
    },
  );

  test("is a copy, so that later changes of it are not seen live either [J41]", async () => {
    const [live, replayed] = await twice(async (flow, see) => {
      const mutable = { count: 1 };
      const result = await flow.step("give", () => mutable);
      mutable.count = 2;
      see(result);
    });
    expect([live, replayed]).toEqual([[{ count: 1 }], [{ count: 1 }]]);
  });

  test("that cannot be stored is an error at its step, with its path, live and on replay (bug 37) [J43]", async () => {
    const [live, replayed] = await twice(async (flow, see) => {
      const bad = flow.step("charge", () => ({ items: [1, { callback: () => 1 }] }));
      await bad.catch((error: Error) => see([error.constructor.name, error.message]));
      see(await flow.step("after", () => "goes on"));
    });
    expect(live).toEqual([
      [
        UnstorableValueError.name,
        'step "charge" of flow one: result.items[1].callback is the function callback, which cannot be stored: leave it out, or return the data that it needs',
      ],
      "goes on",
    ]);
    expect(replayed).toEqual(live);
  });

  test("of 50 MB is refused before it is stored (bug 37) [J47]", async () => {
    const [live, replayed] = await twice(async (flow, see) => {
      const huge = flow.step("load", () => "x".repeat(50 * 1_024 * 1_024));
      await huge.catch((error: unknown) => see([error instanceof PayloadTooLargeError, String(error)]));
    });
    expect(live).toEqual([
      [
        true,
        expect.stringContaining(
          'step "load" of flow one: result has 52428802 bytes, and maxBytes is 4194304',
        ),
      ],
    ]);
    expect(replayed).toEqual(live);
  });

  test("that is thrown keeps its class, cause and properties [J44]", async () => {
    const [live, replayed] = await twice(async (flow, see) => {
      const thrown = flow.step("charge", () => {
        throw new Declined("no funds", { cause: new RangeError("limit") });
      });
      await thrown.catch((error: Declined) =>
        see([error instanceof Declined, error.message, error.at, (error.cause as Error).name]),
      );
      const odd = flow.step("odd", () =>
        Promise.reject(Object.assign(new Error("odd"), { socket: () => 1 })),
      );
      await odd.catch((error: Error) => see(error.message));
    });
    expect(live).toEqual([[true, "no funds", new Date(5), "RangeError"], "odd"]);
    expect(replayed).toEqual(live);
  });
});

describe("large values", () => {
  test("of inputs, messages, results and children come back, and lie in a table of their own [J49]", async () => {
    const store = memory();
    const large = (text: string): string => text.repeat(1_000);
    const child = defineFlow("child", async (_flow, text: string) => `${text}!`);
    const parent = defineFlow("parent", async (flow, text: string) => {
      const got = await flow.receive<string>("more");
      return [
        text,
        got,
        await flow.step("make", () => large("step")),
        await flow.call(child, large("child")),
      ];
    });
    const inputs = { id: "parent" };
    const options = { store, flows: [parent, child], payloads: { apartBytes: 100 } };
    {
      await using system = new System({ report: false });
      const host = await system.start(flowHost(options));
      const run = await host.start(parent, large("input"), inputs);
      await system.idle();
      await run.send("more", large("message"));
      await host.stop();
    }
    await using system = new System({ report: false });
    const host = await system.start(flowHost(options));
    const result = await (await host.start(parent, large("input"), inputs)).result();
    expect(result).toEqual([large("input"), large("message"), large("step"), `${large("child")}!`]);
    await host.stop();
    // The message made the flow due, so a host looks at it once more before it may be removed.
    const later = await system.start(flowHost(options));
    await system.idle();
    await later.stop();
    const open = await store.open([FLOW_SCHEMA], storeContext());
    const rows = await open.scan(blobs, {});
    const [ended] = await open.scan(flowTable, { index: "id", prefix: ["parent"] });
    const operations = await openFlowOperations(system, store);
    expect(await operations.prune({ name: "parent" })).toBe(1);
    await operations.close();
    const left = await open.scan(blobs, {});
    const owners = left.map(({ owner }) => owner);
    expect(owners).toContain("input/parent/call child");
    expect(owners).not.toContain("input/parent");
    expect(owners.filter((owner) => owner.endsWith(`/${ended?.number}`))).toEqual([]);
    expect(left.length).toBeLessThan(rows.length);
    expect(rows.map(({ owner }) => owner)).toContain("input/parent");
    expect(rows.every(({ payload }) => payload.length > 100)).toBe(true);
    await open.close();
  });
});

describe("a large input", () => {
  test("is stored once, however often its flow is started, and goes with its flow [J640]", async () => {
    const store = memory();
    const flow = defineFlow("keep", async (_flow, text: string) => text.length);
    await using system = new System({ report: false });
    const host = await system.start(flowHost({ store, flows: [flow], payloads: { apartBytes: 100 } }));
    const input = "x".repeat(1_000);
    const open = await store.open([FLOW_SCHEMA], storeContext());
    const owners = async (): Promise<string[]> =>
      (await open.scan(blobs, {})).map(({ owner }) => owner).sort();
    const many = [
      { input, id: "b" },
      { input, id: "c" },
    ];
    for (let i = 0; i < 3; i++) {
      expect(await (await host.start(flow, input, { id: "a" })).result()).toBe(1_000);
      await host.startMany(flow, many);
      expect(await owners()).toEqual(["input/a", "input/b", "input/c"]);
    }
    await host.stop();
    const operations = await openFlowOperations(system, store);
    await operations.remove("a");
    expect(await owners()).toEqual(["input/b", "input/c"]);
    await operations.close();
    await open.close();
  });
});

describe("schemas of a flow", () => {
  const order = z.object({ id: z.string(), total: z.number().positive() });
  const flow = defineFlow(
    "order",
    { input: order, messages: { approval: z.object({ ok: z.boolean() }) }, progress: z.number() },
    async (context, { id, total }) => {
      context.progress(1);
      const { ok } = await context.receive("approval");
      return `${id} ${total} ${ok}`;
    },
  );

  test("refuse inputs and messages before anything is stored [J48]", async () => {
    await using system = new System({ report: false });
    const host = await system.start(flowHost({ store: memory(), flows: [flow] }));
    await expect(host.start(flow, { id: "a", total: -1 }, { id: "o" })).rejects.toThrow(FlowInputError);
    await expect(host.get("o").info()).rejects.toThrow(/no flow "o"/);
    const run = await host.start(flow, { id: "a", total: 1 }, { id: "o" });
    await expect(run.send("approval", { ok: "yes" })).rejects.toThrow(MessageError);
    await run.send("approval", { ok: true });
    expect(await run.result()).toBe("a 1 true");
  });

  test("refuse progress where it is published [J48]", async () => {
    const wrong = defineFlow("wrong", { progress: z.number() }, async (context) => {
      context.progress("half" as never);
    });
    await using system = new System({ report: false });
    const host = await system.start(flowHost({ store: memory(), flows: [wrong] }));
    const run = await host.start(wrong, undefined as never);
    const error = await run.result().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(FlowFailedError);
    expect((error as FlowFailedError).cause).toMatchObject({ code: "ERR_FLOW_PROGRESS" });
  });
});
