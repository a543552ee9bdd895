// The options of a topology as keys of Storm's configuration.

import type { Blueprint, ComponentPlan } from "../definition/blueprint.js";
import { madeBy } from "../definition/made-by.js";
import type { FullStormOptions } from "./options.js";

/** Time without an answer of a program, when no shell component says another: that of our own host. */
const SUBPROCESS_TIMEOUT_MS = 30_000;

/**
 * The classes of objects and arrays that Storm reads from a component. Between workers it writes no value of a class that is
 * not registered: the first one would end the worker.
 */
const JSON_CLASSES = ["JSONObject", "JSONArray"].map(
  (name) => `org.apache.storm.shade.net.minidev.json.${name}`,
);
const KRYO = "topology.kryo.register";

/** Storm counts whole seconds. A shorter time than the one asked for would break what works here, so they are rounded up. */
export function seconds(ms: number): number {
  return Math.max(1, int(Math.ceil(ms / 1_000)));
}

/** Storm refuses a larger number. Here it means that there is no limit. */
const MAX_INT = 2 ** 31 - 1;
const int = (count: number): number => Math.min(count, MAX_INT);

/** The configuration of the whole topology. */
export function topologyConf(
  { config, components }: Blueprint,
  { workers, subprocessTimeoutMs, conf }: FullStormOptions,
): Readonly<Record<string, unknown>> {
  const { ackers, ackerExecutors, maxPending, messageTimeoutMs, sampleRate, debug } = config;
  return {
    "topology.workers": int(workers),
    "topology.acker.executors": int(Math.min(ackers, ackerExecutors)),
    "topology.max.spout.pending": int(maxPending),
    "topology.message.timeout.secs": seconds(messageTimeoutMs),
    // Storm refuses 0.
    ...(sampleRate > 0 ? { "topology.stats.sample.rate": sampleRate } : {}),
    "topology.subprocess.timeout.secs": seconds(subprocessTimeoutMs ?? slowestAnswerMs(components)),
    ...(debug ? { "topology.debug": true } : {}),
    // Other versions of Storm have these classes in other places.
    "topology.skip.missing.kryo.registrations": true,
    ...conf,
    [KRYO]: registered(conf[KRYO]),
  };
}

/** Storm takes a list of classes, or of objects with a class and its serializer, or one such object. */
function registered(given: unknown): readonly unknown[] {
  if (given === undefined || given === null) return JSON_CLASSES;
  return [...JSON_CLASSES, ...(Array.isArray(given) ? given : [given])];
}

/** The keys of one component that Storm lets it have, where they differ from those of the topology. */
export function componentConf(
  { kind, config, definition }: ComponentPlan,
  topology: Blueprint["config"],
): Readonly<Record<string, unknown>> {
  const made = madeBy(definition);
  const isShell = made?.by === "shell";
  return {
    ...(kind === "spout" && config.maxPending !== topology.maxPending
      ? { "topology.max.spout.pending": int(config.maxPending) }
      : {}),
    ...(config.debug === topology.debug ? {} : { "topology.debug": config.debug }),
    // A bolt of ours has a clock of its own.
    ...(isShell && kind === "bolt" && config.tickMs !== undefined
      ? { "topology.tick.tuple.freq.secs": seconds(config.tickMs) }
      : {}),
    // Flux takes no null as an argument, and to a program a key that is null is one that is not there.
    ...(isShell ? Object.fromEntries(Object.entries(made.conf).filter(([, value]) => value !== null)) : {}),
  };
}

/** The time without an answer that Storm allows to every program: it has one for the whole topology. */
export function slowestAnswerMs(components: readonly ComponentPlan[]): number {
  const limits = components.flatMap(({ definition }) => {
    const made = madeBy(definition);
    return made?.by === "shell" && Number.isFinite(made.timeoutMs) ? [made.timeoutMs] : [];
  });
  return limits.length === 0 ? SUBPROCESS_TIMEOUT_MS : Math.max(...limits);
}
