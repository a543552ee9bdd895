// The entrances of stores and topologies.

import { System } from "signalbox";
import {
  defineTable,
  memory,
  openStore,
  pglite,
  postgres,
  type Store,
  type StoreTransaction,
  sqlite,
  transact,
} from "signalbox/store";
import { fluxDefinition, fluxText, shellPrograms, stormFindings } from "signalbox/storm";
import {
  batchBolt,
  bolt,
  boltProgram,
  field,
  grouping,
  liveDashboard,
  renderDashboard,
  renderSummary,
  repaintDashboard,
  runComponent,
  shellBolt,
  shellSpout,
  sliding,
  spout,
  spoutFrom,
  toDot,
  toMermaid,
  topology,
  tumbling,
  windowBolt,
} from "signalbox/topology";
import { storeContext } from "../support/store-context.js";
import { type Lines, nothing, on } from "./lines.js";

const rows = defineTable("rows", { columns: { id: "text", n: "integer" }, key: ["id"] } as never);
const schema = { name: "test", version: 1, tables: [rows], migrations: [] };

/** A transaction that has not ended. */
function transactionOf(store: Store): Promise<StoreTransaction> {
  return new Promise((resolve) => {
    transact(store, (tx) => {
      resolve(tx);
      return new Promise(nothing);
    }).catch(nothing);
  });
}

export async function stores(system: System): Promise<Lines> {
  const store = await openStore(system, memory(), [schema] as never);
  const tx = await transactionOf(store);
  const row = { id: "a", n: 1 };
  const write = { type: "put", table: rows, rows: [row] };
  return {
    "Store.commit": () => [on(store, "commit"), { writes: [write] }],
    "Store.submit": () => [on(store, "submit"), { writes: [write] }, nothing],
    "Store.get": () => [on(store, "get"), rows, [["a"]]],
    "Store.claims": () => [on(store, "claims"), "n"],
    "Store.revoke": () => [on(store, "revoke"), "name", 1],
    "Store.watch": () => [on(store, "watch"), "topic", { notified: nothing, again: nothing }],
    "Store.backup": () => [on(store, "backup"), "/none/of/it"],
    "StoreTransaction.get": () => [on(tx, "get"), rows, ["a"]],
    "StoreTransaction.insert": () => [on(tx, "insert"), rows, row],
    "StoreTransaction.put": () => [on(tx, "put"), rows, row],
    "StoreTransaction.update": () => [on(tx, "update"), rows, ["a"], { n: 2 }, {}],
    "StoreTransaction.delete": () => [on(tx, "delete"), rows, ["a"]],
    "StoreTransaction.notify": () => [on(tx, "notify"), "topic"],
    memory: () => [memory, {}],
    sqlite: () => [sqlite, "/none/of/it", {}],
    postgres: () => [postgres, "postgres://none", {}],
    pglite: () => [pglite, { transaction: nothing, query: nothing, exec: nothing, listen: nothing }, {}],
    defineTable: () => [defineTable, "rows", { columns: { id: "text" }, key: ["id"] }],
    openStore: () => [openStore, system, memory(), [schema]],
    "StoreSource.open": () => [on(memory(), "open"), [schema], storeContext()],
    "Store.scan": () => [on(store, "scan"), rows, {}],
    "Store.count": () => [on(store, "count"), rows, {}],
    "Store.take": () => [on(store, "take"), rows, { limit: 1, set: { n: 1 } }],
    "Store.claim": () => [on(store, "claim"), "name", { owner: "me", ttlMs: 1_000 }],
    "Store.transaction": () => [on(store, "transaction"), nothing, {}],
    transact: () => [transact, store, nothing, {}],
    "StoreTransaction.scan": () => [on(tx, "scan"), rows, {}],
  };
}

const numbers = { fields: { n: field.number } };
const N = { n: field.number };

/** Places a component, and builds: the configuration is checked then. */
const placed =
  (builder: object, method: string) =>
  (...given: unknown[]): unknown =>
    (on(builder, method)(...given) as { build(): unknown }).build();

export async function topologies(): Promise<Lines> {
  const system = new System({ report: false });
  const source = spout({ streams: { out: N }, next: nothing } as never);
  const sink = bolt({ input: N, streams: {}, execute: nothing } as never);
  const builder = on(topology("counts"), "spout")("a", source) as object;
  const blueprint = on(builder, "bolt")("b", sink, { from: { "a.out": grouping.shuffle() } }) as object;
  const built = on(blueprint, "build")() as never;
  // It runs on until its source ends.
  const running = (await system.start(built)) as object;
  const drawn = (built as { blueprint: unknown }).blueprint;
  const shell = { command: "none", input: N, streams: {} };
  const summary = await (on(running, "metrics")() as Promise<unknown>);
  return {
    "grouping.fields": () => [on(grouping, "fields"), "n", "n"],
    "grouping.partialKey": () => [on(grouping, "partialKey"), "n", "n"],
    "TopologyRef.tasks": () => [on(running, "tasks"), "b"],
    renderDashboard: () => [renderDashboard, summary, undefined, 80],
    renderSummary: () => [renderSummary, summary],
    repaintDashboard: () => [repaintDashboard, ["a"], 1],
    "TopologyBuilder.merge": () => [placed(builder, "merge"), topology("other")],
    "Topology.at": () => [on(built, "at"), system, system.spawn({ handle: nothing })],
    topology: () => [topology, "t", {}],
    spout: () => [spout, { streams: { out: N }, next: nothing }],
    bolt: () => [bolt, { input: N, streams: {}, execute: nothing }],
    batchBolt: () => [batchBolt, { input: N, streams: {}, size: 5, execute: nothing }],
    windowBolt: () => [
      windowBolt,
      { input: N, streams: {}, window: tumbling({ count: 5 }), execute: nothing },
    ],
    spoutFrom: () => [spoutFrom, [], numbers],
    tumbling: () => [tumbling, { ms: 5, by: nothing }],
    sliding: () => [sliding, { ms: 5, everyMs: 1, by: nothing }],
    boltProgram: () => [boltProgram, sink],
    shellBolt: () => [shellBolt, shell],
    shellSpout: () => [shellSpout, { command: "none", streams: { out: N } }],
    runComponent: () => [runComponent, built, {}],
    "TopologyBuilder.spout": () => [placed(builder, "spout"), "a", source, {}],
    "TopologyBuilder.bolt": () => [
      placed(blueprint, "bolt"),
      "c",
      sink,
      { from: { "a.out": grouping.shuffle() } },
    ],
    "TopologyBuilder.subscribe": () => [placed(builder, "subscribe"), "a.out", "b", {}],
    "TopologyRef.stop": async () => [on((await system.start(built)) as object, "stop"), { drainMs: 0 }],
    "TopologyRef.finished": () => [on(running, "finished"), {}],
    "TopologyRef.pause": () => [on(running, "pause"), {}],
    "TopologyRef.resume": () => [on(running, "resume"), {}],
    "TopologyRef.scale": () => [on(running, "scale"), "b", 2, {}],
    "TopologyRef.watch": () => [on(running, "watch"), {}],
    toDot: () => [toDot, drawn, {}],
    toMermaid: () => [toMermaid, drawn, {}],
    stormFindings: () => [stormFindings, built],
    fluxDefinition: () => [fluxDefinition, built, {}],
    fluxText: () => [fluxText, fluxDefinition(built)],
    shellPrograms: () => [shellPrograms, built],
    liveDashboard: () => [liveDashboard, running, { write: nothing, isTTY: false }, {}],
  };
}
