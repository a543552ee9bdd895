// Sessions of one system over several carriers: networks in memory, on a clock that the test moves.

import { type Context, type Pid, remoteNodes, System } from "signalbox";
import { testClock } from "signalbox/testing";
import { afterEach, describe, expect, test } from "vitest";
import { type SessionOptions, Sessions } from "../../../lib/node/session/sessions.js";
import { FrameNetwork } from "./frame-network.js";

type Clock = ReturnType<typeof testClock>;

let clock: Clock;
const systems: System[] = [];

afterEach(async () => {
  for (const system of systems.splice(0)) await clock.until(system.stop());
});

/** A system, and what it tells of its sessions. */
function systemOf(name: string): { readonly system: System; readonly told: string[] } {
  const system = new System({ name, environment: clock.environment, report: false });
  systems.push(system);
  const told: string[] = [];
  system.events.on("nodeUp", ({ node }) => void told.push(`up ${node.name}`));
  system.events.on("nodeDown", ({ node, reason }) => void told.push(`down ${node.name}: ${reason}`));
  return { system, told };
}

/** A network that knows its nodes and notices their ends, as ports of threads do, and one that does not. */
function networks(): { readonly ports: FrameNetwork; readonly far: FrameNetwork } {
  clock = testClock();
  const [ports, far] = [new FrameNetwork(), new FrameNetwork()];
  ports.notices = true;
  ports.knows = true;
  return { ports, far };
}

const join = (network: FrameNetwork, { system }: { readonly system: System }, options?: SessionOptions) =>
  new Sessions(system, network.carrier(system.node), options);

async function settled(): Promise<void> {
  for (let i = 0; i < 6; i++) await clock.settle();
}

/** What a process is to do. */
class Deed {
  readonly of: (ctx: Context<unknown>) => void;
  constructor(of: (ctx: Context<unknown>) => void) {
    this.of = of;
  }
}

function keeper(system: System): { readonly pid: Pid<unknown>; readonly got: unknown[] } {
  const got: unknown[] = [];
  const pid = system.spawn<unknown>({
    init: (ctx) => ctx.trapExit(true),
    handle: (ctx, message) => void (message instanceof Deed ? message.of(ctx) : got.push(message)),
    signal: (_ctx, signal) => void got.push(signal.type === "exit" ? signal.reason.type : signal.type),
  });
  return { pid, got };
}

const seenFrom = (here: System, pid: Pid<never>, there: System): Pid<unknown> =>
  here.pidAt(there.address(pid));

describe("a system with sessions over two carriers", () => {
  test.each([
    ["ports first", true],
    ["ports last", false],
  ])("reaches each node over the carrier that announced it: %s [N1210]", async (_order, isPortFirst) => {
    const { ports, far } = networks();
    const [host, thread, other] = [systemOf("host"), systemOf("thread"), systemOf("other")];
    for (const network of isPortFirst ? [ports, far] : [far, ports]) join(network, host);
    join(ports, thread);
    join(far, other);
    ports.meet();
    far.meet();
    await settled();
    expect(host.told.sort()).toEqual(["up other", "up thread"]);
    const [atThread, atOther] = [keeper(thread.system), keeper(other.system)];
    host.system.send(seenFrom(host.system, atThread.pid, thread.system), "one");
    host.system.send(seenFrom(host.system, atOther.pid, other.system), "two");
    await settled();
    expect([atThread.got, atOther.got]).toEqual([["one"], ["two"]]);
    expect(ports.log.some((line) => line.includes("other"))).toBe(false);
    expect(far.log.some((line) => line.includes("thread"))).toBe(false);
  });

  test("keeps the one when it closes the other, and has no transport when both are closed [N1210]", async () => {
    const { ports, far } = networks();
    const [host, thread, other] = [systemOf("host"), systemOf("thread"), systemOf("other")];
    const [near, wide] = [join(ports, host), join(far, host)];
    join(ports, thread);
    join(far, other);
    ports.meet();
    far.meet();
    await settled();
    const [atThread, atOther] = [keeper(thread.system), keeper(other.system)];
    await clock.until(near.close());
    await settled();
    host.system.send(seenFrom(host.system, atThread.pid, thread.system), "lost");
    host.system.send(seenFrom(host.system, atOther.pid, other.system), "arrives");
    await settled();
    expect([atThread.got, atOther.got]).toEqual([[], ["arrives"]]);
    expect(host.told).toEqual(["up thread", "up other", "down thread: left"]);
    await clock.until(wide.close());
    host.system.send(seenFrom(host.system, atOther.pid, other.system), "lost");
    await settled();
    expect(atOther.got).toEqual(["arrives"]);
    await clock.advance(1_000);
    join(far, host);
    far.meet();
    await settled();
    expect(host.told.at(-1)).toBe("up other");
  });

  test("asks the carrier that may know a node that nobody announced; a pid of a thread elsewhere gives noconnection [N1211]", async () => {
    const { ports, far } = networks();
    const [host, thread, other] = [systemOf("host"), systemOf("thread"), systemOf("other")];
    join(ports, host);
    join(far, host);
    join(ports, thread);
    join(far, other);
    ports.meet();
    await settled();
    const [atThread, atOther, watcher] = [keeper(thread.system), keeper(other.system), keeper(other.system)];
    // Nobody has announced these two to each other, and the carrier finds the other.
    host.system.send(seenFrom(host.system, atOther.pid, other.system), "found");
    await settled();
    expect(atOther.got).toEqual(["found"]);
    const dead: unknown[] = [];
    other.system.events.on("deadLetter", ({ reason, message }) => void dead.push([reason, message]));
    thread.system.events.on("deadLetter", ({ reason, message }) => void dead.push([reason, message]));
    // Neither of these two can reach the other.
    const away = seenFrom(other.system, atThread.pid, thread.system) as Pid;
    other.system.send(watcher.pid, new Deed((ctx) => void ctx.monitor(away)));
    other.system.send(seenFrom(other.system, atThread.pid, thread.system), "to a thread");
    thread.system.send(seenFrom(thread.system, atOther.pid, other.system), "from a thread");
    await settled();
    expect(dead.sort()).toEqual([
      ["noconnection", "from a thread"],
      ["noconnection", "to a thread"],
    ]);
    expect(atThread.got).toEqual([]);
    expect(watcher.got).toEqual(["down"]);
  });

  test("has no way to a node that none of its carriers reaches: noconnection, at once [N1211]", async () => {
    const { ports, far } = networks();
    far.knows = true;
    const [host, lonely] = [systemOf("host"), systemOf("lonely")];
    for (const network of [ports, far]) join(network, host);
    const [there, watcher] = [keeper(lonely.system), keeper(host.system)];
    const away = seenFrom(host.system, there.pid, lonely.system) as Pid;
    host.system.send(watcher.pid, new Deed((ctx) => void ctx.monitor(away)));
    await settled();
    expect(watcher.got).toEqual(["down"]);
  });

  test.each([
    ["first", ["ports", "far"]],
    ["last", ["far", "ports"]],
  ] as const)(
    "has the session with a node that both reach over the one with notices, whichever met it %s [N1212]",
    async (_when, order) => {
      const { ports, far } = networks();
      const [a, b] = [systemOf("a"), systemOf("b")];
      const sessions = { ports: [join(ports, a), join(ports, b)], far: [join(far, a), join(far, b)] };
      const [at, linked] = [keeper(b.system), keeper(a.system)];
      const pid = seenFrom(a.system, at.pid, b.system);
      const meet = { ports: () => ports.meet(), far: () => far.meet() };
      meet[order[0]]();
      await settled();
      a.system.send(linked.pid, new Deed((ctx) => ctx.link(pid as Pid)));
      await settled();
      meet[order[1]]();
      await settled();
      expect(sessions.ports.map((one) => one.view()[0]?.state)).toEqual(["up", "up"]);
      expect(sessions.far.map((one) => one.view().length)).toEqual([0, 0]);
      a.system.send(pid, "over the port");
      await settled();
      // Whoever moves ends its links once, on both sides.
      const ends = order[0] === "far" ? ["noconnection"] : [];
      expect(linked.got).toEqual(ends);
      expect(at.got).toEqual([...ends, "over the port"]);
    },
  );

  test("a system with a transport of its own has no sessions [N1210]", async () => {
    const { ports } = networks();
    const own = new System({ name: "own", transport: remoteNodes({ send: () => false }), report: false });
    expect(() => new Sessions(own, ports.carrier(own.node))).toThrow(/without a transport of its own/);
    await own.stop();
  });
});

describe("frames", () => {
  test("are no longer than their carrier takes, whatever is in them [N1213]", async () => {
    const { far } = networks();
    far.maxFrameBytes = 8_192;
    const [a, b] = [systemOf("a"), systemOf("b")];
    join(far, a);
    join(far, b);
    far.meet();
    await settled();
    const at = keeper(b.system);
    const pid = seenFrom(a.system, at.pid, b.system);
    const sent = [
      ...Array.from({ length: 3_000 }, (_, i) => i),
      ...Array.from({ length: 200 }, (_, i) => "\u4e16".repeat(i * 7)),
      "\u4e16".repeat(100_000),
    ];
    for (const message of sent) a.system.send(pid, message);
    for (let i = 0; at.got.length < sent.length && i < 200; i++) await clock.advance(10);
    expect(at.got.length).toBe(sent.length);
    const longest = Math.max(...far.log.map((line) => Buffer.byteLength(line) - "a>b ".length));
    expect(longest).toBeLessThanOrEqual(8_192);
    expect(longest).toBeGreaterThan(2_000);
  });

  test("need a carrier that takes some of a useful length [N1213]", () => {
    const { far } = networks();
    far.maxFrameBytes = 8_191;
    const { system } = systemOf("a");
    expect(() => new Sessions(system, far.carrier(system.node))).toThrow(
      /maxFrameBytes must be 8192 or more/,
    );
  });
});
