// Many nodes that start and stop at the same time, over a real server.

import { System } from "signalbox";
import { type ClusterNode, joinCluster, nats } from "signalbox/nodes";
import { expect, test } from "vitest";
import { describeNats, startNats } from "../../support/nats.js";
import { until } from "../../support/until.js";

const NODES = 8;
const AT_A_TIME = 2;

describeNats("a rolling deploy", () => {
  test("41: never makes two clusters out of one", async () => {
    await using server = await startNats();
    let started = 0;
    const start = async (): Promise<ClusterNode> => {
      const source = nats({ servers: server.address, cluster: "shop", presenceMs: 200 });
      const system = new System({ name: `node ${++started}`, report: false });
      return joinCluster(system, source, { settleMs: 0, limitMs: 60_000 });
    };
    const several = (count: number): Promise<ClusterNode[]> =>
      Promise.all(Array.from({ length: count }, start));
    const idsOf = (nodes: readonly { readonly node: { readonly id: string } }[]): string =>
      nodes
        .map(({ node }) => node.id)
        .sort()
        .join();
    const nodes = await several(NODES);
    const areOne = (): Promise<void> =>
      until(() => nodes.every((one) => idsOf(one.nodes()) === idsOf(nodes)));
    await areOne();
    for (let done = 0; done < NODES; done += AT_A_TIME) {
      const fresh = several(AT_A_TIME);
      await Promise.all(nodes.splice(0, AT_A_TIME).map(({ system }) => system.stop()));
      nodes.push(...(await fresh));
      await areOne();
    }
    expect(started).toBe(2 * NODES);
    await Promise.all(nodes.map(({ system }) => system.stop()));
  });
});
