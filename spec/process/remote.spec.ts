// Two systems and a wire between them: everything that goes between local processes goes between nodes as well.

import {
  type Context,
  custom,
  type ExitReason,
  NOCONNECTION,
  NOPROC,
  OptionError,
  type Pid,
  type Signal,
  System,
} from "signalbox";
import { beforeEach, describe, expect, test } from "vitest";
import type { Remote } from "../../lib/process/remote.js";
import { HOSTILE } from "../support/hostile-values.js";
import { type Order, type Puppet, puppet } from "../support/puppet.js";
import { Wire } from "../support/wire.js";

let wire: Wire;
let here: System;
let there: System;
let near: Puppet;
let far: Puppet;
/** The far process as the near system knows it. */
let farPid: Pid<Order>;

beforeEach(() => {
  wire = new Wire();
  here = wire.join("here");
  there = wire.join("there");
  near = puppet(here, { trapExit: true });
  far = puppet(there);
  farPid = here.pidAt(there.address(far.pid)) as Pid<Order>;
  return async () => {
    await here.stop();
    await there.stop();
  };
});

function reasons(signals: readonly Signal[]): (readonly [string, ExitReason])[] {
  return signals.flatMap((signal) =>
    signal.type === "group" ? [] : [[signal.type, signal.reason] as const],
  );
}

const boom = custom("boom");

describe("messages", () => {
  test("go to the other node, in order", async () => {
    const got: unknown[] = [];
    const log = there.spawn<unknown>({ handle: (_ctx, message) => void got.push(message) });
    const logPid = here.pidAt(there.address(log));
    await near.do((ctx) => {
      for (let i = 0; i < 5; i++) ctx.send(logPid, i);
    });
    here.send(logPid, "from outside");
    await wire.settle();
    expect(got).toEqual([0, 1, 2, 3, 4, "from outside"]);
  });

  test("to a process that has ended are dead letters on the other node", async () => {
    there.exit(far.pid, "kill");
    await wire.settle();
    here.send(farPid, () => undefined);
    await wire.settle();
    expect([here.deadLetters, there.deadLetters]).toEqual([0, 1]);
  });

  test("to a full mailbox are dead letters on the other node, and the transport continues", async () => {
    const letters: unknown[] = [];
    there.events.on("deadLetter", ({ message, reason }) => letters.push([message, reason]));
    const full = there.spawn<number>(
      { init: () => new Promise(() => undefined), handle: () => undefined },
      { mailbox: { capacity: 1, overflow: "reject" } },
    );
    const fullPid = here.pidAt(there.address(full));
    here.send(fullPid, 1);
    here.send(fullPid, 2);
    await wire.settle();
    expect(letters).toEqual([[2, "mailbox-full"]]);
    there.exit(full, "kill");
  });

  test("to a node out of reach are dead letters here", async () => {
    const letters: unknown[] = [];
    here.events.on("deadLetter", ({ to, reason }) => letters.push([to, reason]));
    wire.cut = true;
    here.send(farPid, () => undefined);
    expect(letters).toEqual([[farPid, "noconnection"]]);
  });
});

describe("links", () => {
  test("carry the real reason to the other node [C10]", async () => {
    await near.do((ctx) => ctx.link(farPid));
    await wire.settle();
    expect(there.info(far.pid)?.links).toHaveLength(1);
    there.exit(far.pid, boom);
    await wire.settle();
    expect(near.signals).toEqual([{ type: "exit", from: farPid, reason: boom }]);
    expect(here.info(near.pid)?.links).toEqual([]);
  });

  test("are bidirectional: the remote process ends when the local process ends", async () => {
    const mortal = puppet(here);
    await mortal.do((ctx) => ctx.link(farPid));
    await wire.settle();
    const gone = there.exited(far.pid);
    here.exit(mortal.pid, boom);
    expect(await gone).toEqual(boom);
  });

  test("to a process that has ended bring an EXIT `noproc`", async () => {
    there.exit(far.pid, "kill");
    await wire.settle();
    await near.do((ctx) => ctx.link(farPid));
    await wire.settle();
    expect(reasons(near.signals)).toEqual([["exit", NOPROC]]);
  });

  test("are ended by unlink on both sides, at once on this side", async () => {
    await near.do((ctx) => ctx.link(farPid));
    await wire.settle();
    // In one step, so that the exit is on its way when the link ends.
    await near.do((ctx) => {
      there.exit(far.pid, boom);
      ctx.unlink(farPid);
    });
    await wire.settle();
    expect(near.signals).toEqual([]);
    const other = puppet(there);
    const otherPid = here.pidAt(there.address(other.pid));
    await near.do((ctx) => ctx.link(otherPid));
    await wire.settle();
    await near.do((ctx) => ctx.unlink(otherPid));
    await wire.settle();
    expect(there.info(other.pid)?.links).toEqual([]);
  });
});

describe("links whose ends change at the same time", () => {
  /** Both ends act before either hears of the other. */
  async function crossing(
    mine: (ctx: Context<Order>) => void,
    theirs: (ctx: Context<Order>) => void,
  ): Promise<void> {
    wire.held = true;
    await Promise.all([near.do(mine), far.do(theirs)]);
    wire.release();
    await wire.settle();
  }
  let nearPid: Pid<Order>;
  const linked = () => [here.info(near.pid)?.links, there.info(far.pid)?.links];

  beforeEach(async () => {
    nearPid = there.pidAt(here.address(near.pid)) as Pid<Order>;
    await far.do((ctx) => void ctx.trapExit(true));
    await near.do((ctx) => ctx.link(farPid));
    await wire.settle();
    expect(linked()).toEqual([[farPid], [nearPid]]);
  });

  test("are gone at both ends when one unlinks and links again, and the other unlinks meanwhile [C940]", async () => {
    await crossing(
      (ctx) => {
        ctx.unlink(farPid);
        ctx.link(farPid);
      },
      (ctx) => ctx.unlink(nearPid),
    );
    expect(linked()).toEqual([[], []]);
    // And a new one is whole: each end hears of the other's exit.
    await near.do((ctx) => ctx.link(farPid));
    await wire.settle();
    there.exit(far.pid, "kill");
    await wire.settle();
    expect(reasons(near.signals)).toEqual([["exit", { type: "killed" }]]);
  });

  test("are whole when the last that both did was to link [C940]", async () => {
    const again = (other: Pid) => (ctx: Context<Order>) => {
      ctx.unlink(other);
      ctx.link(other);
    };
    await crossing(again(farPid), again(nearPid));
    expect(linked()).toEqual([[farPid], [nearPid]]);
  });

  test("bring one EXIT, when an end exits while the other unlinks and links again [C940]", async () => {
    await crossing(
      (ctx) => {
        ctx.unlink(farPid);
        ctx.link(farPid);
      },
      () => there.exit(far.pid, "kill"),
    );
    expect(near.signals).toEqual([{ type: "exit", from: farPid, reason: { type: "killed" } }]);
    expect(here.info(near.pid)?.links).toEqual([]);
  });

  test("may be made anew by the other end after an unlink that could not be sent [C940]", async () => {
    wire.cut = true;
    await near.do((ctx) => ctx.unlink(farPid));
    there.nodeDown(here.node.id);
    wire.cut = false;
    await far.do((ctx) => ctx.link(nearPid));
    await wire.settle();
    expect(linked()).toEqual([[farPid], [nearPid]]);
  });

  test("are acknowledged as ended for a process that has exited, and then nothing is kept of them [C940]", async () => {
    await crossing(
      (ctx) => ctx.unlink(farPid),
      () => there.exit(far.pid, "kill"),
    );
    expect(wire.log.filter(({ type }) => type === "unlinked")).toHaveLength(1);
    const remote = here.kernel.remote as Remote;
    expect(remote.unlinking).toBe(0);
    // Nor when this end exits before the other one has acknowledged.
    const [mortal, other] = [puppet(here), puppet(there)];
    const otherPid = here.pidAt(there.address(other.pid));
    await mortal.do((ctx) => ctx.link(otherPid));
    await wire.settle();
    wire.held = true;
    await mortal.do((ctx) => ctx.unlink(otherPid));
    expect(remote.unlinking).toBe(1);
    here.exit(mortal.pid, "kill");
    expect(remote.unlinking).toBe(0);
    wire.release();
  });

  test("may be made anew after the connection was lost before an unlink arrived [C940]", async () => {
    wire.held = true;
    await near.do((ctx) => ctx.unlink(farPid));
    wire.drop();
    here.nodeDown(there.node.id);
    there.nodeDown(here.node.id);
    await wire.settle();
    expect(linked()).toEqual([[], []]);
    await far.do((ctx) => ctx.link(nearPid));
    await wire.settle();
    expect(linked()).toEqual([[farPid], [nearPid]]);
  });
});

describe("exit signals", () => {
  test("end a process of another node, `kill` as `killed`", async () => {
    for (const [sent, met] of [
      [boom, boom],
      ["shutdown", { type: "shutdown" }],
      ["kill", { type: "killed" }],
    ] as const) {
      const target = puppet(there);
      const gone = there.exited(target.pid);
      const address = here.pidAt(there.address(target.pid));
      await near.do((ctx) => ctx.exit(address, sent));
      expect(await gone).toEqual(met);
    }
  });

  test("arrive as EXIT at a trapping process, with the sender's pid", async () => {
    await far.do((ctx) => void ctx.trapExit(true));
    await near.do((ctx) => ctx.exit(farPid, boom));
    await wire.settle();
    expect(far.signals).toEqual([{ type: "exit", from: there.pidAt(here.address(near.pid)), reason: boom }]);
  });
});

describe("monitors", () => {
  test("bring the real reason, once each", async () => {
    const refs = await near.do((ctx) => [ctx.monitor(farPid), ctx.monitor(farPid)]);
    await wire.settle();
    expect(there.info(far.pid)?.monitoredBy).toHaveLength(2);
    there.exit(far.pid, boom);
    await wire.settle();
    expect(near.signals).toEqual(refs.map((ref) => ({ type: "down", ref, pid: farPid, reason: boom })));
    expect(here.info(near.pid)?.monitors).toEqual([]);
  });

  test("of a process that has ended bring `noproc`", async () => {
    there.exit(far.pid, "kill");
    await wire.settle();
    await near.do((ctx) => void ctx.monitor(farPid));
    await wire.settle();
    expect(reasons(near.signals)).toEqual([["down", NOPROC]]);
  });

  test("are ended by demonitor, each separately", async () => {
    const [first, second] = await near.do((ctx) => [ctx.monitor(farPid), ctx.monitor(farPid)] as const);
    await near.do((ctx) => ctx.demonitor(first));
    await wire.settle();
    expect(there.info(far.pid)?.monitoredBy).toHaveLength(1);
    there.exit(far.pid, boom);
    await wire.settle();
    expect(near.signals).toEqual([{ type: "down", ref: second, pid: farPid, reason: boom }]);
  });

  test("are removed from the other node when the watcher ends", async () => {
    await near.do((ctx) => void ctx.monitor(farPid));
    await wire.settle();
    here.exit(near.pid, "kill");
    await wire.settle();
    expect(there.info(far.pid)?.monitoredBy).toEqual([]);
  });

  test("let code outside wait for an exit on the other node", async () => {
    const gone = here.exited(farPid);
    await wire.settle();
    there.exit(far.pid, boom);
    expect(await gone).toEqual(boom);
  });
});

describe("a node that is out of reach", () => {
  test("ends links and monitors on both sides with `noconnection`, and no others", async () => {
    const third = wire.join("third");
    const spared = puppet(third);
    const sparedPid = here.pidAt(third.address(spared.pid));
    await near.do((ctx) => {
      ctx.link(farPid);
      ctx.monitor(farPid);
      ctx.link(sparedPid);
      ctx.monitor(sparedPid);
    });
    await wire.settle();
    wire.cut = true;
    here.nodeDown(there.node.id);
    there.nodeDown(here.node.id);
    await wire.settle();
    expect(reasons(near.signals)).toEqual([
      ["down", NOCONNECTION],
      ["exit", NOCONNECTION],
    ]);
    expect(here.info(near.pid)).toMatchObject({ links: [sparedPid], monitors: [sparedPid] });
    expect(there.isAlive(far.pid)).toBe(false);
    wire.cut = false;
    await third.stop();
  });

  test("no longer watches: no monitor is kept for a watcher that cannot be notified", async () => {
    await near.do((ctx) => void ctx.monitor(farPid));
    await wire.settle();
    expect(there.info(far.pid)?.monitoredBy).toEqual([there.pidAt(here.address(near.pid))]);
    there.nodeDown(here.node.id);
    expect(there.info(far.pid)?.monitoredBy).toEqual([]);
  });

  test("is reported at once to a link or a monitor", async () => {
    wire.cut = true;
    await near.do((ctx) => {
      ctx.link(farPid);
      ctx.monitor(farPid);
    });
    await here.idle();
    expect(reasons(near.signals)).toEqual([
      ["exit", NOCONNECTION],
      ["down", NOCONNECTION],
    ]);
    expect(here.info(near.pid)).toMatchObject({ links: [], monitors: [] });
  });

  test("is every other node when there is no transport", async () => {
    await using alone = new System({ report: false });
    const one = puppet(alone, { trapExit: true });
    await one.do((ctx) => {
      ctx.link(far.pid);
      ctx.monitor(far.pid);
      ctx.send(far.pid, () => undefined);
      ctx.exit(far.pid, "kill");
    });
    await alone.idle();
    expect(reasons(one.signals)).toEqual([
      ["exit", NOCONNECTION],
      ["down", NOCONNECTION],
    ]);
    expect(alone.deadLetters).toBe(1);
    expect(there.isAlive(far.pid)).toBe(true);
  });
});

describe("an address", () => {
  test("is always the same pid, for a process of this node while it lives and after", async () => {
    const address = there.address(far.pid);
    expect(there.pidAt(address)).toBe(far.pid);
    there.exit(far.pid, "kill");
    expect(there.pidAt(address)).toBe(far.pid);
    const late = puppet(there);
    there.exit(late.pid, "kill");
    expect(there.pidAt(there.address(late.pid))).toBe(late.pid);
  });

  test("is always the same pid, for a process of another node", () => {
    const address = there.address(far.pid);
    expect(here.pidAt(address)).toBe(farPid);
    expect(here.pidAt(structuredClone(address))).toBe(farPid);
    expect(here.pidAt({ ...address, id: address.id + 1 })).not.toBe(farPid);
    expect(here.pidAt({ ...address, node: { ...address.node, id: "other" } })).not.toBe(farPid);
    expect(here.isAlive(farPid)).toBe(false);
  });

  test("of a process that never existed is a pid without a process", () => {
    const nobody = there.pidAt({ node: there.node, id: 999_999 });
    expect(there.isAlive(nobody)).toBe(false);
    there.send(nobody, "lost");
    expect(there.deadLetters).toBe(1);
  });
});

describe("a signal from outside", () => {
  const elsewhere = { node: { name: "elsewhere", id: "elsewhere" }, id: 1 };
  const mine = () => there.address(far.pid);
  const hostile: readonly (readonly [string, () => unknown])[] = [
    ["no object", () => 5],
    ["no type", () => ({ to: mine() })],
    ["an unknown type", () => ({ type: "spawn", from: elsewhere, to: mine() })],
    ["no receiver", () => ({ type: "message", message: 1 })],
    ["a receiver of another node", () => ({ type: "message", to: elsewhere, message: 1 })],
    ["a number that is none", () => ({ type: "message", to: { ...mine(), id: 1.5 }, message: 1 })],
    ["a node without a name", () => ({ type: "link", from: { node: { id: "x" }, id: 1 }, to: mine() })],
    ["a sender of this node", () => ({ type: "link", from: mine(), to: mine() })],
    ["an unlink without a number", () => ({ type: "unlink", from: elsewhere, to: mine() })],
    ["a monitor without a number", () => ({ type: "monitor", from: elsewhere, to: mine(), ref: "1" })],
    ["an exit of no kind", () => ({ type: "exit", from: elsewhere, to: mine(), reason: "x" })],
    ["a call without a reply address", () => ({ type: "call", from: elsewhere, to: mine(), message: 1 })],
    [
      "a call with a reply address of this node",
      () => ({ type: "call", to: mine(), message: 1, replyTo: there.replyAt({ node: there.node, ref: 1 }) }),
    ],
    [
      "a reply to another node",
      () => ({ type: "reply", from: elsewhere, to: elsewhere, outcome: { ok: true } }),
    ],
    ["a reply without an outcome", () => ({ type: "reply", from: elsewhere, to: { ...mine(), ref: 1 } })],
    ["a cancel of nothing", () => ({ type: "cancel", to: mine() })],
  ];

  test.each(hostile)("is refused when it has %s [N955]", (_, make) => {
    expect(() => there.deliver(make() as never)).toThrow(OptionError);
    expect(there.isAlive(far.pid)).toBe(true);
    expect(there.info(far.pid)).toMatchObject({ links: [], monitoredBy: [], mailboxDepth: 0 });
  });

  test("that cannot be read is refused [N955]", () => {
    for (const field of ["type", "to", "from", "outcome"]) {
      const signal = { type: "reply", from: elsewhere, to: { ...mine(), ref: 1 }, outcome: { ok: true } };
      expect(() => there.deliver({ ...signal, [field]: HOSTILE.unreadable } as never)).toThrow(OptionError);
    }
  });

  test("is taken for whatever it is about: calls, monitors and links that nobody knows change nothing [N955]", async () => {
    const reply = { type: "reply", from: elsewhere, to: { node: there.node, ref: 9 } } as const;
    there.deliver({ ...reply, outcome: { ok: true, value: 1 } });
    there.deliver({ ...reply, outcome: { exited: "no reason" as never, isUntaken: true } });
    there.deliver({ type: "cancel", to: mine(), replyTo: { node: elsewhere.node, ref: 9 } });
    there.deliver({ type: "down", from: elsewhere, to: mine(), ref: 9, reason: NOPROC });
    there.deliver({ type: "demonitor", from: elsewhere, to: mine(), ref: 9 });
    there.deliver({ type: "unlinked", from: elsewhere, to: mine(), id: 9 });
    there.deliver({ type: "exit", from: elsewhere, to: mine(), reason: NOPROC, source: "link" });
    await there.idle();
    expect(there.events.discardedReplies).toBe(1);
    expect(there.isAlive(far.pid)).toBe(true);
  });
});
