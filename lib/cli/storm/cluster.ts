// `signalbox storm kill`, `list` and `rebalance`: what Storm's program has under these names.

import { Misuse, type OptionSpecs } from "../shell/arguments.js";
import { EXIT } from "../shell/exit.js";
import { lengthOf } from "../shell/style.js";
import { column, figure, renderTable } from "../shell/table.js";
import { whole } from "../shell/values.js";
import { type ListedTopology, topologiesOf } from "./answers.js";
import { CLUSTER, callStorm, nimbusArguments } from "./call.js";
import { kit, type StormCommands } from "./context.js";

const SECOND_MS = 1_000;

const WAIT = {
  wait: whole(
    "SECONDS",
    0,
    "how long the spouts rest before, so that tuples in flight end. Default: the message timeout of the topology",
  ),
} as const satisfies OptionSpecs;

const waitArguments = (wait: number | undefined): string[] =>
  wait === undefined ? [] : ["-w", String(wait)];

const kill = kit.command({
  words: ["NAME"],
  summary: "ends a topology of the cluster",
  options: { ...WAIT, ...CLUSTER },
  run: ([name], given, context) =>
    callStorm(
      context,
      given,
      () => ["kill", topologyName(name), ...waitArguments(given.wait), ...nimbusArguments(given.nimbus)],
      () => {
        context.show({ killed: name }, () => `${name}: Storm ends it`);
        return EXIT.fine;
      },
    ),
});

const list = kit.command({
  summary: "lists the topologies of the cluster",
  options: CLUSTER,
  run: (_words, given, context) =>
    callStorm(
      context,
      given,
      () => ["list", ...nimbusArguments(given.nimbus)],
      (stdout) => {
        const topologies = topologiesOf(stdout);
        context.show({ topologies }, () =>
          topologies.length === 0
            ? "the cluster has no topology"
            : renderTable(COLUMNS, topologies, context.host.columns),
        );
        return EXIT.fine;
      },
    ),
});

const COLUMNS = [
  column<ListedTopology>("NAME", ({ name }) => name),
  column<ListedTopology>("STATUS", ({ status }) => status),
  figure<ListedTopology>("TASKS", ({ tasks }) => tasks),
  figure<ListedTopology>("WORKERS", ({ workers }) => workers),
  column<ListedTopology>("UPTIME", ({ uptimeSecs }) => lengthOf(uptimeSecs * SECOND_MS)),
  column<ListedTopology>("ID", ({ id }) => id),
  column<ListedTopology>("OWNER", ({ owner }) => owner),
];

const rebalance = kit.command({
  words: ["NAME"],
  summary:
    "spreads the tasks of a topology again: over all machines, over more workers, or in more executors",
  options: {
    ...WAIT,
    workers: whole("COUNT", 1, "the worker processes from now on"),
    executors: {
      value: "COMPONENT=COUNT",
      many: true,
      help: "the executors of a component from now on, at most one for each of its tasks; may be repeated",
      read: executorsGiven,
    },
    ...CLUSTER,
  },
  run: ([name], given, context) => {
    const { wait, workers, executors = [], nimbus } = given;
    return callStorm(
      context,
      given,
      () => [
        "rebalance",
        topologyName(name),
        ...waitArguments(wait),
        ...(workers === undefined ? [] : ["-n", String(workers)]),
        ...executors.flatMap((one) => ["-e", one]),
        ...nimbusArguments(nimbus),
      ],
      () => {
        context.show({ rebalanced: name }, () => `${name}: Storm spreads its tasks again`);
        return EXIT.fine;
      },
    );
  },
});

/** @throws Misuse */
function executorsGiven(text: string, option: string): string {
  if (/^[^=]+=[1-9]\d*$/.test(text)) return text;
  throw new Misuse(`--${option} must be COMPONENT=COUNT, such as split=4; got ${JSON.stringify(text)}`);
}

/** Storm's program would take it for an option. @throws Misuse */
function topologyName(name: string): string {
  if (!name.startsWith("-") && name !== "") return name;
  throw new Misuse(`there is no topology called ${JSON.stringify(name)}`);
}

export const CHANGE: StormCommands = { kill, list, rebalance };
