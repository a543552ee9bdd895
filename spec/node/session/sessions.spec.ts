// Sessions of real systems over a network in memory, on a clock that the test moves.

import { type Pid, type ReplyTo, System } from "signalbox";
import { testClock } from "signalbox/testing";
import { afterEach, describe, expect, test } from "vitest";
import { SESSION_DEFAULTS } from "../../../lib/node/session/limits.js";
import { type SessionOptions, Sessions } from "../../../lib/node/session/sessions.js";
import { Random } from "../../../lib/testing/kit/random.js";
import { FrameNetwork } from "./frame-network.js";

type Clock = ReturnType<typeof testClock>;

interface Node {
  readonly system: System;
  readonly sessions: Sessions;
  /** The events of its sessions, as `up b 1.1` and `down b timeout here`. */
  readonly told: string[];
  readonly dead: unknown[];
}

const running: { readonly clock: Clock; readonly system: System }[] = [];

afterEach(async () => {
  for (const { clock, system } of running.splice(0)) await clock.until(system.stop());
});

function nodeOf(clock: Clock, network: FrameNetwork, name: string, options?: SessionOptions): Node {
  const system = new System({ name, environment: clock.environment, report: false });
  running.push({ clock, system });
  const told: string[] = [];
  const dead: unknown[] = [];
  system.events.on("nodeUp", ({ node }) => void told.push(`up ${node.name}`));
  system.events.on(
    "nodeDown",
    ({ node, reason, by }) => void told.push(`down ${node.name}: ${reason} ${by}`),
  );
  system.events.on("nodeRefused", ({ node, there }) => void told.push(`refused ${node.name}: ${there.most}`));
  system.events.on("deadLetter", ({ message, reason }) => void dead.push([reason, message]));
  return { system, sessions: new Sessions(system, network.carrier(system.node), options), told, dead };
}

interface Two {
  readonly clock: Clock;
  readonly network: FrameNetwork;
  readonly a: Node;
  readonly b: Node;
}

async function two(options: SessionOptions = {}, network = new FrameNetwork()): Promise<Two> {
  const clock = testClock();
  const pair = {
    clock,
    network,
    a: nodeOf(clock, network, "a", options),
    b: nodeOf(clock, network, "b", options),
  };
  network.meet();
  await clock.settle();
  return pair;
}

/** A pid of one node as another one sees it. */
function seenFrom(here: Node, pid: Pid<never>, there: Node): Pid<unknown> {
  return here.system.pidAt(there.system.address(pid));
}

/** Frames that lead to frames wake nobody whom the clock knows. */
async function settled(clock: Clock): Promise<void> {
  for (let i = 0; i < 4; i++) await clock.settle();
}

/** A process that keeps what it gets. */
function keeper(node: Node): { readonly pid: Pid<unknown>; readonly got: unknown[] } {
  const got: unknown[] = [];
  const pid = node.system.spawn<unknown>({
    init: (ctx) => ctx.trapExit(true),
    handle: (_ctx, message) => void got.push(message),
    signal: (_ctx, signal) => void got.push(signal.type),
  });
  return { pid, got };
}

describe("two systems joined by sessions", () => {
  test("send, link, monitor and call; a silent cut ends each link, monitor and call once at both nodes, and all goes on in a new epoch [N991]", async () => {
    const { clock, network, a, b } = await two();
    expect([a.told, b.told]).toEqual([["up b"], ["up a"]]);
    const there = keeper(b);
    const far = seenFrom(a, there.pid, b);
    const mute = seenFrom(a, b.system.spawn({ handle: () => undefined }), b);
    const got: string[] = [];
    a.system.spawn<never>({
      init: (ctx) => {
        ctx.trapExit(true);
        ctx.link(far);
        ctx.monitor(far);
      },
      handle: () => undefined,
      signal: (_ctx, signal) => {
        if ("reason" in signal) got.push(`${signal.type} ${signal.reason.type}`);
      },
    });
    a.system.send(far, { hello: [1, 2] });
    const call = a.system.call(mute, (replyTo: ReplyTo<string>) => ({ replyTo }), { timeoutMs: 60_000 });
    const failed = call.catch((error: Error) => error);
    await clock.advance(1_000);
    expect(there.got).toEqual([{ hello: [1, 2] }]);
    network.cut(a.system.node, b.system.node);
    await clock.advance(100);
    a.system.send(far, "lost");
    await clock.advance(SESSION_DEFAULTS.limitMs);
    expect(await failed).toMatchObject({ code: "ERR_CALLEE_EXITED", reason: { type: "noconnection" } });
    expect(got.sort()).toEqual(["down noconnection", "exit noconnection"]);
    expect(there.got).toEqual([{ hello: [1, 2] }, "exit"]);
    expect(a.dead).toEqual([["noconnection", "lost"]]);
    network.heal();
    await clock.advance(10_000);
    a.system.send(far, "after");
    await clock.settle();
    expect(there.got).toEqual([{ hello: [1, 2] }, "exit", "after"]);
    expect(a.told).toEqual(["up b", expect.stringMatching(/^down b: (timeout|stalled) here$/), "up b"]);
    expect(b.told).toEqual(["up a", "down a: timeout here", "up a"]);
    const [one] = a.sessions.view();
    const [other] = b.sessions.view();
    expect(one).toMatchObject({ state: "up", epoch: other?.epoch, queued: { signals: 0 }, lost: 1, ends: 1 });
  });

  test("37, 38: a frame that the carrier lost is a gap, and what was behind it is counted as dead letters at the sender [N992]", async () => {
    const { clock, network, a, b } = await two();
    const there = keeper(b);
    const far = seenFrom(a, there.pid, b);
    let losses = 1;
    network.lose = (_from, _to, frame) => frame.startsWith("D ") && losses-- > 0;
    a.system.send(far, 1);
    await clock.settle();
    a.system.send(far, 2);
    await settled(clock);
    expect(there.got).toEqual([]);
    expect(a.told).toEqual(["up b", "down b: gap there"]);
    expect(b.told).toEqual(["up a", "down a: gap here"]);
    expect(a.dead).toEqual([
      ["noconnection", 1],
      ["noconnection", 2],
    ]);
    expect(a.system.events.deadLetters).toBe(2);
    expect(b.sessions.view()[0]?.gaps).toBe(1);
  });

  test("a lost frame with nothing behind it is found by the limit, too [N993]", async () => {
    const { clock, network, a, b } = await two();
    const far = seenFrom(a, keeper(b).pid, b);
    network.lose = (_from, _to, frame) => frame.startsWith("D ");
    a.system.send(far, "the last one");
    await clock.advance(SESSION_DEFAULTS.limitMs);
    expect(a.told.slice(0, 2)).toEqual(["up b", "down b: stalled here"]);
    expect(b.told.slice(0, 2)).toEqual(["up a", "down a: stalled there"]);
    expect(a.dead).toEqual([["noconnection", "the last one"]]);
  });

  test("39: what waits for a node that does not read is bounded; messages beyond that are dead letters at once [N994]", async () => {
    const { clock, network, a, b } = await two();
    const there = keeper(b);
    const far = seenFrom(a, there.pid, b);
    network.cut(a.system.node, b.system.node);
    const text = "x".repeat(10_000);
    for (let i = 0; i < 10_000; i++) a.system.send(far, text);
    const [view] = a.sessions.view();
    expect(view?.queued.bytes).toBeLessThanOrEqual(SESSION_DEFAULTS.queueBytes);
    expect(view?.refused).toBeGreaterThan(5_000);
    expect(a.system.events.deadLetters).toBe(view?.refused);
    await clock.advance(SESSION_DEFAULTS.limitMs);
    expect(a.system.events.deadLetters).toBe(10_000);
    expect(a.sessions.view()[0]).toMatchObject({ queued: { signals: 0, bytes: 0 } });
  });

  test("5: a large message does not hold up the messages to others, and keeps its order to its own receiver [N995]", async () => {
    const { clock, network, a, b } = await two();
    const [one, other] = [keeper(b), keeper(b)];
    const order: string[] = [];
    const noted = b.system.spawn<string>({ handle: (_ctx, message) => void order.push(message.slice(0, 5)) });
    const large = "large".repeat(200_000);
    a.system.send(seenFrom(a, noted, b), "first");
    a.system.send(seenFrom(a, noted, b), large);
    a.system.send(seenFrom(a, noted, b), "after");
    a.system.send(seenFrom(a, one.pid, b), large);
    for (let i = 0; i < 2_000; i++) a.system.send(seenFrom(a, other.pid, b), i);
    await clock.settle();
    const frames = network.log.filter((line) => /^a>b [DP] /.test(line));
    // The two thousand went between the first parts of the large ones.
    const early = frames.slice(0, 20).filter((line) => line.startsWith("a>b D"));
    expect(early.reduce((sum, line) => sum + Number(line.split("\n")[0]?.split(" ").at(-1)), 0)).toBe(2_001);
    expect(order).toEqual(["first", "large", "after"]);
    expect(one.got).toEqual([large]);
    expect(other.got).toEqual(Array.from({ length: 2_000 }, (_, i) => i));
  });

  test("a node whose process stood still ends its epochs before it sends anything else [N996]", async () => {
    const { clock, network, a, b } = await two();
    const far = seenFrom(a, keeper(b).pid, b);
    const { length } = network.log;
    clock.elapse(SESSION_DEFAULTS.limitMs);
    a.system.send(far, "after the sleep");
    await clock.settle();
    const [first] = network.log.slice(length).filter((line) => line.startsWith("a>b"));
    expect(first).toMatch(/^a>b E \d+ \d+ slept$/);
    expect(a.told).toContain("down b: slept here");
  });

  test("8: a close takes leave of all nodes within its limit, also when the carrier hangs; a stop does at once [N997]", async () => {
    const network = new FrameNetwork();
    network.pending = () => 1_000_000;
    const { clock, a, b } = await two({}, network);
    const before = clock.now;
    await clock.until(a.sessions.close());
    expect(clock.now - before).toBeLessThanOrEqual(SESSION_DEFAULTS.closeMs + 10);
    expect(a.told).toEqual(["up b", "down b: left here"]);
    expect(b.told).toEqual(["up a", "down a: left there"]);
    expect(network.closed).toEqual(["a"]);
    await clock.until(b.system.stop());
    expect(network.closed).toEqual(["a", "b"]);
    expect(a.system.kernel.pendingTimers).toBe(0);
  });

  test("nodes without a common version refuse each other by name [N998]", async () => {
    const clock = testClock();
    const network = new FrameNetwork();
    const old = nodeOf(clock, network, "old", { versions: { least: 1, most: 1 } });
    const fresh = nodeOf(clock, network, "new", { versions: { least: 2, most: 3 } });
    const both = nodeOf(clock, network, "both", { versions: { least: 1, most: 2 } });
    network.meet();
    await clock.advance(5_000);
    expect(old.told.sort()).toEqual(["refused new: 3", "up both"]);
    expect(fresh.told.sort()).toEqual(["refused old: 1", "up both"]);
    const [, withBoth] = fresh.sessions.view();
    expect(fresh.sessions.view().find(({ node }) => node.name === "both")?.version).toBe(2);
    expect(withBoth).toBeDefined();
    expect(both.told.sort()).toEqual(["up new", "up old"]);
    fresh.system.send(seenFrom(fresh, keeper(old).pid, old), "to nobody");
    expect(fresh.dead).toEqual([["noconnection", "to nobody"]]);
  });

  test("7: a full carrier for one node stops neither its heartbeats nor the data for others [N999]", async () => {
    const clock = testClock();
    const network = new FrameNetwork();
    const full = new Set<string>();
    network.pending = (to) => (full.has(to.name) ? 10_000_000 : 0);
    const [a, b, c] = ["a", "b", "c"].map((name) => nodeOf(clock, network, name)) as [Node, Node, Node];
    network.meet();
    await clock.settle();
    full.add("b");
    const [atB, atC] = [keeper(b), keeper(c)];
    for (let i = 0; i < 10; i++) {
      a.system.send(seenFrom(a, atB.pid, b), i);
      a.system.send(seenFrom(a, atC.pid, c), i);
      await clock.advance(1_000);
    }
    expect([a.told, b.told, c.told].flat().filter((line) => line.startsWith("down"))).toEqual([]);
    expect(atC.got).toHaveLength(10);
    expect(atB.got).toEqual([]);
    full.clear();
    await clock.advance(100);
    expect(atB.got).toHaveLength(10);
  });

  test("a node that is gone is found by the carrier's notice, and a send to it comes back [N1000]", async () => {
    const { clock, network, a, b } = await two();
    const far = seenFrom(a, keeper(b).pid, b);
    network.kill(b.system.node);
    a.system.send(far, "into the void");
    await settled(clock);
    expect(a.told).toEqual(["up b", "down b: unreachable here"]);
    expect(a.dead).toEqual([["noconnection", "into the void"]]);
  });

  test("with notices there are no heartbeats, and what is sent is acknowledged all the same [N1001]", async () => {
    const network = new FrameNetwork();
    network.notices = true;
    const { clock, a, b } = await two({}, network);
    await clock.advance(100);
    const quiet = network.log.length;
    await clock.advance(600_000);
    expect(network.log).toHaveLength(quiet);
    const there = keeper(b);
    a.system.send(seenFrom(a, there.pid, b), "hello");
    await clock.advance(10_000);
    expect(there.got).toEqual(["hello"]);
    expect(a.sessions.view()[0]).toMatchObject({ state: "up", inFlight: 0 });
    const { length } = network.log;
    await clock.advance(600_000);
    expect(network.log).toHaveLength(length);
  });

  test("whatever arrives as a frame does nothing worse than to end the epoch [N1010]", async () => {
    const { clock, network, a, b } = await two();
    const far = seenFrom(a, keeper(b).pid, b);
    a.system.send(far, { some: "message", n: [1, 2, 3] });
    await clock.advance(1_000);
    const frames = network.log.filter((line) => line.startsWith("a>b")).map((line) => line.slice(4));
    const random = new Random(7);
    const { receiver, node } = { receiver: network.receiver(b.system.node), node: a.system.node };
    for (let i = 0; i < 2_000; i++) {
      const frame = frames[Math.floor(random.unit() * frames.length)] as string;
      const at = Math.floor(random.unit() * frame.length);
      const put = String.fromCharCode(32 + Math.floor(random.unit() * 95));
      receiver.frame(node, frame.slice(0, at) + put + frame.slice(at + Math.floor(random.unit() * 3)));
      if (i % 50 === 0) await clock.advance(1_000);
    }
    for (const value of [undefined, null, 7, {}, "", "[".repeat(100_000)])
      receiver.frame(node, value as string);
    await clock.advance(60_000);
    network.meet();
    await clock.advance(10_000);
    expect(b.system.processes().length).toBeGreaterThan(0);
    expect(b.sessions.view()[0]).toMatchObject({ state: "up", epoch: a.sessions.view()[0]?.epoch });
    expect(b.told.filter((line) => line.includes("undecodable here")).length).toBeGreaterThan(3);
  });

  test("a frame whose body is not readable ends the epoch on both sides at once, and the next one begins by itself", async () => {
    const { clock, network, a, b } = await two();
    const { pid } = keeper(b);
    network.lose = (from, _to, frame) => {
      if (from.name !== "a" || !frame.startsWith("D ")) return false;
      network.heal();
      setImmediate(() =>
        network.receiver(b.system.node).frame(a.system.node, frame.replace(/\n.*$/s, "\n[77]")),
      );
      return true;
    };
    a.system.send(seenFrom(a, pid, b), "one");
    await settled(clock);
    expect(network.log.filter((line) => /^b>a E .* undecodable$/.test(line))).toHaveLength(1);
    expect(a.told).toEqual(["up b", "down b: undecodable there"]);
    expect(b.told).toEqual(["up a", "down a: undecodable here"]);
    expect(a.dead).toEqual([["noconnection", "one"]]);
    await clock.advance(SESSION_DEFAULTS.limitMs);
    await settled(clock);
    expect(a.told.at(-1)).toBe("up b");
    expect(b.told.at(-1)).toBe("up a");
  });

  test("a wrong option is refused [N1002]", async () => {
    const network = new FrameNetwork();
    const system = new System({ name: "c", report: false });
    expect(() => new Sessions(system, network.carrier(system.node), { limitMs: 1 })).toThrow(/limitMs/);
    expect(() => new Sessions(system, network.carrier(system.node), { limit: 1 } as never)).toThrow(
      /limitMs/,
    );
    await system.stop();
  });
});
