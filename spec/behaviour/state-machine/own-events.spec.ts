// Events that a state machine causes itself: each is a step of its process, so that a machine that feeds itself holds nobody.

import {
  type Call,
  defineStateMachine,
  type Moves,
  type StateMachineDefinition,
  type Step,
  System,
  startIn,
  supervisor,
  to,
} from "signalbox";
import { explore, type Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { macrotask } from "../../support/host.js";

type Here = { readonly name: "here" } | { readonly name: "there" };
type Turn = { readonly type: "turn" } | Call<{ readonly type: "ask" }, string>;
type Spinning = StateMachineDefinition<Here, Turn, []>;
type Move = Moves<Here, Turn>;

/** Each event of a machine that never rests counts here. */
let events = 0;

/** A machine that never rests once it has got the event `turn`. */
const SPINNING: { readonly [how: string]: Spinning } = {
  "inserts its own event": spinning((state, m) => m.next(state, m.insert({ type: "turn" }))),
  "sets a timeout of zero": spinning((state, m) => m.next(state, m.stateTimeout(0, { type: "turn" }))),
  "postpones its event and changes its state": spinning((state, m) => m.next(other(state), m.postpone())),
  "awaits and inserts": spinning(async (state, m) => {
    await undefined;
    return m.next(state, m.insert({ type: "turn" }));
  }),
  "repeats its enter": defineStateMachine<Here, Turn>({
    init: startIn("here", () => ({ name: "here" })),
    states: {
      here: { on: { turn: to("there", (_here, _turn, m) => m.next({ name: "there" })), ask: "postpone" } },
      there: {
        enter: (_there, _before, m) => {
          events++;
          return m.repeat();
        },
        on: { turn: "ignore", ask: "postpone" },
      },
    },
  }),
};

function other({ name }: Here): Here {
  return { name: name === "here" ? "there" : "here" };
}

function spinning(next: (state: Here, m: Move) => Step | Promise<Step>): Spinning {
  const turn = (state: Here, m: unknown): Step | Promise<Step> => {
    events++;
    return next(state, m as Move);
  };
  return defineStateMachine<Here, Turn>({
    init: startIn("here", () => ({ name: "here" })),
    states: {
      here: { on: { turn: to("there", (state, _turn, m) => turn(state, m)), ask: "postpone" } },
      there: { on: { turn: to("here", (state, _turn, m) => turn(state, m)), ask: "postpone" } },
    },
  });
}

describe.each(Object.entries(SPINNING))("a machine that %s", (how, definition) => {
  it("lets its host go on, and is killed [B54]", async () => {
    await using system = new System({ report: false });
    const machine = await system.start(definition);
    machine.cast.turn();
    const seen: number[] = [];
    for (let turn = 0; turn < 5; turn++) {
      await macrotask();
      seen.push(events);
    }
    // It has gone on meanwhile, and the host with it.
    expect(seen.at(-1)).toBeGreaterThan(seen[1] as number);
    const exited = system.exited(machine.pid);
    system.exit(machine.pid, "kill");
    expect(await exited).toMatchObject({ type: "killed" });
    const after = events;
    await macrotask();
    expect(events).toBe(after);
  });

  it("holds up no other process: a turn has as many events of it as messages of another [B54]", async () => {
    await using system = new System({ report: false });
    const machine = await system.start(definition);
    let largest = 0;
    let seen = 0;
    let turns = 0;
    const before = events;
    const other = system.spawn({
      handle: (ctx) => {
        if (turns++ > 0) largest = Math.max(largest, events - seen);
        seen = events;
        ctx.send(ctx.self, "again");
      },
    });
    machine.cast.turn();
    system.send(other, "begin");
    while (turns < 300 || events < before + 1_000) await macrotask();
    // `activationMessages`, by default.
    expect(largest).toBeLessThanOrEqual(101);
    for (const pid of [machine.pid, other]) system.exit(pid, "kill");
  });

  it("ends when its supervisor has waited long enough [B54]", async () => {
    await using system = new System({ report: false });
    const Root = supervisor({
      children: [{ id: "machine", name: "machine", start: definition, shutdown: 20 }],
    });
    const root = await system.start(Root);
    definition.at(system, "machine").cast.turn();
    await macrotask();
    const exited = system.exited(root.pid);
    system.exit(root.pid, "shutdown");
    expect(await exited).toMatchObject({ type: "shutdown" });
    expect(system.whereis("machine")).toBeUndefined();
  });

  it("is reported as a livelock by the simulator, within its budget [B54]", async () => {
    const scenario = async (sim: Simulation): Promise<void> => {
      const machine = await sim.system({ name: "s" }).start(definition);
      machine.cast.turn();
      await machine.call.ask();
    };
    // 10,000 steps, the default, are no better a sign. Each await of the host costs a turn of its event loop.
    const maxSteps = how.startsWith("awaits") ? 300 : 2_000;
    const found = await explore(scenario, { budgetMs: 60_000, maxSteps }).catch((error: unknown) => error);
    expect((found as Error).message).toContain("LivelockError");
  });
});

it("events that are retried at each change of the state share turns with the host, as messages do [B54]", async () => {
  await using system = new System({ report: false });
  let handled = 0;
  type Event = { readonly type: "wait" } | { readonly type: "change" };
  const wait = (_state: Here, _wait: Event, m: { keep: Move["keep"]; postpone: Move["postpone"] }): Step => {
    handled++;
    return m.keep(m.postpone());
  };
  const Waiting = defineStateMachine<Here, Event>({
    init: startIn("here", () => ({ name: "here" })),
    states: {
      here: { on: { wait, change: to("there", (state, _change, m) => m.next(other(state))) } },
      there: { on: { wait, change: to("here", (state, _change, m) => m.next(other(state))) } },
    },
  });
  const machine = await system.start(Waiting);
  for (let i = 0; i < 300; i++) machine.cast.wait();
  for (let i = 0; i < 200; i++) machine.cast.change();
  let most = 0;
  for (let before = 0; handled < 300 * 201; before = handled) {
    await macrotask();
    most = Math.max(most, handled - before);
  }
  // `turnMessages`, by default, and one activation more.
  expect(most).toBeLessThanOrEqual(10_100);
});
