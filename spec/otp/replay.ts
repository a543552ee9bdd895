// Replays traces on the production scheduler and tells where this library did something else than OTP.

import { isDeepStrictEqual } from "node:util";
import { BEHAVIOUR_FIELDS, type BehaviourScenario } from "./behaviours.js";
import { FORMATS } from "./formats.js";
import { LinksRun, type ProcessKind } from "./links.js";
import { NodesRun } from "./nodes.js";
import { TreeRun } from "./supervisors.js";
import type { LinkScenario, NodeOp, NodesScenario, Scenario, Seen, TreeScenario } from "./trace.js";

/** One step that went differently: the fields that differ, as the trace has them and as they were here. */
export interface Difference {
  readonly scenario: string;
  /** Index of the step within its scenario. */
  readonly step: number;
  readonly op: unknown;
  /** What carried the scenario out, where there is a choice. */
  readonly processes?: ProcessKind;
  readonly expected: Seen;
  readonly got: Seen;
}

export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly differences: readonly Difference[];
}

const LINK_FIELDS = ["result", "received", "died", "alive"];
const NODE_FIELDS = ["result", "received", "died"];
/** What a step of two nodes leaves out. */
const NODE_DEFAULTS: Seen = { result: "ok", received: {}, died: {} };
const TREE_FIELDS = ["result", "order", "died"];

/** Replays scenarios one after the other; one that differs anywhere has failed. */
export async function replay(scenarios: readonly Scenario[]): Promise<Outcome> {
  const differences: Difference[] = [];
  let failed = 0;
  for (const scenario of scenarios) {
    const found = await replayScenario(scenario);
    if (found.length > 0) failed++;
    differences.push(...found);
  }
  return { passed: scenarios.length - failed, failed, differences };
}

/** How the nodes of a scenario are joined, for each of its two replays. */
const CARRIAGES = { bodies: "signals", callbacks: "frames" } as const;

/** Replays one scenario, on systems of its own. One of links is carried out by both kinds of process in turn. */
export async function replayScenario(scenario: Scenario): Promise<Difference[]> {
  if ("tree" in scenario) return replayTree(scenario);
  if ("on" in scenario) return replayBehaviour(scenario);
  const differences: Difference[] = [];
  for (const processes of ["bodies", "callbacks"] as const) {
    const found =
      "nodes" in scenario
        ? await replayNodes(scenario, new NodesRun(processes, scenario.nodes, CARRIAGES[processes]))
        : await replayLinks(scenario, processes);
    differences.push(...found.map((difference) => ({ ...difference, processes })));
  }
  return differences;
}

async function replayLinks(scenario: LinkScenario, processes: ProcessKind): Promise<Difference[]> {
  return replaySteps(scenario, new LinksRun(processes), LINK_FIELDS, withSortedRuns);
}

/** Replays a scenario of two nodes on whatever carries out its steps. */
export async function replayNodes(scenario: NodesScenario, run: Run<NodeOp>): Promise<Difference[]> {
  return replaySteps(scenario, run, NODE_FIELDS, (seen) => withSortedRuns({ ...NODE_DEFAULTS, ...seen }));
}

async function replayTree(scenario: TreeScenario): Promise<Difference[]> {
  return replaySteps(scenario, new TreeRun(scenario.tree), TREE_FIELDS, (seen, { unordered }) =>
    sorted(seen, unordered === true),
  );
}

async function replayBehaviour(scenario: BehaviourScenario): Promise<Difference[]> {
  const format = FORMATS.find((one) => one.fits({ ...scenario }));
  if (format === undefined) throw new Error(`scenario ${scenario.id} has no known format`);
  return replaySteps(scenario, format.run(scenario), BEHAVIOUR_FIELDS, (seen) => seen);
}

interface Replayed<Op> {
  readonly id: string;
  readonly steps: readonly (Seen & { readonly op: Op })[];
}

interface Run<Op> {
  step(op: Op): Seen | Promise<Seen>;
  close?(): Promise<void>;
}

/** @param comparable - brings what was seen in a step into a form that is equal when it means the same */
async function replaySteps<Op>(
  { id, steps }: Replayed<Op>,
  run: Run<Op>,
  fields: readonly string[],
  comparable: (seen: Seen, trace: Seen) => Seen,
): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const [step, { op, ...trace }] of steps.entries()) {
    const seen = await run.step(op);
    const [expected, got] = differing(fields, comparable(trace, trace), comparable(seen, trace));
    if (expected !== undefined) differences.push({ scenario: id, step, op, expected, got });
  }
  await run.close?.();
  return differences;
}

/** The fields in which the two differ, as each has them; nothing when they agree. */
function differing(
  fields: readonly string[],
  expected: Seen,
  got: Seen,
): [Seen, Seen] | [undefined, undefined] {
  const unequal = fields.filter((field) => !isDeepStrictEqual(expected[field], got[field]));
  if (unequal.length === 0) return [undefined, undefined];
  const pick = (seen: Seen): Seen => Object.fromEntries(unequal.map((field) => [field, seen[field]]));
  return [pick(expected), pick(got)];
}

/** OTP gives signals of different senders no order among each other, so runs of EXIT and DOWN are compared sorted. */
function withSortedRuns(seen: Seen): Seen {
  const { received } = seen;
  if (typeof received !== "object" || received === null) return seen;
  return {
    ...seen,
    received: Object.fromEntries(Object.entries(received).map(([name, all]) => [name, sortRuns(all)])),
  };
}

function sortRuns(entries: unknown): unknown {
  if (!Array.isArray(entries)) return entries;
  const done: unknown[] = [];
  let run: unknown[] = [];
  for (const entry of entries) {
    if (Array.isArray(entry) && entry[0] === "msg") {
      done.push(...byText(run), entry);
      run = [];
    } else run.push(entry);
  }
  return [...done, ...byText(run)];
}

/** Deaths of one step have no order; what was logged has one unless a supervisor was killed. */
function sorted(seen: Seen, unordered: boolean): Seen {
  return { ...seen, died: byText(seen.died), order: unordered ? byText(seen.order) : seen.order };
}

function byText<T>(list: T): T {
  if (!Array.isArray(list)) return list;
  const keyed = list.map((item: unknown) => ({ item, text: JSON.stringify(item) }));
  keyed.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
  return keyed.map(({ item }) => item) as T;
}
