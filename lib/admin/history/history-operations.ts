// The operations on the history of a system, over its kernel.

import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { count, oneOf, text } from "../../process/options.js";
import { type History, historyFor } from "./history.js";
import { KINDS } from "./history-machine.js";
import { type Kept, keptFor } from "./kept.js";
import { countsOf, latest, listed } from "./listing.js";
import { memoryOf } from "./memory.js";
import type {
  HistoryOperations,
  Incident,
  IncidentFilter,
  IncidentKind,
  Overview,
  RecentFilter,
} from "./operations.js";
import type { PastTree, TreeAtOptions } from "./past-tree.js";

/** How many incidents `recent` gives. */
const RECENT = { usual: 100, most: 500, inOverview: 20 } as const;

/** Most supervisors that `treeAt` gives. */
const SUPERVISORS = 500;

/** What the history does not know by itself. */
interface Figures {
  deepest(): Promise<Overview["deepest"]>;
  /** Of the last look at the processes. */
  readonly handledPerS: number | undefined;
}

export class KernelHistory implements HistoryOperations {
  readonly #kernel: Kernel;
  readonly #figures: Figures;
  readonly #kept: Kept;
  readonly #history: History;

  constructor(kernel: Kernel, figures: Figures) {
    this.#kernel = kernel;
    this.#figures = figures;
    this.#kept = keptFor(kernel);
    this.#history = historyFor(kernel);
  }

  async *incidents(filter: IncidentFilter = {}): AsyncGenerator<Incident, void, undefined> {
    only("", filter, ["after", "limit", "kind", "pid"]);
    const limit = count("limit", filter.limit ?? Number.POSITIVE_INFINITY, 1, true);
    const after = count("after", filter.after ?? 0, 0);
    const chosen = chosenBy(filter);
    this.#kept.touch();
    yield* listed(this.#history.state, after, chosen, limit);
  }

  async recent(filter: RecentFilter = {}): Promise<readonly Incident[]> {
    only("", filter, ["limit", "kind", "pid", "beforeAt"]);
    const limit = count("limit", filter.limit ?? RECENT.usual, 1);
    if (limit > RECENT.most) throw new OptionError("limit", limit, `at most ${RECENT.most}`);
    const { beforeAt } = filter;
    time("beforeAt", beforeAt);
    const chosen = { ...chosenBy(filter), beforeAt };
    this.#kept.touch();
    return latest(this.#history.state, limit, chosen);
  }

  async treeAt(options: TreeAtOptions = {}): Promise<PastTree> {
    only("", options, ["at", "limit"]);
    time("at", options.at);
    const limit = count("limit", options.limit ?? SUPERVISORS, 1);
    if (limit > SUPERVISORS) throw new OptionError("limit", limit, `at most ${SUPERVISORS}`);
    this.#kept.touch();
    return this.#history.tree.at(options.at, limit);
  }

  async overview(): Promise<Overview> {
    this.#kept.touch();
    const { env, node, population } = this.#kernel;
    const deepest = await this.#figures.deepest();
    const { state, breakers, changes } = this.#history;
    const at = env.wallTime();
    const counts = countsOf(state, at);
    return {
      ...{ name: node.name, id: node.id, at, uptimeMs: env.now() - this.#kernel.begunAt },
      keepsSince: this.#kept.since ?? at,
      processes: population,
      handledPerS: this.#figures.handledPerS,
      counts,
      turns: { late: counts.longTurn?.total ?? 0, lastLateMs: this.#history.lastLateMs },
      memory: memoryOf(),
      ...{ deepest, breakers, minute: changes },
      recent: latest(state, RECENT.inOverview, {}),
    };
  }
}

/** @throws OptionError */
function time(name: string, value: unknown): void {
  if (value !== undefined && (typeof value !== "number" || Number.isNaN(value)))
    throw new OptionError(name, value, "a time in milliseconds since 1970");
}

/** @throws OptionError */
function chosenBy({ kind, pid }: IncidentFilter): {
  kind: IncidentKind | undefined;
  pid: string | undefined;
} {
  return {
    kind: kind === undefined ? undefined : (oneOf("kind", kind, KINDS) as IncidentKind),
    pid: pid === undefined ? undefined : plainPid(text("pid", pid)),
  };
}

/** `shop.7`, also of a pid as it is printed: `<shop.7 clerk>`. @throws OptionError */
function plainPid(pid: string): string {
  const found = /^<?(.*\.\d+)(?: .*)?>?$/s.exec(pid)?.[1];
  if (found === undefined) throw new OptionError("pid", pid, "a pid, such as shop.7");
  return found;
}
