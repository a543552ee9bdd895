// A store with flows in it, written row by row: no host runs, so a test decides what is there.

import {
  type Ask,
  type Decision,
  decodeEntry,
  type Entry,
  encodeHead,
} from "../../../../lib/flow/journal/entry.js";
import { type FlowRow, flows, journal, mail } from "../../../../lib/flow/journal/tables.js";
import { Removals } from "../../../../lib/flow/operations/removals.js";
import { type OperationsPort, StoreOperations } from "../../../../lib/flow/operations/store-operations.js";
import { OPERATED_SCHEMAS } from "../../../../lib/flow/runtime/schemas.js";
import type { ValueCodec } from "../../../../lib/host/payload/values.js";
import { memory, type Store } from "../../../../lib/store/index.js";
import { storeContext } from "../../../support/store-context.js";

/** JSON, and errors by name and message. */
export const values: ValueCodec = {
  encode: (value) =>
    value === undefined
      ? null
      : JSON.stringify(value instanceof Error ? { error: value.name, message: value.message } : { value }),
  decode: (stored) => {
    if (stored === null) return undefined;
    const { value, error, message } = JSON.parse(stored as string);
    return error === undefined ? value : Object.assign(new Error(message), { name: error });
  },
};

export interface Stored {
  readonly store: Store;
  readonly operations: StoreOperations;
  readonly removals: Removals;
  /** Adds a flow. Gives its number. */
  add(row?: Partial<FlowRow>): Promise<number>;
  /** Adds entries to the journal of a flow: each done, with its key as its value, unless it says otherwise. */
  entries(flow: number, ...all: (string | EntryGiven)[]): Promise<void>;
  row(id: string): Promise<FlowRow | undefined>;
  journalOf(flow: number): Promise<Entry[]>;
  /** Lets the clock of the store go on. */
  pass(ms: number): void;
  /** Topics that were notified. */
  readonly notified: string[];
}

export interface EntryGiven {
  readonly decision: Decision;
  readonly value?: unknown;
  readonly asks?: readonly Ask[];
}

export const START = 1_000_000;

export async function storedFlows(port: Partial<OperationsPort> = {}): Promise<Stored> {
  let now = START;
  const timers: { at: number; fn: () => void }[] = [];
  const source = memory({ clock: () => now });
  const store = await source.open(OPERATED_SCHEMAS, storeContext());
  const notified: string[] = [];
  store.watch("", { notified: (topic) => void notified.push(topic), again: () => undefined });
  let ids = 0;
  const removals = new Removals(store);
  const operations = new StoreOperations({
    ...{ store, payloads: values, removals, id: () => `new-${++ids}` },
    after: (ms, fn) => {
      const timer = { at: now + ms, fn };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), 1);
    },
    ...port,
  });
  let made = 0;
  const stored: Stored = {
    ...{ store, operations, removals, notified },
    add: async (given = {}) => {
      const id = `flow-${++made}`;
      const { results } = await store.commit({
        writes: [{ type: "insert", table: flows, row: { ...blank(id, now), ...given } }],
      });
      return results[0] as number;
    },
    entries: async (flow, ...all) => {
      const seq = await store.count(journal, { index: "flow", prefix: [flow] });
      const rows = all.map((one, i) => {
        const { decision, value, asks }: EntryGiven =
          typeof one === "string" ? { decision: { type: "done", key: one, ok: true }, value: one } : one;
        const key = decision.type === "cancelled" ? "" : decision.key;
        const head = encodeHead(now, asks ?? [{ kind: "step", key }], decision);
        return { flow, seq: seq + i, head, value: values.encode(value, "", "result") as string };
      });
      await store.commit({ writes: rows.map((row) => ({ type: "insert", table: journal, row })) });
    },
    row: async (id) => (await store.scan(flows, { index: "id", prefix: [id] }))[0],
    journalOf: async (flow) =>
      (await store.scan(journal, { index: "flow", prefix: [flow], limit: 100_000 })).map(({ head, value }) =>
        decodeEntry(head, value),
      ),
    pass: (ms) => {
      now += ms;
      for (const { fn } of timers.filter(({ at }) => at <= now)) fn();
    },
  };
  return stored;
}

function blank(id: string, now: number): Omit<FlowRow, "number"> {
  return {
    ...{
      id,
      name: "order",
      version: 1,
      status: "waiting",
      input: values.encode({ of: id }, "", "result") as string,
    },
    ...{
      outcome: null,
      seed: id,
      generation: 0,
      holder: null,
      epoch: 0,
      due: null,
      mail: 0,
      crashes: 0,
      taken_at: 0,
    },
    ...{
      parent: null,
      parent_key: null,
      wish: null,
      queue: null,
      queue_key: "",

      rank: 0,
      waiting: null,
      slot: null,
      debounce: null,
      on_cancel: null,
      heartbeats: null,
      hospital: null,
    },
    ...{ progress: null, trace: null, request: null, created: now, updated: now, finished: null },
  };
}

export { flows, journal, mail };
