// Replays traces on the production scheduler and tells where this library did something else than OTP.

import { isDeepStrictEqual } from "node:util";
import { BEHAVIOUR_FIELDS, type BehaviourScenario } from "./behaviours.js";
import { FORMATS } from "./formats.js";
import { LinksRun, type ProcessKind } from "./links.js";
import { TreeRun } from "./supervisors.js";
import type { LinkScenario, Scenario, Seen, TreeScenario } from "./trace.js";

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

/** Replays one scenario, on a system of its own. A links scenario is carried out by both kinds of process in turn. */
export async function replayScenario(scenario: Scenario): Promise<Difference[]> {
  if ("tree" in scenario) return replayTree(scenario);
  if ("on" in scenario) return replayBehaviour(scenario);
  return [...(await replayLinks(scenario, "bodies")), ...(await replayLinks(scenario, "callbacks"))];
}

async function replayLinks(scenario: LinkScenario, processes: ProcessKind): Promise<Difference[]> {
  const run = new LinksRun(processes);
  const differences: Difference[] = [];
  for (const [step, { op, ...trace }] of scenario.steps.entries()) {
    const [expected, got] = differing(LINK_FIELDS, withSortedRuns(trace), withSortedRuns(await run.step(op)));
    if (expected !== undefined)
      differences.push({ scenario: scenario.id, step, op, processes, expected, got });
  }
  await run.close();
  return differences;
}

async function replayTree(scenario: TreeScenario): Promise<Difference[]> {
  const run = new TreeRun(scenario.tree);
  const differences: Difference[] = [];
  for (const [step, { op, ...trace }] of scenario.steps.entries()) {
    const unordered = trace.unordered === true;
    const seen = await run.step(op);
    const [expected, got] = differing(TREE_FIELDS, sorted(trace, unordered), sorted(seen, unordered));
    if (expected !== undefined) differences.push({ scenario: scenario.id, step, op, expected, got });
  }
  await run.close();
  return differences;
}

async function replayBehaviour(scenario: BehaviourScenario): Promise<Difference[]> {
  const format = FORMATS.find((one) => one.fits({ ...scenario }));
  if (format === undefined) throw new Error(`scenario ${scenario.id} has no known format`);
  const run = format.run(scenario);
  const differences: Difference[] = [];
  for (const [step, { op, ...trace }] of scenario.steps.entries()) {
    const [expected, got] = differing(BEHAVIOUR_FIELDS, trace, await run.step(op));
    if (expected !== undefined) differences.push({ scenario: scenario.id, step, op, expected, got });
  }
  await run.close();
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
