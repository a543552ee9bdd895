// Any sequence of events, in a world that answers as the process of a dynamic supervisor would. And the rules one by one.

import fc from "fast-check";
import { type ExitReason, SHUTDOWN } from "signalbox";
import { describe, expect, it } from "vitest";
import type { SoleName } from "../../lib/process/via.js";
import { checkChild } from "../../lib/supervisor/child.js";
import type { ChildName } from "../../lib/supervisor/child-name.js";
import {
  AT_ONCE,
  decide,
  holderOf,
  initial,
  isRestart,
  listed,
} from "../../lib/supervisor/dynamic-machine.js";
import type {
  DynamicConfig,
  DynamicEffect,
  DynamicEvent,
  DynamicState,
} from "../../lib/supervisor/dynamic-protocol.js";
import type { Answer } from "../../lib/supervisor/protocol.js";
import { child } from "./house.js";

const CRASH: ExitReason = { type: "custom", value: "broken" };
const REASONS: readonly ExitReason[] = [{ type: "normal" }, SHUTDOWN, { type: "killed" }, CRASH];

type Command =
  | { readonly do: "add" | "close" | "deliver" | "next start fails" }
  | { readonly do: "add named"; readonly name: string; readonly orGet: boolean }
  | { readonly do: "give up"; readonly who: number }
  | { readonly do: "terminate" | "obey"; readonly who: number }
  | { readonly do: "start ends"; readonly who: number; readonly how: "started" | "ignored" | "failed" }
  | { readonly do: "crash"; readonly who: number; readonly reason: ExitReason }
  | { readonly do: "wait"; readonly ms: number };

type News =
  | Exclude<DynamicEvent<number>, { readonly type: "exited" | "retry" | "started" }>
  | { readonly type: "started"; readonly key: string }
  | { readonly type: "exited"; readonly pid: number; readonly reason: ExitReason }
  | { readonly type: "retry"; readonly key: string };

/** What surrounds a machine: child processes, messages that have yet to arrive, and requests that wait for an answer. */
class World {
  readonly state: DynamicState<number>;
  now = 0;
  exits = 0;
  readonly alive = new Set<number>();
  /** Processes whose `init` has not ended. */
  readonly starting = new Map<number, string>();
  /** Processes that were told to stop. */
  readonly told = new Set<number>();
  readonly mail: News[] = [];
  readonly open = new Set<number>();
  /** The names that requests are for, and the children that requests wait with, by token. */
  readonly wanted = new Map<number, { readonly name: ChildName; readonly orGet: boolean }>();
  readonly held = new Map<number, string>();
  /** The pid or the problem of each answer, by token. */
  readonly answers = new Map<number, number | string | undefined>();
  readonly restartTimes: number[] = [];
  effects: DynamicEffect<number>[] = [];
  private startFails = false;
  private lastPid = 0;
  private lastToken = 0;

  constructor(config: DynamicConfig) {
    this.state = initial(config);
  }

  run(command: Command): void {
    switch (command.do) {
      case "add":
        this.add();
        return;
      case "add named":
        this.addNamed(command.name, command.orGet);
        return;
      case "give up":
        this.giveUp(nth(this.held.keys(), command.who));
        return;
      case "close":
        this.dispatch({ type: "close", reason: SHUTDOWN });
        return;
      case "deliver":
        this.deliver();
        return;
      case "next start fails":
        this.startFails = true;
        return;
      case "terminate":
        this.dispatch({ type: "terminate", token: this.ask(), pid: 1 + (command.who % (this.lastPid + 1)) });
        return;
      case "obey":
        this.end(nth(this.told, command.who), SHUTDOWN);
        return;
      case "start ends":
        this.startEnds(nth(this.starting.keys(), command.who), command.how);
        return;
      case "crash":
        this.end(nth(this.alive, command.who), command.reason);
        return;
      case "wait":
        this.now += command.ms;
        return;
      default:
        command satisfies never;
    }
  }

  add(): void {
    this.dispatch({ type: "add", token: this.ask(), args: [] });
  }

  addNamed(name: string, orGet = true): number {
    const token = this.ask();
    this.wanted.set(token, { name: { claim: name, sole: { place: PLACE, key: name } }, orGet });
    this.askFor(token);
    return token;
  }

  /** A caller stops to wait. */
  giveUp(token: number | undefined): void {
    if (token === undefined) return;
    this.open.delete(token);
    const key = this.held.get(token) as string;
    this.held.delete(token);
    this.dispatch({ type: "withdrawn", key, token });
  }

  private askFor(token: number): void {
    const wanted = this.wanted.get(token);
    const pid = wanted?.name.sole && holderOf(this.state, wanted.name.sole);
    const isDead = pid !== undefined && !this.alive.has(pid);
    this.dispatch({ type: "add", token, args: [], ...wanted, isDead });
  }

  /** A request for a name gets a process of this name. */
  private checkAnswer(token: number, answer: Answer<number>): void {
    this.answers.set(token, answer.ok ? answer.pid : answer.problem);
    const name = this.wanted.get(token)?.name;
    if (!answer.ok || answer.pid === undefined || name === undefined) return;
    expect(this.state.byPid.get(answer.pid)?.name?.claim).toBe(name.claim);
  }

  ask(): number {
    this.open.add(++this.lastToken);
    return this.lastToken;
  }

  startEnds(pid: number | undefined, how: "started" | "ignored" | "failed"): void {
    if (pid === undefined) return;
    const key = this.starting.get(pid) as string;
    if (how === "failed") {
      this.end(pid, CRASH);
      return;
    }
    this.starting.delete(pid);
    this.mail.push({ type: how, key });
    if (how === "ignored") this.end(pid, { type: "normal" });
  }

  end(pid: number | undefined, reason: ExitReason): void {
    if (pid === undefined || !this.alive.delete(pid)) return;
    this.told.delete(pid);
    this.mail.push({ type: "exited", pid, reason });
    const key = this.starting.get(pid);
    if (key !== undefined) this.mail.push({ type: "failed", key, reason });
    this.starting.delete(pid);
  }

  deliver(): void {
    const news = this.mail.shift();
    if (news === undefined) return;
    const { now: at } = this;
    const isDated = news.type === "exited" || news.type === "retry" || news.type === "started";
    this.dispatch(isDated ? ({ ...news, at, roll: 0.5 } as DynamicEvent<number>) : news);
  }

  /** Everything that is in progress ends: starts succeed, and whoever was told to stop does. */
  settle(): void {
    for (let left = 10_000; left > 0; left--) {
      for (const pid of [...this.starting.keys()]) this.startEnds(pid, "started");
      for (const pid of [...this.told]) this.end(pid, SHUTDOWN);
      if (this.mail.length === 0) return;
      this.deliver();
    }
    throw new Error("the machine does not come to rest");
  }

  dispatch(event: DynamicEvent<number>): void {
    if (this.exits > 0) return;
    const [state, effects] = decide(this.state, event);
    expect(state).toBe(this.state);
    this.effects.push(...effects);
    for (const effect of effects) this.perform(effect);
    this.check();
  }

  private perform(effect: DynamicEffect<number>): void {
    switch (effect.type) {
      case "start":
        expect(this.state.closing).toBeUndefined();
        this.start(effect.key);
        return;
      case "answer":
        this.checkAnswer(effect.token, effect.answer);
        expect(this.open.delete(effect.token)).toBe(true);
        this.held.delete(effect.token);
        return;
      case "refuse":
        expect(this.open.delete(effect.token)).toBe(true);
        return;
      case "hold":
        expect(this.held.has(effect.token)).toBe(false);
        this.held.set(effect.token, effect.key);
        return;
      case "answer-all":
        for (const token of effect.tokens) {
          this.checkAnswer(token, effect.answer);
          expect(this.open.delete(token) && this.held.delete(token)).toBe(true);
        }
        return;
      case "ask-again":
        for (const token of effect.tokens) {
          expect(this.held.delete(token)).toBe(true);
          this.askFor(token);
        }
        return;
      case "stop":
      case "shut-down":
      case "abort-start":
        expect(this.alive.has(effect.pid) || this.isOnItsWay(effect.pid)).toBe(true);
        if (this.alive.has(effect.pid)) this.told.add(effect.pid);
        return;
      case "kill":
        this.end(effect.pid, { type: "killed" });
        return;
      case "retry":
        this.mail.push({ type: "retry", key: effect.key });
        return;
      case "resume-after":
        this.mail.push({ type: "resume", key: effect.key });
        return;
      case "time-up-after":
        this.mail.push({ type: "time-up" });
        return;
      case "go-on":
        this.mail.push({ type: "go-on" });
        return;
      case "report-restart":
        this.countRestart(effect.restart.intensityLeft);
        return;
      case "exit":
        expect([...this.alive]).toEqual([]);
        this.exits++;
        return;
      case "stopped":
      case "report-exit":
        return;
      default:
        effect satisfies never;
    }
  }

  private start(key: string): void {
    if (this.startFails) {
      this.startFails = false;
      this.mail.push({ type: "failed", key, reason: CRASH });
      return;
    }
    const pid = ++this.lastPid;
    this.alive.add(pid);
    this.starting.set(pid, key);
    this.dispatch({ type: "spawned", key, pid });
  }

  private countRestart(intensityLeft: number): void {
    if (intensityLeft < 0) return;
    const { intensity, periodMs } = this.state.config;
    this.restartTimes.push(this.now);
    const recent = this.restartTimes.filter((at) => this.now - at <= periodMs);
    expect(recent.length).toBeLessThanOrEqual(intensity);
    expect(intensityLeft).toBe(intensity - recent.length);
  }

  private isOnItsWay(pid: number): boolean {
    const key = this.state.byPid.get(pid)?.key;
    return this.mail.some(
      (news) => (news.type === "exited" && news.pid === pid) || (news.type === "failed" && news.key === key),
    );
  }

  private check(): void {
    const { children, byPid, config } = this.state;
    expect(children.size).toBeLessThanOrEqual(config.maxChildren);
    expect([...byPid.values()].every((one) => children.get(one.key) === one)).toBe(true);
    const wrong = listed(this.state).filter(
      ({ pid, starting }) => pid !== undefined && !starting && !this.alive.has(pid) && !this.isOnItsWay(pid),
    );
    expect(wrong).toEqual([]);
    this.checkNames();
  }

  /** Each name has one child, and whoever waits does so with a child that there is. */
  private checkNames(): void {
    const { children, byName } = this.state;
    const named = [...children.values()].filter(({ name }) => name !== undefined);
    expect(byName.size).toBe(named.length);
    for (const one of named) expect(byName.get(one.name?.sole as SoleName)).toBe(one);
    for (const { stopping, starting, pid, waiting } of named) {
      const runs = pid !== undefined && !starting && stopping === undefined && this.alive.has(pid);
      if (runs) expect([...(waiting ?? [])]).toEqual([]);
    }
  }
}

const PLACE = {};

function nth<T>(items: Iterable<T>, n: number): T | undefined {
  const all = [...items];
  return all[n % Math.max(1, all.length)];
}

function configOf(more: Partial<DynamicConfig> = {}, options: object = {}): DynamicConfig {
  const spec = checkChild("child", child("a", options), "never");
  return { intensity: 3, periodMs: 1_000, backoff: undefined, spec, maxChildren: 5, ...more };
}

const config: fc.Arbitrary<DynamicConfig> = fc
  .record({
    intensity: fc.constantFrom(0, 1, 3, 1_000),
    periodMs: fc.constantFrom(50, 5_000),
    backoff: fc.constantFrom(undefined, { minMs: 10, maxMs: 100 }),
    maxChildren: fc.constantFrom(1, 3, 100),
    restart: fc.constantFrom("permanent", "transient", "temporary"),
    shutdown: fc.constantFrom("brutal_kill", 100, Number.POSITIVE_INFINITY),
  })
  .map(({ restart, shutdown, ...limits }) => configOf(limits, { restart, shutdown }));

const who = fc.nat({ max: 9 });
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Command>({ do: "deliver" }) },
  { weight: 4, arbitrary: fc.constant<Command>({ do: "add" }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("add named"),
      name: fc.constantFrom("a", "b"),
      orGet: fc.constantFrom(true, true, true, false),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("give up"), who }) },
  { weight: 1, arbitrary: fc.constantFrom<Command>({ do: "close" }, { do: "next start fails" }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("terminate", "obey"), who }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("start ends"),
      who,
      how: fc.constantFrom("started", "started", "ignored", "failed"),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("crash"), who, reason: fc.constantFrom(...REASONS) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait"), ms: fc.nat({ max: 80 }) }) },
);

describe("a dynamic supervisor, after any sequence of events", () => {
  it("has answered each request once, restarted no more often than allowed, and ends with its last child [V37]", () => {
    fc.assert(
      fc.property(config, fc.array(command, { maxLength: 60 }), (given, commands) => {
        const world = new World(given);
        for (const one of commands) world.run(one);
        world.settle();
        if (world.exits === 0) {
          expect(world.state.closing).toBeUndefined();
          expect([...world.open]).toEqual([]);
          const children = listed(world.state).map(({ pid }) => pid);
          expect(new Set(children)).toEqual(world.alive);
          expect(new Set(world.state.byPid.keys())).toEqual(world.alive);
          world.dispatch({ type: "close", reason: SHUTDOWN });
          world.settle();
        }
        expect(world.exits).toBe(1);
        expect([...world.alive]).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});

describe("a request to start or get the child of a name", () => {
  const tokens = (world: World, type: DynamicEffect<number>["type"]): number[] =>
    world.effects.flatMap((effect) => (effect.type === type && "token" in effect ? [effect.token] : []));
  const named = (given = configOf()): World => {
    const world = new World(given);
    world.addNamed("a");
    world.settle();
    world.effects = [];
    return world;
  };
  const answers = (world: World, ...of: number[]) => of.map((token) => world.answers.get(token));

  it("is answered with the child that runs, with the one that starts, and with no other name's", () => {
    const world = named();
    world.addNamed("a");
    expect(answers(world, 2)).toEqual([1]);
    world.addNamed("b");
    world.addNamed("b");
    world.settle();
    expect(answers(world, 3, 4)).toEqual([2, 2]);
  });

  it("counts no child twice towards maxChildren, and a request that may not get is refused", () => {
    const world = named(configOf({ maxChildren: 1 }));
    world.addNamed("a");
    world.addNamed("b");
    world.addNamed("a", false);
    expect(world.effects.slice(1)).toEqual([
      { type: "refuse", token: 3, why: "max_children" },
      { type: "refuse", token: 4, why: "already_started" },
    ]);
  });

  it("waits for the restart of a child that has crashed, also before the supervisor has noticed", () => {
    const world = named(configOf({ backoff: { minMs: 100, maxMs: 100, jitter: 0 } }));
    world.end(1, CRASH);
    world.addNamed("a");
    world.deliver();
    world.addNamed("a");
    expect(tokens(world, "hold")).toEqual([2, 3]);
    world.settle();
    expect(answers(world, 2, 3)).toEqual([2, 2]);
  });

  it("starts another child when the one that it waits for is stopped, and the others get that one", () => {
    const world = named();
    world.dispatch({ type: "terminate", token: world.ask(), pid: 1 });
    world.addNamed("a");
    world.addNamed("a");
    expect(world.alive.size).toBe(1);
    world.settle();
    expect(answers(world, 3, 4)).toEqual([2, 2]);
    expect(world.alive).toEqual(new Set([2]));
  });

  it("gets the failure of the first start that it waits for", () => {
    for (const [how, answer] of [
      ["failed", "start_failed"],
      ["ignored", undefined],
    ] as const) {
      const world = new World(configOf());
      world.addNamed("a");
      world.addNamed("a");
      world.startEnds(1, how);
      world.settle();
      expect([...world.answers]).toEqual([
        [1, answer],
        [2, answer],
      ]);
      expect(world.state.byName.size).toBe(0);
    }
  });

  it("starts nothing after its caller has given up", () => {
    const world = named();
    world.dispatch({ type: "terminate", token: world.ask(), pid: 1 });
    world.giveUp(world.addNamed("a"));
    world.settle();
    expect(world.state.children.size).toBe(0);
  });

  it("finds a child by its name also while it waits for its restart, to terminate it", () => {
    const world = named(configOf({ backoff: { minMs: 100, maxMs: 100, jitter: 0 } }));
    world.end(1, CRASH);
    world.deliver();
    world.dispatch({
      type: "terminate",
      token: world.ask(),
      pid: undefined,
      name: { place: PLACE, key: "a" },
    });
    expect(world.state.children.size).toBe(0);
  });
});

describe("a dynamic supervisor's machine", () => {
  /** A world with running children. */
  const running = (count: number, given = configOf({ maxChildren: 1_000 })): World => {
    const world = new World(given);
    for (let i = 0; i < count; i++) world.add();
    world.settle();
    world.effects = [];
    return world;
  };

  it("refuses one child more than maxChildren", () => {
    const world = running(5, configOf());
    world.add();
    expect(world.effects).toEqual([{ type: "refuse", token: 6, why: "max_children" }]);
  });

  it("restarts a child under the same key, and a request by its former pid still finds it", () => {
    const world = running(1, configOf({ backoff: { minMs: 100, maxMs: 100, jitter: 0 } }));
    world.end(1, CRASH);
    world.deliver();
    expect(world.effects.map(({ type }) => type)).toEqual(["report-restart", "resume-after"]);
    world.effects = [];
    world.dispatch({ type: "terminate", token: world.ask(), pid: 1 });
    expect(world.effects).toEqual([{ type: "answer", token: 2, answer: { ok: true, pid: undefined } }]);
    expect(world.state.children.size).toBe(0);
  });

  it("gives up after more restarts than the intensity allows, and stops the others", () => {
    const world = running(2, configOf({ intensity: 0 }));
    world.end(1, CRASH);
    world.deliver();
    expect(world.effects.map(({ type }) => type)).toEqual(["report-restart", "time-up-after", "shut-down"]);
    world.settle();
    expect(world.effects.at(-1)).toEqual({ type: "exit", reason: SHUTDOWN });
  });

  it("closes in portions, so that the host runs in between", () => {
    const world = running(AT_ONCE + 10, configOf({ maxChildren: 1_000 }, { shutdown: "brutal_kill" }));
    world.dispatch({ type: "close", reason: SHUTDOWN });
    expect(world.effects.filter(({ type }) => type === "kill")).toHaveLength(AT_ONCE);
    expect(world.effects.at(-1)).toEqual({ type: "go-on" });
    world.settle();
    expect(world.exits).toBe(1);
  });

  it("kills the remaining children when the shared shutdown time is over", () => {
    const world = running(3);
    world.dispatch({ type: "close", reason: SHUTDOWN });
    world.effects = [];
    world.dispatch({ type: "time-up" });
    expect(world.effects.map(({ type }) => type)).toEqual(["kill", "kill", "kill"]);
  });

  it("needs a random number only for an end that leads to a restart", () => {
    const { state } = running(1);
    expect([isRestart(state, 1, CRASH), isRestart(state, 9, CRASH)]).toEqual([true, false]);
    decide(state, { type: "terminate", token: 9, pid: 1 });
    expect(isRestart(state, 1, CRASH)).toBe(false);
  });
});
