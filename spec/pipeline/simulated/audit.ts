// What the tables of a store have to say of an execution, whatever has happened to its hosts.

import type { System } from "signalbox";
import { openStore, type Store, type StoreSource } from "signalbox/store";
import { expect } from "vitest";
import { decodeEntry } from "../../../lib/pipeline/ledger/lineage.js";
import {
  deadLetters,
  type ExecutionRow,
  executions,
  lineage,
  messages,
  PIPELINE_SCHEMA,
  sources,
} from "../../../lib/pipeline/ledger/tables.js";

/** Opens the store of a host beside it, to read. */
export function reading(system: System, source: StoreSource): Promise<Store> {
  return openStore(system, source, [PIPELINE_SCHEMA]);
}

/**
 * The counters of an execution say what its rows say: pending is live messages and open sources, and each message that was ever made is
 * live or settled, once.
 */
export async function audited(store: Store, id: string): Promise<ExecutionRow> {
  const [row] = await store.scan(executions, { index: "id", prefix: [id], limit: 1 });
  if (row === undefined) throw new Error(`there is no execution ${id}`);
  const prefix = [row.number];
  const live = await store.scan(messages, { prefix });
  const settled = (await store.scan(lineage, { prefix })).map(({ id: of, entry }) => decodeEntry(of, entry));
  const letters = await store.scan(deadLetters, { prefix });
  const readers = await store.scan(sources, { prefix });
  const open = readers.filter((one) => one.open === 1).length;
  expect(row.pending).toBe(live.length + open);
  expect(row.done).toBe(settled.length);
  const dead = settled.filter(({ status }) => status === "dead").map((one) => one.id);
  expect([row.dead, letters.map((one) => one.id).sort()]).toEqual([dead.length, dead.sort()]);
  const known = [...live, ...settled].map((one) => one.id);
  expect(new Set(known).size).toBe(known.length);
  const children = new Map<string, number>();
  for (const of of known) {
    const parent = of.slice(0, of.lastIndexOf("."));
    children.set(parent, (children.get(parent) ?? 0) + 1);
  }
  for (const { id: of, children: made } of settled) expect([of, children.get(of) ?? 0]).toEqual([of, made]);
  const given = known.filter((one) => one.split(".").length === 2);
  expect(given.length).toBe(row.inputs);
  expect(row.inputs).toBeGreaterThanOrEqual(readers.reduce((sum, one) => sum + one.given, 0));
  return row;
}

/** A store that tells of each commit that completes an execution. */
export function tellingEnds(source: StoreSource, tell: () => void): StoreSource {
  return {
    label: source.label,
    open: async (schemas, context) => {
      const store = await source.open(schemas, context);
      const submit: Store["submit"] = (set, settled) =>
        store.submit(set, (error, committed) => {
          const last = set.writes.length - 1;
          if (set.writes[last]?.type === "when" && committed?.results[last] === 1) tell();
          settled(error, committed as never);
        });
      return new Proxy(store, {
        get(target, name) {
          if (name === "submit") return submit;
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    },
  };
}
