// A flow that only waits: soon its row says so, and after a while the flow leaves memory, unless mail has come.

import type { ExitReason } from "../../process/reason.js";
import { flows } from "../journal/tables.js";
import type { UnreadMessage } from "../machine/state.js";
import { submitAside } from "./checkpoint.js";
import type { FlowLife, FlowMessage } from "./flow-life.js";

/** The exit reason of a flow's process that left memory on purpose. The host looks at the type. */
export const PARKED: ExitReason = { type: "shutdown", detail: "parked" };

/** A wait, or work between two waits, that is no longer than this does not show in the flow's row. */
const UNSEEN_MS = 50;

/** The flow only waits, or works again: its row says so if that lasts, and a flow that waits for long leaves memory. */
export function restFor(life: FlowLife, doing: "running" | "waiting"): void {
  const { idleMs } = life.port.limits;
  if (life.rest !== undefined) life.ctx.cancel(life.rest);
  life.rest = undefined;
  const after = (ms: number, fn: () => void): void => {
    life.rest = life.after(ms, fn);
  };
  const leaves = (ms: number): void => after(ms, () => life.event({ type: "idle" }));
  const isShown = doing === life.shown;
  // Leaving memory also shows that the flow waits.
  if (doing === "waiting" && (isShown || idleMs <= UNSEEN_MS)) leaves(idleMs);
  else if (!isShown)
    after(UNSEEN_MS, () => {
      show(life, doing);
      if (doing === "waiting") leaves(idleMs - UNSEEN_MS);
    });
}

/** Writes into the flow's row what it does. The row of a flow that has ended, or left memory, stays as it is. */
function show(life: FlowLife, status: "running" | "waiting"): void {
  life.shown = status;
  const row = { table: flows, key: [life.row.number] };
  const set = { status, updated: life.port.now() };
  const is = { holder: life.port.claim.token };
  submitAside(life, { type: "when", ...row, is, writes: [{ type: "update", ...row, set }] });
}

/** Leaves memory, unless mail came in the meantime: the write expects the mail counter that the flow has seen. */
export function park(life: FlowLife, due: number | undefined, why: "idle" | "pause" | "stop"): void {
  if (life.parking) return;
  life.parking = true;
  const { process } = life.ctx.self;
  const answer = (error: Error | undefined, messages: readonly UnreadMessage[]): void => {
    process?.deliver({ type: "parked", error, messages } satisfies FlowMessage, undefined);
    life.answered();
  };
  life.unanswered++;
  const status = why === "pause" ? "paused" : "waiting";
  // Jitter and fractions of durations lead to parts of a millisecond, which the column does not take.
  const dueAt = why === "stop" ? 0 : due === undefined ? null : Math.ceil(due);
  const to = { status, due: dueAt, isCancelled: life.state.cancelled };
  const give = (): Promise<UnreadMessage[]> => life.port.park(life.row.number, life.state.lastMessage, to);
  (life.children === undefined ? give() : life.children.then(give)).then(
    (messages) => answer(undefined, messages),
    (error: Error) => answer(error, []),
  );
}

/** Handles the answer to `park`: the process ends, or goes on with its mail. */
export function parked(life: FlowLife, { error, messages }: FlowMessage & { readonly type: "parked" }): void {
  if (error !== undefined) {
    life.refused(error);
    return;
  }
  if (messages.length === 0) {
    life.port.kernel.stop(life.ctx.self.process as never, PARKED, undefined);
    return;
  }
  life.parking = false;
  life.state.quiet = false;
  life.event({ type: "mail", messages, now: life.port.now() });
  for (const event of life.late.splice(0)) life.event(event);
}
