// A small service that has something to show on each page of the observer: a tree whose parts crash, a group with re-routes, a topology, flows in
// every status, pipelines and queues with dead letters, and three nodes. Nothing in it is random, and its parts crash when they are told to.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChildSpec, defineServer, type Pid, System, supervisor } from "signalbox";
import { joinCluster, localNetwork, programs } from "signalbox/nodes";
import { history } from "signalbox/observer";
import { memory, sqlite } from "signalbox/store";
import { flowsOf, lead, leadPast, pastOf } from "./flows.js";
import { pipelinesOf, queuesOf, read } from "./messages.js";
import { type Parts, tree } from "./tree.js";
import { words } from "./words.js";

/** A running service. */
export interface Scripted {
  readonly system: System;
  readonly parts: Parts;
  /** The admin socket. */
  readonly socket: string;
  /** One round of its work: an order for each picker, one of them heavy. */
  round(): Promise<void>;
  /** The printer breaks down, and what comes after it in its supervisor is restarted with it. */
  breakDown(why: string): void;
  stop(): Promise<void>;
}

/** What another node has in store. */
const Shelf = defineServer({ label: "shelf", init: () => 0, calls: { fetch: (_state, n: number) => n } });

/** Time between two sentences. */
const PACE_MS = 50;
const ORDERS = 6;
const STOP_MS = 500;

/**
 * @param more - children of the root, such as an observer
 * @param hasPast - whether a second flow host has a store of its own, with the label `past`
 */
export async function scripted(
  more: (system: System) => readonly ChildSpec[] = () => [],
  hasPast = false,
): Promise<Scripted> {
  const folder = mkdtempSync(join(tmpdir(), "scripted-"));
  const at = (name: string): string => join(folder, name);
  const report = (): void => undefined;
  const network = localNetwork();
  const depot = new System({ name: "depot", report });
  /** A node that keeps no spans. */
  const attic = new System({ name: "attic", report });
  const system = new System({ name: "shop", report });
  const stop = async (): Promise<void> => {
    // Steps and messages that never end are part of it.
    await system.stop({ timeoutMs: STOP_MS });
    await depot.stop({ timeoutMs: STOP_MS });
    await attic.stop({ timeoutMs: STOP_MS });
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    programs(await joinCluster(depot, network), { picker: async (ctx) => void (await ctx.receive()) });
    await depot.start(history({ traces: true }));
    await depot.start(supervisor({ children: [{ id: "shelf", name: "shelf", start: Shelf }] }));
    await joinCluster(attic, network);
    const node = await joinCluster(system, network);
    const socket = at("shop.sock");
    const flows = flowsOf(sqlite(at("flows.db")), socket);
    const pipelines = pipelinesOf(sqlite(at("pipelines.db")), socket);
    const past = pastOf(memory({ label: "past" }));
    const topology = words(() => new Promise((resolve) => setTimeout(resolve, PACE_MS)));
    const { root, parts } = tree(system, [
      {
        id: "far",
        start: supervisor({ label: "far", children: [{ id: "picker", start: node.on("picker") }] }),
      },
      { id: "words", start: topology },
      { id: "flows", name: "flows", start: flows },
      { id: "pipelines", name: "pipelines", start: pipelines },
      ...(hasPast ? [{ id: "past", name: "past", start: past }] : []),
      ...more(system),
    ]);
    await system.start(root);
    await lead(flows.at(system, "flows"));
    if (hasPast) await leadPast(past.at(system, "past"));
    await read(pipelines.at(system, "pipelines"));
    await queuesOf(system, sqlite(at("queues.db")), socket);
    const shelf = Shelf.at(system, (await node.whereis("shelf")) as Pid<never>);
    let orders = 0;
    return {
      ...{ system, parts, socket },
      round: async () => {
        const batch = Array.from({ length: ORDERS }, (_, i) => ({ number: ++orders, isHeavy: i === 0 }));
        await Promise.all(batch.map((order) => system.dispatch(parts.pickers, order)));
        parts.till.cast.restock(1);
        await parts.till.call.take(1);
        await shelf.call.fetch(orders);
      },
      breakDown: (why) => parts.printer.cast.breakDown(why),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
