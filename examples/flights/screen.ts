// How a run goes, for people: a view of it, the lines that show it, and the process that draws them.

import { type Callbacks, type Pid, type SupervisorRef, type System, supervisorRef } from "signalbox";

/** What a run has come to so far. */
export interface Progress {
  readonly flights: number;
  delivered: number;
  reroutes: number;
  /** Why dispatches failed; each is a flight that nobody took. */
  readonly failures: Error[];
  /** Restarts per child of a supervisor, as the supervisors told of them. */
  readonly crashes: Map<string, number>;
}

/** One process of the supervision tree. */
export interface TreeRow {
  readonly depth: number;
  readonly id: string;
  readonly pid: string;
  readonly restarts: number;
}

/** All that the screen shows: plain data, so that lines are a pure function of it. */
export interface View {
  readonly flights: number;
  readonly delivered: number;
  readonly reroutes: number;
  readonly crashes: number;
  readonly elapsedMs: number;
  readonly tree: readonly TreeRow[];
}

export interface Show {
  readonly everyMs: number;
  readonly show: (view: View) => void;
}

const BAR = 30;

/** One line of text: how far, how fast, what went wrong. */
export function progressLine({ flights, delivered, reroutes, crashes, elapsedMs }: View): string {
  const seconds = elapsedMs / 1_000;
  const rate = seconds > 0 ? Math.round(delivered / seconds) : 0;
  return `${seconds.toFixed(1)} s: ${delivered} of ${flights} flights, ${rate}/s, ${crashes} crashes, ${reroutes} re-routes`;
}

/** The whole screen. What does not fit on the terminal is left out, with a line that says how much. */
export function screenLines(view: View, columns: number, rows: number): string[] {
  const share = view.flights === 0 ? 1 : view.delivered / view.flights;
  const full = Math.floor(share * BAR);
  const bar = `[${"#".repeat(full)}${".".repeat(BAR - full)}] ${Math.floor(share * 100)} %`;
  const head = [bar, progressLine(view)];
  // The cursor rests on the line below, and one more line says what was left out.
  const room = Math.max(0, rows - head.length - 2);
  const tree = view.tree.map(treeLine);
  const left = tree.length - room;
  const shown = left > 0 ? [...tree.slice(0, room), `… and ${left} more`] : tree;
  // A line that wraps would be two, and the next drawing would begin too far down.
  return [...head, ...shown].map((line) => line.slice(0, Math.max(1, columns - 1)));
}

function treeLine({ depth, id, pid, restarts }: TreeRow): string {
  const text = `${"  ".repeat(depth)}${id}`.padEnd(16);
  return `${text} ${pid.padEnd(26)} ${restarts === 0 ? "" : `${restarts} restarts`}`.trimEnd();
}

/** Looks at a system: the tree is asked of the supervisors themselves. */
export async function viewOf(
  system: System,
  root: Pid,
  progress: Progress,
  elapsedMs: number,
  signal?: AbortSignal,
): Promise<View> {
  const { flights, delivered, reroutes } = progress;
  let crashes = 0;
  for (const restarts of progress.crashes.values()) crashes += restarts;
  const tree = await treeOf(supervisorRef(system, root), 0, progress, system, signal);
  return { flights, delivered, reroutes, crashes, elapsedMs, tree };
}

async function treeOf(
  top: SupervisorRef,
  depth: number,
  progress: Progress,
  system: System,
  signal: AbortSignal | undefined,
): Promise<TreeRow[]> {
  const rows: TreeRow[] = [];
  const children = await top.whichChildren(signal === undefined ? {} : { signal });
  for (const { id, pid, type, status } of children.toReversed()) {
    rows.push({ depth, id, pid: pid?.toString() ?? status, restarts: progress.crashes.get(id) ?? 0 });
    if (type === "supervisor" && pid !== undefined)
      rows.push(...(await treeOf(supervisorRef(system, pid), depth + 1, progress, system, signal)));
  }
  return rows;
}

/** The process that shows the system it runs in, again and again. Its supervisor is the root of the tree. */
export function screen(system: System, progress: Progress, { everyMs, show }: Show): Callbacks<"draw"> {
  const started = performance.now();
  return {
    init: (ctx) => {
      ctx.sendInterval(ctx.self, "draw", everyMs);
    },
    handle: async (ctx) => {
      const { parent, signal } = ctx;
      if (parent !== undefined)
        show(await viewOf(system, parent, progress, performance.now() - started, signal));
    },
  };
}
