// Calls between two systems: whatever happens to the other node, each ends once.

import { custom, NOCONNECTION, NOPROC, type Pid, type ReplyTo, type System } from "signalbox";
import { beforeEach, describe, expect, test } from "vitest";
import { puppet } from "../support/puppet.js";
import { Wire } from "../support/wire.js";

const boom = custom("boom");

describe("a call to another node", () => {
  let wire: Wire;
  let here: System;
  let there: System;
  interface Question {
    readonly n: number;
    readonly replyTo: ReplyTo<number>;
  }
  let double: Pid<Question>;

  beforeEach(() => {
    wire = new Wire();
    here = wire.join("here");
    there = wire.join("there");
    const pid = there.spawn<Question>({
      handle: (ctx, { n, replyTo }) => {
        if (n === 0) ctx.exit(boom);
        if (n > 0) ctx.reply(replyTo, n * 2);
      },
    });
    double = here.pidAt(there.address(pid)) as Pid<Question>;
    return async () => {
      await here.stop();
      await there.stop();
    };
  });

  const ask = (n: number) => (replyTo: ReplyTo<number>) => ({ n, replyTo });

  test("bring the reply, and leave nothing behind", async () => {
    const near = puppet(here);
    const before = here.population;
    expect(await here.call(double, ask(21))).toBe(42);
    expect(await near.do((ctx) => ctx.call(double, ask(4)))).toBe(8);
    await wire.settle();
    expect(here.population).toBe(before);
    expect(there.processes().flatMap((pid) => there.info(pid)?.monitoredBy)).toEqual([]);
  });

  test("end with the callee's reason when the request crashes the callee", async () => {
    await expect(here.call(double, ask(0))).rejects.toMatchObject({
      code: "ERR_CALLEE_EXITED",
      reason: boom,
    });
  });

  test("end with `noproc` when the process does not exist", async () => {
    await here.call(double, ask(0)).catch(() => undefined);
    await expect(here.call(double, ask(1))).rejects.toMatchObject({
      code: "ERR_CALLEE_EXITED",
      reason: NOPROC,
    });
  });

  test("end with `noconnection` when the node is out of reach, or goes out of reach", async () => {
    const waiting = here.call(double, ask(-1), { timeoutMs: Number.POSITIVE_INFINITY });
    waiting.catch(() => undefined);
    await wire.settle();
    wire.cut = true;
    here.nodeDown(there.node.id);
    await expect(waiting).rejects.toMatchObject({ code: "ERR_CALLEE_EXITED", reason: NOCONNECTION });
    await expect(here.call(double, ask(1))).rejects.toMatchObject({
      code: "ERR_CALLEE_EXITED",
      reason: NOCONNECTION,
    });
  });

  test("end when the caller's system stops", async () => {
    const waiting = here.call(double, ask(-1), { timeoutMs: Number.POSITIVE_INFINITY });
    const ended = expect(waiting).rejects.toMatchObject({ code: "ERR_SYSTEM_STOPPED" });
    await wire.settle();
    await here.stop();
    await ended;
  });
});
