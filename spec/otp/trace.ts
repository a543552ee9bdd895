// The trace formats, and the check that a file holds nothing else: README.md beside this says what they mean. Those of
// behaviours are listed in formats.ts.

import { type BehaviourScenario, isBehaviourOp } from "./behaviours.js";
import { FORMATS } from "./formats.js";

/** What processes do wherever they are. */
export type SignalOp =
  | readonly ["spawn", process: string, trap: boolean]
  | readonly ["link" | "unlink", actor: string, other: string]
  | readonly ["monitor", actor: string, other: string, ref: string]
  | readonly ["demonitor", actor: string, ref: string, flush: boolean]
  | readonly ["exit_signal", actor: string, other: string, reason: string]
  | readonly ["die" | "crash", actor: string, reason: string]
  | readonly ["return", actor: string]
  | readonly ["trap", actor: string, flag: boolean]
  | readonly ["send", actor: string, other: string, number: number]
  | readonly ["burst", actor: string, other: string, count: number, reason: string];

export type LinkOp =
  | SignalOp
  | readonly ["spawn_link", actor: string, process: string, trap: boolean]
  | readonly ["register", actor: string, name: string]
  | readonly ["whereis", name: string];

export type NodeName = "n1" | "n2";

/** An operation of a scenario of two nodes. */
export type NodeOp =
  | SignalOp
  | readonly ["cut" | "heal", node: NodeName, other: NodeName]
  | readonly ["together", ops: readonly NodeOp[]];

export type TreeOp =
  | "start"
  | readonly ["exit" | "signal", id: string, reason: string]
  | readonly ["terminate_child" | "restart_child" | "delete_child", supervisor: string, id: string]
  | readonly ["start_child", supervisor: string, child: ChildNode]
  | readonly ["which_children" | "count_children" | "stop", supervisor: string];

export type Strategy = "one_for_one" | "one_for_all" | "rest_for_one";
export type AutoShutdown = "never" | "any_significant" | "all_significant";
export type Restart = "permanent" | "transient" | "temporary";
export type Plan = readonly ("ok" | "error" | "ignore")[];

export type WorkerNode = readonly [
  kind: "worker",
  id: string,
  restart: Restart,
  shutdown: number | "infinity" | "brutal_kill",
  significant: boolean,
  trap: boolean,
  plan: Plan,
];
export type InnerNode = readonly [
  kind: "sup",
  id: string,
  restart: Restart,
  strategy: Strategy,
  intensity: number,
  autoShutdown: AutoShutdown,
  children: readonly ChildNode[],
];
export type ChildNode = WorkerNode | InnerNode;
export type RootNode = readonly [
  kind: "sup",
  id: string,
  strategy: Strategy,
  intensity: number,
  autoShutdown: AutoShutdown,
  children: readonly ChildNode[],
];

/** What was seen in a step, by name; which names there are depends on the format. */
export type Seen = { readonly [field: string]: unknown };

export interface LinkScenario {
  readonly id: string;
  readonly steps: readonly (Seen & { readonly op: LinkOp })[];
}

/** A links scenario of two nodes. In its steps `result` is left out when it is `ok`, and `received` and `died` when they are empty. */
export interface NodesScenario {
  readonly id: string;
  /** Which node each process is on. */
  readonly nodes: { readonly [process: string]: NodeName };
  readonly steps: readonly (Seen & { readonly op: NodeOp })[];
}

export interface TreeScenario {
  readonly id: string;
  readonly tree: RootNode;
  readonly steps: readonly (Seen & { readonly op: TreeOp })[];
}

export type Scenario = LinkScenario | NodesScenario | TreeScenario | BehaviourScenario;

/** The text is no trace file. The message says where, in one line. */
export class TraceError extends Error {
  override readonly name = "TraceError";
}

/** Reads the text of a trace file. @throws TraceError when it is none. */
export function parseTraces(text: string): Scenario[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new TraceError(`not JSON: ${oneLine(error instanceof Error ? error.message : String(error))}`);
  }
  if (!Array.isArray(value)) throw new TraceError("not an array of scenarios");
  for (const [index, scenario] of value.entries()) checkScenario(scenario, index);
  return value as Scenario[];
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string";
const isFlag: Check = (value) => typeof value === "boolean";
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isNumber: Check = (value) => typeof value === "number";
const isObject: Check = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isRestart: Check = among("permanent", "transient", "temporary");
const isStrategy: Check = among("one_for_one", "one_for_all", "rest_for_one");
const isAutoShutdown: Check = among("never", "any_significant", "all_significant");
const isShutdown: Check = (value) => isCount(value) || value === "infinity" || value === "brutal_kill";
const isPlan: Check = listOf(among("ok", "error", "ignore"));
const isWorker: Check = tuple(among("worker"), isText, isRestart, isShutdown, isFlag, isFlag, isPlan);
const isChildren: Check = listOf((value) => isChild(value));
const isInner: Check = tuple(
  among("sup"),
  isText,
  isRestart,
  isStrategy,
  isCount,
  isAutoShutdown,
  isChildren,
);
const isRoot: Check = tuple(among("sup"), isText, isStrategy, isCount, isAutoShutdown, isChildren);

function isChild(value: unknown): boolean {
  return isWorker(value) || isInner(value);
}

const SIGNAL_OPS: { readonly [name in SignalOp[0]]: readonly Check[] } = {
  spawn: [isText, isFlag],
  link: [isText, isText],
  unlink: [isText, isText],
  monitor: [isText, isText, isText],
  demonitor: [isText, isText, isFlag],
  exit_signal: [isText, isText, isText],
  die: [isText, isText],
  crash: [isText, isText],
  return: [isText],
  trap: [isText, isFlag],
  send: [isText, isText, isNumber],
  burst: [isText, isText, isCount, isText],
};

const LINK_OPS: { readonly [name in LinkOp[0]]: readonly Check[] } = {
  ...SIGNAL_OPS,
  spawn_link: [isText, isText, isFlag],
  register: [isText, isText],
  whereis: [isText],
};

const isNode: Check = among("n1", "n2");
const CUT = [isNode, isNode];

const NODE_OPS: { readonly [name in NodeOp[0]]: readonly Check[] } = {
  ...SIGNAL_OPS,
  cut: CUT,
  heal: CUT,
  together: [listOf((op) => isOp(op, { ...SIGNAL_OPS, cut: CUT }))],
};

const TREE_OPS: { readonly [name in Exclude<TreeOp, "start">[0]]: readonly Check[] } = {
  exit: [isText, isText],
  signal: [isText, isText],
  terminate_child: [isText, isText],
  restart_child: [isText, isText],
  delete_child: [isText, isText],
  start_child: [isText, isChild],
  which_children: [isText],
  count_children: [isText],
  stop: [isText],
};

function checkScenario(value: unknown, index: number): void {
  if (!isObject(value)) throw new TraceError(`scenario ${index} is not an object`);
  const { id, nodes, tree, on, steps } = value as Seen;
  if (typeof id !== "string") throw new TraceError(`scenario ${index} has no id`);
  if (tree !== undefined && !isRoot(tree)) throw new TraceError(`scenario ${id}: its tree is not one`);
  if (nodes !== undefined && !(isObject(nodes) && Object.values(nodes as Seen).every(isNode)))
    throw new TraceError(`scenario ${id}: its nodes are not n1 and n2`);
  if (on !== undefined) {
    const problem = FORMATS.find((format) => format.fits(value as Seen))?.problem(value as Seen);
    if (problem !== undefined) throw new TraceError(`scenario ${id}: ${problem}`);
  }
  if (!Array.isArray(steps)) throw new TraceError(`scenario ${id} has no steps`);
  for (const [number, step] of steps.entries()) {
    const op: unknown = isObject(step) ? (step as Seen).op : undefined;
    const known =
      on !== undefined
        ? isBehaviourOp(op)
        : tree === undefined
          ? nodes === undefined
            ? isOp(op, LINK_OPS)
            : isOp(op, NODE_OPS) && isPlaced(op as NodeOp, nodes as Seen)
          : op === "start" || isOp(op, TREE_OPS);
    if (!known)
      throw new TraceError(`scenario ${id}, step ${number}: unknown operation ${JSON.stringify(op)}`);
  }
}

/** Every process that is spawned is on a node. */
function isPlaced(op: NodeOp, nodes: Seen): boolean {
  if (op[0] === "together") return op[1].every((one) => isPlaced(one, nodes));
  return op[0] !== "spawn" || Object.hasOwn(nodes, op[1]);
}

function isOp(op: unknown, known: { readonly [name: string]: readonly Check[] }): boolean {
  if (!Array.isArray(op) || typeof op[0] !== "string" || !Object.hasOwn(known, op[0])) return false;
  return tuple(isText, ...(known[op[0]] ?? []))(op);
}

function among(...words: string[]): Check {
  return (value) => typeof value === "string" && words.includes(value);
}

function listOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check);
}

function tuple(...checks: Check[]): Check {
  return (value) =>
    Array.isArray(value) &&
    value.length === checks.length &&
    checks.every((check, index) => check(value[index]));
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}
