// The pure core of supervisors as a table of examples, and the strategies against a relation written another way.

import fc from "fast-check";
import { type ExitReason, SHUTDOWN, shutdown } from "signalbox";
import { describe, expect, it } from "vitest";
import { FailedChild } from "../../lib/supervisor/protocol.js";
import type { Config } from "../../lib/supervisor/supervisor-machine.js";
import { abc, broken, Machine, NORMAL, roll, spec } from "./told.js";

describe("a booting machine", () => {
  it("starts one child after the other and is up after the last", () => {
    const machine = new Machine({}, abc);
    expect(machine.tell({ type: "boot", at: 0 })).toEqual(["start a"]);
    expect(machine.started("a1")).toEqual(["start b"]);
    expect(machine.started("b1")).toEqual(["start c"]);
    expect(machine.started("c1")).toEqual(["up"]);
  });

  it("is up at once without children", () => {
    expect(new Machine({}, []).tell({ type: "boot", at: 0 })).toEqual(["up"]);
  });

  it("continues after an ignored child; a permanent child stays known, a temporary child does not", () => {
    const machine = new Machine({}, [spec("a"), spec("b", { restart: "temporary" })]);
    machine.tell({ type: "boot", at: 0 });
    expect(machine.tell({ type: "ignored", id: "a" })).toEqual(["start b"]);
    expect(machine.tell({ type: "ignored", id: "b" })).toEqual(["up"]);
    expect(machine.statuses).toBe("a stopped");
  });

  it("stops the started children when a child fails, and names the failed child", () => {
    const machine = new Machine({}, abc);
    machine.tell({ type: "boot", at: 0 });
    machine.started("a1");
    machine.started("b1");
    expect(machine.tell({ type: "failed", id: "c", reason: broken })).toEqual(["stop b1"]);
    expect(machine.stopped("b")).toEqual(["stop a1"]);
    expect(machine.stopped("a")).toEqual(["exit shutdown"]);
    const end = shutdown(new FailedChild("c", broken));
    expect(machine.effects).toEqual([{ type: "exit", reason: end }]);
  });

  it("handles a child that ends meanwhile only when the start is complete", () => {
    const machine = new Machine({}, abc.slice(0, 2));
    machine.tell({ type: "boot", at: 0 });
    machine.started("a1");
    expect(machine.exited("a1")).toEqual([]);
    expect(machine.started("b1")).toEqual(["up", "restarts a", "start a"]);
  });

  it("gives up its start when it is closed", () => {
    const machine = new Machine({}, abc);
    machine.tell({ type: "boot", at: 0 });
    machine.started("a1");
    expect(machine.tell({ type: "close", reason: SHUTDOWN })).toEqual(["abort-start b"]);
    expect(machine.tell({ type: "failed", id: "b", reason: { type: "killed" } })).toEqual(["stop a1"]);
    expect(machine.stopped("a")).toEqual(["exit shutdown"]);
  });

  it("stops a child that came up just before its start could be given up", () => {
    const machine = new Machine({}, abc);
    machine.tell({ type: "boot", at: 0 });
    machine.tell({ type: "close", reason: SHUTDOWN });
    expect(machine.started("a1")).toEqual(["stop a1"]);
    expect(machine.stopped("a")).toEqual(["exit shutdown"]);
  });
});

describe("a child that ended by itself", () => {
  it.each<[Config["strategy"], string[]]>([
    ["one_for_one", ["start b"]],
    ["rest_for_one", ["stop c1", "start b", "start c"]],
    ["one_for_all", ["stop c1", "stop a1", "start a", "start b", "start c"]],
  ])("takes along under %s what depends on it", (strategy, expected) => {
    const machine = new Machine({ strategy }, abc).up();
    const seen: string[] = [];
    let effects = machine.exited("b1");
    expect(effects[0]).toBe("restarts b");
    for (effects = effects.slice(1); effects.length > 0; ) {
      seen.push(...effects);
      const [verb, who] = (effects.at(-1) as string).split(" ") as [string, string];
      effects = verb === "stop" ? machine.stopped(who[0] as string) : machine.started(`${who}2`);
    }
    expect(seen).toEqual(expected);
    expect(machine.statuses).toBe("a running, b running, c running");
  });

  it.each<["permanent" | "transient" | "temporary", ExitReason, string, string]>([
    ["permanent", NORMAL, "restarts a", "a restarting"],
    ["permanent", broken, "restarts a", "a restarting"],
    ["transient", broken, "restarts a", "a restarting"],
    ["transient", NORMAL, "", "a stopped"],
    ["transient", SHUTDOWN, "", "a stopped"],
    ["transient", shutdown("done"), "", "a stopped"],
    ["temporary", NORMAL, "", ""],
    ["temporary", broken, "", ""],
  ])("is, when %s, after %j: %s", (restart, reason, first, statuses) => {
    const machine = new Machine({}, [spec("a", { restart })]).up();
    expect(machine.exited("a1", reason)[0] ?? "").toBe(first);
    expect(machine.statuses).toBe(statuses);
  });

  it("is ignored when it is no longer a child", () => {
    const machine = new Machine({}, abc).up();
    expect(machine.exited("x9")).toEqual([]);
  });

  it("more often than the intensity allows ends all children in reverse order", () => {
    const machine = new Machine({ intensity: 1 }, abc).up();
    machine.exited("a1");
    machine.started("a2");
    expect(machine.exited("a2")).toEqual(["gives up on a", "stop c1"]);
    expect(machine.stopped("c")).toEqual(["stop b1"]);
    expect(machine.stopped("b")).toEqual(["exit shutdown"]);
  });

  it("no longer counts once the period has passed, and still counts a millisecond before", () => {
    const machine = new Machine({ intensity: 1, periodMs: 100 }, abc).up();
    machine.exited("a1", broken, 0);
    machine.started("a2");
    expect(machine.exited("a2", broken, 101)).toEqual(["restarts a", "start a"]);
    machine.started("a3", 101);
    expect(machine.exited("a3", broken, 201)[0]).toBe("gives up on a");
  });

  it("is not stored when there is no limit", () => {
    const machine = new Machine({ intensity: Number.POSITIVE_INFINITY }, abc).up();
    machine.exited("a1");
    expect(machine.state.restarts.length).toBe(0);
  });
});

describe("a restart that fails", () => {
  it("counts too, and is retried by way of the mailbox", () => {
    const machine = new Machine({ intensity: 2 }, abc).up();
    machine.exited("a1");
    expect(machine.tell({ type: "failed", id: "a", reason: broken })).toEqual(["retry a"]);
    expect(machine.statuses).toBe("a restarting, b running, c running");
    expect(machine.tell({ type: "retry", id: "a", at: 0, roll })).toEqual(["restarts a", "start a"]);
    machine.tell({ type: "failed", id: "a", reason: broken });
    expect(machine.tell({ type: "retry", id: "a", at: 0, roll })).toEqual(["gives up on a", "stop c1"]);
  });

  it("is not retried when the child was terminated in between", () => {
    const machine = new Machine({}, abc).up();
    machine.exited("a1");
    machine.tell({ type: "failed", id: "a", reason: broken });
    expect(machine.asked({ ask: "terminate", id: "a" })).toEqual(["ok -"]);
    expect(machine.tell({ type: "retry", id: "a", at: 0, roll })).toEqual([]);
  });

  it("of a sibling leaves only this sibling in the state restarting", () => {
    const machine = new Machine({ strategy: "one_for_all" }, abc.slice(0, 2)).up();
    machine.exited("b1");
    machine.stopped("a");
    machine.tell({ type: "failed", id: "a", reason: broken });
    expect(machine.statuses).toBe("a restarting, b stopped");
    machine.asked({ ask: "terminate", id: "a" });
    expect(machine.asked({ ask: "restart", id: "b" })).toEqual(["start b"]);
  });
});

describe("with backoff", () => {
  const backoff = { minMs: 100, maxMs: 1_000, jitter: 0 };
  const config: Partial<Config> = { backoff, intensity: 100 };

  it("siblings stop at once, and the start waits", () => {
    const machine = new Machine({ ...config, strategy: "one_for_all" }, abc.slice(0, 2)).up();
    expect(machine.exited("b1")).toEqual(["restarts b", "resume b after 100", "stop a1"]);
    expect(machine.stopped("a")).toEqual([]);
    expect(machine.tell({ type: "resume", id: "b", at: 100 })).toEqual(["start a"]);
    expect(machine.started("a2", 100)).toEqual(["start b"]);
  });

  it("waits do not start anew after failed starts, however long the attempts take", () => {
    const machine = new Machine(config, [spec("a")]).up();
    const waits = [machine.exited("a1")[1]];
    for (let at = 100; waits.length < 6; at += 1_000) {
      machine.tell({ type: "resume", id: "a", at });
      machine.tell({ type: "failed", id: "a", reason: broken });
      waits.push(machine.tell({ type: "retry", id: "a", at, roll })[1]);
    }
    expect(waits.map((wait) => Number(wait?.split(" ").at(-1)))).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });

  it("a wait that was given up does not start a child in place of a later wait", () => {
    const machine = new Machine(config, [spec("a")]).up();
    machine.exited("a1", broken, 0);
    machine.asked({ ask: "terminate", id: "a" });
    machine.asked({ ask: "restart", id: "a" });
    machine.started("a2", 50);
    expect(machine.exited("a2", broken, 60)).toEqual(["restarts a", "resume a after 200"]);
    expect(machine.tell({ type: "resume", id: "a", at: 100 })).toEqual([]);
    expect(machine.tell({ type: "resume", id: "a", at: 260 })).toEqual(["start a"]);
  });

  it("a child that waits starts after the child that it depends on, not before", () => {
    const machine = new Machine({ ...config, strategy: "rest_for_one" }, abc.slice(0, 2)).up();
    machine.exited("b1", broken, 0);
    machine.exited("a1", broken, 50);
    expect(machine.tell({ type: "resume", id: "b", at: 100 })).toEqual([]);
    expect(machine.tell({ type: "resume", id: "a", at: 150 })).toEqual(["start a"]);
    expect(machine.started("a2", 150)).toEqual(["start b"]);
  });
});

describe("a closing machine", () => {
  it("starts no more children: a child that waited for a restart is stopped when its turn to stop comes", () => {
    const machine = new Machine({ backoff: { minMs: 100, maxMs: 1_000 } }, abc.slice(0, 2)).up();
    machine.exited("b1");
    machine.tell({ type: "close", reason: SHUTDOWN });
    expect(machine.statuses).toBe("a running, b stopped");
    expect(machine.tell({ type: "resume", id: "b", at: 100 })).toEqual([]);
  });

  it("ends with the reason of the first close, once", () => {
    const machine = new Machine({}, abc.slice(0, 1)).up();
    expect(machine.tell({ type: "close", reason: broken })).toEqual(["stop a1"]);
    expect(machine.tell({ type: "close", reason: SHUTDOWN })).toEqual([]);
    expect(machine.stopped("a")).toEqual(["exit custom"]);
    expect(machine.tell({ type: "close", reason: SHUTDOWN })).toEqual([]);
  });
});

describe("any single crash", () => {
  /** Whether `other` goes down when `failed` does: the strategies as a relation instead of a range. */
  const dependsOn = (strategy: Config["strategy"], order: string, other: string, failed: string): boolean =>
    other === failed ||
    strategy === "one_for_all" ||
    (strategy === "rest_for_one" && order.indexOf(other) > order.indexOf(failed));

  it("stops the children that depend on the failed child, last first, and restarts them, first first", () => {
    const member = fc.record({
      restart: fc.constantFrom("permanent", "transient", "temporary"),
      runs: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.constantFrom("one_for_one", "one_for_all", "rest_for_one"),
        fc.array(member, { minLength: 1, maxLength: 7 }),
        fc.nat(),
        (strategy, members, pick) => {
          const order = "abcdefg".slice(0, members.length);
          const failed = order[pick % order.length] as string;
          const kinds = new Map([...order].map((id, i) => [id, members[i] as (typeof members)[number]]));
          const runs = (id: string): boolean => id === failed || kinds.get(id)?.runs === true;
          const stays = (id: string): boolean => kinds.get(id)?.restart !== "temporary";
          if (!stays(failed)) return;

          const specs = [...order].map((id) => spec(id, { restart: kinds.get(id)?.restart ?? "permanent" }));
          const machine = new Machine({ strategy }, specs);
          machine.tell({ type: "boot", at: 0 });
          for (const id of order) {
            if (runs(id)) machine.started(`${id}1`);
            else machine.tell({ type: "ignored", id });
          }
          const log: string[] = [];
          let effects = machine.exited(`${failed}1`);
          while (effects.length > 0) {
            log.push(...effects);
            const [verb, who = ""] = (effects.at(-1) as string).split(" ");
            effects = verb === "stop" ? machine.stopped(who[0] as string) : machine.started(`${who}2`);
          }
          const touched = [...order].filter((id) => dependsOn(strategy, order, id, failed));
          const down = touched.filter((id) => id !== failed && runs(id)).reverse();
          const up = touched.filter(stays);
          expect(log).toEqual([
            `restarts ${failed}`,
            ...down.map((id) => `stop ${id}1`),
            ...up.map((id) => `start ${id}`),
          ]);
        },
      ),
    );
  });
});
