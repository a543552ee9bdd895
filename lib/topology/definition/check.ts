// The rules of a whole topology that types cannot check. Each problem names the component that breaks the rule.

import type { Blueprint, ComponentPlan } from "./blueprint.js";
import type { BoltDefinition, Inputs, SpoutDefinition } from "./component.js";
import type { Problem } from "./errors.js";
import type { Fields } from "./field.js";

/** All problems of a topology. */
export function findProblems(blueprint: Blueprint): Problem[] {
  return RULES.flatMap((rule) => rule(blueprint));
}

type Rule = (blueprint: Blueprint) => Problem[];

const RULES: readonly Rule[] = [
  hasSpout,
  namesAreUnique,
  parallelismIsSound,
  subscriptionsLeadToBolts,
  streamsCarryFields,
  everyBoltIsReached,
  ticksHaveListeners,
  concurrencyIsPossible,
  windowsEndInTime,
  windowsCanFill,
  ackersHaveCapacity,
];

function hasSpout({ components }: Blueprint): Problem[] {
  if (components.some(({ kind }) => kind === "spout")) return [];
  return [{ component: undefined, text: "it has no spout, so no tuple ever comes in" }];
}

function namesAreUnique({ components }: Blueprint): Problem[] {
  return components
    .filter(({ name }, at) => components.findIndex((other) => other.name === name) < at)
    .map(({ name }) => problem(name, "there are two components of this name"));
}

function parallelismIsSound({ components }: Blueprint): Problem[] {
  const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 1;
  return components.flatMap(({ name, tasks, executors }) => [
    ...(isCount(tasks)
      ? []
      : [problem(name, `tasks must be a whole number, 1 or more; got ${String(tasks)}`)]),
    // `executors` defaults to `tasks`, and the problem of `tasks` is listed already.
    ...(isCount(executors) || executors === tasks
      ? []
      : [problem(name, `executors must be a whole number, 1 or more; got ${String(executors)}`)]),
  ]);
}

function subscriptionsLeadToBolts({ components, subscriptions }: Blueprint): Problem[] {
  return subscriptions.flatMap(({ from, stream, to }, at) => {
    const bolt = components.find(({ name }) => name === to);
    if (bolt === undefined)
      return [problem(to, `subscribes to ${from}.${stream}, but there is no such component`)];
    if (bolt.kind === "spout") return [problem(to, `is a spout: it cannot read ${from}.${stream}`)];
    const first = subscriptions.findIndex(
      (subscription) =>
        subscription.to === to && subscription.from === from && subscription.stream === stream,
    );
    return first < at ? [problem(to, `subscribes to ${from}.${stream} twice`)] : [];
  });
}

function streamsCarryFields({ components, subscriptions }: Blueprint): Problem[] {
  return subscriptions.flatMap(({ from, stream, to, fields, grouping }) => {
    const bolt = components.find(({ name }) => name === to);
    if (bolt?.kind !== "bolt") return [];
    const wanted = wantedFrom(bolt, stream);
    if (wanted === undefined) {
      const known = Object.keys((bolt.definition as BoltDefinition).inputs).join(", ");
      return [problem(to, `does not read streams of the name ${stream}, but only ${known}`)];
    }
    const { fields: keys = [] } = grouping;
    const missing = keys
      .filter((key) => fields[key] === undefined)
      .map((key) => problem(to, `is grouped by the field ${key}, which ${from}.${stream} does not carry`));
    const wrong = Object.entries(wanted).flatMap(([name, { type }]) => {
      const there = fields[name];
      if (there === undefined)
        return [problem(to, `reads the field ${name}, which ${from}.${stream} does not carry`)];
      return there.type === type || there.type === "value" || type === "value"
        ? []
        : [problem(to, `reads ${name} as ${type}, but in ${from}.${stream} it is ${there.type}`)];
    });
    return [...wrong, ...missing];
  });
}

/** The fields that a bolt needs of a stream of this name. */
export function wantedFrom(bolt: ComponentPlan, stream: string): Fields | undefined {
  const inputs: Inputs = (bolt.definition as BoltDefinition).inputs;
  return Object.hasOwn(inputs, stream) ? inputs[stream] : inputs["*"];
}

/** A bolt that no spout leads to never gets a tuple. It reads no stream, or it is in a cycle of bolts. */
function everyBoltIsReached({ components, subscriptions }: Blueprint): Problem[] {
  const reached = new Set(components.filter(({ kind }) => kind === "spout").map(({ name }) => name));
  for (let before = -1; before < reached.size; ) {
    before = reached.size;
    for (const { from, to } of subscriptions) if (reached.has(from)) reached.add(to);
  }
  return components
    .filter(({ name }) => !reached.has(name))
    .map(({ name }) => {
      const sources = subscriptions
        .filter(({ to }) => to === name)
        .map(({ from, stream }) => `${from}.${stream}`);
      return problem(
        name,
        sources.length === 0 ? "reads no stream" : `no spout leads to it, by way of ${sources.join(", ")}`,
      );
    });
}

function ticksHaveListeners({ components, config: { tickMs: byDefault } }: Blueprint): Problem[] {
  return components.flatMap(({ name, kind, definition, config }) => {
    const listens = kind === "bolt" && (definition as BoltDefinition).options.tick !== undefined;
    if (listens && config.tickMs === undefined)
      return [problem(name, "has a `tick` function, but no period: give `tickMs` in its configuration")];
    if (!listens && config.tickMs !== undefined && config.tickMs !== byDefault)
      return [
        problem(
          name,
          "has `tickMs`, but its definition has no `tick` function; a shell bolt gets ticks by its own `config`",
        ),
      ];
    return [];
  });
}

function concurrencyIsPossible({ components, config: { concurrency: byDefault } }: Blueprint): Problem[] {
  return components.flatMap(({ name, kind, definition, config: { concurrency } }) => {
    const oneAtATime = kind === "bolt" && (definition as BoltDefinition).options.oneAtATime === true;
    if (!oneAtATime || concurrency === 1 || concurrency === byDefault) return [];
    const text = `takes its tuples in their order, as batches, windows and shell bolts do: give it more tasks, not concurrency`;
    return [problem(name, text)];
  });
}

/** A tuple that a bolt holds for longer than the message timeout expires and is retried every time. */
function windowsEndInTime({ components, subscriptions, config }: Blueprint): Problem[] {
  return components.flatMap(({ name, kind, definition }) => {
    const held = kind === "bolt" ? (definition as BoltDefinition).options.holdsMs : undefined;
    const anchored = subscriptions.some((subscription) => subscription.to === name && subscription.anchored);
    if (held === undefined || held < config.messageTimeoutMs || !anchored) return [];
    const text = `holds tuples back for ${held} ms, but they expire after ${config.messageTimeoutMs}: raise messageTimeoutMs`;
    return [problem(name, text)];
  });
}

/**
 * A task that waits for more tuples than it can ever get waits for ever, since the tuples that it holds are pending at
 * their spouts. The rule applies to a bolt that reads from spouts only: a bolt in between may make many tuples of one.
 */
function windowsCanFill({ components, subscriptions }: Blueprint): Problem[] {
  return components.flatMap(({ name, kind, definition, tasks }) => {
    const wanted = kind === "bolt" ? (definition as BoltDefinition).options.holdsCount : undefined;
    const read = subscriptions.filter((subscription) => subscription.to === name);
    if (wanted === undefined || read.some((subscription) => !subscription.anchored)) return [];
    const spouts = components.filter((one) => read.some((subscription) => subscription.from === one.name));
    if (spouts.some((one) => one.kind !== "spout" || (one.definition as SpoutDefinition).options.loose))
      return [];
    // Interchangeable tasks share the pending tuples of each spout task.
    const isShared = read.every((subscription) => subscription.grouping.interchangeable === true);
    const given = spouts.map((spout) => {
      const { maxPending } = spout.config;
      const each = isShared ? Math.ceil(maxPending / tasks) : maxPending;
      return { pending: spout.tasks * each, text: `${spout.tasks} × ${maxPending} of ${spout.name}` };
    });
    const most = given.reduce((sum, { pending }) => sum + pending, 0);
    if (most >= wanted) return [];
    const shared = isShared && tasks > 1 ? ` among ${tasks} tasks` : "";
    const text =
      `settles no tuple before a task holds ${wanted} tuples, but gets ${most} at most: maxPending is ` +
      `${given.map((one) => one.text).join(" and ")}${shared}. Raise maxPending, or read with { anchored: false }`;
    return [problem(name, text)];
  });
}

function ackersHaveCapacity(blueprint: Blueprint): Problem[] {
  const { ackerCapacity } = blueprint.config;
  const least = capacityFor(
    blueprint.components.map(({ kind, tasks, config }) => (kind === "spout" ? tasks * config.maxPending : 0)),
  );
  if (ackerCapacity === undefined || ackerCapacity >= least) return [];
  return [
    problem(
      undefined,
      `ackerCapacity is ${ackerCapacity}, but the spouts may have ${least / 2} tuples pending, of which one acker may get ` +
        `all: it must be ${least} or more, or maxPending less`,
    ),
  ];
}

/** The capacity that an acker must have: twice the tuples that the spouts may have pending. See AckerMachine. */
export function capacityFor(pending: readonly number[]): number {
  return 2 * pending.reduce((sum, each) => sum + each, 0);
}

function problem(component: string | undefined, text: string): Problem {
  return { component, text };
}
