// Stored flows, replayed over new code.

import { System } from "signalbox";
import { defineFlow } from "signalbox/flow";
import { expect, test } from "vitest";
import { CHECK_LIMITS, checkFlows } from "../../../lib/flow/operations/check.js";
import { payloadsOf } from "../../../lib/flow/runtime/options.js";
import { flows, journal, START, storedFlows } from "./support/stored-flows.js";

const payloads = payloadsOf({});
const value = (of: unknown): string => payloads.encode(of, "", "result") as string;

test("names the flows that do not fit the code, and changes nothing", async () => {
  await using system = new System({ report: false });
  const { store, add } = await storedFlows();
  const journalOf = async (id: string, ...keys: string[]): Promise<void> => {
    const flow = await add({ id, name: id.split("-")[0] as string, input: value(1) });
    const rows = keys.map((key, seq) => ({
      ...{ flow, seq, value: value(seq) },
      head: JSON.stringify(["d", START, [["step", key]], key]),
    }));
    await store.commit({ writes: rows.map((row) => ({ type: "insert", table: journal, row })) });
  };
  await journalOf("order-fits", "charge");
  await journalOf("order-fits-too", "charge", "ship");
  await journalOf("order-diverges", "charge", "pack");
  await journalOf("order-returns", "charge", "ship", "thank", "more");
  await journalOf("throws-early", "charge", "ship");
  await journalOf("order-new");
  await journalOf("refund-unknown", "charge");
  await journalOf("order-damaged", "charge");
  await journalOf("order-lost", "charge", "ship", "thank");
  const [lost] = await store.scan(flows, { index: "id", prefix: ["order-lost"] });
  const [, second] = await store.scan(journal, { index: "flow", prefix: [lost?.number as number] });
  await store.commit({ writes: [{ type: "delete", table: journal, key: [second?.position as number] }] });
  const [damaged] = await store.scan(flows, { index: "id", prefix: ["order-damaged"] });
  const [entry] = await store.scan(journal, { index: "flow", prefix: [damaged?.number as number] });
  const set = { head: "[" };
  await store.commit({ writes: [{ type: "update", table: journal, key: [entry?.position as number], set }] });
  await add({ id: "order-over", status: "completed", finished: START });
  const before = await store.scan(flows, {});

  let ran = 0;
  const order = defineFlow("order", async (flow) => {
    await flow.step("charge", () => ran++);
    await flow.step("ship", () => ran++);
    await flow.step("thank", () => ran++);
  });
  const throws = defineFlow("throws", async (flow) => {
    await flow.step("charge", () => ran++);
    throw new Error("no price");
  });
  const found = new Map<string, unknown>();
  for await (const { id, problem, recorded, asked, at, did } of checkFlows({
    kernel: system.kernel,
    store,
    definitions: [order, throws],
  }))
    found.set(id, problem === "diverged" ? { recorded, asked, at, did } : problem);
  expect(Object.fromEntries(found)).toEqual({
    "order-fits": undefined,
    "order-fits-too": undefined,
    "order-new": undefined,
    "order-diverges": {
      recorded: "step pack",
      asked: "step ship",
      at: expect.stringContaining("check.spec.ts"),
      did: "asks",
    },
    "order-returns": { recorded: "step more", at: expect.stringContaining("check.spec.ts"), did: "returns" },
    "throws-early": { recorded: "step ship", at: expect.stringContaining("check.spec.ts"), did: "throws" },
    "refund-unknown": "unknown",
    "order-damaged": "unreadable",
    "order-lost": "unreadable",
  });
  expect(ran).toBe(0);
  expect(await store.scan(flows, {})).toEqual(before);
});

test("replays a few at a time, however many there are", async () => {
  await using system = new System({ report: false });
  const { store, add } = await storedFlows();
  const count = 2 * CHECK_LIMITS.page + 5;
  for (let i = 0; i < count; i++) await add({ name: "gone" });
  let checked = 0;
  for await (const { problem } of checkFlows({ kernel: system.kernel, store, definitions: [] })) {
    expect(problem).toBe("unknown");
    checked++;
  }
  expect(checked).toBe(count);
});
