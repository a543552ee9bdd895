// Exit signals sent by hand, and a process's own end.

import { custom, type ExitReason, OptionError, type Pid, System, stop } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { endings, puppet, sleep } from "../support/puppet.js";

describe("an exit signal", () => {
  let system: System;
  let ends: Map<Pid, ExitReason>;
  beforeEach(() => {
    system = new System({ report: false });
    ends = endings(system);
  });
  afterEach(() => system.stop());

  const broken = custom("broken");

  it("`kill` ends a trapping process, with the reason `killed`", () => {
    const a = puppet(system, { trapExit: true });
    system.exit(a.pid, "kill");
    expect(ends.get(a.pid)).toEqual({ type: "killed" });
  });

  it("`normal` from another process has no effect", async () => {
    const [a, b] = [puppet(system), puppet(system)];
    await b.do((ctx) => ctx.exit(a.pid, "normal"));
    expect(system.isAlive(a.pid)).toBe(true);
  });

  it("`normal` from another process arrives as an EXIT at a trapping process", async () => {
    const [a, b] = [puppet(system, { trapExit: true }), puppet(system)];
    await b.do((ctx) => ctx.exit(a.pid, "normal"));
    await system.idle();
    expect(a.signals).toEqual([{ type: "exit", from: b.pid, reason: { type: "normal" } }]);
  });

  it("`normal` that a process sends to itself ends the process at once", async () => {
    let reached = false;
    const pid = system.spawn((ctx) => {
      ctx.exit(ctx.self, "normal");
      reached = true;
      return sleep(ctx);
    });
    expect(await system.exited(pid)).toEqual({ type: "normal" });
    expect(reached).toBe(false);
  });

  it("that a process sends to itself can be trapped, and the code after it runs", async () => {
    const a = puppet(system, { trapExit: true });
    await a.do((ctx) => ctx.exit(ctx.self, broken));
    await system.idle();
    expect(a.signals).toEqual([{ type: "exit", from: a.pid, reason: broken }]);
  });

  it("reaches a process by its name", () => {
    const a = puppet(system, { name: "clerk" });
    system.exit("clerk", broken);
    expect(ends.get(a.pid)).toBe(broken);
  });

  it("to a pid or name without a process has no effect", async () => {
    const a = puppet(system);
    system.exit(a.pid, broken);
    system.exit(a.pid, broken);
    system.exit("nobody", "kill");
    expect(ends.size).toBe(1);
  });

  it("needs no link, and an Error in it is a crash", async () => {
    const [a, b] = [puppet(system), puppet(system)];
    const error = new Error("out of paper");
    await b.do((ctx) => ctx.exit(a.pid, error));
    expect(ends.get(a.pid)).toEqual({ type: "crash", error });
    expect(system.isAlive(b.pid)).toBe(true);
  });

  it("with an invalid reason is refused, and ends no process", async () => {
    const a = puppet(system);
    expect(() => system.exit(a.pid, "kaput" as "kill")).toThrow(OptionError);
    expect(system.isAlive(a.pid)).toBe(true);
  });
});

describe("the end of a step", () => {
  it("is the same by `stop` returned as by `ctx.exit` thrown", async () => {
    await using system = new System({ report: false });
    const ends = endings(system);
    const returned = system.spawn(() => stop("shutdown"));
    const thrown = system.spawn((ctx) => ctx.exit("shutdown"));
    await system.idle();
    expect(ends.get(returned)).toEqual({ type: "shutdown" });
    expect(ends.get(thrown)).toEqual({ type: "shutdown" });
  });
});
