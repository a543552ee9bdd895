// Defects of other clusters that this one does not have; see docs/cluster-defects.md. The number before a title is its row there.

import { ConsumerGroup, consumer, type Pid, type ReplyTo } from "signalbox";
import { type ClusterNode, type ProgramNode, programs, singleton } from "signalbox/nodes";
import { memory, openStore } from "signalbox/store";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SESSION_DEFAULTS } from "../../../lib/node/session/limits.js";
import { MemoryCluster } from "./memory-cluster.js";

let cluster: MemoryCluster;
beforeEach(() => {
  cluster = new MemoryCluster();
});
afterEach(() => cluster.stop());

const LIMIT = SESSION_DEFAULTS.limitMs;

async function joined(...names: string[]): Promise<ClusterNode[]> {
  const nodes: ClusterNode[] = [];
  for (const name of names) nodes.push(await cluster.join(name));
  await cluster.meet();
  return nodes;
}

/** A process that answers with its word, and keeps its messages. */
function answering(
  { system }: ClusterNode,
  name: string,
  word: string,
): { readonly pid: Pid; readonly got: unknown[] } {
  const got: unknown[] = [];
  const pid = system.spawn<{ readonly replyTo?: ReplyTo<string> }>(
    {
      handle: (ctx, message) => {
        if (message.replyTo === undefined) got.push(message);
        else ctx.reply(message.replyTo, word);
      },
      signal: (_ctx, signal) => void got.push(signal.type),
    },
    { name, trapExit: true },
  );
  return { pid: pid as Pid, got };
}

function ask({ system }: ClusterNode, pid: Pid<unknown>): Promise<string> {
  return system
    .call(pid, (replyTo: ReplyTo<string>) => ({ replyTo }), { timeoutMs: Number.POSITIVE_INFINITY })
    .catch(({ code, reason }: { code: string; reason?: { type: string } }) => `${code} ${reason?.type}`);
}

/** A group of this name, with a consumer that replies the name of its node. */
function grouped(node: ClusterNode): ConsumerGroup<number, string> {
  const group = new ConsumerGroup<number, string>({ name: "work", scope: node });
  group.join(node.system.spawn(consumer(() => node.node.name)), { id: node.node.name });
  return group;
}

const idsOf = (group: ConsumerGroup<number, string>): string[] => group.consumers.map(({ id }) => id).sort();

describe("names", () => {
  it("3: are registered and asked for in a time of their own, whoever does not answer", async () => {
    const [a, b, c] = (await joined("a", "b", "c")) as [ClusterNode, ClusterNode, ClusterNode];
    cluster.network.lose = (from, to) => from === a.node || to === a.node;
    const { length } = cluster.network.log;
    answering(a, "stock", "here");
    expect(await a.whereis("stock")).toBeDefined();
    expect(cluster.network.log).toHaveLength(length);
    const before = cluster.clock.now;
    const silent = a.whereis("nobody", { timeoutMs: 500 }).catch((error: { code: string }) => error.code);
    expect(await cluster.clock.until(silent)).toBe("ERR_CALL_TIMEOUT");
    expect(cluster.clock.now - before).toBeLessThanOrEqual(510);
    expect(b.nodes().length + c.nodes().length).toBeGreaterThan(2);
  });

  it("19: lead to the new node at each step of a rolling upgrade, as calls and dispatches do", async () => {
    const [a] = (await joined("a")) as [ClusterNode];
    const group = new ConsumerGroup<number, string>({ name: "work", scope: a });
    for (let version = 1; version <= 4; version++) {
      const b = await cluster.join("b");
      answering(b, "stock", `version ${version}`);
      grouped(b);
      await cluster.meet();
      const pid = (await cluster.clock.until(a.whereis("stock"))) as Pid<unknown>;
      expect(pid.node.id).toBe(b.node.id);
      expect(await cluster.clock.until(ask(a, pid))).toBe(`version ${version}`);
      expect(await cluster.clock.until(a.system.dispatch(group, version))).toMatchObject({
        deliveredTo: "b",
      });
      // One stops in order, and the next one is killed.
      if (version % 2 === 1) await cluster.clock.until(b.system.stop());
      else cluster.network.kill(b.node);
      await cluster.settle(2 * LIMIT);
      expect(a.nodes()).toHaveLength(1);
      expect(await cluster.clock.until(a.whereis("stock"))).toBeUndefined();
      expect(await cluster.clock.until(ask(a, pid))).toBe("ERR_CALLEE_EXITED noconnection");
      expect(group.consumers).toEqual([]);
    }
  });

  it("16: nothing of a node that stopped stays listed", async () => {
    const [a, b] = (await joined("a", "b")) as [ClusterNode, ClusterNode];
    const group = new ConsumerGroup<number, string>({ name: "work", scope: a });
    answering(b, "stock", "there");
    grouped(b);
    programs(b, { picker: async (ctx) => void (await ctx.receive()) });
    await cluster.settle();
    const before = a.system.processes().length;
    const child = a.system.start(a.on("picker"));
    const pid = await cluster.clock.until(child);
    expect(idsOf(group)).toEqual(["b"]);
    await cluster.clock.until(b.system.stop());
    await cluster.settle();
    expect(a.nodes().map(({ node }) => node.name)).toEqual(["a"]);
    expect(await cluster.clock.until(a.whereis("stock"))).toBeUndefined();
    expect([group.consumers, a.system.isAlive(pid)]).toEqual([[], false]);
    // Those that stood for processes of the other node have ended, too.
    expect(a.system.processes().length).toBeLessThan(before + 1);
  });
});

describe("the loss of one node", () => {
  it("4, 22: costs no session between others, in a cluster of thirty-two", async () => {
    const names = Array.from({ length: 32 }, (_, i) => `n${i}`);
    const nodes = await joined(...names);
    const downs: string[] = [];
    for (const one of nodes) {
      expect(one.nodes()).toHaveLength(32);
      one.watch({ down: (other) => downs.push(`${one.node.name}-${other.name}`) });
    }
    const [a, b, sick] = nodes as [ClusterNode, ClusterNode, ClusterNode];
    // Two cannot reach each other, and all others reach both.
    cluster.network.cut(a.node, b.node);
    await cluster.clock.advance(1.5 * LIMIT);
    expect(downs.sort()).toEqual(["n0-n1", "n1-n0"]);
    cluster.network.heal();
    downs.length = 0;
    // One is away again and again.
    for (let pauses = 0; pauses < 2; pauses++) {
      cluster.network.lose = (from, to) => from === sick.node || to === sick.node;
      await cluster.clock.advance(1.5 * LIMIT);
      cluster.network.heal();
      await cluster.meet();
    }
    expect(downs.filter((one) => !one.split("-").includes("n2"))).toEqual([]);
    expect(new Set(downs).size).toBe(2 * 31);
    const well = ({ node }: { readonly node: unknown }): boolean => node !== sick.node;
    for (const one of nodes.slice(3)) expect(one.nodes().filter(well).length).toBeGreaterThanOrEqual(31);
  });

  it("10: is heard by those who begin to watch again while they handle the one before", async () => {
    const [a, b, c] = (await joined("a", "b", "c")) as [ClusterNode, ClusterNode, ClusterNode];
    const watched: string[] = [];
    const told: string[] = [];
    function watch(): void {
      const end = a.watch({
        down: ({ name }) => {
          watched.push(name);
          end();
          watch();
        },
      });
    }
    function listen(): void {
      a.system.events.once("nodeDown", ({ node }) => {
        told.push(node.name);
        listen();
      });
    }
    watch();
    listen();
    const losses: string[] = [];
    // Two nodes at one moment, then one of them again and again.
    for (const lost of [[b, c], [b], [b], [c]]) {
      cluster.network.lose = (from, to) => lost.some(({ node }) => node === from || node === to);
      await cluster.settle(2 * LIMIT);
      losses.push(...lost.map(({ node }) => node.name));
      expect(watched.toSorted()).toEqual(losses.toSorted());
      expect(told.toSorted()).toEqual(losses.toSorted());
      cluster.network.heal();
      await cluster.settle(30_000);
      await cluster.meet();
      expect(a.nodes()).toHaveLength(3);
    }
  });

  it("17: leaves what the others have of each other", async () => {
    const [a, b, c] = (await joined("a", "b", "c")) as [ClusterNode, ClusterNode, ClusterNode];
    const there = answering(b, "stock", "there");
    const group = grouped(a);
    grouped(b);
    grouped(c);
    await cluster.settle();
    const pid = (await cluster.clock.until(a.whereis("stock"))) as Pid;
    const tied = a.system.spawn({ init: (ctx) => ctx.link(pid), handle: () => undefined });
    await cluster.settle();
    await cluster.clock.until(c.leave());
    await cluster.settle(2 * LIMIT);
    expect([a.system.isAlive(tied), b.system.info(there.pid)?.links.length, there.got]).toEqual([
      true,
      1,
      [],
    ]);
    expect(await cluster.clock.until(ask(a, pid as Pid<unknown>))).toBe("there");
    expect(idsOf(group)).toEqual(["a", "b"]);
    expect(a.nodes().map(({ node }) => node.name)).toEqual(["a", "b"]);
  });

  it("21: is never for good: two nodes meet again, whatever ended their session", async () => {
    const [a, b, c] = (await joined("a", "b", "c")) as [ClusterNode, ClusterNode, ClusterNode];
    const reasons: string[] = [];
    a.system.events.on("nodeDown", ({ node, reason }) => void reasons.push(`${node.name} ${reason}`));
    const there = answering(b, "stock", "there");
    const send = async (n: number): Promise<void> => {
      const pid = a.system.pidAt(b.system.address(there.pid));
      a.system.send(pid as Pid<unknown>, { n });
      await cluster.settle();
    };
    const ways: readonly (() => void)[] = [
      () => cluster.network.cut(a.node, b.node),
      () => {
        let losses = 1;
        cluster.network.lose = (from, _to, frame) =>
          from === a.node && frame.startsWith("D ") && losses-- > 0;
      },
      () => cluster.network.receiver(a.node).frame(b.node, "no frame at all"),
      () => cluster.network.receiver(a.node).unreachable(b.node),
    ];
    for (const [i, end] of ways.entries()) {
      end();
      await send(i);
      await send(i);
      await cluster.settle(2 * LIMIT);
      cluster.network.heal();
      await cluster.settle(30_000);
      await cluster.meet();
      await send(100 + i);
      expect(there.got.at(-1)).toEqual({ n: 100 + i });
      expect(a.nodes()).toHaveLength(3);
    }
    expect(reasons.length).toBeGreaterThanOrEqual(ways.length);
    expect(reasons.filter((one) => one.startsWith("c"))).toEqual([]);
    expect(c.nodes()).toHaveLength(3);
  });
});

describe("a pid of a node that is gone", () => {
  it("26: never means the process that has its number on the node's successor", async () => {
    const [a, b] = (await joined("a", "b")) as [ClusterNode, ClusterNode];
    const old = answering(b, "stock", "old");
    const pid = (await cluster.clock.until(a.whereis("stock"))) as Pid<unknown>;
    cluster.network.kill(b.node);
    const next = await cluster.join("b");
    const fresh = answering(next, "stock", "new");
    expect([fresh.pid.id, next.node.name]).toEqual([old.pid.id, b.node.name]);
    await cluster.meet();
    a.system.send(pid, { n: 1 });
    expect(await cluster.clock.until(ask(a, pid))).toBe("ERR_CALLEE_EXITED noconnection");
    a.system.exit(pid as Pid, "kill");
    await cluster.settle(2 * LIMIT);
    expect([fresh.got, next.system.isAlive(fresh.pid)]).toEqual([[], true]);
    const found = (await cluster.clock.until(a.whereis("stock"))) as Pid<unknown>;
    expect(await cluster.clock.until(ask(a, found))).toBe("new");
  });

  it("33: brings a dead letter, an error or a DOWN each time it is used", async () => {
    const [a, b] = (await joined("a", "b")) as [ClusterNode, ClusterNode];
    answering(b, "stock", "there");
    const pid = (await cluster.clock.until(a.whereis("stock"))) as Pid<unknown>;
    cluster.network.kill(b.node);
    await cluster.settle(2 * LIMIT);
    const dead: unknown[] = [];
    a.system.events.on("deadLetter", ({ message }) => {
      if (typeof (message as { readonly n?: unknown }).n === "number") dead.push(message);
    });
    const heard: string[] = [];
    for (let i = 1; i <= 3; i++) {
      a.system.send(pid, { n: i });
      a.system.spawn({
        init: (ctx) => void ctx.monitor(pid as Pid),
        handle: () => undefined,
        signal: (_ctx, signal) => void ("reason" in signal && heard.push(signal.reason.type)),
      });
      expect(await cluster.clock.until(ask(a, pid))).toBe("ERR_CALLEE_EXITED noconnection");
      await cluster.settle(LIMIT);
      expect([dead.length, heard.length]).toEqual([i, i]);
    }
    expect(new Set(heard)).toEqual(new Set(["noconnection"]));
  });
});

describe("work", () => {
  it("32: a start that fails on its way leaves nothing behind that the next one waits for", async () => {
    const [a, b, c] = (await joined("a", "b", "c")) as [ClusterNode, ClusterNode, ClusterNode];
    const broken = () => {
      throw new Error("it does not start");
    };
    const endless = { init: () => new Promise<never>(() => undefined), handle: () => undefined };
    const fine = async (ctx: { receive(): Promise<unknown> }): Promise<void> => void (await ctx.receive());
    programs(b, { broken: { init: broken, handle: () => undefined }, fine });
    programs(c, { endless });
    await cluster.settle();
    const children: number[] = [];
    const placement = (nodes: readonly ProgramNode[]): ProgramNode | undefined => {
      children.push(...nodes.map((one) => one.children));
      return nodes[0];
    };
    const start = (program: string): Promise<unknown> =>
      a.system
        .start(a.on(program, [], { placement, placeTimeoutMs: 500 }))
        .catch((error: unknown) => String(error));
    for (let i = 0; i < 2; i++)
      expect(await cluster.clock.until(start("broken"))).toContain("it does not start");
    expect(await cluster.clock.until(start("unknown"))).toContain("unknown");
    // The node is lost while it starts the child.
    const lost = start("endless");
    await cluster.settle();
    cluster.network.kill(c.node);
    expect(await cluster.clock.until(lost)).toContain("noconnection");
    expect(typeof (await cluster.clock.until(start("fine")))).toBe("object");
    expect(children).toEqual([0, 0, 0, 0]);
  });

  it("25: of a key whose place the nodes do not agree on runs at one of them", async () => {
    const nodes = await joined("a", "b");
    const source = memory({ shared: true, clock: () => cluster.clock.now });
    const running = new Set<string>();
    let most = 0;
    for (const { system, node } of nodes) {
      const store = await openStore(system, source, []);
      // Each believes that the key is its own.
      const cart = singleton(system, {
        name: "cart/17",
        lease: store,
        start: async (ctx) => {
          running.add(node.name);
          most = Math.max(most, running.size);
          ctx.signal.addEventListener("abort", () => running.delete(node.name));
          await ctx.receive();
        },
      });
      await cluster.clock.until(system.start(cart));
    }
    await cluster.settle(10_000);
    const [first] = nodes.filter(({ node }) => running.has(node.name)) as [ClusterNode];
    expect([running.size, most]).toEqual([1, 1]);
    await cluster.clock.until(first.system.stop());
    await cluster.settle(10_000);
    expect([running.size, most, running.has(first.node.name)]).toEqual([1, 1, false]);
  });

  it("42: none stays at a node that stops in order", async () => {
    const [a, b] = (await joined("a", "b")) as [ClusterNode, ClusterNode];
    const here = new ConsumerGroup<number, string>({ name: "work", scope: a });
    const there = new ConsumerGroup<number, string>({ name: "work", scope: b });
    const slow = consumer(() => new Promise<string>(() => undefined), { concurrency: 4 });
    there.join(b.system.spawn(slow), { id: "b", maxInFlight: 100 });
    await cluster.settle();
    const ends = Array.from({ length: 20 }, (_, n) =>
      a.system.dispatch(here, n, { deadlineMs: Number.POSITIVE_INFINITY, patienceMs: 60_000 }),
    );
    await cluster.settle();
    here.join(a.system.spawn(consumer((n: number) => `done ${n}`, { concurrency: 20 })), { id: "a" });
    const stop = b.system.stop();
    // Some come while it stops.
    ends.push(
      ...Array.from({ length: 20 }, (_, n) => a.system.dispatch(here, 20 + n, { patienceMs: 60_000 })),
    );
    await cluster.clock.until(stop);
    const outcomes = await cluster.clock.until(Promise.all(ends));
    expect(outcomes.map(({ reply }) => reply)).toEqual(Array.from({ length: 40 }, (_, n) => `done ${n}`));
  });
});
