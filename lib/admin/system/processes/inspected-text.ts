// The state of a process as text, and its suspension: requests of an inspector, which the process answers between two messages.

import { CalleeExitedError } from "../../../process/errors.js";
import { Inspector } from "../../../process/inspection.js";
import { StateTooLargeError } from "../../../process/inspection-errors.js";
import type { Kernel } from "../../../process/kernel.js";
import { oneLine } from "../../../process/printable.js";
import type { Process } from "../../../process/process.js";
import { cut, showCause } from "../../../process/show.js";
import type { StateText } from "./operations.js";
import { type ValueText, valueText } from "./value-text.js";
import { kindOf } from "./view.js";

/** How long a process may take to answer. */
export const INSPECTION_LIMITS = {
  stateMs: 1_000,
  suspendMs: 5_000,
  /** Parts of a state that are copied before `redact` sees them. */
  redactedParts: 10_000,
  /** Characters of a problem. */
  problem: 500,
} as const;

/**
 * The state of a process, by the `format` of its definition and the `redact` of the system. A process that is busy is no error: the
 * answer says so after a second.
 */
export async function stateText(kernel: Kernel, process: Process): Promise<StateText> {
  const kind = kindOf(process);
  try {
    const shown = await within(kernel, INSPECTION_LIMITS.stateMs, asked(kernel, process));
    if (shown === LATE) return { kind, truncated: false, problem: busy(process) };
    return shown === undefined ? { kind, truncated: false } : { kind, ...shown };
  } catch (error) {
    return { kind, truncated: false, problem: problemOf(error) };
  }
}

/** Questions in the mailboxes of processes that have not come to them. */
const open = new WeakMap<Process, Promise<ValueText | undefined>>();

/**
 * The answer of a process. One question at a time waits in its mailbox, for all that ask: a process that hangs gets no second one, however
 * long somebody looks.
 */
function asked(kernel: Kernel, process: Process): Promise<ValueText | undefined> {
  const known = open.get(process);
  if (known !== undefined) return known;
  const answer = shownState(kernel, process);
  const close = (): void => void open.delete(process);
  open.set(process, answer);
  answer.then(close, close);
  return answer;
}

async function shownState(kernel: Kernel, process: Process): Promise<ValueText | undefined> {
  const inspector = new Inspector(kernel, process.pid, undefined);
  const timeoutMs = Number.POSITIVE_INFINITY;
  // The text is written within the turn of the process, with bounded work, so nothing has to be copied.
  if (!kernel.reports.redacts)
    return inspector.state({
      timeoutMs,
      format: (state) => (state === undefined ? undefined : valueText(state)),
    });
  // Code of the user may change what it gets, so it gets a copy.
  const state = await inspector.state({ timeoutMs, maxParts: INSPECTION_LIMITS.redactedParts });
  return state === undefined ? undefined : valueText(kernel.reports.redacted(state));
}

const LATE: unique symbol = Symbol("late");

/** What a promise gives within some time. Nobody else has to wait for the promise. */
function within<T>(kernel: Kernel, ms: number, promise: Promise<T>): Promise<T | typeof LATE> {
  return new Promise((resolve, reject) => {
    const timer = kernel.addTimer(ms, { fire: () => resolve(LATE) });
    const settled = (): void => void kernel.cancelTimer(timer);
    promise.then(resolve, reject);
    promise.then(settled, settled);
  });
}

/** Its mailbox holds the question, too. */
const busy = ({ depth }: Process): string =>
  `busy: it did not answer within ${INSPECTION_LIMITS.stateMs} ms; messages in its mailbox: ${Math.max(0, depth - 1)}`;

function problemOf(error: unknown): string {
  if (error instanceof CalleeExitedError) return "it has ended";
  if (error instanceof StateTooLargeError)
    return `too large to be redacted: it has more than ${error.maxParts} parts; give its definition a \`format\``;
  return oneLine(cut(showCause(error), INSPECTION_LIMITS.problem));
}

/** @throws CallTimeoutError, CalleeExitedError */
export async function suspended(kernel: Kernel, process: Process): Promise<void> {
  await new Inspector(kernel, process.pid, undefined).suspend({ timeoutMs: INSPECTION_LIMITS.suspendMs });
}

/** @throws CallTimeoutError, CalleeExitedError */
export function resumed(kernel: Kernel, process: Process): Promise<void> {
  return new Inspector(kernel, process.pid, undefined).resume({ timeoutMs: INSPECTION_LIMITS.suspendMs });
}
