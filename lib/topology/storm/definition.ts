// A topology as a Flux definition: the spouts and bolts are Storm's wrappers around programs, and each component of ours is the same
// program, which Storm's handshake tells the component's name.

import type { Blueprint, ComponentPlan, Subscription } from "../definition/blueprint.js";
import { formOf, type GroupingForm } from "../definition/grouping-form.js";
import { madeBy } from "../definition/made-by.js";
import type { Topology } from "../topology.js";
import { componentConf, topologyConf } from "./config.js";
import { StormExportError } from "./errors.js";
import { findingsOf } from "./findings.js";
import type { FluxBean, FluxCall, FluxComponent, FluxDefinition, FluxGrouping, FluxStream } from "./flux.js";
import { checkStormOptions, checkTopology, type FullStormOptions, type StormOptions } from "./options.js";

const WRAPPERS = {
  spout: "org.apache.storm.flux.wrappers.spouts.FluxShellSpout",
  bolt: "org.apache.storm.flux.wrappers.bolts.FluxShellBolt",
};
const PARTIAL_KEY = "org.apache.storm.grouping.PartialKeyGrouping";
const FIELDS = "org.apache.storm.tuple.Fields";

/**
 * The definition by which Flux builds a topology in a cluster of Storm. Equal topologies give equal definitions, with their keys in the
 * same order. Write it by {@link fluxText}.
 *
 * | option | in the definition |
 * |---|---|
 * | `tasks`, `executors` | `numTasks`, `parallelism` |
 * | `workers` | `topology.workers` |
 * | `ackerExecutors` | `topology.acker.executors` |
 * | `maxPending` | `topology.max.spout.pending` |
 * | `messageTimeoutMs` | `topology.message.timeout.secs`, rounded up |
 * | `sampleRate` | `topology.stats.sample.rate` |
 * | `debug` | `topology.debug` |
 * | `subprocessTimeoutMs`, or the largest `timeoutMs` of shell components | `topology.subprocess.timeout.secs`, rounded up |
 * | `tickMs` of a shell bolt | `topology.tick.tuple.freq.secs` of the bolt, rounded up |
 * | `conf` of a shell component | keys of the component |
 *
 * A component may have a `maxPending` and a `debug` of its own. `retries`, `retryBackoff`, `concurrency`, `executeTimeoutMs`, `intensity`,
 * `periodMs`, `restartBackoff`, `checkValues`, and `tickMs` of bolts of ours, hold in their programs as they do here.
 *
 * The definition also registers the classes of JSON objects and arrays (`topology.kryo.register`), in addition to those of `conf`. Without
 * them, the first value of a `field.of` that goes to another worker would end that worker.
 *
 * @throws OptionError when an option is invalid, or the first argument is no topology
 * @throws StormExportError when Storm has no form for a part of the topology
 * @example
 * const lines = spoutFrom([{ text: "to be" }], { fields: { text: field.text } });
 * const print = bolt({ input: { text: field.text }, execute: ({ values }) => console.log(values.text) });
 * const printed = topology("printed")
 *   .spout("lines", lines)
 *   .bolt("print", print, { tasks: 2, from: { "lines.items": grouping.shuffle() } })
 *   .build();
 * const { bolts, streams } = fluxDefinition(printed, { workers: 2, env: { NODE_ENV: "production" } });
 */
export function fluxDefinition(topology: Topology, options: StormOptions = {}): FluxDefinition {
  const full = checkStormOptions(options);
  const blueprint = checkTopology(topology);
  const findings = findingsOf(blueprint);
  if (findings.some(({ effect }) => effect === "blocks"))
    throw new StormExportError(blueprint.name, findings);
  const beans = new Beans();
  const component = (plan: ComponentPlan): FluxComponent => componentOf(plan, blueprint, full, beans);
  const spouts = blueprint.components.filter(({ kind }) => kind === "spout").map(component);
  const bolts = blueprint.components.filter(({ kind }) => kind === "bolt").map(component);
  const streams = blueprint.subscriptions.map((subscription) => streamOf(subscription, beans));
  return {
    name: full.name ?? blueprint.name,
    config: topologyConf(blueprint, full),
    components: beans.all,
    spouts,
    bolts,
    streams,
  };
}

function componentOf(
  plan: ComponentPlan,
  { config }: Blueprint,
  { command, env }: FullStormOptions,
  beans: Beans,
): FluxComponent {
  const { name, kind, tasks, executors, streams, definition } = plan;
  const made = madeBy(definition);
  const shell = made?.by === "shell" ? made : undefined;
  const environment = { ...env, ...shell?.env };
  const calls: FluxCall[] = Object.entries(streams).map(([stream, fields]) => ({
    name: "setNamedStream",
    args: [stream, beans.texts(Object.keys(fields))],
  }));
  if (Object.keys(environment).length > 0) calls.push({ name: "setEnv", args: [beans.value(environment)] });
  for (const [key, value] of Object.entries(componentConf(plan, config)))
    calls.push({ name: "addComponentConfig", args: [key, beans.value(value)] });
  return {
    id: name,
    className: WRAPPERS[kind],
    parallelism: Math.min(executors, tasks),
    numTasks: tasks,
    constructorArgs: [shell === undefined ? command : [shell.command, ...shell.args]],
    configMethods: calls,
  };
}

function streamOf({ from, stream, to, grouping }: Subscription, beans: Beans): FluxStream {
  // Every other grouping blocks the export.
  const form = formOf(grouping) as GroupingForm;
  return { name: `${from}.${stream} -> ${to}`, from, to, grouping: groupingOf(form, stream, beans) };
}

function groupingOf({ kind, fields }: GroupingForm, streamId: string, beans: Beans): FluxGrouping {
  switch (kind) {
    case "shuffle":
      return { type: "SHUFFLE", streamId };
    case "fields":
      return { type: "FIELDS", streamId, args: fields };
    case "partialKey":
      return {
        ...{ type: "CUSTOM", streamId },
        customClass: { className: PARTIAL_KEY, constructorArgs: [beans.fields(fields)] },
      };
    case "all":
      return { type: "ALL", streamId };
    case "global":
      return { type: "GLOBAL", streamId };
    case "direct":
      return { type: "DIRECT", streamId };
    case "localOrShuffle":
      return { type: "LOCAL_OR_SHUFFLE", streamId };
    case "none":
      return { type: "NONE", streamId };
    default:
      return kind satisfies never;
  }
}

/** Objects that others refer to. */
class Beans {
  readonly all: FluxBean[] = [];
  readonly #ids: Map<string, string> = new Map();
  #maps = 0;

  /** Fields by which a partial key grouping chooses. */
  fields(names: readonly string[]): object {
    const key = JSON.stringify(names);
    const id = this.#ids.get(key) ?? `fields-${this.#ids.size + 1}`;
    if (!this.#ids.has(key)) {
      this.#ids.set(key, id);
      this.all.push({ id, className: FIELDS, constructorArgs: [names] });
    }
    return { ref: id };
  }

  /** A value of an argument. Flux takes a map with the one key `ref` or `reflist` for a reference, so that such a map is made by calls. */
  value(value: unknown): unknown {
    const entries =
      typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
    const [key] = entries[0] ?? [];
    if (entries.length !== 1 || (key !== "ref" && key !== "reflist")) return value;
    const id = `map-${++this.#maps}`;
    this.all.push({
      id,
      className: "java.util.HashMap",
      configMethods: [{ name: "put", args: entries[0] as unknown[] }],
    });
    return { ref: id };
  }

  /** An array of texts. Flux fails at an empty list, so that an empty array is made by Java's reflection. */
  texts(names: readonly string[]): unknown {
    if (names.length > 0) return names;
    if (!this.all.some(({ id }) => id === "no-texts"))
      this.all.push(
        { id: "text", className: "java.lang.Class", factory: "forName", factoryArgs: ["java.lang.String"] },
        {
          id: "no-texts",
          className: "java.lang.reflect.Array",
          factory: "newInstance",
          factoryArgs: [{ ref: "text" }, 0],
        },
      );
    return { ref: "no-texts" };
  }
}
