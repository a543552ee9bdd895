// Any sequence of events, in a world that answers as the machine's process would: the machine never gets stuck, never
// does two things at a time, never restarts more often than it may, and closes in reverse order, once.

import fc from "fast-check";
import { type ExitReason, SHUTDOWN } from "signalbox";
import { describe, expect, it } from "vitest";
import { checkChild, type FullChildSpec } from "../../lib/supervisor/child.js";
import type { Ask, Effect, Event } from "../../lib/supervisor/protocol.js";
import { type Config, decide, initial, type State } from "../../lib/supervisor/supervisor-machine.js";
import { proving } from "../support/proof.js";
import { child } from "./house.js";

const IDS = ["a", "b", "c", "d", "e"] as const;
const REASONS: readonly ExitReason[] = [
  { type: "normal" },
  SHUTDOWN,
  { type: "killed" },
  { type: "custom", value: "broken" },
];

type Command =
  | { readonly do: "answer"; readonly outcome: "started" | "failed" | "ignored" }
  | { readonly do: "crash"; readonly who: number; readonly reason: ExitReason }
  | { readonly do: "ask"; readonly ask: "terminate" | "restart" | "delete" | "add"; readonly id: string }
  | { readonly do: "deliver" }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "stray"; readonly type: "ignored" | "stopped" | "failed"; readonly id: string }
  | { readonly do: "close" };

/** What surrounds a machine: processes that run, one start or stop in progress at most, messages on their way. */
class World {
  state: State<number>;
  now = 0;
  /** In start order. */
  readonly running: { readonly id: string; readonly pid: number }[] = [];
  progress: { readonly kind: "start" | "stop"; readonly id: string; readonly pid: number } | undefined;
  /** Retries and resumes to come. */
  readonly mail: { readonly type: "retry" | "resume"; readonly id: string; readonly at: number }[] = [];
  readonly open = new Set<number>();
  readonly restarts: number[] = [];
  stoppedWhileClosing: number[] = [];
  exits = 0;
  private lastPid = 0;
  private lastToken = 0;
  private readonly specs: ReadonlyMap<string, FullChildSpec>;

  constructor(config: Config, specs: readonly FullChildSpec[]) {
    this.specs = new Map(specs.map((spec) => [spec.id, spec]));
    this.state = initial(
      config,
      specs.filter(({ id }) => id !== "e"),
    );
    this.tell({ type: "boot", at: 0 });
  }

  perform(command: Command): void {
    switch (command.do) {
      case "answer":
        this.answer(command.outcome);
        return;
      case "crash": {
        const victim = this.running[command.who % Math.max(1, this.running.length)];
        if (victim === undefined) return;
        this.running.splice(this.running.indexOf(victim), 1);
        this.tell({ type: "exited", pid: victim.pid, reason: command.reason, at: this.now, roll: 0.5 });
        return;
      }
      case "ask": {
        const token = ++this.lastToken;
        this.open.add(token);
        const spec = this.specs.get(command.id) as FullChildSpec;
        const request: Ask =
          command.ask === "add" ? { ask: "add", spec } : { ask: command.ask, id: command.id };
        this.tell({ type: "asked", token, request });
        return;
      }
      case "deliver":
        this.deliver();
        return;
      case "wait":
        this.now += command.ms;
        return;
      case "stray":
        // The answer to something given up long ago: about nothing that is in progress.
        if (this.progress?.id === command.id) return;
        this.tell(
          command.type === "failed"
            ? { type: "failed", id: command.id, reason: SHUTDOWN }
            : { type: command.type, id: command.id },
        );
        return;
      case "close":
        this.tell({ type: "close", reason: SHUTDOWN });
    }
  }

  /** Everything comes up and every message arrives, until nothing moves. */
  calm(): void {
    for (let steps = 0; this.progress !== undefined || this.mail.length > 0; steps++) {
      if (steps > 1_000) throw new Error("it never ends");
      if (this.progress !== undefined) this.answer("started");
      else this.deliver();
    }
  }

  private answer(outcome: "started" | "failed" | "ignored"): void {
    const { progress } = this;
    if (progress === undefined) return;
    this.progress = undefined;
    const { id, pid } = progress;
    if (progress.kind === "stop") {
      const index = this.running.findIndex((one) => one.pid === pid);
      if (index >= 0) this.running.splice(index, 1);
      if (this.state.closing !== undefined) this.stoppedWhileClosing.push(pid);
      this.tell({ type: "stopped", id });
    } else if (outcome === "started") {
      this.running.push({ id, pid });
      this.tell({ type: "started", id, pid, at: this.now });
    } else if (outcome === "ignored") this.tell({ type: "ignored", id });
    else this.tell({ type: "failed", id, reason: { type: "custom", value: "no start" } });
  }

  private deliver(): void {
    const next = this.mail.sort((one, other) => one.at - other.at).shift();
    if (next === undefined) return;
    this.now = Math.max(this.now, next.at);
    this.tell({ ...next, at: this.now, roll: 0.5 });
  }

  private tell(event: Event<number>): void {
    const [state, effects] = decide(this.state, event);
    this.state = state;
    for (const effect of effects) this.carry(effect);
  }

  private carry(effect: Effect<number>): void {
    switch (effect.type) {
      case "start":
        expect(this.progress).toBe(undefined);
        expect(this.running.map(({ id }) => id)).not.toContain(effect.spec.id);
        this.progress = { kind: "start", id: effect.spec.id, pid: ++this.lastPid };
        return;
      case "stop":
        expect(this.progress).toBe(undefined);
        this.progress = { kind: "stop", id: effect.id, pid: effect.pid };
        return;
      case "abort-start":
        expect(this.progress).toMatchObject({ kind: "start", id: effect.spec.id });
        return;
      case "retry":
        this.mail.push({ type: "retry", id: effect.id, at: this.now });
        return;
      case "resume-after":
        this.mail.push({ type: "resume", id: effect.id, at: this.now + effect.delayMs });
        return;
      case "answer":
        expect(this.open.delete(effect.token)).toBe(true);
        return;
      case "report":
        if (effect.restart.intensityLeft >= 0) this.restarts.push(this.now);
        return;
      case "exit":
        this.exits++;
        return;
      case "up":
        return;
      default:
        effect satisfies never;
    }
  }
}

const config: fc.Arbitrary<Config> = fc.record({
  strategy: fc.constantFrom("one_for_one", "one_for_all", "rest_for_one"),
  autoShutdown: fc.constantFrom("never", "any_significant", "all_significant"),
  intensity: fc.constantFrom(0, 1, 3, 1_000),
  periodMs: fc.constantFrom(50, 5_000),
  backoff: fc.constantFrom(undefined, { minMs: 10, maxMs: 100 }),
});

const kind = fc.record({
  restart: fc.constantFrom("permanent", "transient", "temporary"),
  significant: fc.boolean(),
});

const id = fc.constantFrom(...IDS);
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("answer"),
      outcome: fc.constantFrom("started", "started", "started", "failed", "ignored"),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("crash"),
      who: fc.nat({ max: 9 }),
      reason: fc.constantFrom(...REASONS),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("ask"),
      ask: fc.constantFrom("terminate", "restart", "delete", "add"),
      id,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("deliver") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("wait"), ms: fc.constantFrom(1, 49, 51, 5_001) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("stray"),
      type: fc.constantFrom("ignored", "stopped", "failed"),
      id,
    }),
  },
);

const life = fc.record({
  config,
  kinds: fc.array(kind, { minLength: IDS.length, maxLength: IDS.length }),
  commands: fc.array(command, { maxLength: 60 }),
});

function lived({ config, kinds, commands }: typeof life extends fc.Arbitrary<infer L> ? L : never): World {
  const specs = IDS.map((id, index) => {
    const { restart, significant } = kinds[index] as (typeof kinds)[number];
    const counts = significant && restart !== "permanent" && config.autoShutdown !== "never";
    return checkChild("child", child(id, { restart, significant: counts }), config.autoShutdown);
  });
  const world = new World(config, specs);
  for (const one of commands) world.perform(one);
  return world;
}

describe("whatever happens to a supervisor", () => {
  it("it finishes: nothing is left in progress, no caller waits, and every child that it lists as running runs [V13]", () => {
    fc.assert(
      fc.property(life, (given) => {
        const world = lived(given);
        world.calm();
        const { state } = world;
        expect([...state.agenda]).toEqual([]);
        if (state.closing !== undefined) {
          expect(world.running).toEqual([]);
          expect(world.exits).toBe(1);
          return;
        }
        expect([...state.deferred]).toEqual([]);
        expect(world.exits).toBe(0);
        expect([...world.open]).toEqual([]);
        expect([...state.children].filter(({ status }) => status === "restarting")).toEqual([]);
        const said = [...state.children].filter(({ status }) => status === "running").map(({ pid }) => pid);
        expect(said.sort()).toEqual(world.running.map(({ pid }) => pid).sort());
      }),
      { numRuns: proving ? 1_000 : 300 },
    );
  });

  it("it never restarts more often within a period than the intensity allows", () => {
    fc.assert(
      fc.property(life, (given) => {
        const { restarts } = lived(given);
        const { intensity, periodMs } = given.config;
        for (const [index, last] of restarts.entries()) {
          const window = restarts.slice(0, index + 1).filter((time) => last - time <= periodMs);
          expect(window.length).toBeLessThanOrEqual(intensity);
        }
      }),
      { numRuns: proving ? 500 : 150 },
    );
  });

  it("closing stops all running children in reverse order of the list, and ends once", () => {
    fc.assert(
      fc.property(life, fc.boolean(), (given, twice) => {
        const world = lived(given);
        if (world.state.closing !== undefined) return;
        world.perform({ do: "close" });
        if (twice) world.perform({ do: "close" });
        // What was in progress comes first; then what runs, by place in the list.
        const last = world.progress?.kind === "stop" ? [world.progress.pid] : [];
        const starting = world.progress?.kind === "start" ? world.progress : undefined;
        const places = [...world.state.children].map(({ spec, pid }) =>
          spec.id === starting?.id ? starting.pid : pid,
        );
        if (starting !== undefined && !places.includes(starting.pid)) places.push(starting.pid);
        const rest = places.filter((pid) => pid !== undefined && !last.includes(pid)).reverse();
        world.calm();
        expect(world.stoppedWhileClosing).toEqual([...last, ...rest]);
        expect(world.exits).toBe(1);
        expect(world.running).toEqual([]);
      }),
      { numRuns: proving ? 500 : 150 },
    );
  });
});
