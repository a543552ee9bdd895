// A service that is a node of a cluster: `run` with the option `cluster`, over a network of frames in memory.

import { defineServer, type Pid, System, supervisor } from "signalbox";
import {
  type CarrierSource,
  type ClusterNode,
  type ClusterOptions,
  joinCluster,
  programs,
  Sessions,
} from "signalbox/nodes";
import { EXIT_CODES, type RunOptions, run, type Service } from "signalbox/service";
import { expect, onTestFinished, test } from "vitest";
import { CLUSTER_OPTIONS } from "../../../lib/node/cluster/cluster-option-names.js";
import { FrameNetwork } from "../../node/session/frame-network.js";
import { gate } from "../../support/gate.js";
import { until } from "../../support/until.js";

const Counter = defineServer({
  init: (_ctx, start: number) => ({ count: start }),
  calls: { add: (state, n: number) => (state.count += n) },
});
const Empty = supervisor({ children: [] });

/** A network, as the carrier of nodes. */
function world() {
  const network = new FrameNetwork();
  let isConnected = true;
  const source: CarrierSource = {
    label: "the network of a test",
    connect: async ({ kernel }) =>
      Object.defineProperty(network.carrier(kernel.node), "isConnected", { get: () => isConnected }),
  };
  const service = (options: Partial<RunOptions<undefined>> = {}): Service => {
    const made = run(Empty, { name: "shop", host: false, cluster: { carrier: source }, ...options });
    onTestFinished(() => void made.stop());
    return made;
  };
  const other = async (): Promise<ClusterNode> => {
    const system = new System({ name: "other", report: false });
    onTestFinished(() => system.stop({ timeoutMs: 0 }));
    return joinCluster(system, source, { settleMs: 0 });
  };
  const cut = (): void => {
    isConnected = false;
  };
  return { network, source, service, other, cut };
}

const met = (...nodes: ClusterNode[]) =>
  until(() => nodes.every((one) => one.nodes().length === nodes.length));

test("a service joins its cluster before its tree starts, and leaves when the tree has stopped [N1281]", async () => {
  const { network, source, other } = world();
  const stops = gate();
  const b = await other();
  const drained = gate();
  const service = run(
    (config: undefined, { node }) => {
      expect(config).toBeUndefined();
      network.meet();
      return supervisor({
        children: [{ id: "far", start: node.on("counter", [5], { placement: (nodes) => nodes.at(-1) }) }],
      });
    },
    {
      ...{ name: "shop", host: false },
      cluster: () => ({ carrier: source, programs: { counter: Counter }, labels: { zone: "north" } }),
      onDrain: () => {
        drained.open();
        return stops.promise;
      },
    },
  );
  onTestFinished(() => void service.stop());
  programs(b, { counter: Counter });
  await service.started;
  const { node } = service;
  await met(node, b);
  expect(b.nodes()[1]).toMatchObject({ node: node.node, labels: { zone: "north" }, programs: ["counter"] });
  // A child of the other node, which runs here.
  const top = await b.system.start(
    supervisor({ children: [{ id: "c", start: b.on("counter", [1], { placement: (nodes) => nodes[1] }) }] }),
  );
  const child = (await top.child("c")) as Pid<never>;
  expect(await Counter.at(b.system, child).call.add(1)).toBe(2);

  const stopped = service.stop();
  await drained.promise;
  // It takes nothing more, and goes on with what it has.
  await until(() => b.nodes()[1]?.programs.length === 0);
  expect(await Counter.at(b.system, child).call.add(1)).toBe(3);
  stops.open();
  expect(await stopped).toMatchObject({ outcome: "clean" });
  expect(network.closed).toContain("shop");
  expect(b.nodes()).toHaveLength(1);
  // Its child goes on where it was placed anew.
  await until(async () => (await top.child("c")) !== child);
});

test("a service leaves the cluster when it stops, though its system lives on [N1281]", async () => {
  const { network, service } = world();
  const system = new System({ name: "lent", report: false });
  onTestFinished(() => system.stop());
  const guest = service({ system, name: "guest" });
  await guest.started;
  await guest.stop();
  expect([network.closed, system.stopped]).toEqual([["lent"], false]);
});

test("the start fails when the cluster cannot be joined, and a service that is stopped meanwhile leaves nothing [N1282]", async () => {
  const { network, source, service } = world();
  const broken: CarrierSource = { label: "broken", connect: () => Promise.reject(new Error("no server")) };
  const failed = await service({ cluster: { carrier: broken } }).ended;
  expect(failed.exitCode).toBe(EXIT_CODES.startFailed);
  expect(failed.text).toMatch(/^shop did not start: the cluster failed \(crash, Error: no server\)/);

  const [asked, connects] = [gate(), gate()];
  const slow: CarrierSource = {
    label: "slow",
    connect: async (system) => {
      asked.open();
      await connects.promise;
      return source.connect(system);
    },
  };
  const stuck = await service({ cluster: { carrier: slow }, startTimeoutMs: 1 }).ended;
  expect(stuck.text).toMatch(/^shop did not start within 1 ms; still starting: the cluster/);
  const hasty = service({ cluster: { carrier: slow } });
  await asked.promise;
  expect(() => hasty.node).toThrow(/^cluster must be given to `run`, and joined/);
  const stopped = hasty.stop();
  connects.open();
  expect(await stopped).toMatchObject({ outcome: "clean" });
  await until(() => network.closed.length === 2);
  // A system of its own ends with the service. One that is given lives on, so the late join is left.
  const [again, later] = [gate(), gate()];
  const lent = new System({ name: "lent", report: false });
  onTestFinished(() => lent.stop());
  const late: CarrierSource = {
    label: "late",
    connect: async (system) => {
      again.open();
      await later.promise;
      return source.connect(system);
    },
  };
  const other = service({ cluster: { carrier: late }, system: lent, name: "guest" });
  await again.promise;
  const ended = other.stop();
  later.open();
  await ended;
  await until(() => network.closed.includes("lent"));
  for (const wrong of [null, 7, {}, { labels: {} }])
    expect(() => run(Empty, { host: false, cluster: wrong as never })).toThrow(
      /^cluster must be an object with a carrier/,
    );
  expect(await service({ cluster: (() => ({})) as never }).ended).toMatchObject({ outcome: "startFailed" });
  expect(await service({ cluster: (() => ({ carrier: source, zone: "x" })) as never }).ended).toMatchObject({
    text: expect.stringContaining("zone"),
  });
});

/** A wrong value of each option. It satisfies the compiler only while no option is missing. */
const WRONG: Record<Exclude<keyof ClusterOptions, "versions">, unknown> = {
  ...{ labels: 7, settleMs: -1, errors: 7, maxBytes: 0, capabilities: 7, limitMs: 0, queueSignals: 0 },
  ...{ queueBytes: 0, windowFrames: 0, windowSize: 0, batchSignals: 0, batchSize: 0, carrierBytes: 0 },
  ...{ closeMs: -1, maxNodes: 0 },
};

/** The names of the options of sessions, as the refusal of another name says them. */
function ofSessions(): string[] {
  const system = new System({ report: false });
  try {
    new Sessions(system, new FrameNetwork().carrier(system.node), { zone: 7 } as never);
  } catch (error) {
    return /there is only (.+); got/.exec((error as Error).message)?.[1]?.split(", ") ?? [];
  }
  throw new Error("an unknown option was taken");
}

test("a service takes the options that `joinCluster` takes, and no others [N1434]", async () => {
  const { source } = world();
  expect(CLUSTER_OPTIONS.toSorted()).toEqual(Object.keys(WRONG).toSorted());
  // Those of sessions are all but the versions of the protocol, which are for tests.
  expect(["versions", ...CLUSTER_OPTIONS].toSorted()).toEqual(
    ["labels", "settleMs", ...ofSessions()].toSorted(),
  );
  for (const [name, value] of Object.entries({ ...WRONG, versions: 7 })) {
    const system = new System({ report: false });
    const joined = joinCluster(system, source, { [name]: value });
    await expect(joined, name).rejects.toMatchObject({
      code: "ERR_OPTION",
      message: expect.stringMatching(new RegExp(`^${name}\\b`)),
    });
    await system.stop();
  }
  const starts = (name: string) => () =>
    run(Empty, {
      host: false,
      system: new System({ report: false }),
      cluster: { carrier: source, [name]: 7 },
    });
  expect(starts("versions")).toThrow(/^cluster.versions must be absent/);
  expect(starts("zone")).toThrow(/^cluster.zone must be absent/);
});

test("a stop by force, and the stop of a given system, leave the cluster as well [N1281]", async () => {
  const { network, service } = world();
  const forced = service({ drainTimeoutMs: 20, onDrain: () => new Promise(() => undefined) });
  await forced.started;
  expect(await forced.stop()).toMatchObject({ outcome: "drainTimedOut" });
  expect(network.closed).toContain("shop");
  const system = new System({ name: "given", report: false });
  const lodger = service({ system });
  await lodger.started;
  await system.stop();
  await lodger.ended;
  expect(network.closed).toContain("given");
});

test("the health of a service has its cluster, and a node that is cut off is a warning [N1283]", async () => {
  const { network, service, other, cut } = world();
  const shop = service();
  await shop.started;
  const b = await other();
  network.meet();
  await met(shop.node, b);
  expect(await shop.health.read()).toMatchObject({
    ...{ ready: true, warnings: [], cluster: { isConnected: true, nodes: 2 } },
  });
  cut();
  const report = await shop.health.read();
  expect(report).toMatchObject({
    ...{ live: true, ready: true, cluster: { isConnected: false } },
    warnings: ["no other node of the cluster can be reached"],
  });
  const { body } = await shop.health.fetch(new Request("http://localhost/readyz"));
  expect(await new Response(body).json()).toMatchObject({
    ready: true,
    cluster: { isConnected: false, nodes: 2 },
  });
  const alone = run(Empty, { name: "alone", host: false });
  await alone.started;
  expect(await alone.health.read()).not.toHaveProperty("cluster");
  await alone.stop();
});
