// A toy actor program, for tests of strategies: actors with FIFO mailboxes; a step takes one message and sends some.

import fc from "fast-check";
import { Random } from "../../../lib/testing/kit/random.js";
import type {
  Chooser,
  Footprint,
  PossibleStep,
  SearchHistory,
  SearchStrategy,
} from "../../../lib/testing/strategies/strategy.js";

export interface ToyContext {
  send(to: string, message: string): void;
  draw(n: number, label: string): number;
  /** The bug has shown. */
  fail(): void;
}

export interface Toy {
  readonly actors: Readonly<Record<string, (message: string, ctx: ToyContext) => void>>;
  /** What is in the mailboxes at the beginning. */
  readonly sent: readonly (readonly [to: string, message: string])[];
}

/** A choice between tasks, as it was made. */
export interface ToyPick {
  readonly tasks: readonly PossibleStep[];
  readonly index: number;
}

export interface ToyRun {
  /** `actor:message`, in the order in which they ran. */
  readonly steps: readonly string[];
  readonly picks: readonly ToyPick[];
  readonly choices: readonly number[];
  readonly actors: number;
  readonly failed: boolean;
  /** Whether every message was taken; else the run was given up. */
  readonly ended: boolean;
}

/** Runs to the end, or for `most` steps. Without a chooser every choice is 0. */
export function run(make: () => Toy, chooser?: Chooser, most = 10_000): ToyRun {
  const toy = make();
  const names = Object.keys(toy.actors);
  const mailboxes = new Map<string, string[]>(names.map((name) => [name, []]));
  const tasks: PossibleStep[] = [];
  const steps: string[] = [];
  const picks: ToyPick[] = [];
  const choices: number[] = [];
  let failed = false;

  const choose = (n: number, decide: () => number): number => {
    const choice = chooser === undefined ? 0 : decide();
    if (!Number.isInteger(choice) || choice < 0 || choice >= n)
      throw new Error(`${choice} is not below ${n}`);
    choices.push(choice);
    return choice;
  };
  const possible = (name: string): void => {
    const actor = names.indexOf(name);
    tasks.push({ kind: "run", actor, changes: [`a:${actor}`, `m:${actor}`], rank: undefined });
  };
  const deliver = (to: string, message: string): void => {
    const mailbox = mailboxes.get(to) as string[];
    mailbox.push(message);
    if (mailbox.length === 1 && current !== to) possible(to);
  };

  let current: string | undefined;
  for (const [to, message] of toy.sent) deliver(to, message);
  while (tasks.length > 0 && steps.length < most) {
    let index = 0;
    if (tasks.length > 1) {
      index = choose(tasks.length, () => (chooser as Chooser).pick(tasks));
      picks.push({ tasks: [...tasks], index });
    }
    const [task] = tasks.splice(index, 1) as [PossibleStep];
    current = names[task.actor] as string;
    const mailbox = mailboxes.get(current) as string[];
    const message = mailbox.shift() as string;
    const footprint = { reads: new Set<string>(), writes: new Set([`a:${task.actor}`]) } satisfies Footprint;
    toy.actors[current]?.(message, {
      send: (to, sent) => {
        footprint.writes.add(`m:${names.indexOf(to)}`);
        deliver(to, sent);
      },
      draw: (n, label) => choose(n, () => (chooser as Chooser).draw(n, label)),
      fail: () => {
        failed = true;
      },
    });
    if (mailbox.length > 0) possible(current);
    steps.push(`${current}:${message}`);
    current = undefined;
    chooser?.ran?.(task, footprint);
  }
  return { steps, picks, choices, actors: names.length, failed, ended: tasks.length === 0 };
}

/** The runs of an exploration: schedule by schedule, with what is known from those before, as the explorer does. */
export function* explore(
  strategy: SearchStrategy,
  make: () => Toy,
  schedules: number,
  seed = 1,
  most = 10_000,
): Generator<ToyRun, void> {
  const ordinary = run(make, undefined, most);
  let history: SearchHistory = { longest: ordinary.steps.length, actors: ordinary.actors };
  for (let index = 0; index < schedules; index++) {
    const chooser = strategy.begin(index, new Random(seed, index), history);
    if (chooser === undefined) return;
    const ran = run(make, chooser, most);
    history = { longest: Math.max(history.longest, ran.steps.length), actors: ran.actors };
    yield ran;
  }
}

/** How often each outcome came, as a share. */
export function shares(runs: Iterable<ToyRun>, outcome: (run: ToyRun) => string): Map<string, number> {
  const counts = new Map<string, number>();
  let total = 0;
  for (const ran of runs) {
    total++;
    const key = outcome(ran);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return new Map([...counts].map(([key, many]) => [key, many / total]));
}

/** The share of the schedules in which the bug shows. */
export function failures(strategy: SearchStrategy, make: () => Toy, schedules: number): number {
  const found = shares(explore(strategy, make, schedules), (ran) => String(ran.failed));
  return found.get("true") ?? 0;
}

/** How far a share may be from its probability: four and a half standard deviations, for seeds that never change. */
export function slack(probability: number, schedules: number): number {
  return 4.5 * Math.sqrt((probability * (1 - probability)) / schedules);
}

/** Actors that send themselves the rest of their steps: `chains({ a: 2, b: 1 })` runs `a:2`, `a:1` and `b:1`. */
export function chains(lengths: Readonly<Record<string, number>>): Toy {
  const names = Object.keys(lengths);
  const step = (name: string) => (message: string, ctx: ToyContext) => {
    const left = Number(message) - 1;
    if (left > 0) ctx.send(name, String(left));
  };
  return {
    actors: Object.fromEntries(names.map((name) => [name, step(name)])),
    sent: names.map((name) => [name, String(lengths[name])]),
  };
}

/** Programs that end: a message with so many lives makes its actor send messages with one life less. */
export const programs: fc.Arbitrary<() => Toy> = fc
  .record({
    scripts: fc.array(fc.array(fc.nat({ max: 3 }), { maxLength: 3 }), { minLength: 2, maxLength: 4 }),
    sent: fc.array(fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 3 })), { minLength: 2, maxLength: 5 }),
    draws: fc.boolean(),
  })
  .map(({ scripts, sent, draws }) => {
    const name = (i: number): string => `actor${i % scripts.length}`;
    const handler = (script: readonly number[]) => (message: string, ctx: ToyContext) => {
      if (draws) ctx.draw(2, "crash:actor");
      if (draws) ctx.draw(5, "random");
      const lives = Number(message);
      if (lives > 0) for (const to of script) ctx.send(name(to), String(lives - 1));
    };
    return () => ({
      actors: Object.fromEntries(scripts.map((script, i) => [name(i), handler(script)])),
      sent: sent.map(([to, lives]) => [name(to), String(lives)] as const),
    });
  });
