// A process per key under any schedule: callers ask for it while it starts, crashes, fails to start, is terminated, and while its
// supervisor ends. There is one process for the key at any time, and every caller gets one that ran after it had asked.

import {
  CalleeExitedError,
  ChildError,
  type DynamicSupervisorRef,
  defineServer,
  dynamicSupervisor,
  type Pid,
  Registry,
  type ReplyTo,
  type ServerRef,
  type System,
} from "signalbox";
import type { FaultOptions, Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { exhausted, explored } from "../../support/proof.js";

const STATES = [
  "two callers got one process",
  "a caller started it",
  "a caller waited for a restart",
  "a caller waited for a start that failed",
  "a caller waited for the end of the one before",
  "a caller gave up",
  "one was too many",
] as const;

type Handle = ServerRef<{ id(state: { id: string }): string }, Record<never, never>>;
type Devices = DynamicSupervisorRef<readonly [string], Handle>;

/** Devices, those who ask for them, and what happened in which step. */
class Fleet {
  readonly devices: Registry<string>;
  private readonly sim: Simulation;
  private readonly system: System;
  private readonly mute: Pid<unknown>;
  private readonly asked: Promise<void>[] = [];
  /** The processes of each key, with the steps in which they began and ended. */
  private readonly lives: { readonly key: string; readonly pid: Pid; readonly from: number; to: number }[] =
    [];
  private all: Devices | undefined;
  private step = 0;
  complaint: string | undefined;

  constructor(sim: Simulation, system: System) {
    this.sim = sim;
    this.system = system;
    this.devices = new Registry<string>(system);
    this.mute = system.spawn<unknown>({ handle: () => undefined }, { label: "mute" });
    sim.monitor.always("steps are counted", () => void this.step++);
    sim.finally("each caller gets a process of its key", () => this.complaint);
    system.events.on("exit", ({ pid }) => {
      const life = this.lives.find((one) => one.pid === pid);
      if (life !== undefined) life.to = this.step;
    });
  }

  async begin(options: {
    maxChildren?: number;
    backoff?: boolean;
    restart?: "temporary";
    isSlow?: boolean;
  }): Promise<void> {
    const { maxChildren = 2, backoff = false, restart = "permanent", isSlow = false } = options;
    const Device = defineServer({
      init: async (ctx, id: string) => {
        this.born(id, ctx.self);
        if (isSlow) await this.dawdle(ctx);
        return { id, ctx };
      },
      calls: { id: (state) => state.id },
      trapExit: isSlow,
      terminate: async ({ ctx }) => (isSlow ? this.dawdle(ctx) : undefined),
    });
    this.all = (await this.system.start(
      dynamicSupervisor({
        label: "fleet",
        child: { id: "device", start: Device, restart, shutdown: 100, name: (id) => this.devices.claim(id) },
        intensity: 8,
        maxChildren,
        ...(backoff ? { backoff: { minMs: 5, maxMs: 5, jitter: 0 } } : {}),
      }),
    )) as Devices;
  }

  /** Asks for the device of a key, and makes a call to it. */
  ask(key: string, timeoutMs = Number.POSITIVE_INFINITY): void {
    const from = this.step;
    const before = this.lives.filter((life) => life.key === key).at(-1);
    const wasGone = before !== undefined && before.to < Number.POSITIVE_INFINITY;
    this.asked.push(
      (this.all as Devices).startOrGet([key], { timeoutMs }).then(
        (handle) => this.got(key, from, before?.pid, wasGone, handle),
        (error) => this.failed(error),
      ),
    );
  }

  terminate(key: string): void {
    const all = this.all as Devices;
    this.asked.push(
      all.terminateChild(this.devices.via(key)).catch((error) => {
        if (!(error instanceof ChildError || error instanceof CalleeExitedError)) throw error;
      }),
    );
  }

  crash(key: string): void {
    const pid = this.devices.find(key)?.pid;
    if (pid !== undefined) this.system.exit(pid, "kill");
  }

  shutdown(): void {
    this.system.exit((this.all as Devices).pid, "shutdown");
  }

  async answers(): Promise<void> {
    await Promise.all(this.asked);
  }

  /** Every process of a key has ended, or has the key; the supervisor lists those that run. */
  async judge(): Promise<void> {
    await this.answers();
    const alive = this.lives.filter(({ to }) => to === Number.POSITIVE_INFINITY);
    for (const { key, pid } of alive) expect(this.devices.find(key)?.pid).toBe(pid);
    if (!this.system.isAlive((this.all as Devices).pid)) return expect(alive).toEqual([]);
    expect((await (this.all as Devices).countChildren()).active).toBe(alive.length);
  }

  private born(key: string, pid: Pid): void {
    const twin = this.lives.find((life) => life.key === key && life.to === Number.POSITIVE_INFINITY);
    if (twin !== undefined) this.complaint ??= `two processes for ${key}: ${twin.pid} and ${pid}`;
    this.lives.push({ key, pid, from: this.step, to: Number.POSITIVE_INFINITY });
  }

  private got(key: string, from: number, before: Pid | undefined, wasGone: boolean, handle: Handle): void {
    const ran = this.lives.filter((life) => life.key === key && life.to >= from);
    if (ran.length === 0) this.complaint ??= `nobody ran for ${key} after step ${from}`;
    const now = this.devices.find(key)?.pid;
    this.note("two callers got one process", now !== undefined && now === before);
    this.note("a caller started it", before === undefined);
    this.note("a caller waited for a restart", wasGone && now !== undefined && now !== before);
    this.note(
      "a caller waited for the end of the one before",
      !wasGone && before !== undefined && now !== undefined && now !== before,
    );
    // Its handle leads to the process of the key, if there is one now.
    this.asked.push(
      handle.call.id().then(
        (id) => {
          if (id !== key) this.complaint ??= `the device of ${key} is ${id}`;
        },
        (error) => {
          if (!(error instanceof CalleeExitedError)) throw error;
        },
      ),
    );
  }

  private failed(error: unknown): void {
    const { code } = error as { readonly code?: string };
    this.note("a caller gave up", code === "ERR_CALL_TIMEOUT");
    if (error instanceof ChildError) {
      this.note("a caller waited for a start that failed", error.problem === "start_failed");
      this.note("one was too many", error.problem === "max_children");
      if (error.problem === "start_failed" || error.problem === "max_children") return;
    }
    if (code !== "ERR_CALL_TIMEOUT" && code !== "ERR_CALLEE_EXITED") throw error;
  }

  private note(state: (typeof STATES)[number], holds: boolean): void {
    if (holds) this.sim.sometimes(state);
  }

  private dawdle(ctx: { call: Parameters<typeof slow>[0] }): Promise<unknown> {
    return slow(ctx.call.bind(ctx), this.mute);
  }
}

function slow(
  call: (to: Pid<unknown>, build: (replyTo: ReplyTo<never>) => unknown, options: object) => Promise<unknown>,
  mute: Pid<unknown>,
): Promise<unknown> {
  return call(mute, (replyTo) => replyTo, { timeoutMs: 10 }).catch(() => undefined);
}

const FAULTS: FaultOptions = {
  crash: [
    { of: "s/fleet/*", atMost: 2 },
    { of: "s/fleet", reason: "kill" },
  ],
  start: { of: "s/fleet/*", atMost: 2 },
  delay: { of: "s/fleet", atMost: 3 },
  pause: { of: "s/fleet/**" },
};

async function day(sim: Simulation): Promise<void> {
  const fleet = new Fleet(sim, sim.system({ name: "s" }));
  sim.calm();
  await fleet.begin({
    maxChildren: sim.oneOf([2, 1], "most"),
    backoff: sim.choose(2, "backoff") === 1,
    ...(sim.choose(2, "restart") === 1 ? { restart: "temporary" as const } : {}),
    isSlow: sim.choose(2, "slow") === 1,
  });
  sim.storm();
  for (let i = 0; i < 8; i++) {
    const key = sim.oneOf(["a", "b"], "key");
    const deed = sim.choose(6, "deed");
    if (deed < 3) fleet.ask(key);
    else if (deed === 3) fleet.ask(key, 7);
    else if (deed === 4) fleet.terminate(key);
    else fleet.crash(key);
    if (sim.choose(2, "wait") === 1) await sim.sleep(sim.oneOf([0, 3, 20], "how long"));
  }
  if (sim.choose(4, "shutdown") === 1) fleet.shutdown();
  await sim.quiet();
  sim.calm();
  await sim.sleep(1_000);
  await fleet.judge();
}

describe("a process per key, under any schedule", () => {
  it("is one process, which all who ask for it get, whatever happens to it meanwhile [V37]", async () => {
    await explored(day, { quick: 300, name: "keys", faults: FAULTS, sometimes: STATES });
  });

  it("is one process in every schedule of two callers, a termination and a crash [V37]", async () => {
    await exhausted(
      async (sim) => {
        const fleet = new Fleet(sim, sim.system({ name: "s" }));
        sim.calm();
        await fleet.begin({});
        fleet.ask("a");
        await fleet.answers();
        sim.storm();
        fleet.terminate("a");
        fleet.ask("a");
        fleet.ask("a");
        await sim.quiet();
        await fleet.judge();
      },
      {
        name: "all of two callers",
        quick: { preemptions: 1 },
        long: true,
        faults: { crash: { of: "s/fleet/*" } },
        sometimes: ["a caller waited for the end of the one before"],
      },
    );
  });
});
