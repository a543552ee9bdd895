// Supervisors of very many children: what one event costs does not depend on how many there are, and the host has its go.

import {
  type Callbacks,
  type ChildSpec,
  type DynamicSupervisorRef,
  dynamicSupervisor,
  System,
  type SystemLimits,
  supervisor,
} from "signalbox";
import { describe, expect, it } from "vitest";
import type { FullChildSpec } from "../../lib/supervisor/child.js";
import type { Event, RestartStrategy } from "../../lib/supervisor/protocol.js";
import { type Config, decide, initial } from "../../lib/supervisor/supervisor-machine.js";
import { proving } from "../support/proof.js";
import { child, stubborn, worker } from "./house.js";
import { spec } from "./told.js";

/** A machine whose children's ids are counted whenever they are looked at. */
class Counted {
  looks = 0;
  private state: ReturnType<typeof initial<string>>;
  private token = 0;

  constructor(strategy: RestartStrategy, children: number) {
    const config: Config = {
      strategy,
      autoShutdown: "all_significant",
      intensity: 1_000_000,
      periodMs: 1_000,
      backoff: undefined,
    };
    this.state = initial(
      config,
      Array.from({ length: children }, (_, i) => this.counted(`static ${i}`)),
    );
    this.tell({ type: "boot", at: 0 });
  }

  private counted(id: string): FullChildSpec {
    const plain = spec(id, { restart: "transient", significant: true });
    const look = (): string => {
      this.looks++;
      return id;
    };
    return Object.defineProperty({ ...plain }, "id", { get: look, enumerable: true });
  }

  /** Tells an event, and does at once what it leads to, but for starts that come of an exit. */
  private tell(event: Event<string>): void {
    const todo = [event];
    for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
      const [state, effects] = decide(this.state, next);
      this.state = state;
      for (const effect of effects) {
        if (effect.type === "start") {
          const id = `${effect.spec.id}`;
          todo.push({ type: "started", id, pid: `${id} ${++this.token}`, at: 0 });
        } else if (effect.type === "stop") todo.push({ type: "stopped", id: effect.id });
      }
    }
  }

  private ids(): string[] {
    return [...this.state.children].map((one) => one.spec.id);
  }

  /** How often ids are looked at in the course of `deeds`, for each of the children. */
  private during(deeds: () => void): number {
    this.looks = 0;
    deeds();
    return this.looks;
  }

  add(count: number): number {
    return this.during(() => {
      for (let i = 0; i < count; i++)
        this.tell({ type: "asked", token: i, request: { ask: "add", spec: this.counted(`added ${i}`) } });
    });
  }

  crashEach(): number {
    const pids = [...this.state.children].map((one) => one.pid as string);
    const reason = { type: "killed" } as const;
    return this.during(() => {
      for (const pid of pids) this.tell({ type: "exited", pid, reason, at: 0, roll: 0 });
    });
  }

  crashAllAtOnce(): number {
    const pids = [...this.state.children].map((one) => one.pid as string);
    const reason = { type: "killed" } as const;
    return this.during(() => {
      // The first start takes until all ends have been heard of.
      for (const pid of pids)
        [this.state] = decide(this.state, { type: "exited", pid, reason, at: 0, roll: 0 });
      const first = this.state.agenda.first?.id as string;
      this.tell({ type: "started", id: first, pid: `${first} ${++this.token}`, at: 0 });
    });
  }

  ask(ask: "terminate" | "restart" | "delete"): number {
    const ids = this.ids();
    return this.during(() => {
      for (const id of ids) this.tell({ type: "asked", token: 0, request: { ask, id } });
    });
  }

  endEach(): number {
    const pids = [...this.state.children].map((one) => one.pid as string);
    return this.during(() => {
      for (const pid of pids) this.tell({ type: "exited", pid, reason: { type: "normal" }, at: 0, roll: 0 });
    });
  }

  close(): number {
    return this.during(() => this.tell({ type: "close", reason: { type: "shutdown" } }));
  }
}

/** What a life of `count` children costs, part by part, for each child. */
function costs(count: number): Record<string, number> {
  const machine = new Counted("one_for_one", count);
  const looks = {
    boot: machine.looks,
    add: machine.add(count),
    crash: machine.crashEach() / 2,
    "crash together": machine.crashAllAtOnce() / 2,
    terminate: machine.ask("terminate") / 2,
    restart: machine.ask("restart") / 2,
    end: machine.endEach() / 2,
    delete: machine.ask("delete") / 2,
    close: machine.add(count) + machine.close(),
    one_for_all: new Counted("one_for_all", count).close(),
  };
  return Object.fromEntries(Object.entries(looks).map(([name, n]) => [name, Math.round(n / count)]));
}

describe("a supervisor's machine", () => {
  it("does as much for one child among a thousand as for one among twenty [V30]", () => {
    const few = costs(20);
    expect(costs(1_000)).toEqual(few);
    expect(Math.max(...Object.values(few))).toBeLessThan(30);
  });
});

const COUNT = proving ? 32_000 : 8_000;

describe(`${COUNT} children`, () => {
  it("are added one by one, listed, terminated and stopped within the timeout of a test [V30]", async () => {
    const system = new System({ report: false });
    const shop = await system.start(supervisor({}));
    for (let i = 0; i < COUNT; i++) await shop.startChild({ id: `${i}`, start: worker });
    const listed = await shop.whichChildren();
    expect([listed.length, listed[0]?.id, listed.at(-1)?.id]).toEqual([COUNT, `${COUNT - 1}`, "0"]);
    for (let i = 0; i < 1_000; i++) await shop.terminateChild(`${i}`);
    expect(await shop.countChildren()).toMatchObject({ specs: COUNT, active: COUNT - 1_000 });
    await system.stop();
    expect(system.population).toBe(0);
  });

  it("are found by their ids, one by one [V30]", async () => {
    await using system = new System({ report: false });
    const children = Array.from({ length: COUNT / 2 }, (_, i): ChildSpec => ({ id: `${i}`, start: worker }));
    const shop = await system.start(supervisor({ children }));
    let found = 0;
    for (const { id } of children) if ((await shop.child(id)) !== undefined) found++;
    expect(found).toBe(children.length);
  });

  it("restart and stop together under one_for_all", async () => {
    const system = new System({ report: false });
    const children = Array.from({ length: COUNT }, (_, i): ChildSpec => ({ id: `${i}`, start: worker }));
    const shop = await system.start(supervisor({ strategy: "one_for_all", children }));
    const before = new Set(system.processes());
    const [victim] = await shop.whichChildren();
    if (victim?.pid !== undefined) system.exit(victim.pid, "kill");
    await system.idle();
    expect(system.processes().filter((pid) => before.has(pid))).toEqual([shop.pid]);
    expect(system.population).toBe(COUNT + 1);
    await system.stop();
  });
});

/** The most ends between two goes of the host, while `work` is under way. */
async function mostEndsAtOnce(system: System, work: () => Promise<unknown>): Promise<number> {
  let ends = 0;
  let most = 0;
  system.events.on("exit", () => {
    most = Math.max(most, ++ends);
  });
  let over = false;
  const host = (): void => {
    ends = 0;
    if (!over) setImmediate(host);
  };
  setImmediate(host);
  await work();
  over = true;
  return most;
}

describe("while many children stop", () => {
  const limits: SystemLimits = { turnMessages: 100 };
  const many = proving ? 5_000 : 2_500;

  async function dynamic(
    system: System,
    start: Callbacks<never>,
  ): Promise<DynamicSupervisorRef<readonly []>> {
    const sessions = await system.start(dynamicSupervisor({ child: { id: "session", start, shutdown: 0 } }));
    await Promise.all(Array.from({ length: many }, () => sessions.startLike()));
    return sessions;
  }

  it("the host runs within the budget of a turn [V31]", async () => {
    const system = new System({ report: false, limits });
    const children = Array.from({ length: many }, (_, i) => child(`${i}`));
    await system.start(supervisor({ children }));
    expect(await mostEndsAtOnce(system, () => system.stop())).toBeLessThanOrEqual(200);
    expect(system.population).toBe(0);
  });

  it("the host also runs within the budget while dynamic children are told to stop, and while they are killed [V31]", async () => {
    for (const start of [worker, stubborn]) {
      const system = new System({ report: false, limits });
      await dynamic(system, start as Callbacks<never>);
      expect(await mostEndsAtOnce(system, () => system.stop())).toBeLessThanOrEqual(1_000);
      expect(system.population).toBe(0);
    }
  });

  it("a child that a caller asks to terminate is told to stop like the others, and the caller gets its reply", async () => {
    const system = new System({ report: false, limits });
    const sessions = await dynamic(system, worker as Callbacks<never>);
    const [last] = await sessions.whichChildren();
    system.exit(sessions.pid, "shutdown");
    const asked = sessions.terminateChild(last?.pid as never).catch((error) => error.code);
    await system.idle();
    expect([undefined, "ERR_CALLEE_EXITED"]).toContain(await asked);
    expect(system.isAlive(sessions.pid)).toBe(false);
    await system.stop();
  });
});
