// Scenarios for supervisors: children fail or leave on command, are started and terminated, time passes, and in some
// schedules everything is shut down. Each schedule draws its own events; at the end the models check the history.

import {
  type Callbacks,
  CalleeExitedError,
  ChildError,
  type ChildSpec,
  type Pid,
  type ReplyTo,
  type System,
  supervisor,
} from "signalbox";
import type { Simulation } from "signalbox/testing";
import { expect } from "vitest";
import { Sessions } from "./support-sessions.js";
import type { Rule } from "./support-supervision.js";
import {
  type Branch,
  Chronicle,
  COMMANDS,
  type Command,
  drawCharter,
  drawLeaf,
  obey,
} from "./support-tree.js";

/** Long enough for everything that takes time, pauses and children that have to be killed included. */
const LONG_MS = 20_000;

/** Processes with a parent that is no more. */
export function orphans(system: System): Pid<unknown>[] {
  return system.processes().filter((pid) => {
    const parent = system.info(pid)?.parent;
    return parent !== undefined && !system.isAlive(parent);
  });
}

/** Nothing strikes during the first start, in two of three schedules: else most of them end there. */
async function started(sim: Simulation, start: () => Promise<unknown>): Promise<void> {
  const early = sim.choose(3, "early faults") === 0;
  if (!early) sim.calm();
  await start();
  sim.storm();
}

/** Children get commands to fail or to leave, time passes, and in some schedules a shutdown follows. */
async function dayIn(sim: Simulation, system: System, ids: RegExp, shutdown: () => void): Promise<void> {
  for (let i = 0; i < 3; i++) {
    const all = system.processes().filter((pid) => ids.test(pid.label ?? ""));
    const pid = all[sim.choose(3, "whom") % Math.max(1, all.length)] as Pid<Command> | undefined;
    const command = sim.oneOf(COMMANDS, "command");
    if (pid !== undefined) system.send(pid, command);
    await sim.sleep(sim.oneOf([0, 5, 600], "wait"));
  }
  if (sim.choose(3, "shutdown") === 1) shutdown();
  await sim.quiet();
  sim.calm();
  await sim.sleep(LONG_MS);
}

/** One supervisor with three children. */
export async function flat(sim: Simulation, inOrder: boolean): Promise<void> {
  const system = sim.system({ name: "s" });
  const chronicle = new Chronicle(sim, system);
  const kinds = ["prompt", "slow to start", "slow to stop"] as const;
  const root: Branch = {
    id: "root",
    restart: "permanent",
    ...drawCharter(sim),
    children: ["a", "b", "c"].map((id) => drawLeaf(sim, id, kinds)),
  };
  sim.finally("the history follows from the strategy", () => chronicle.judge(sim, inOrder));
  sim.finally("no process is left without a supervisor", () => orphans(system).length === 0);
  let pid: Pid | undefined;
  const start = system.start(chronicle.define(root)).then(
    (ref) => {
      pid = ref.pid;
    },
    () => undefined,
  );
  await started(sim, () => start);
  await dayIn(sim, system, /^[abc]$/, () => {
    if (pid === undefined) return;
    chronicle.asked(pid);
    system.exit(pid, "shutdown");
  });
}

/** A process that has started a supervisor, with a child, a supervisor of two, and one more child. */
export async function twoLevels(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "s" });
  const chronicle = new Chronicle(sim, system, { nested: true });
  const kinds = ["prompt", "slow to stop"] as const;
  const branch: Branch = {
    id: "branch",
    restart: "permanent",
    ...drawCharter(sim),
    children: ["x", "y"].map((id) => drawLeaf(sim, id, kinds)),
  };
  const root: Branch = {
    id: "root",
    restart: "permanent",
    ...drawCharter(sim),
    children: [drawLeaf(sim, "a", kinds), branch, drawLeaf(sim, "z", kinds)],
  };
  sim.finally("the history follows from the strategies", () => chronicle.judge(sim, true));
  sim.finally("no process is left without a supervisor", () => orphans(system).length === 0);
  const owner = system.spawn<never>(
    async (ctx) => {
      await ctx.start(chronicle.define(root));
      await ctx.receive();
    },
    { label: "owner" },
  );
  await started(sim, () => sim.sleep(100));
  await dayIn(sim, system, /^[axyz]$/, () => system.exit(owner, "shutdown"));
}

/** A supervisor whose children are added, stopped, started again and forgotten while they crash. */
export async function requests(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "s" });
  const mute = system.spawn<unknown>({ handle: () => undefined }, { label: "mute" });
  const start: Callbacks<Command> = {
    init: async (ctx) => {
      ctx.trapExit(true);
      if (sim.choose(2, "slow") === 1)
        await ctx.call(mute, (to: ReplyTo<never>) => to, { timeoutMs: 10 }).catch(String);
    },
    handle: (_ctx, command) => obey(command, 0),
  };
  const spec = (id: string): ChildSpec => {
    return { id, start, restart: sim.oneOf<Rule>(["permanent", "transient", "temporary"], "rule") };
  };
  const { strategy } = drawCharter(sim);
  const children = [spec("a"), spec("b")];
  sim.calm();
  const ref = await system.start(supervisor({ label: "root", strategy, intensity: 20, children }));
  sim.storm();
  const ask = (): Promise<unknown> => {
    const id = sim.oneOf(["a", "b", "c"], "id");
    switch (sim.oneOf(["add", "terminate", "restart", "delete"], "request")) {
      case "add":
        return ref.startChild(spec("c"));
      case "terminate":
        return ref.terminateChild(id);
      case "restart":
        return ref.restartChild(id);
      default:
        return ref.deleteChild(id);
    }
  };
  const answers: Promise<unknown>[] = [];
  for (let i = 0; i < 3; i++) {
    // Each is answered: with what was asked for, with why not, or with the end of the supervisor.
    answers.push(
      ask().catch((error) => expect([ChildError, CalleeExitedError]).toContain(error.constructor)),
    );
    const whom = sim.oneOf(["a", "b", "c"], "whom");
    const victim = system.processes().find(({ label }) => label === whom);
    if (victim !== undefined) system.send(victim as Pid<Command>, sim.oneOf(COMMANDS, "command"));
    await sim.sleep(sim.oneOf([0, 5], "wait"));
  }
  if (sim.choose(3, "shutdown") === 1) system.exit(ref.pid, "shutdown");
  await sim.quiet();
  sim.calm();
  await sim.sleep(LONG_MS);
  await Promise.all(answers);
  const alive = system.processes().filter((pid) => /^[abc]$/.test(pid.label ?? ""));
  sim.sometimes("it has ended", !system.isAlive(ref.pid));
  sim.sometimes("it has three children", alive.length === 3);
  if (!system.isAlive(ref.pid)) expect(alive).toEqual([]);
  else {
    const listed = await ref.whichChildren();
    const running = listed.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
    expect(new Set(running)).toEqual(new Set(alive));
    expect(running).toHaveLength(alive.length);
    for (const { pid, status } of listed) expect(status).toBe(pid === undefined ? "stopped" : "running");
  }
}

/** A dynamic supervisor that is asked for more sessions than it may have. */
export async function sessions(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "s" });
  const house = new Sessions(sim, system, {
    restart: sim.oneOf(["permanent", "transient", "temporary"], "rule"),
    intensity: sim.oneOf([20, 1, 2], "intensity"),
    periodMs: 1_000,
    maxChildren: sim.oneOf([3, 2], "most"),
    kind: sim.oneOf(["prompt", "slow to start", "slow to stop"], "kind"),
  });
  sim.finally("the history agrees with the model", () => house.judge());
  sim.finally("no process is left without a supervisor", () => orphans(system).length === 0);
  sim.calm();
  await house.begin();
  sim.storm();
  for (let i = 0; i < 3; i++) house.want();
  for (let i = 0; i < 3; i++) {
    await sim.sleep(sim.oneOf([0, 5, 600], "wait"));
    const pid = house.up[sim.choose(3, "whom") % Math.max(1, house.up.length)];
    const deed = sim.oneOf<Command | "dismiss">([...COMMANDS, "dismiss"], "deed");
    if (pid === undefined) continue;
    if (deed === "dismiss") house.dismiss(pid);
    else house.tell(pid, deed);
  }
  if (sim.choose(3, "shutdown") === 1) house.shutdown();
  await sim.quiet();
  sim.calm();
  await sim.sleep(LONG_MS);
  await house.answers();
}
