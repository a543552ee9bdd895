// Defects of other clusters at a hand-over, that this one does not have; see docs/cluster-defects.md. The number before a title is its row.

import { type BodyContext, ConsumerGroup, consumer, defineServer, type Pid, supervisor } from "signalbox";
import { byKey, type ClusterNode, type Placement, programs, singleton } from "signalbox/nodes";
import { memory, openStore, type StoreSource } from "signalbox/store";
import { afterEach, beforeEach, expect, it } from "vitest";
import { SESSION_DEFAULTS } from "../../../lib/node/session/limits.js";
import { MemoryCluster } from "./memory-cluster.js";

let cluster: MemoryCluster;
let source: StoreSource;
beforeEach(() => {
  cluster = new MemoryCluster();
  source = memory({ shared: true, clock: () => cluster.clock.now });
});
afterEach(() => cluster.stop());

const LIMIT = SESSION_DEFAULTS.limitMs;
const OFTEN = { intensity: 1_000, periodMs: 1_000 };

async function joined(...names: string[]): Promise<ClusterNode[]> {
  const nodes: ClusterNode[] = [];
  for (const name of names) nodes.push(await cluster.join(name));
  await cluster.meet();
  return nodes;
}

/** What runs, by key: the names of the nodes that run it, and the most of them at a time. */
class Census {
  readonly running = new Map<string, string[]>();
  readonly most = new Map<string, number>();
  readonly starts = new Map<string, number>();

  /** It runs until its process ends. */
  enter(ctx: { readonly signal: AbortSignal }, key: string, node: string): void {
    const at = this.running.get(key) ?? [];
    this.running.set(key, at);
    at.push(node);
    this.starts.set(key, (this.starts.get(key) ?? 0) + 1);
    this.most.set(key, Math.max(at.length, this.most.get(key) ?? 0));
    ctx.signal.addEventListener("abort", () => void at.splice(at.indexOf(node), 1));
  }
}

it("14: a node that joins, or another of its name, leaves what the first one has registered", async () => {
  const [a] = (await joined("a")) as [ClusterNode];
  const pids = ["stock", "till", "desk"].map((name) => a.system.spawn({ handle: () => undefined }, { name }));
  const work = new ConsumerGroup<number, string>({ name: "work", scope: a });
  work.join(a.system.spawn(consumer(() => "done")), { id: "first" });
  programs(a, { picker: async (ctx) => void (await ctx.receive()) });
  await cluster.settle();
  const child = await cluster.clock.until(a.system.start(a.on("picker")));
  for (const name of ["b", "a", "c"]) {
    const next = await cluster.join(name);
    await cluster.meet();
    await cluster.settle(LIMIT);
    expect(["stock", "till", "desk"].map((one) => a.system.whereis(one))).toEqual(pids);
    expect([work.consumers.map(({ id }) => id), a.system.isAlive(child)]).toEqual([["first"], true]);
    // The new one finds all of it.
    const found = (await cluster.clock.until(next.whereis("till"))) as Pid;
    expect(next.system.address(found)).toEqual(a.system.address(pids[1] as Pid));
    const there = new ConsumerGroup<number, string>({ name: "work", scope: next });
    await cluster.settle();
    expect(await cluster.clock.until(next.system.dispatch(there, 1))).toMatchObject({ reply: "done" });
    expect(next.nodes().find(({ node }) => node.id === a.node.id)?.programs).toEqual(["picker"]);
  }
});

it("15: a child whose node stops or leaves is handed over to one that stays, and its supervisor goes on [N1397]", async () => {
  const [a, b, c, d] = (await joined("a", "b", "c", "d")) as [
    ClusterNode,
    ClusterNode,
    ClusterNode,
    ClusterNode,
  ];
  const stockOf = async (ctx: BodyContext<unknown>): Promise<void> => {
    ctx.register("stock");
    await ctx.receive();
  };
  for (const node of [b, c, d]) programs(node, { stock: stockOf });
  await cluster.settle();
  const chosen: string[] = [];
  const placement: Placement = (nodes) => {
    const [first] = nodes;
    chosen.push(first?.node.name ?? "none");
    return first;
  };
  const stock = { id: "stock", start: a.on("stock", [], { placement }) };
  // With the limits that every supervisor has: one restart in five seconds.
  const top = await cluster.clock.until(a.system.start(supervisor({ children: [stock] })));
  const whereis = async (): Promise<string | undefined> =>
    ((await cluster.clock.until(a.whereis("stock"))) as Pid | undefined)?.node.name;
  expect(await whereis()).toBe("b");
  await cluster.clock.until(b.system.stop());
  await cluster.settle(2 * LIMIT);
  expect([chosen, a.system.isAlive(top.pid), await whereis()]).toEqual([["b", "c"], true, "c"]);
  await cluster.settle(10_000);
  await cluster.clock.until(c.leave());
  await cluster.settle(2 * LIMIT);
  expect([chosen, a.system.isAlive(top.pid), await whereis()]).toEqual([["b", "c", "d"], true, "d"]);
});

it("24: a hand-over stops nothing else, and what it stopped comes back, though the next holder cannot start it", async () => {
  const nodes = (await joined("a", "b")) as [ClusterNode, ClusterNode];
  const census = new Census();
  let tries = 0;
  const norths: Pid[] = [];
  for (const { system, node } of nodes) {
    const store = await openStore(system, source, []);
    // The first holder comes back late, so the other node has its chances.
    const backoff = node.name === "a" ? { minMs: 2_000, maxMs: 2_000 } : { minMs: 500, maxMs: 500 };
    const children = ["north", "south"].map((region) => ({
      id: region,
      start: singleton(system, {
        name: region,
        lease: store,
        start: async (ctx: BodyContext<unknown>) => {
          if (region === "north" && node.name === "b" && ++tries > 0)
            throw new Error("it does not start here");
          census.enter(ctx, region, node.name);
          if (region === "north") norths.push(ctx.self as Pid<unknown> as Pid);
          await ctx.receive();
        },
      }),
    }));
    await cluster.clock.until(system.start(supervisor({ children, ...OFTEN, backoff })));
    await cluster.settle(1_000);
  }
  expect([...census.running]).toEqual([
    ["north", ["a"]],
    ["south", ["a"]],
  ]);
  // It ends, so its lease is given back, while the other node waits for it.
  nodes[0].system.exit(norths[0] as Pid, "shutdown");
  await cluster.settle(10_000);
  expect(tries).toBeGreaterThan(0);
  expect([...census.running]).toEqual([
    ["north", ["a"]],
    ["south", ["a"]],
  ]);
  expect([census.starts.get("south"), census.most.get("north")]).toEqual([1, 1]);
});

it("30: what runs goes on alone when nodes join, and moves as one when its node goes", async () => {
  const [a] = (await joined("a")) as [ClusterNode];
  const census = new Census();
  const keys = Array.from({ length: 8 }, (_, i) => `cart ${i}`);
  const scale = async (node: ClusterNode): Promise<void> => {
    programs(node, {
      cart: defineServer({
        init: (ctx, key: string) => census.enter(ctx, key, node.node.name),
        calls: {},
      }),
    });
    const start = singleton(node, {
      name: "billing",
      lease: await openStore(node.system, source, []),
      start: async (ctx: BodyContext<unknown>) => {
        census.enter(ctx, "billing", node.node.name);
        await ctx.receive();
      },
    });
    await cluster.clock.until(
      node.system.start(supervisor({ children: [{ id: "billing", start }], ...OFTEN })),
    );
  };
  await scale(a);
  const b = await cluster.join("b");
  await scale(b);
  await cluster.meet();
  const children = keys.map((key) => ({ id: key, start: a.on("cart", [key], { placement: byKey() }) }));
  await cluster.clock.until(a.system.start(supervisor({ children, ...OFTEN })));
  await cluster.settle(5_000);
  const before = [...census.running].map(([key, at]) => [key, ...at]);
  for (const name of ["c", "d", "e"]) {
    await scale(await cluster.join(name));
    await cluster.meet();
    await cluster.settle(5_000);
    expect([...census.running].map(([key, at]) => [key, ...at])).toEqual(before);
  }
  await cluster.clock.until(b.system.stop());
  await cluster.settle(5_000);
  const after = [...census.running];
  expect(after.map(([, at]) => at.length)).toEqual(after.map(() => 1));
  expect(after.flatMap(([, at]) => at)).not.toContain("b");
  // The keys of the node that went are also at nodes that joined later; no other key has moved.
  expect(new Set(after.flatMap(([, at]) => at)).size).toBeGreaterThan(1);
  for (const [key, at] of before) if (at !== "b") expect(census.starts.get(key as string)).toBe(1);
  expect([...census.most.values()]).toEqual([...census.most.values()].map(() => 1));
});
