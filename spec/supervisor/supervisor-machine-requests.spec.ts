// The pure core of supervisors: requests from outside, and ends that end the supervisor.

import { SHUTDOWN } from "signalbox";
import { describe, expect, it } from "vitest";
import type { Ask } from "../../lib/supervisor/protocol.js";
import { abc, broken, Machine, NORMAL, spec } from "./told.js";

describe("a request", () => {
  const stoppedB = (): Machine => {
    const machine = new Machine({}, abc).up();
    machine.asked({ ask: "terminate", id: "b" });
    machine.stopped("b");
    return machine;
  };

  it.each<[string, () => Machine, Ask, string[]]>([
    ["terminate one that runs", () => new Machine({}, abc).up(), { ask: "terminate", id: "b" }, ["stop b1"]],
    ["terminate a stopped one", stoppedB, { ask: "terminate", id: "b" }, ["ok -"]],
    ["terminate a stranger", stoppedB, { ask: "terminate", id: "x" }, ["no: not_found"]],
    ["restart a stopped one", stoppedB, { ask: "restart", id: "b" }, ["start b"]],
    ["restart one that runs", stoppedB, { ask: "restart", id: "a" }, ["no: running"]],
    ["restart a stranger", stoppedB, { ask: "restart", id: "x" }, ["no: not_found"]],
    ["delete a stopped one", stoppedB, { ask: "delete", id: "b" }, ["ok -"]],
    ["delete one that runs", stoppedB, { ask: "delete", id: "a" }, ["no: running"]],
    ["delete a stranger", stoppedB, { ask: "delete", id: "x" }, ["no: not_found"]],
    ["add a new one", stoppedB, { ask: "add", spec: spec("d") }, ["start d"]],
    ["add one that runs", stoppedB, { ask: "add", spec: spec("a") }, ["no: already_started"]],
    ["add one that is known", stoppedB, { ask: "add", spec: spec("b") }, ["no: already_present"]],
  ])("to %s", (_name, make, request, expected) => {
    expect(make().asked(request)).toEqual(expected);
  });

  it.each<Ask>([
    { ask: "restart", id: "a" },
    { ask: "delete", id: "a" },
  ])("to %j while that waits for its next try is refused", (request) => {
    const machine = new Machine({}, abc).up();
    machine.exited("a1");
    machine.tell({ type: "failed", id: "a", reason: broken });
    expect(machine.asked(request)).toEqual(["no: restarting"]);
  });

  it("waits until the work in progress is done", () => {
    const machine = new Machine({ strategy: "one_for_all" }, abc.slice(0, 2)).up();
    machine.exited("a1");
    expect(machine.asked({ ask: "terminate", id: "b" })).toEqual([]);
    machine.stopped("b");
    machine.started("a2");
    expect(machine.started("b2")).toEqual(["stop b2"]);
    expect(machine.stopped("b")).toEqual(["ok -"]);
  });

  it("to add a child whose start fails leaves no trace of the child", () => {
    const machine = new Machine({}, abc).up();
    machine.asked({ ask: "add", spec: spec("d") });
    expect(machine.tell({ type: "failed", id: "d", reason: broken })).toEqual(["no: start_failed"]);
    expect(machine.statuses).toBe("a running, b running, c running");
  });
});

describe("auto-shutdown", () => {
  const significant = { significant: true, restart: "transient" } as const;
  const two = [spec("a", significant), spec("b", significant), spec("c")];

  it("any_significant: the first end of a significant child closes the supervisor", () => {
    const machine = new Machine({ autoShutdown: "any_significant" }, two).up();
    expect(machine.exited("a1", NORMAL)).toEqual(["stop c1"]);
  });

  it("all_significant: the end of the last significant child closes the supervisor", () => {
    const machine = new Machine({ autoShutdown: "all_significant" }, two).up();
    expect(machine.exited("a1", NORMAL)).toEqual([]);
    expect(machine.exited("b1", NORMAL)).toEqual(["stop c1"]);
  });

  it("does not count a child that was terminated", () => {
    const machine = new Machine({ autoShutdown: "any_significant" }, two).up();
    machine.asked({ ask: "terminate", id: "a" });
    expect(machine.stopped("a")).toEqual(["ok -"]);
    expect(machine.exited("a1", SHUTDOWN)).toEqual([]);
  });

  it("does not count a child that is restarted", () => {
    const machine = new Machine({ autoShutdown: "any_significant" }, two).up();
    expect(machine.exited("a1", broken)).toEqual(["restarts a", "start a"]);
  });
});
