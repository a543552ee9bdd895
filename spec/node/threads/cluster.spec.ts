// A system that has threads and is a node of a cluster: real threads, and a real server of NATS.

import { type Pid, type ReplyTo, System } from "signalbox";
import { type ClusterNode, joinCluster, nats, programs, type Threads } from "signalbox/nodes";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { describeNats, type NatsServer, startNats } from "../../support/nats.js";
import { until } from "../../support/until.js";
import { Counter, type Order, type Question } from "./programs/workshop.js";
import { workshop } from "./support.js";

const shop = workshop("threads-cluster");

describeNats("a system with threads in a cluster", () => {
  let server: NatsServer;
  let other: ClusterNode;
  let last = 0;
  const systems: System[] = [];
  beforeAll(async () => {
    server = await startNats();
  });
  afterEach(async () => {
    await Promise.all(systems.splice(0).map((system) => system.stop()));
  });
  afterAll(() => server.stop());

  const options = (): { servers: string; cluster: string; presenceMs: number } => ({
    servers: server.address,
    cluster: `shop-${last}`,
    presenceMs: 100,
  });

  /** Another machine of a new cluster. */
  async function elsewhere(): Promise<ClusterNode> {
    last++;
    const system = new System({ name: "elsewhere", report: false });
    systems.push(system);
    other = await joinCluster(system, nats(options()));
    programs(other, { counter: Counter });
    return other;
  }

  const seenBy = (node: ClusterNode): string[] =>
    node
      .nodes()
      .map((one) => one.node.name)
      .sort();

  it.each([
    ["threads first", true],
    ["the cluster first", false],
  ])("starts programs in threads and on other machines: %s [N1214]", async (_order, isThreadsFirst) => {
    const { system } = shop;
    await elsewhere();
    let workers: Threads | undefined;
    if (isThreadsFirst) workers = await shop.open();
    const node = await joinCluster(system, nats(options()));
    workers ??= await shop.open();
    await until(
      () => seenBy(node).length === 2 && node.nodes().every((one) => one.programs.length > 0 || one.isHere),
    );
    const far = await system.start(node.on("counter", [5]));
    const near = await system.start(workers.on("counter", [7]));
    expect(await Counter.at(system, far).call.next()).toBe(5);
    expect(await Counter.at(system, near).call.next()).toBe(7);
    expect(await shop.where(await workers.start("hand"))).toBeGreaterThan(0);
    await workers.stop();
    expect(await Counter.at(system, far).call.next()).toBe(6);
    await node.leave();
  });

  it("keeps a thread that has not joined to itself: its pid elsewhere gives noconnection [N1215]", async () => {
    const { system } = shop;
    await elsewhere();
    const node = await joinCluster(system, nats(options()));
    const workers = await shop.open({ size: 1 });
    const hand = await workers.start("hand");
    await until(() => seenBy(node).length === 2);
    const dead: unknown[] = [];
    other.system.events.on("deadLetter", ({ reason }) => void dead.push(reason));
    // The pid arrives elsewhere as a part of a message.
    const got = new Promise<Pid<Order>>((resolve) => {
      const taker = other.system.spawn<Pid<Order>>({ handle: (_ctx, pid) => resolve(pid) });
      system.send(system.pidAt(other.system.address(taker)), hand);
    });
    const away = await got;
    const ask = other.system.call<Order, Order, number>(away, (replyTo) => ({ type: "where", replyTo }));
    await expect(ask).rejects.toMatchObject({ code: "ERR_CALLEE_EXITED", reason: { type: "noconnection" } });
    other.system.send(away, { type: "end" });
    await until(() => dead.length === 1);
    expect(dead).toEqual(["noconnection"]);
    // And the other way: a thread knows no nodes but those of its program.
    const seen: unknown[] = [];
    const there = other.system.spawn<unknown>({ handle: (_ctx, message) => void seen.push(message) });
    system.send(hand, { type: "forward", to: system.pidAt(other.system.address(there)), message: "lost" });
    expect(await shop.where(hand)).toBeGreaterThan(0);
    expect(seen).toEqual([]);
  });

  it("has threads that are nodes of the cluster when they join it: pids, names and programs, from everywhere [N1216]", async () => {
    const { system } = shop;
    await elsewhere();
    const node = await joinCluster(system, nats(options()));
    const workers = await shop.open({ size: 2, data: options() });
    const all = ["elsewhere", "main", "main/1", "main/2"];
    await until(() => seenBy(node).length === 4 && seenBy(other).length === 4);
    expect([seenBy(node), seenBy(other)]).toEqual([all, all]);
    for (const name of ["main/1", "main/2"])
      for (const from of [node, other]) expect((await from.whereis(name))?.node.name).toBe(name);
    const hand = await workers.start("hand");
    const away = other.system.pidAt(system.address(hand));
    const ask = (replyTo: ReplyTo<number>): Order => ({ type: "where", replyTo });
    expect(await other.system.call<Order, Order, number>(away as Pid<Order>, ask)).toBeGreaterThan(0);
    // A frame from a thread to its host goes over the port, and not over the server.
    const sessions = node.nodes().filter((one) => one.node.name.startsWith("main/"));
    expect(sessions.map((one) => one.session?.state)).toEqual(["up", "up"]);
    const ended = other.system.exited(away as Pid);
    system.send(hand, { type: "exit", code: 3 });
    expect(await ended).toEqual({ type: "noconnection" });
  });

  it("joins threads that were there before: they and the system know of each other [N1216]", async () => {
    const { system } = shop;
    await elsewhere();
    await shop.open({ size: 1, data: options() });
    await until(() => seenBy(other).length === 2);
    const node = await joinCluster(system, nats(options()));
    await until(() => seenBy(node).length === 3 && seenBy(other).length === 3);
    const thread = await node.whereis("main/1");
    expect(thread?.node.name).toBe("main/1");
    const ask = (replyTo: Question["replyTo"]): Question => ({ replyTo });
    const seenThere = () => system.call(thread as Pid<Question>, ask);
    await until(async () => (await seenThere()).length === 3);
    expect((await seenThere()).toSorted()).toEqual(["elsewhere", "main", "main/1"]);
    await node.leave();
    await until(() => seenBy(other).length === 2);
    expect(seenBy(other)).toEqual(["elsewhere", "main/1"]);
  });
});
