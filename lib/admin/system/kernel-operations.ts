// The operations on a system, over its kernel. Nothing registers anything for them: the behaviour of a process says its kind, which
// inspection uses, too.

import type { GroupState } from "../../dispatch/watcher.js";
import { NoProcessError, OptionError } from "../../process/errors.js";
import { processInfo } from "../../process/info.js";
import { inspectedOf } from "../../process/inspection-trace.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { count, text } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { STARTING } from "../../process/process-state.js";
import type { SupervisorState } from "../../supervisor/ref.js";
import type { TopologyState } from "../../topology/runtime/task-info.js";
import { KernelHistory } from "../history/history-operations.js";
import type { Incident, IncidentFilter, Overview, RecentFilter } from "../history/operations.js";
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
} from "./operations.js";

/** The states of the kinds of processes that have lists of their own. */
interface States {
  readonly supervisor: SupervisorState;
  readonly topology: TopologyState;
  readonly group: GroupState;
}

/** Most pids of one list of a process. */
const PIDS = 100;

export class KernelOperations implements SystemOperations {
  readonly #kernel: Kernel;

  readonly #history: KernelHistory;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.#history = new KernelHistory(kernel, { deepest: async () => [] });
  }

  async *processes(filter: PidRange = {}): AsyncGenerator<ProcessSummary, void, undefined> {
    // As in every list of processes: dispatches in flight become processes. Once for a list, and not for each of its pages.
    if (filter.after === undefined) this.#kernel.appear();
    yield* this.#listed(filter, (process) => this.#summary(process));
  }

  async process(id: string): Promise<ProcessDetails> {
    const process = this.#find(id);
    const { groups, trapExit, links, monitors, monitoredBy } = processInfo(this.#kernel, process);
    return {
      ...this.#summary(process),
      groups,
      trapExit,
      links: pidList(links),
      monitors: pidList(monitors),
      monitoredBy: pidList(monitoredBy),
    };
  }

  async *supervisors(filter: PidRange = {}): AsyncGenerator<SupervisorSummary, void, undefined> {
    yield* this.#listed(filter, (process) => {
      const state = stateOf(process, "supervisor");
      if (state === undefined) return undefined;
      const { strategy, intensity, periodMs, restarts, children } = state;
      const { pid, label, name, parent } = this.#summary(process);
      return { pid, label, name, parent, strategy, intensity, periodMs, restarts, children: children.length };
    });
  }

  async *children(id: string, filter: PartRange = {}): AsyncGenerator<ChildSummary, void, undefined> {
    const { children } = this.#one("supervisor", id);
    // The first started first.
    yield* parts([...children].reverse(), filter);
  }

  async *topologies(filter: PidRange = {}): AsyncGenerator<TopologySummary, void, undefined> {
    yield* this.#listed(filter, (process) => {
      const state = stateOf(process, "topology");
      if (state === undefined) return undefined;
      const { name, phase, uptimeMs, restarts, tasks } = state;
      return {
        pid: pidText(process.pid),
        name,
        phase,
        uptimeMs,
        restarts,
        tasks: tasks.length,
        pending: sum(tasks, ({ kind, pending }) => (kind === "spout" ? pending : 0)),
        waiting: sum(tasks, ({ waiting }) => waiting),
      };
    });
  }

  async *tasks(id: string, filter: PartRange = {}): AsyncGenerator<TaskSummary, void, undefined> {
    yield* parts(this.#one("topology", id).tasks, filter);
  }

  async *groups(filter: PidRange = {}): AsyncGenerator<GroupSummary, void, undefined> {
    yield* this.#listed(filter, (process) => {
      const state = stateOf(process, "group");
      if (state === undefined) return undefined;
      const { name, waiting, consumers } = state;
      const inFlight = sum(consumers, (one) => one.inFlight);
      return { pid: pidText(process.pid), name, consumers: consumers.length, inFlight, waiting };
    });
  }

  async *consumers(id: string, filter: PartRange = {}): AsyncGenerator<ConsumerSummary, void, undefined> {
    yield* parts(this.#one("group", id).consumers, filter) as Iterable<ConsumerSummary>;
  }

  async *nodes(filter: PartRange = {}): AsyncGenerator<NodeSummary, void, undefined> {
    const sessions = this.#kernel.remote.sessions();
    if (sessions === undefined) return yield* slice([], filter);
    const { id, name } = this.#kernel.node;
    const others = sessions.map(({ node, state, ...session }) => ({
      id: node.id,
      name: node.name,
      state,
      session,
    }));
    yield* slice<Omit<NodeSummary, "place">>([{ id, name, state: "here" }, ...others], filter);
  }

  incidents(filter?: IncidentFilter): AsyncIterable<Incident> {
    return this.#history.incidents(filter);
  }

  recent(filter?: RecentFilter): Promise<readonly Incident[]> {
    return this.#history.recent(filter);
  }

  overview(): Promise<Overview> {
    return this.#history.overview();
  }

  #summary(process: Process): ProcessSummary {
    const { label, name, status, mailboxDepth, handled, parent } = processInfo(this.#kernel, process);
    return {
      pid: pidText(process.pid),
      label,
      name,
      kind: kindOf(process),
      status,
      mailboxDepth,
      handled,
      parent: parent === undefined ? undefined : pidText(parent),
    };
  }

  /** The processes in a range for which there is something to list. @throws OptionError */
  *#listed<T>(filter: PidRange, view: (process: Process) => T | undefined): Generator<T, void, undefined> {
    only("", filter, ["after", "limit"]);
    let left = count("limit", filter.limit ?? Number.POSITIVE_INFINITY, 1, true);
    const behind = filter.after === undefined ? 0 : this.#numberIn(text("after", filter.after));
    if (behind === undefined)
      throw new OptionError(
        "after",
        filter.after,
        `a pid of this system, such as ${this.#kernel.node.name}.7`,
      );
    for (const process of this.#all(behind)) {
      // It may end while the caller reads the list.
      const item = process.alive ? view(process) : undefined;
      if (item === undefined) continue;
      yield item;
      if (--left === 0) return;
    }
  }

  /** The processes behind a number, the oldest first. */
  #all(behind: number): Process[] {
    const found: Process[] = [];
    for (let one = this.#kernel.newest; one !== undefined && one.pid.id > behind; one = one.next)
      found.push(one);
    return found.reverse();
  }

  /** The number of a pid: `shop.7`, or as it is printed, `<shop.7 clerk>`. */
  #numberIn(pid: string): number | undefined {
    const found = /^<?(.*)\.(\d+)(?: .*)?>?$/s.exec(pid);
    return found !== null && found[1] === this.#kernel.node.name ? Number(found[2]) : undefined;
  }

  /** @throws NoProcessError */
  #find(id: string): Process {
    const number = this.#numberIn(text("id", id));
    const found =
      number === undefined
        ? this.#kernel.names.find(id)
        : this.#all(number - 1).find(({ pid }) => pid.id === number);
    if (found === undefined) throw new NoProcessError(id, this.#kernel.node.name);
    return found;
  }

  /** The state of a process of this kind, by its pid or name, or by the name in its state. @throws NoProcessError */
  #one<Kind extends keyof States>(kind: Kind, id: string): States[Kind] {
    const named = this.#all(0)
      .map((process) => stateOf(process, kind))
      .find((state) => state !== undefined && "name" in state && state.name === id);
    const found = named ?? stateOf(this.#find(id), kind);
    if (found === undefined) throw new NoProcessError(`${id}, as a ${kind},`, this.#kernel.node.name);
    return found;
  }
}

/** The kind of behaviour that a process runs. One that starts may not say so yet. */
const kindOf = (process: Process): string | undefined =>
  process.state === STARTING ? undefined : inspectedOf(process)?.kind;

function stateOf<Kind extends keyof States>(process: Process, kind: Kind): States[Kind] | undefined {
  if (process.state === STARTING) return undefined;
  const inspected = inspectedOf(process);
  return inspected?.kind === kind ? (inspected.state() as States[Kind]) : undefined;
}

/** Some items of a list, with their numbers. @throws OptionError */
function* slice<T>(all: readonly T[], filter: PartRange): Generator<T & Placed, void, undefined> {
  only("", filter, ["after", "limit"]);
  const limit = count("limit", filter.limit ?? Number.POSITIVE_INFINITY, 1, true);
  const after = count("after", filter.after ?? 0, 0);
  for (const [i, one] of all.slice(after, after + limit).entries()) yield { place: after + i + 1, ...one };
}

interface Placed {
  readonly place: number;
}

/** Parts with their numbers, and their pids as texts. @throws OptionError */
function* parts<T extends { readonly pid: Pid<never> | undefined }>(
  all: readonly T[],
  filter: PartRange,
): Generator<Omit<T, "pid"> & { readonly pid?: string | undefined } & Placed, void, undefined> {
  for (const { pid, ...rest } of slice(all, filter))
    yield { ...rest, pid: pid === undefined ? undefined : pidText(pid) };
}

const pidText = ({ node, id }: Pid<never>): string => `${node.name}.${id}`;

const pidList = (all: readonly Pid[]): PidList => ({
  count: all.length,
  first: all.slice(0, PIDS).map(pidText),
});

const sum = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((before, one) => before + of(one), 0);
