// One message over the nodes of a cluster: a look at one node has the spans of all, and names those whose spans are missing.

import { ConsumerGroup, consumer, defineServer, type Pid, System, supervisor } from "signalbox";
import { type ClusterNode, joinCluster, type LocalNetwork, localNetwork } from "signalbox/nodes";
import { telemetry } from "signalbox/service";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { KernelOperations } from "../../../lib/admin/system/kernel-operations.js";
import { ANSWER_LIMITS } from "../../../lib/admin/traces/node-answer.js";
import { ASKING } from "../../../lib/admin/traces/node-questions.js";
import { offerSpans } from "../../../lib/admin/traces/span-source.js";
import type { TraceOperations, TraceSpans } from "../../../lib/admin/traces/trace-operations.js";
import { until } from "../../support/until.js";
import { MemoryCluster } from "./memory-cluster.js";

interface Seat {
  readonly node: ClusterNode;
  readonly on: TraceOperations;
}

/** The operations on a node. It has telemetry, as a service with an observer has. */
function seated(node: ClusterNode): Seat {
  telemetry(node.system).close();
  return { node, on: new KernelOperations(node.system.kernel) };
}

const lines = ({ spans }: TraceSpans): string[] =>
  spans.map(({ depth, kind, name, node }) => `${"  ".repeat(depth)}${kind} ${name} @${node}`);

async function traceOf(on: TraceOperations, find: string): Promise<string> {
  const [found] = await on.traces({ find });
  if (found === undefined) throw new Error(`no trace has ${find}`);
  return found.trace;
}

const stockOf = (take: (item: string) => Promise<unknown>) =>
  defineServer({
    label: "stock",
    init: () => 0,
    calls: { take: (_state, item: string) => take(item) },
  });
const Stock = stockOf(async () => undefined);

/** Starts a server whose call dispatches to a picker of its own node. */
async function depot({ system }: ClusterNode): Promise<void> {
  const pickers = new ConsumerGroup<string, string>({ name: "pickers" });
  const picker = consumer((item: string) => `picked ${item}`, { group: pickers });
  const stock = stockOf(async (item) => (await system.dispatch(pickers, item)).reply);
  const children = [
    { id: "picker", start: picker },
    { id: "stock", name: "stock", start: stock },
  ];
  await system.start(supervisor({ children }));
}

/** Starts a server here whose call calls the stock of another node. */
async function front(node: ClusterNode): Promise<(item: string) => Promise<unknown>> {
  const stock = Stock.at(node.system, (await node.whereis("stock")) as Pid<never>);
  const Front = defineServer({
    label: "front",
    init: () => undefined,
    calls: { order: (_state, item: string) => stock.call.take(item) },
  });
  const { call } = await node.system.start(Front);
  return (item) => call.order(item);
}

describe("over a network inside one program", () => {
  let network: LocalNetwork;
  const systems: System[] = [];

  beforeEach(() => {
    network = localNetwork();
  });
  afterEach(async () => {
    for (const system of systems.splice(0)) await system.stop({ timeoutMs: 0 });
  });
  async function join(name: string): Promise<ClusterNode> {
    const system = new System({ name, report: false });
    systems.push(system);
    return joinCluster(system, network, { settleMs: 0 });
  }
  const met = (...nodes: ClusterNode[]): Promise<void> =>
    until(() => nodes.every((node) => node.nodes().length === nodes.length));

  test("a call that dispatches at another node is one tree, from whichever node one looks [N1600]", async () => {
    const [shop, bank] = [seated(await join("shop")), seated(await join("bank"))];
    await met(shop.node, bank.node);
    // The first look, at one node alone: both keep their spans from now on.
    expect(await shop.on.traces()).toEqual([]);
    await depot(bank.node);
    const order = await front(shop.node);
    await order("tea");
    const trace = await traceOf(shop.on, "front/order");
    const found = await shop.on.spans(trace);
    expect(lines(found)).toEqual([
      "call front/order @shop",
      "  message front/order @shop",
      "    call stock/take @shop",
      "      message stock/take @bank",
      "        dispatch dispatch pickers @bank",
      "          attempt attempt pickers @bank",
      "            message picker @bank",
    ]);
    expect(found).toMatchObject({ node: "shop", missing: [] });
    const there = await bank.on.spans(trace);
    expect(there).toMatchObject({ node: "bank", missing: [] });
    expect(there.spans).toEqual(found.spans);
    expect(await bank.on.traces({ find: trace })).toMatchObject([
      { name: "front/order", isBegin: true, spans: 7, nodes: ["bank", "shop"] },
    ]);
  });

  test("looks are no traces themselves, at no node [N1607]", async () => {
    const [shop, bank] = [seated(await join("shop")), seated(await join("bank"))];
    await met(shop.node, bank.node);
    for (let i = 0; i < 3; i++) {
      expect(await shop.on.spans("0af7651916cd43dd8448eb211c80319c")).toMatchObject({
        spans: [],
        missing: [],
      });
      expect(await bank.on.traces()).toEqual([]);
    }
  });

  test("a node without an observer and telemetry is named, and begins to keep nothing [N1604]", async () => {
    const shop = seated(await join("shop"));
    const bank = await join("bank");
    await met(shop.node, bank);
    await depot(bank);
    await shop.on.traces();
    await (await front(shop.node))("tea");
    const found = await shop.on.spans(await traceOf(shop.on, "front/order"));
    expect(found.spans.map(({ node }) => node)).toEqual(["shop", "shop", "shop"]);
    expect(found.missing).toEqual([
      { node: "bank", why: "has neither an observer nor telemetry, so it keeps no spans" },
    ]);
    expect(bank.system.kernel.taps).toBeUndefined();
  });

  test("a node without the operation is named at once, as one of an older release is [N1604]", async () => {
    const [shop, bank] = [seated(await join("shop")), seated(await join("bank"))];
    await met(shop.node, bank.node);
    const { system } = bank.node;
    const answers = system.processes().find((pid) => system.info(pid)?.label === "spans of nodes");
    system.exit(answers as Pid, "kill");
    await system.exited(answers as Pid);
    expect((await shop.on.spans("t")).missing).toEqual([
      { node: "bank", why: "cannot be asked for spans, as nodes of older versions cannot" },
    ]);
  });

  test("a node that fails at it is named with its error [N1604]", async () => {
    const [shop, bank] = [seated(await join("shop")), seated(await join("bank"))];
    await met(shop.node, bank.node);
    offerSpans(bank.node.system.kernel, async () => {
      throw new RangeError(`no room ${"x".repeat(1_000)}`);
    });
    const { missing } = await shop.on.spans("t");
    expect(missing).toMatchObject([{ node: "bank", why: expect.stringMatching(/^failed: .*no room x+…$/) }]);
    expect(missing[0]?.why.length).toBeLessThan(250);
  });

  test("a span that both nodes know is there once, and hostile labels come as short texts [N1601] [N1605]", async () => {
    const [shop, bank] = [seated(await join("shop")), seated(await join("bank"))];
    await met(shop.node, bank.node);
    const hostile = "<img src=x onerror=alert(1)>\u202e\t=1+1";
    const offered = ({ node }: Seat, name: string, ids: readonly string[]): void => {
      const spans = ids.map((id) => ({
        ...{ id, parent: "a", name, kind: "call" as const, at: 1, tookMs: 2, status: "ok" as const },
        ...{ node: hostile, attributes: { [hostile]: hostile.repeat(99) }, depth: 7 },
      }));
      const own = {
        touch: () => undefined,
        traces: () => [],
        spans: (trace: string) => ({ trace, spans, dropped: 2 }),
      };
      offerSpans(node.system.kernel, async () => own);
    };
    offered(shop, "pay", ["a", "b"]);
    offered(bank, hostile, ["b", "c"]);
    const { spans, dropped } = await shop.on.spans("t");
    expect(spans.map(({ id }) => id).sort()).toEqual(["a", "b", "c"]);
    expect(dropped).toBe(4);
    const there = spans.find(({ id }) => id === "c");
    expect(there).toMatchObject({
      name: hostile,
      node: "bank",
      attributes: { [hostile]: expect.any(String) },
    });
    expect(String(there?.attributes[hostile]).length).toBeLessThan(210);
  });

  test("a long part is cut by the node that has it, which says so [N1603]", async () => {
    const [shop, bank] = [seated(await join("shop")), seated(await join("bank"))];
    await met(shop.node, bank.node);
    const spans = Array.from({ length: ANSWER_LIMITS.spans + 7 }, (_, i) => ({
      ...{
        id: `${i}`,
        name: "n",
        kind: "call" as const,
        at: i,
        status: "ok" as const,
        node: "bank",
        depth: 0,
      },
      attributes: {},
    }));
    offerSpans(bank.node.system.kernel, async () => ({
      ...{ touch: () => undefined, traces: () => [], spans: (trace) => ({ trace, spans, dropped: 0 }) },
    }));
    const found = await shop.on.spans("t");
    expect(found.spans).toHaveLength(ANSWER_LIMITS.spans);
    expect(found.missing).toEqual([{ node: "bank", why: "keeps 7 more that had no room in its answer" }]);
  });

  test("nodes of one name are told apart, and a node that has left asks nobody [N1600]", async () => {
    const [one, other] = [seated(await join("shop")), seated(await join("shop"))];
    await met(one.node, other.node);
    await one.on.traces();
    await depot(other.node);
    await (await front(one.node))("tea");
    const trace = await traceOf(one.on, "front/order");
    const found = await one.on.spans(trace);
    const [a, b] = [`shop (${one.node.node.id})`, `shop (${other.node.node.id})`];
    expect(found).toMatchObject({ node: a, missing: [] });
    expect(found.spans.map(({ node }) => node)).toEqual([a, a, a, b, b, b, b]);
    await one.node.leave();
    const alone = await one.on.spans(trace);
    expect(alone).toMatchObject({ node: "shop", missing: [] });
    expect(alone.spans.map(({ node }) => node)).toEqual(["shop", "shop", "shop"]);
  });
});

describe("over a network that is cut", () => {
  let cluster: MemoryCluster;

  beforeEach(() => {
    cluster = new MemoryCluster();
  });
  afterEach(() => cluster.stop());

  /** Three nodes, a trace over two of them, and what a look at the first one says, and how long it took. */
  async function three(limitMs: number) {
    const [shop, bank, mill] = [
      seated(await cluster.join("shop", { limitMs })),
      seated(await cluster.join("bank", { limitMs })),
      seated(await cluster.join("mill", { limitMs })),
    ] as [Seat, Seat, Seat];
    await cluster.meet();
    const { clock } = cluster;
    await clock.until(shop.on.traces());
    await clock.until(depot(bank.node));
    const order = await clock.until(front(shop.node));
    await clock.until(order("tea"));
    const [found] = await clock.until(shop.on.traces({ find: "front/order" }));
    const look = async (
      trace = found?.trace ?? "",
    ): Promise<{ tookMs: number; nodes: string[] } & TraceSpans> => {
      const from = clock.now;
      const spans = await clock.until(shop.on.spans(trace));
      return { ...spans, tookMs: clock.now - from, nodes: [...new Set(spans.spans.map(({ node }) => node))] };
    };
    return { shop, bank, mill, order, look };
  }

  test("a node that is silent is named in its time, the others are there, and it is left alone for a while [N1604]", async () => {
    const { shop, mill, look } = await three(8_000);
    const { network } = cluster;
    expect(await look()).toMatchObject({ nodes: ["shop", "bank"], missing: [] });
    network.cut(shop.node.node, mill.node.node);
    const late = await look();
    const missing = [{ node: "mill", why: `did not answer within ${ASKING.answerMs} ms` }];
    expect(late).toMatchObject({ nodes: ["shop", "bank"], missing });
    expect(late.tookMs).toBeLessThan(ASKING.answerMs + 100);
    // Asked again at once, it would hold up each look.
    const again = await look();
    expect(again).toMatchObject({ nodes: ["shop", "bank"], missing });
    expect(again.tookMs).toBeLessThan(100);
    network.heal();
    // The gap in their session ends it, and the next one begins.
    for (let i = 0; i < 20; i++) await cluster.settle(ASKING.silentMs / 10);
    expect(await look()).toMatchObject({ nodes: ["shop", "bank"], missing: [] });
  });

  test("a node that is lost while it is asked is named, and later as gone, but not for a trace that began later [N1604] [N1608]", async () => {
    const { shop, bank, order, look } = await three(400);
    const { clock, network } = cluster;
    network.lose = (from, to) => [from.id, to.id].includes(bank.node.node.id);
    expect(await look()).toMatchObject({
      nodes: ["shop"],
      missing: [{ node: "bank", why: "is gone, with the spans that it kept" }],
    });
    expect((await look()).missing).toMatchObject([{ node: "bank" }]);
    await clock.advance(10);
    await clock.until(order("tea").catch(() => undefined));
    const [later] = await clock.until(shop.on.traces({ limit: 1 }));
    expect(await look(later?.trace)).toMatchObject({ nodes: ["shop"], missing: [] });
    network.heal();
    network.meet();
    await cluster.settle(100);
    expect(await look()).toMatchObject({ nodes: ["shop", "bank"], missing: [] });
  });

  test("a look keeps the spans of all nodes for half a minute, and nothing after that [N1602]", async () => {
    const { shop, bank, mill, look } = await three(60_000);
    const { clock } = cluster;
    const kept = (): boolean[] => [shop, bank, mill].map(({ node }) => node.system.kernel.taps !== undefined);
    await clock.advance(20_000);
    expect((await look()).nodes).toEqual(["shop", "bank"]);
    await clock.advance(20_000);
    expect(kept()).toEqual([true, true, true]);
    await clock.advance(11_000);
    expect(kept()).toEqual([false, false, false]);
  });
});
