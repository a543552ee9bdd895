// The loss of a node: it costs nothing for processes that have nothing to do with the node, and many that have are told in slices. For each
// process, the loss comes before whatever the next connection brings.

import type { Context, ExitReason, Pid, ReplyTo, Signal, System, WireSignal } from "signalbox";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { Remote } from "../../lib/process/remote.js";
import { type Order, type Puppet, puppet } from "../support/puppet.js";
import { Wire } from "../support/wire.js";

const MANY = 1_200;
const FOREVER = { timeoutMs: Number.POSITIVE_INFINITY };

let wire: Wire;
let here: System;
let there: System;
let far: Puppet;
let farPid: Pid<Order>;
/** Linked to the far one. */
let many: Puppet[];

const remote = (): Remote => here.kernel.remote as Remote;

beforeEach(() => {
  wire = new Wire({ copies: true });
  here = wire.join("here");
  there = wire.join("there");
  far = puppet(there, { trapExit: true });
  farPid = here.pidAt(there.address(far.pid)) as Pid<Order>;
  return async () => {
    await here.stop();
    await there.stop();
  };
});

/** The connection is lost and made anew: both nodes know of the loss. */
function reconnect(): void {
  wire.drop();
  there.nodeDown(here.node.id);
  here.nodeDown(there.node.id);
}

const reasons = ({ signals }: Puppet): string[] =>
  signals.map((signal: Signal) =>
    signal.type === "group" ? signal.type : `${signal.type} ${(signal.reason as ExitReason).type}`,
  );

/** Processes that are linked to the far one, in this order. */
async function linked(count: number): Promise<Puppet[]> {
  many = Array.from({ length: count }, () => puppet(here, { trapExit: true }));
  await Promise.all(many.map((one) => one.do((ctx) => ctx.link(farPid))));
  await wire.settle();
  return many;
}

describe("the loss of a node", () => {
  test("looks at no process that has nothing to do with the node [N956]", async () => {
    for (let n = 0; n < 100; n++) here.spawn({ handle: () => undefined });
    const [one] = (await linked(1)) as [Puppet];
    const listed = vi.spyOn(here.kernel, "processes");
    const untied = vi.spyOn(remote(), "untie");
    here.nodeDown(there.node.id);
    expect(listed).not.toHaveBeenCalled();
    expect(untied).toHaveBeenCalledTimes(1);
    await here.idle();
    expect(reasons(one)).toEqual(["exit noconnection"]);
    expect([remote().losses.related, remote().losses.open]).toEqual([0, 0]);
  });

  test("tells few at once, and many in slices [N956]", async () => {
    const few = await linked(100);
    here.nodeDown(there.node.id);
    expect(remote().losses.open).toBe(0);
    await here.idle();
    expect(few.map(reasons)).toEqual(few.map(() => ["exit noconnection"]));
    there.nodeDown(here.node.id);
    await linked(MANY);
    here.nodeDown(there.node.id);
    const told = (): number => many.filter(({ pid }) => here.info(pid)?.links.length === 0).length;
    expect([told(), remote().losses.open]).toEqual([500, 1]);
    await vi.waitUntil(() => remote().losses.open === 0);
    await here.idle();
    expect(many.map(reasons)).toEqual(many.map(() => ["exit noconnection"]));
    expect(remote().losses.related).toBe(0);
  });

  test("tells one process of its many links in slices, too [N956]", async () => {
    const hub = puppet(here, { trapExit: true });
    const others = Array.from({ length: MANY }, () => here.pidAt(there.address(puppet(there).pid)));
    await hub.do((ctx) => {
      for (const other of others) ctx.link(other);
    });
    await wire.settle();
    here.nodeDown(there.node.id);
    expect(here.info(hub.pid)?.links).toHaveLength(MANY - 500);
    await vi.waitUntil(() => remote().losses.open === 0);
    await here.idle();
    expect(reasons(hub)).toHaveLength(MANY);
  });

  test("ends calls in both directions, each once [N956]", async () => {
    const silent = there.spawn<{ readonly to: ReplyTo<never> }>({
      handle: () => new Promise(() => undefined),
    });
    const mine = here.spawn<{ readonly to: ReplyTo<never> }>({ handle: () => new Promise(() => undefined) });
    const known = here.pidAt(there.address(silent)) as typeof silent;
    const own = there.pidAt(here.address(mine)) as typeof mine;
    const errors = Array.from({ length: MANY }, () =>
      here.call(known, (to: ReplyTo<never>) => ({ to }), FOREVER).catch((error) => error.reason.type),
    );
    const lost = there
      .call(own, (to: ReplyTo<never>) => ({ to }), FOREVER)
      .catch((error) => error.reason.type);
    const queued = there
      .call(own, (to: ReplyTo<never>) => ({ to }), FOREVER)
      .catch((error) => error.reason.type);
    await wire.settle();
    expect(here.info(mine)?.mailboxDepth).toBe(1);
    reconnect();
    expect(new Set(await Promise.all(errors))).toEqual(new Set(["noconnection"]));
    expect(await Promise.all([lost, queued])).toEqual(["noconnection", "noconnection"]);
    await vi.waitUntil(() => remote().losses.open === 0);
    expect(here.info(mine)?.mailboxDepth).toBe(0);
    expect([remote().calls.open, remote().calls.answering]).toEqual([0, 0]);
  });

  /** A process that the loss of the node ends, and that has not learned of the loss yet. */
  async function mortal(): Promise<[Pid<Order>, Context<Order>]> {
    await linked(MANY);
    const { pid, ...made } = puppet(here);
    const ctx = await made.do((own) => {
      own.link(farPid);
      return own;
    });
    await wire.settle();
    reconnect();
    return [pid, ctx];
  }

  test("lets a process end by it before the process acts, and then nothing of the act is sent [N957]", async () => {
    const [pid, ctx] = await mortal();
    expect(here.isAlive(pid)).toBe(true);
    const sent = wire.log.length;
    ctx.send(farPid, () => undefined);
    expect(here.isAlive(pid)).toBe(false);
    expect(wire.log.slice(sent).filter(({ type }) => type === "message")).toEqual([]);
  });

  test("lets a process end by it before it calls, and the call ends with its caller [N957]", async () => {
    const [pid, ctx] = await mortal();
    const sent = wire.log.length;
    const call = ctx.call(farPid as Pid<unknown>, (to: ReplyTo<number>) => to, FOREVER);
    await expect(call).rejects.toMatchObject({ code: "ERR_PROCESS_EXITED" });
    expect([here.isAlive(pid), wire.log.slice(sent).map(({ type }) => type)]).toEqual([false, []]);
  });

  test("is forgotten for a process that ends [N956]", async () => {
    const all = await linked(3);
    expect(remote().losses.related).toBe(3);
    for (const { pid } of all) here.exit(pid, "kill");
    expect(remote().losses.related).toBe(0);
  });

  test("comes before the stop of the system, for those who wait for it [N956]", async () => {
    await linked(MANY);
    const silent = there.spawn<{ readonly to: ReplyTo<never> }>({ handle: () => undefined });
    const known = here.pidAt(there.address(silent)) as typeof silent;
    const waiting = here.call(known, (to: ReplyTo<never>) => ({ to }), FOREVER).catch((error) => error.code);
    await wire.settle();
    here.nodeDown(there.node.id);
    await here.stop();
    expect(await waiting).toBe("ERR_CALLEE_EXITED");
  });
});

describe("while the loss of a node is told, a process learns of it first", () => {
  /** The last of many, which has not been told yet, and its context: what it does now, it does before any slice. */
  async function untold(): Promise<[Puppet, Context<Order>]> {
    const last = (await linked(MANY)).at(-1) as Puppet;
    return [last, await last.do((ctx) => ctx)];
  }

  function lose({ pid }: Puppet): void {
    reconnect();
    expect([remote().losses.open, here.info(pid)?.links]).toEqual([1, [farPid]]);
  }

  const acts: readonly (readonly [string, (ctx: Context<Order>) => unknown])[] = [
    ["sends a message", (ctx) => ctx.send(here.pidAt({ node: there.node, id: 999_999 }), "hello")],
    ["links again", (ctx) => ctx.link(farPid)],
    ["unlinks", (ctx) => ctx.unlink(farPid)],
    ["monitors", (ctx) => ctx.monitor(farPid)],
    ["sends an exit signal", (ctx) => ctx.exit(farPid, "shutdown")],
    [
      "calls",
      (ctx) => void ctx.call(farPid as Pid<unknown>, (to: ReplyTo<number>) => to).catch(() => undefined),
    ],
  ];

  test.each(acts)("when it %s there [N957]", async (_, act) => {
    const [last, ctx] = await untold();
    lose(last);
    const sent = wire.log.length;
    act(ctx);
    expect(here.info(last.pid)?.mailboxDepth).toBe(1);
    expect(wire.log.slice(sent).map(({ type }) => type)).not.toContain("unlink");
    await wire.settle();
    expect(reasons(last)).toEqual(["exit noconnection"]);
  });

  test("and a link that it makes then is whole [N957]", async () => {
    const [last, ctx] = await untold();
    lose(last);
    ctx.link(farPid);
    await vi.waitUntil(() => remote().losses.open === 0);
    await wire.settle();
    expect(here.info(last.pid)?.links).toEqual([farPid]);
    there.exit(far.pid, "kill");
    await wire.settle();
    expect(reasons(last)).toEqual(["exit noconnection", "exit killed"]);
  });

  test("and a call that it makes then is answered [N957]", async () => {
    const [last, ctx] = await untold();
    const echo = there.spawn<{ readonly to: ReplyTo<number> }>({ handle: (own, { to }) => own.reply(to, 7) });
    const known = here.pidAt(there.address(echo)) as typeof echo;
    lose(last);
    const call = ctx.call(known, (to: ReplyTo<number>) => ({ to }));
    expect(here.info(last.pid)?.links).toEqual([]);
    expect(await call).toBe(7);
  });

  test.each(["message", "link", "exit"] as const)(
    "when a signal of the node arrives: %s [N957]",
    async (type) => {
      const [last] = await untold();
      const [from, to] = [there.address(far.pid), here.address(last.pid)];
      const signals = {
        message: { type, to, message: () => undefined },
        link: { type, from, to },
        exit: { type, from, to, reason: { type: "shutdown" }, source: "exit" },
      } as unknown as Record<typeof type, WireSignal>;
      const [links, heard] = [type === "link" ? [farPid] : [], type === "exit" ? ["exit shutdown"] : []];
      lose(last);
      here.deliver(signals[type]);
      expect(here.info(last.pid)?.links).toEqual(links);
      await vi.waitUntil(() => remote().losses.open === 0);
      await wire.settle();
      expect(reasons(last)).toEqual(["exit noconnection", ...heard]);
      expect(here.info(last.pid)?.links).toEqual(links);
    },
  );
});
