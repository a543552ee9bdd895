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
  if (Object.keys(environment).length > 0) calls.push({ name: "setEnv", args: [environment] });
  for (const [key, value] of Object.entries(componentConf(plan, config)))
    calls.push({ name: "addComponentConfig", args: [key, value] });
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
