// The commands of `signalbox system`. Those that list are made of one table: the operation, and the columns of its items.

import type {
  ChildSummary,
  ConsumerSummary,
  GroupSummary,
  NodeSummary,
  PartRange,
  PidList,
  PidRange,
  ProcessDetails,
  ProcessSummary,
  SupervisorSummary,
  SystemOperations,
  TaskSummary,
  TopologySummary,
} from "../../admin/system/operations.js";
import { oneLine } from "../../process/printable.js";
import type { Command, Commands } from "../shell/commands.js";
import type { CommandContext } from "../shell/context.js";
import { factLines } from "../shell/facts.js";
import { CommandKit } from "../shell/kit.js";
import { count, lengthOf } from "../shell/style.js";
import { type Column, column, figure } from "../shell/table.js";
import { whole } from "../shell/values.js";

type Context = CommandContext<SystemOperations>;

const kit: CommandKit<Context, SystemOperations> = new CommandKit();

/** Most items that are printed unless the user says otherwise. */
const LIMIT = 200;
const SHORT = { limit: LIMIT, most: `most of them. Default ${LIMIT}` } as const;
const BEHIND = "only those behind this one";

/** A list without its operation. */
interface List<Item> {
  readonly name: string;
  readonly summary: string;
  readonly none: string;
  readonly columns: readonly Column<Item>[];
}

/** A list of the whole system, in the order of pids. */
function listed<Item extends { readonly pid: string }>(
  { columns, ...list }: List<Item>,
  items: (on: SystemOperations, range: PidRange) => AsyncIterable<Item>,
): Command<Context> {
  return kit.table({
    ...list,
    ...SHORT,
    options: { after: { value: "PID", help: BEHIND } },
    items: (on, _words, range) => items(on, range),
    columns: () => columns,
    placeOf: ({ pid }) => pid,
  });
}

/** A list of the parts of one process. */
function parts<Item extends { readonly place: number }>(
  word: string,
  { columns, ...list }: List<Item>,
  items: (on: SystemOperations, id: string, range: PartRange) => AsyncIterable<Item>,
): Command<Context> {
  return kit.table({
    ...list,
    ...SHORT,
    words: [word],
    options: { after: whole("NUMBER", 0, BEHIND) },
    items: (on, [id = ""], range) => items(on, id, range),
    columns: () => columns,
    placeOf: ({ place }) => place,
  });
}

const processes = listed<ProcessSummary>(
  {
    name: "processes",
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
  },
  (on, range) => on.processes(range),
);

const children = parts<ChildSummary>(
  "SUPERVISOR",
  {
    name: "children",
    summary: "lists the children of a supervisor, in the order of their starts",
    none: "no children",
    columns: [
      figure("NUMBER", ({ place }) => place, String),
      column("CHILD", ({ id }) => id),
      column("TYPE", ({ type }) => type),
      column("STATUS", ({ status }) => status),
      column("PID", ({ pid }) => pid),
    ],
  },
  (on, id, range) => on.children(id, range),
);

const topologies = listed<TopologySummary>(
  {
    name: "topologies",
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
  },
  (on, range) => on.topologies(range),
);

const tasks = parts<TaskSummary>(
  "TOPOLOGY",
  {
    name: "tasks",
    summary: "lists the tasks of a topology, with their counts since the start",
    none: "no tasks",
    columns: [
      figure("NUMBER", ({ place }) => place, String),
      column("COMPONENT", ({ component }) => component),
      figure("TASK", ({ task }) => task, String),
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
  },
  (on, id, range) => on.tasks(id, range),
);

const groups = listed<GroupSummary>(
  {
    name: "groups",
    summary: "lists the groups of consumers, with their envelopes in flight",
    none: "no groups",
    columns: [
      column("PID", ({ pid }) => pid),
      column("GROUP", ({ name }) => name),
      figure("CONSUMERS", ({ consumers }) => consumers, count),
      figure("IN FLIGHT", ({ inFlight }) => inFlight),
      figure("WAITING", ({ waiting }) => waiting),
    ],
  },
  (on, range) => on.groups(range),
);

const consumers = parts<ConsumerSummary>(
  "GROUP",
  {
    name: "consumers",
    summary: "lists the consumers of a group, with their envelopes in flight",
    none: "no consumers",
    columns: [
      figure("NUMBER", ({ place }) => place, String),
      column("CONSUMER", ({ id }) => id),
      column("PID", ({ pid }) => pid),
      figure("IN FLIGHT", ({ inFlight }) => inFlight),
      column("MOST", ({ maxInFlight }) => String(maxInFlight)),
      figure("MAILBOX", ({ bufferDepth }) => bufferDepth),
      figure("DELIVERED", ({ delivered }) => delivered),
      column("PRESSURE", ({ pressure }) => pressure),
    ],
  },
  (on, id, range) => on.consumers(id, range),
);

type SessionSummary = NonNullable<NodeSummary["session"]>;

/** A number of a session. Zero is shown, too. */
function ofSession(
  title: string,
  cell: (session: SessionSummary) => number | undefined,
  textOf: (n: number) => string = count,
): Column<NodeSummary> {
  const text = ({ session }: NodeSummary): string => {
    const n = session && cell(session);
    return n === undefined ? "" : textOf(n);
  };
  return { title, cell: text, align: "right" };
}

const millis = (ms: number): string => `${ms.toFixed(1)} ms`;

const nodes = kit.table({
  name: "nodes",
  summary: "lists the nodes that the system knows, with the session with each",
  none: "no nodes: the system is not connected to others",
  ...SHORT,
  options: { after: whole("NUMBER", 0, BEHIND) },
  items: (on, _words, range) => on.nodes(range),
  columns: (): readonly Column<NodeSummary>[] => [
    figure("NUMBER", ({ place }) => place, String),
    column("NODE", ({ name }) => name),
    column("ID", ({ id }) => id),
    column("STATE", ({ state }) => state),
    column("EPOCH", ({ session }) => session?.epoch),
    column("UP", ({ session }) => (session?.uptimeMs !== undefined ? lengthOf(session.uptimeMs) : "")),
    ofSession("VERSION", ({ version }) => version),
    ofSession("CREDIT", ({ epoch, credit }) => (epoch === undefined ? undefined : credit.frames)),
    ofSession("CREDIT SIZE", ({ epoch, credit }) => (epoch === undefined ? undefined : credit.size)),
    ofSession("IN FLIGHT", ({ inFlight }) => inFlight),
    ofSession("QUEUED", ({ queued }) => queued.signals),
    ofSession("BYTES", ({ queued }) => queued.bytes),
    ofSession("GAPS", ({ gaps }) => gaps),
    ofSession("ENDS", ({ ends }) => ends),
    ofSession("LOST", ({ lost }) => lost),
    ofSession("REFUSED", ({ refused }) => refused),
    ofSession("ROUND TRIP", ({ roundTripMs }) => roundTripMs, millis),
    ofSession("LAST", ({ lastRoundTripMs }) => lastRoundTripMs, millis),
  ],
  placeOf: ({ place }) => place,
});

const process = kit.ask({
  words: ["PROCESS"],
  summary: "shows one process, by its pid or its name",
  ask: (on, [id]) => on.process(id),
  text: processText,
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

const tree = kit.ask({
  summary: `draws the trees of supervisors, with at most ${CHILDREN_SHOWN} children of each`,
  ask: async (on) => {
    const supervisors: Branch[] = [];
    for await (const one of on.supervisors()) {
      const shown: ChildSummary[] = [];
      for await (const child of on.children(one.pid, { limit: CHILDREN_SHOWN })) shown.push(child);
      supervisors.push({ ...one, shown });
    }
    return { supervisors };
  },
  text: ({ supervisors }) => (supervisors.length === 0 ? "no supervisors" : treeText(supervisors)),
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

export const COMMANDS: Commands<Context> = {
  processes,
  process,
  tree,
  children,
  topologies,
  tasks,
  groups,
  consumers,
  nodes,
};
