// A cluster over a network inside one program.

import { ConsumerGroup, consumer, defineServer, type Pid, System, supervisor } from "signalbox";
import { type ClusterNode, joinCluster, type LocalNetwork, localNetwork } from "signalbox/nodes";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../support/until.js";

const Stock = defineServer({
  init: () => ({ left: 10 }),
  calls: { take: (state, count: number) => (state.left -= count) },
});

describe("a network inside one program", () => {
  let network: LocalNetwork;
  const joined: ClusterNode[] = [];

  beforeEach(() => {
    network = localNetwork();
  });
  afterEach(async () => {
    for (const { system } of joined.splice(0)) await system.stop();
  });

  async function join(name: string): Promise<ClusterNode> {
    const node = await joinCluster(new System({ name, report: false }), network, { settleMs: 0 });
    joined.push(node);
    return node;
  }
  const met = (...nodes: ClusterNode[]): Promise<void> =>
    until(() => nodes.every((node) => node.nodes().length === nodes.length));

  test("its systems find each other, and call each other by name", async () => {
    const till = await join("till");
    const depot = await join("depot");
    await depot.system.start(supervisor({ children: [{ id: "stock", name: "stock", start: Stock }] }));
    await met(till, depot);

    const stock = (await till.whereis("stock")) as Pid<never>;
    expect(await Stock.at(till.system, stock).call.take(3)).toBe(7);
  });

  test("messages arrive in their order, as copies", async () => {
    const till = await join("till");
    const depot = await join("depot");
    await met(till, depot);
    const arrived: { n: number }[] = [];
    const list = depot.system.spawn<{ n: number }>(async (ctx) => {
      while (arrived.length < 1_000) arrived.push(await ctx.receive());
    });
    depot.system.register("list", list);
    const there = (await till.whereis("list")) as Pid<{ n: number }>;
    const sent = Array.from({ length: 1_000 }, (_, n) => ({ n }));
    for (const message of sent) till.system.send(there, message);
    await depot.system.exited(list);
    expect(arrived).toEqual(sent);
    expect(arrived[0]).not.toBe(sent[0]);
  });

  test("a lost node is gone for the others, which are gone for it, and nothing crosses any more", async () => {
    const [till, east, west] = [await join("till"), await join("east"), await join("west")];
    await met(till, east, west);
    const groups = [till, east, west].map(
      (node) => new ConsumerGroup<string, string>({ name: "g", scope: node }),
    );
    let begun = (): void => undefined;
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const never = (): Promise<string> => {
      begun();
      return new Promise(() => undefined);
    };
    const start = (node: ClusterNode, at: number, work: (item: string) => Promise<string> | string) => {
      const picker = consumer(work, { group: groups[at] as never, id: node.node.name });
      return node.system.start(supervisor({ children: [{ id: "picker", shutdown: 0, start: picker }] }));
    };
    await start(east, 1, never);
    const order = till.system.dispatch(groups[0] as ConsumerGroup<string, string>, "tea");
    await hasBegun;
    await start(west, 2, (item) => `west has ${item}`);

    network.lose(east.node);
    expect(await order).toMatchObject({ reply: "west has tea", reroutedFrom: ["east"] });
    expect(east.nodes()).toHaveLength(1);
    await met(till, west);
    network.lose(east.node);
    expect(till.nodes()).toHaveLength(2);
  });

  test("a node that leaves is told to all, and another may join afterwards", async () => {
    const till = await join("till");
    const depot = await join("depot");
    await met(till, depot);
    await depot.leave();
    expect(till.nodes()).toHaveLength(1);
    await met(till, await join("depot"));
  });

  test("a system that does not join hears nothing, and two networks are apart", async () => {
    const till = await join("till");
    const other = await joinCluster(new System({ name: "other", report: false }), localNetwork(), {
      settleMs: 0,
    });
    joined.push(other);
    const depot = await join("depot");
    await met(till, depot);
    expect(other.nodes()).toHaveLength(1);
  });
});
