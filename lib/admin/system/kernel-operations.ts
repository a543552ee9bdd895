// The operations on a system, over its kernel. Nothing registers anything for them: the behaviour of a process says its kind, which
// inspection uses, too.

import { NoProcessError, OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { ExitWatch, type Monitor } from "../../process/monitor.js";
import { each, type OneOrMany } from "../../process/one-or-many.js";
import { count, text } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { KernelHistory } from "../history/history-operations.js";
import type { Incident, IncidentFilter, Overview, RecentFilter } from "../history/operations.js";
import type { PastTree, TreeAtOptions } from "../history/past-tree.js";
import { traceOperations } from "../traces/trace-looks.js";
import type { TraceFilter, TraceOperations, TraceSpans, TraceSummary } from "../traces/trace-operations.js";
import type { ScaleTo, TopologyGraph } from "./graph-operations.js";
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
import { resumed, stateText, suspended } from "./processes/inspected-text.js";
import type { StateText, TopOptions, TopProcesses, TraceText } from "./processes/operations.js";
import { indexOf, type ProcessIndex } from "./processes/process-index.js";
import { topsOf } from "./processes/tops.js";
import { tracesOf } from "./processes/trace-texts.js";
import { pidText, type States, stateOf, summaryOf } from "./processes/view.js";
import { scaleTopology } from "./scale-topology.js";
import { topologyGraph, topologyIn } from "./topology-graph.js";

/** Most pids of one list of a process. */
const PIDS = 100;

/** The operations of each system that somebody looks at. */
const all = new WeakMap<Kernel, KernelOperations>();

/** The operations on a system. They have what there is to keep while somebody looks. */
export function operationsOn(kernel: Kernel): KernelOperations {
  const known = all.get(kernel);
  if (known !== undefined) return known;
  const made = new KernelOperations(kernel);
  all.set(kernel, made);
  return made;
}

export class KernelOperations implements SystemOperations {
  readonly #kernel: Kernel;
  readonly #index: ProcessIndex;
  readonly #traces: TraceOperations;
  readonly #history: KernelHistory;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.#index = indexOf(kernel);
    // It notes the ages of processes as long as somebody looks, also before anybody asks for the first of them.
    const tops = topsOf(kernel);
    this.#history = new KernelHistory(kernel, tops);
    this.#traces = traceOperations(kernel);
  }

  async *processes(filter: PidRange = {}): AsyncGenerator<ProcessSummary, void, undefined> {
    // As in every list of processes: dispatches in flight become processes. Once for a list, and not for each of its pages.
    if (filter.after === undefined) this.#kernel.appear();
    const { behind, limit } = this.#range(filter);
    let left = limit;
    for (let after = behind; ; ) {
      const asked = left;
      const page = await this.#index.behind(after, asked);
      for (const process of page) {
        // It may end while the caller reads the list.
        if (!process.alive) continue;
        this.#index.show(process);
        yield summaryOf(process);
        left--;
      }
      const last = page.at(-1);
      if (left === 0 || last === undefined || page.length < asked) return;
      after = last.pid.id;
    }
  }

  async process(id: string): Promise<ProcessDetails> {
    const process = await this.#find(id);
    this.#index.show(process);
    const watcher = (one: Monitor): Pid | undefined => (one instanceof ExitWatch ? undefined : one.watcher);
    return {
      ...summaryOf(process),
      groups: this.#kernel.groups.of(process),
      trapExit: process.trapping,
      links: pidList(process.links, (pid) => pid),
      monitors: pidList(process.watching, ({ target }) => target),
      monitoredBy: pidList(process.watchers, watcher),
    };
  }

  async *supervisors(filter: PidRange = {}): AsyncGenerator<SupervisorSummary, void, undefined> {
    yield* this.#listed("supervisor", filter, (process, state) => {
      const { strategy, intensity, periodMs, restarts, children } = state;
      const { pid, label, name, parent } = summaryOf(process);
      return { pid, label, name, parent, strategy, intensity, periodMs, restarts, children: children.length };
    });
  }

  async *children(id: string, filter: PartRange = {}): AsyncGenerator<ChildSummary, void, undefined> {
    const { children } = await this.#one("supervisor", id);
    // The first started first.
    yield* parts([...children].reverse(), filter);
  }

  async *topologies(filter: PidRange = {}): AsyncGenerator<TopologySummary, void, undefined> {
    yield* this.#listed("topology", filter, (process, state) => {
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
    yield* parts((await this.#one("topology", id)).tasks, filter);
  }

  async graph(id: string): Promise<TopologyGraph> {
    const process = await this.#topology(id);
    return topologyGraph(process, pidText(process.pid), this.#kernel.env.wallTime());
  }

  async scale(id: string, component: string, options: ScaleTo): Promise<void> {
    await scaleTopology(await this.#topology(id), component, options);
  }

  async spans(trace: string): Promise<TraceSpans> {
    return this.#traces.spans(trace);
  }

  async traces(options?: TraceFilter): Promise<readonly TraceSummary[]> {
    return this.#traces.traces(options);
  }

  async *groups(filter: PidRange = {}): AsyncGenerator<GroupSummary, void, undefined> {
    yield* this.#listed("group", filter, (process, state) => {
      const { name, waiting, consumers } = state;
      const inFlight = sum(consumers, (one) => one.inFlight);
      return { pid: pidText(process.pid), name, consumers: consumers.length, inFlight, waiting };
    });
  }

  async *consumers(id: string, filter: PartRange = {}): AsyncGenerator<ConsumerSummary, void, undefined> {
    yield* parts((await this.#one("group", id)).consumers, filter) as Iterable<ConsumerSummary>;
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

  treeAt(options?: TreeAtOptions): Promise<PastTree> {
    return this.#history.treeAt(options);
  }

  top(options?: TopOptions): Promise<TopProcesses> {
    return topsOf(this.#kernel).top(options);
  }

  async state(id: string): Promise<StateText> {
    return stateText(this.#kernel, await this.#find(id));
  }

  async trace(id: string): Promise<TraceText> {
    const traces = tracesOf(this.#kernel);
    // A process that has ended has its trace for a while.
    return traces.known(this.#numberIn(text("id", id))) ?? traces.of(await this.#find(id));
  }

  async suspend(id: string): Promise<void> {
    await suspended(this.#kernel, await this.#find(id));
  }

  async resume(id: string): Promise<void> {
    await resumed(this.#kernel, await this.#find(id));
  }

  /** The processes of a kind in a range. @throws OptionError */
  async *#listed<K extends keyof States, T>(
    kind: K,
    filter: PidRange,
    view: (process: Process, state: States[K]) => T,
  ): AsyncGenerator<T, void, undefined> {
    const { behind, limit } = this.#range(filter);
    let left = limit;
    for (const process of await this.#index.of(kind)) {
      // It may end while the caller reads the list.
      const state = process.pid.id > behind ? stateOf(process, kind) : undefined;
      if (state === undefined) continue;
      this.#index.show(process);
      yield view(process, state);
      if (--left === 0) return;
    }
  }

  /** @throws OptionError */
  #range(filter: PidRange): { readonly behind: number; readonly limit: number } {
    only("", filter, ["after", "limit"]);
    const limit = count("limit", filter.limit ?? Number.POSITIVE_INFINITY, 1, true);
    const behind = filter.after === undefined ? 0 : this.#numberIn(text("after", filter.after));
    if (behind !== undefined) return { behind, limit };
    throw new OptionError("after", filter.after, `a pid of this system, such as ${this.#kernel.node.name}.7`);
  }

  /** The number of a pid: `shop.7`, or as it is printed, `<shop.7 clerk>`. */
  #numberIn(pid: string): number | undefined {
    const found = /^<?(.*)\.(\d+)(?: .*)?>?$/s.exec(pid);
    return found !== null && found[1] === this.#kernel.node.name ? Number(found[2]) : undefined;
  }

  /** @throws NoProcessError */
  async #find(id: string): Promise<Process> {
    const number = this.#numberIn(text("id", id));
    const found = number === undefined ? this.#kernel.names.find(id) : await this.#index.numbered(number);
    if (found === undefined) throw new NoProcessError(id, this.#kernel.node.name);
    return found;
  }

  /** The process of a topology. @throws NoProcessError */
  async #topology(id: string): Promise<Process> {
    for (const process of await this.#index.of("topology")) if (topologyIn(process) === id) return process;
    const process = await this.#find(id);
    if (topologyIn(process) !== undefined) return process;
    throw new NoProcessError(`${id}, as a topology,`, this.#kernel.node.name);
  }

  /** The state of a process of this kind, by its pid or name, or by the name in its state. @throws NoProcessError */
  async #one<Kind extends keyof States>(kind: Kind, id: string): Promise<States[Kind]> {
    const found = (await this.#named(kind, id)) ?? stateOf(await this.#find(id), kind);
    if (found === undefined) throw new NoProcessError(`${id}, as a ${kind},`, this.#kernel.node.name);
    return found;
  }

  /** Supervisors have no names in their states. */
  async #named<Kind extends keyof States>(kind: Kind, id: string): Promise<States[Kind] | undefined> {
    if (kind === "supervisor" || this.#numberIn(text("id", id)) !== undefined) return undefined;
    for (const process of await this.#index.of(kind)) {
      const state = stateOf(process, kind);
      if (state !== undefined && "name" in state && state.name === id) return state;
    }
    return undefined;
  }
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

/** The first pids of a set, without a copy of the set. */
function pidList<T extends object>(set: OneOrMany<T>, pidOf: (one: T) => Pid | undefined): PidList {
  const first: string[] = [];
  let all = 0;
  for (const one of each(set)) {
    const pid = pidOf(one);
    if (pid !== undefined && ++all <= PIDS) first.push(pidText(pid));
  }
  return { count: all, first };
}

const sum = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((before, one) => before + of(one), 0);
