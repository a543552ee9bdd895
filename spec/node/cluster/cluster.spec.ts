// A cluster over a real server of NATS. Its nodes are systems of this process.

import {
  ConsumerGroup,
  consumer,
  defineServer,
  type Pid,
  System,
  type SystemOptions,
  stop,
  supervisor,
} from "signalbox";
import { byLabel, type ClusterNode, type ClusterOptions, joinCluster, nats, programs } from "signalbox/nodes";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { describeNats, type NatsServer, startNats } from "../../support/nats.js";
import { seen, until } from "../../support/until.js";

const Counter = defineServer({
  init: (_ctx, start: number) => ({ count: start }),
  calls: { add: (state, n: number) => (state.count += n) },
});

describeNats("a cluster", () => {
  let server: NatsServer;
  const joined: ClusterNode[] = [];
  beforeAll(async () => {
    server = await startNats();
  });
  afterEach(async () => {
    await Promise.all(joined.splice(0).map((node) => node.system.stop()));
  });
  afterAll(() => server.stop());

  let lastCluster = 0;
  const cluster = (): ((
    name: string,
    options?: ClusterOptions,
    of?: SystemOptions,
  ) => Promise<ClusterNode>) => {
    const id = `shop-${++lastCluster}`;
    return async (name, options, of = {}) => {
      const system = new System({ name, report: false, ...of });
      const source = nats({
        servers: server.address,
        cluster: id,
        presenceMs: 100,
        connection: { reconnectTimeWait: 20 },
      });
      const node = await joinCluster(system, source, options);
      joined.push(node);
      return node;
    };
  };

  const met = (...nodes: ClusterNode[]): Promise<void> =>
    until(() => nodes.every((node) => node.nodes().length === nodes.length));

  test("has groups that span it: a dispatch goes to any node, and is re-routed when its node is lost [N1130]", async () => {
    const join = cluster();
    const [a, b] = [await join("a"), await join("b")];
    await met(a, b);
    const here = new ConsumerGroup<number, string>({ name: "pickers", scope: a });
    const there = new ConsumerGroup<number, string>({ name: "pickers", scope: b });
    there.join(b.system.spawn(consumer(() => new Promise<string>(() => undefined))), { id: "far" });
    here.join(a.system.spawn(consumer((n: number) => `near ${n}`)), { id: "near" });
    // First to the other node, whenever that can be reached.
    let isSent = false;
    here.route = (_envelope, consumers) => {
      const far = consumers.find(({ id }) => id === "far");
      const chosen = far ?? (isSent ? consumers[0] : undefined);
      isSent ||= far !== undefined;
      return chosen;
    };
    const outcome = a.system.dispatch(here, 1, { patienceMs: 60_000, deadlineMs: Number.POSITIVE_INFINITY });
    await until(() => isSent);
    await b.system.stop({ timeoutMs: 0 });
    expect(await outcome).toMatchObject({ reply: "near 1", deliveredTo: "near", reroutedFrom: ["far"] });
  });

  test("sees its nodes, with their labels, programs and sessions [N1036]", async () => {
    const join = cluster();
    const a = await join("a");
    const ups: string[] = [];
    a.watch({ up: ({ name }) => ups.push(`+${name}`), down: ({ name }) => ups.push(`-${name}`) });
    const b = await join("b", { labels: { disk: "fast" } });
    programs(b, { counter: Counter });
    await met(a, b);
    await until(() => a.nodes()[1]?.programs.length === 1);
    expect(a.nodes()).toMatchObject([
      { node: a.node, isHere: true, labels: {}, programs: [], session: undefined },
      {
        node: b.node,
        isHere: false,
        labels: { disk: "fast" },
        programs: ["counter"],
        session: { state: "up" },
      },
    ]);
    await b.leave();
    await until(() => a.nodes().length === 1);
    expect(ups).toEqual(["+b", "-b"]);
  });

  test("finds a name wherever it is, and says when there is none [N1037]", async () => {
    const join = cluster();
    const [a, b, c] = (await Promise.all(["a", "b", "c"].map((name) => join(name)))) as [
      ClusterNode,
      ClusterNode,
      ClusterNode,
    ];
    await met(a, b, c);
    const counter = await b.system.startWith({ name: "stock" }, Counter, 5);
    expect(await a.whereis("nobody")).toBeUndefined();
    expect(await b.whereis("stock")).toBe(counter.pid);
    const found = (await a.whereis("stock")) as Pid<never>;
    expect(found.node.id).toBe(b.node.id);
    expect(await Counter.at(a.system, found).call.add(2)).toBe(7);
    expect(await Counter.at(c.system, (await c.whereis("stock")) as Pid<never>).call.add(1)).toBe(8);
  });

  test("starts children of a supervisor on a node that has the program, and passes calls to them [N1038]", async () => {
    const join = cluster();
    const [a, b] = await Promise.all([join("a"), join("b", { labels: { disk: "fast" } })]);
    programs(a, { counter: Counter });
    programs(b, { counter: Counter });
    await met(a, b);
    const child = a.on("counter", [5], { placement: byLabel("disk", "fast") });
    const top = await a.system.start(supervisor({ children: [{ id: "c", start: child }] }));
    const pid = (await top.child("c")) as Pid<never>;
    expect(await Counter.at(a.system, pid).call.add(1)).toBe(6);
    const there = () => b.system.processes().filter(({ label }) => label === "server").length;
    expect(there()).toBe(1);
    await top.terminateChild("c");
    expect(there()).toBe(0);
  });

  test("refuses programs that were not named, and says which there are [N1039]", async () => {
    const join = cluster();
    const [a, b] = await Promise.all([join("a"), join("b")]);
    programs(b, { counter: Counter });
    await met(a, b);
    const child = a.on("toString", [], { placement: () => a.nodes().at(-1) as never, placeTimeoutMs: 50 });
    await expect(a.system.start(child)).rejects.toThrow("no node for the program toString within 50 ms");
  });

  test("restarts a child elsewhere when its node is lost [N1040]", async () => {
    const join = cluster();
    const [a, b, c] = (await Promise.all(["a", "b", "c"].map((name) => join(name)))) as [
      ClusterNode,
      ClusterNode,
      ClusterNode,
    ];
    const at: string[] = [];
    const programsOf = (name: string) => ({
      mark: { init: () => void at.push(name), handle: () => stop("normal") },
    });
    programs(b, programsOf("b"));
    await met(a, b, c);
    await a.system.start(supervisor({ children: [{ id: "m", start: a.on("mark") }] }));
    expect(at).toEqual(["b"]);
    programs(c, programsOf("c"));
    await b.system.stop({ timeoutMs: 0 });
    await until(() => at.length === 2);
    expect(at).toEqual(["b", "c"]);
  });

  test("ends links, monitors and calls once when a server is restarted, and meets again [N1041]", async () => {
    await using own = await startNats();
    const source = () =>
      nats({ servers: own.address, cluster: "shop", presenceMs: 100, connection: { reconnectTimeWait: 20 } });
    await using one = new System({ name: "one", report: false });
    await using two = new System({ name: "two", report: false });
    const [a, b] = await Promise.all([joinCluster(one, source()), joinCluster(two, source())]);
    await met(a, b);
    const target = two.spawn(
      { handle: () => undefined, signal: () => undefined },
      { name: "target", trapExit: true },
    );
    const pid = (await a.whereis("target")) as Pid<never>;
    const heard: string[] = [];
    one.spawn(async (ctx) => {
      ctx.trapExit(true);
      ctx.link(pid);
      ctx.monitor(pid);
      while (heard.length < 2) {
        const signal = await ctx.receiveSignal();
        if (signal.type === "exit" || signal.type === "down")
          heard.push(`${signal.type} ${signal.reason.type}`);
      }
    });
    await until(() => (two.info(target)?.links.length ?? 0) === 1);
    const call = one.call(pid, (replyTo) => ({ replyTo }) as never, { timeoutMs: Number.POSITIVE_INFINITY });
    const failed = expect(call).rejects.toThrow("noconnection");
    await own.kill();
    await failed;
    await until(() => heard.length === 2);
    expect([...heard].sort()).toEqual(["down noconnection", "exit noconnection"]);
    await until(() => (two.info(target)?.links.length ?? 1) === 0);
    await own.start();
    await met(a, b);
    expect(await a.whereis("target")).toBe(pid);
    expect(heard).toHaveLength(2);
  });

  test("is left in order: children end, nothing is left of it, and the system goes on [N1043]", async () => {
    const join = cluster();
    const [a, b] = await Promise.all([join("a"), join("b")]);
    programs(b, { counter: Counter });
    await met(a, b);
    const ref = await a.system.start(a.on("counter", [1]));
    const before = process.getActiveResourcesInfo().filter((one) => one.startsWith("TCP")).length;
    await b.leave();
    expect(b.system.processes()).toEqual([]);
    await seen(() => (a.system.isAlive(ref) ? undefined : true));
    await a.leave();
    expect(a.system.processes()).toEqual([]);
    await until(
      () => process.getActiveResourcesInfo().filter((one) => one.startsWith("TCP")).length <= before - 2,
    );
    expect(a.system.stopped).toBe(false);
  });
});

describeNats("a cluster whose server is gone", () => {
  test("is left at once, and its system stops [N1043]", async () => {
    const server = await startNats();
    const system = new System({ report: false });
    const node = await joinCluster(system, nats({ servers: server.address, cluster: "shop" }), {
      settleMs: 0,
    });
    await server.stop();
    await node.leave();
    await system.stop();
  });
});

describe("joinCluster()", () => {
  test("checks what it is given [N1036]", async () => {
    await using system = new System({ report: false });
    const source = nats({ servers: "127.0.0.1:1", cluster: "shop" });
    await expect(joinCluster(undefined as never, source)).rejects.toThrow("system");
    await expect(joinCluster(system, undefined as never)).rejects.toThrow("carrier");
    await expect(joinCluster(system, source, { labels: { disk: 7 } as never })).rejects.toThrow(
      "labels.disk",
    );
    await expect(joinCluster(system, source, { settleMs: -1 })).rejects.toThrow("settleMs");
  });
});
