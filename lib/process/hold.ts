// A process that an inspector has suspended: it takes nothing out of its mailbox but requests of inspectors and the EXIT of its
// parent, as a process in OTP's sys:suspend_loop does. All else waits in the mailbox, in order.

import { InspectionTask, isEntry, SignalEntry } from "./entries.js";
import { EMPTY } from "./mailbox.js";
import type { Hold, Process } from "./process.js";
import { HELD, READY, RUNNING } from "./process-state.js";
import { isThenable } from "./thenable.js";

/** Suspends a process. Called between two of its messages, by code that runs as the process. */
export function hold(process: Process): void {
  if (process.state === HELD) return;
  process.kernel.shared?.mailbox(process.pid, "write");
  process.state = HELD;
  process.extras.hold = { queued: false, busy: false, heard, attend };
  if (nextTask(process) >= 0) queue(process);
}

/** The process goes on where it was suspended. */
export function release(process: Process): void {
  const { rare, kernel } = process;
  if (process.state !== HELD || rare === undefined) return;
  rare.hold = undefined;
  if (process.handle !== undefined) process.proceed();
  else {
    // A wait that ended meanwhile is over now, whether or not there is a message.
    process.state = READY;
    kernel.scheduler.ready(process);
  }
}

/** An entry has reached a suspended process. */
function heard(process: Process, entry: unknown): void {
  if (isUrgent(process, entry)) queue(process);
}

/** An activation of a suspended process. */
function attend(process: Process): number {
  const { hold } = process.extras;
  if (hold === undefined) return 0;
  hold.queued = false;
  let count = 0;
  while (process.state === HELD && !hold.busy) {
    const index = nextTask(process);
    if (index < 0) break;
    count++;
    const entry = process.peek(index);
    if (entry instanceof SignalEntry) parentExited(process, index);
    else {
      process.removeAt(index);
      answer(process, hold, (entry as InspectionTask).perform());
    }
  }
  return count;
}

/** A request may take longer, as a migration does. */
function answer(process: Process, hold: Hold, answered: unknown): void {
  if (!isThenable(answered)) return;
  hold.busy = true;
  process.kernel.scheduler.resumed(process);
  void Promise.resolve(answered).then(() => {
    hold.busy = false;
    if (process.state === HELD && nextTask(process) >= 0) queue(process);
  });
}

/** The parent ends the process: the process handles that first, and messages after it only if it does not end. */
function parentExited(process: Process, index: number): void {
  const { rare } = process;
  if (process.handle === undefined) {
    release(process);
    return;
  }
  if (rare !== undefined) rare.hold = undefined;
  const { signal } = process.removeAt(index) as SignalEntry;
  process.state = RUNNING;
  try {
    const result = process.kernel.openSignal(process, signal);
    if (result !== undefined && process.settle(result, signal)) return;
  } catch (error) {
    process.failed(error, signal);
  }
  if (process.state === RUNNING) process.proceed();
}

function queue(process: Process): void {
  const hold = process.rare?.hold;
  if (hold === undefined || hold.queued || hold.busy) return;
  hold.queued = true;
  process.kernel.scheduler.ready(process);
}

/** The place of the oldest entry that a suspended process takes, or -1. */
function nextTask(process: Process): number {
  for (let index = 0; index < process.length; index++) {
    const entry = process.peek(index);
    if (entry === EMPTY) return -1;
    if (isUrgent(process, entry)) return index;
  }
  return -1;
}

function isUrgent(process: Process, entry: unknown): boolean {
  if (!isEntry(entry)) return false;
  if (entry instanceof InspectionTask) return true;
  if (!(entry instanceof SignalEntry) || entry.signal.type !== "exit") return false;
  return entry.signal.from === (process.parent ?? process.kernel.outside);
}
