// The commands of `signalbox system`. Those that list are made of one table: the operation, and the columns of its items.

import type {
  ChildSummary,
  ConsumerSummary,
  GroupSummary,
  PidList,
  ProcessDetails,
  ProcessSummary,
  SupervisorSummary,
  SystemOperations,
  TaskSummary,
  TopologySummary,
} from "../../admin/system/operations.js";
import { oneLine } from "../../process/printable.js";
import type { OptionSpecs } from "../shell/arguments.js";
import type { Command } from "../shell/commands.js";
import type { Showing, StoreCommandHost } from "../shell/context.js";
import { EXIT } from "../shell/exit.js";
import { factLines } from "../shell/facts.js";
import { count, lengthOf } from "../shell/style.js";
import { type Column, renderTable } from "../shell/table.js";
import { numberGiven } from "../shell/values.js";

/** What a command is given besides its arguments. */
export interface CommandContext extends Showing<StoreCommandHost, never> {
  readonly operations: SystemOperations;
}

/** A command of `signalbox system`. */
export type SystemCommand<O extends OptionSpecs = OptionSpecs> = Command<CommandContext, O>;

const defineCommand = <const O extends OptionSpecs>(command: SystemCommand<O>): SystemCommand =>
  command as unknown as SystemCommand;

/** Most items that are printed unless the user says otherwise. */
const LIMIT = 200;

interface List<Item> {
  readonly summary: string;
  /** The word behind the command. Undefined: it lists things of the whole system. */
  readonly word?: string;
  /** Stands for an empty list. */
  readonly none: string;
  readonly columns: readonly Column<Item>[];
  /** @param range - `after` is a pid; of parts, a number */
  list(
    on: SystemOperations,
    id: string,
    range: { readonly limit: number; readonly after?: never },
  ): AsyncIterable<Item>;
  /** What `--after` says to go on behind an item. */
  placeOf(item: Item): string | number;
}

function listCommand<Item>(
  name: string,
  { summary, word, none, columns, list, placeOf }: List<Item>,
): SystemCommand {
  const after =
    word === undefined
      ? { value: "PID", help: "only those behind this one" }
      : { value: "NUMBER", help: "only those behind this one" };
  return defineCommand({
    words: word === undefined ? [] : [word],
    summary,
    options: { after, limit: { value: "COUNT", help: `most of them. Default ${LIMIT}` } },
    run: async ({ words: [id = ""], options }, { operations, host, style, show }) => {
      const limit = options.limit === undefined ? LIMIT : numberGiven("limit", options.limit, 1);
      const behind =
        word === undefined ? options.after : options.after && numberGiven("after", options.after, 0);
      const items: Item[] = [];
      const range = { limit: limit + 1, ...(behind !== undefined && { after: behind as never }) };
      for await (const item of list(operations, id, range)) items.push(item);
      const last = items.length > limit ? items[limit - 1] : undefined;
      const next = last === undefined ? {} : { next: placeOf(last) };
      const shown = items.slice(0, limit);
      show({ [name]: shown, ...next }, () => {
        if (shown.length === 0) return none;
        const table = renderTable(columns, shown, host.columns);
        return last === undefined ? table : `${table}\n${style.dim(`more: --after ${placeOf(last)}`)}`;
      });
      return EXIT.fine;
    },
  });
}

const byPid = { placeOf: ({ pid }: { readonly pid: string }) => pid };
const byPlace = { placeOf: ({ place }: { readonly place: number }) => place };

const some = (n: number): string => (n === 0 ? "" : count(n));
const column = <Item>(title: string, cell: (item: Item) => string | undefined): Column<Item> => ({
  title,
  cell: (item) => cell(item) ?? "",
  shrinks: true,
});
const figure = <Item>(title: string, cell: (item: Item) => number, text = some): Column<Item> => ({
  title,
  cell: (item) => text(cell(item)),
  align: "right",
});

const PROCESSES: List<ProcessSummary> = {
  ...byPid,
  summary: "lists the processes, the oldest first",
  none: "no processes",
  columns: [
    column("PID", ({ pid }) => pid),
    column("NAME", ({ name }) => name),
    column("LABEL", ({ label }) => label),
    column("KIND", ({ kind }) => kind),
    column("STATUS", ({ status }) => status),
    figure("MAILBOX", ({ mailboxDepth }) => mailboxDepth),
    figure("HANDLED", ({ handled }) => handled, count),
    column("PARENT", ({ parent }) => parent),
  ],
  list: (on, _id, range) => on.processes(range),
};

const CHILDREN: List<ChildSummary> = {
  ...byPlace,
  summary: "lists the children of a supervisor, in the order of their starts",
  word: "SUPERVISOR",
  none: "no children",
  columns: [
    figure("NUMBER", ({ place }) => place),
    column("CHILD", ({ id }) => id),
    column("TYPE", ({ type }) => type),
    column("STATUS", ({ status }) => status),
    column("PID", ({ pid }) => pid),
  ],
  list: (on, id, range) => on.children(id, range),
};

const TOPOLOGIES: List<TopologySummary> = {
  ...byPid,
  summary: "lists the topologies, with their phases and their tuples",
  none: "no topologies",
  columns: [
    column("PID", ({ pid }) => pid),
    column("TOPOLOGY", ({ name }) => name),
    column("PHASE", ({ phase }) => phase),
    column("UP", ({ uptimeMs }) => lengthOf(uptimeMs)),
    figure("TASKS", ({ tasks }) => tasks, count),
    figure("PENDING", ({ pending }) => pending),
    figure("WAITING", ({ waiting }) => waiting),
    figure("RESTARTS", ({ restarts }) => restarts),
  ],
  list: (on, _id, range) => on.topologies(range),
};

const TASKS: List<TaskSummary> = {
  ...byPlace,
  summary: "lists the tasks of a topology, with their counts since the start",
  word: "TOPOLOGY",
  none: "no tasks",
  columns: [
    figure("NUMBER", ({ place }) => place),
    column("COMPONENT", ({ component }) => component),
    figure("TASK", ({ task }) => task),
    column("PID", ({ pid }) => pid ?? "restarting"),
    figure("EMITTED", ({ emitted }) => emitted),
    figure("EXECUTED", ({ executed }) => executed),
    figure("ACKED", ({ acked }) => acked),
    figure("FAILED", ({ failed }) => failed),
    figure("PENDING", ({ pending }) => pending),
    figure("WAITING", ({ waiting }) => waiting),
    figure("ERRORS", ({ errors }) => errors),
    figure("RESTARTS", ({ restarts }) => restarts),
  ],
  list: (on, id, range) => on.tasks(id, range),
};

const GROUPS: List<GroupSummary> = {
  ...byPid,
  summary: "lists the groups of consumers, with their envelopes in flight",
  none: "no groups",
  columns: [
    column("PID", ({ pid }) => pid),
    column("GROUP", ({ name }) => name),
    figure("CONSUMERS", ({ consumers }) => consumers, count),
    figure("IN FLIGHT", ({ inFlight }) => inFlight),
    figure("WAITING", ({ waiting }) => waiting),
  ],
  list: (on, _id, range) => on.groups(range),
};

const CONSUMERS: List<ConsumerSummary> = {
  ...byPlace,
  summary: "lists the consumers of a group, with their envelopes in flight",
  word: "GROUP",
  none: "no consumers",
  columns: [
    figure("NUMBER", ({ place }) => place),
    column("CONSUMER", ({ id }) => id),
    column("PID", ({ pid }) => pid),
    figure("IN FLIGHT", ({ inFlight }) => inFlight),
    column("MOST", ({ maxInFlight }) => String(maxInFlight)),
    figure("MAILBOX", ({ bufferDepth }) => bufferDepth),
    figure("DELIVERED", ({ delivered }) => delivered),
    column("PRESSURE", ({ pressure }) => pressure),
  ],
  list: (on, id, range) => on.consumers(id, range),
};

const process = defineCommand({
  words: ["PROCESS"],
  summary: "shows one process, by its pid or its name",
  options: {},
  run: async ({ words: [id] }, { operations, show }) => {
    const found = await operations.process(id as string);
    show(found, () => processText(found));
    return EXIT.fine;
  },
});

function processText(found: ProcessDetails): string {
  const pids = ({ count: all, first }: PidList): string =>
    all > first.length ? `${first.join(", ")} and ${count(all - first.length)} more` : first.join(", ");
  return factLines([
    ["process", found.pid],
    ["name", found.name ?? ""],
    ["label", found.label ?? ""],
    ["kind", found.kind ?? ""],
    ["status", found.status],
    ["mailbox", count(found.mailboxDepth)],
    ["handled", count(found.handled)],
    ["parent", found.parent ?? ""],
    ["groups", found.groups.join(", ")],
    ["traps", found.trapExit ? "exits" : ""],
    ["links", pids(found.links)],
    ["monitors", pids(found.monitors)],
    ["watched by", pids(found.monitoredBy)],
  ]).join("\n");
}

/** Most children of a supervisor in the picture of the tree. */
const CHILDREN_SHOWN = 50;

interface Branch extends SupervisorSummary {
  readonly shown: readonly ChildSummary[];
}

const tree = defineCommand({
  words: [],
  summary: `draws the trees of supervisors, with at most ${CHILDREN_SHOWN} children of each`,
  options: {},
  run: async (_given, { operations, show }) => {
    const branches: Branch[] = [];
    for await (const one of operations.supervisors()) {
      const shown: ChildSummary[] = [];
      for await (const child of operations.children(one.pid, { limit: CHILDREN_SHOWN })) shown.push(child);
      branches.push({ ...one, shown });
    }
    show({ supervisors: branches }, () => (branches.length === 0 ? "no supervisors" : treeText(branches)));
    return EXIT.fine;
  },
});

function treeText(branches: readonly Branch[]): string {
  const byPid = new Map(branches.map((one) => [one.pid, one]));
  const below = new Set(branches.flatMap(({ shown }) => shown.map(({ pid }) => pid)));
  const lines: string[] = [];
  const draw = (one: Branch, id: string, indent: string): void => {
    const { strategy, restarts, intensity, periodMs, children, shown } = one;
    const limit = `${restarts} of ${intensity} restarts in ${lengthOf(periodMs)}`;
    lines.push(`${indent}${oneLine(id)}  ${one.pid}  ${strategy}, ${limit}`);
    for (const child of shown) {
      const branch = child.pid === undefined ? undefined : byPid.get(child.pid);
      if (branch !== undefined) draw(branch, child.id, `${indent}  `);
      else lines.push(`${indent}  ${oneLine(child.id)}  ${child.pid ?? child.status}`);
    }
    if (children > shown.length) lines.push(`${indent}  … and ${count(children - shown.length)} more`);
  };
  for (const one of branches) if (!below.has(one.pid)) draw(one, one.name ?? one.label ?? "supervisor", "");
  return lines.join("\n");
}

export const COMMANDS: Readonly<Record<string, SystemCommand>> = {
  processes: listCommand("processes", PROCESSES),
  process,
  tree,
  children: listCommand("children", CHILDREN),
  topologies: listCommand("topologies", TOPOLOGIES),
  tasks: listCommand("tasks", TASKS),
  groups: listCommand("groups", GROUPS),
  consumers: listCommand("consumers", CONSUMERS),
};
