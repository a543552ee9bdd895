// Starting: a spawn that waits until the `init` of the new process has ended, as proc_lib's start_link does.

import { type Behaviour, SPAWN_OPTIONS, type SpawnOptions, type StartOutcome } from "./behaviour.js";
import type { MailboxLimits } from "./bound.js";
import { StartError } from "./errors.js";
import type { InterceptedProcess, Settler } from "./interception.js";
import type { Kernel } from "./kernel.js";
import { only, onlyKnown } from "./known-options.js";
import { removeSignal } from "./links.js";
import { delay, withMethod } from "./options.js";
import type { Pid } from "./pid.js";
import type { Process } from "./process.js";
import { type ExitReason, KILL, shutdown } from "./reason.js";

/** The process to spawn when a definition is started. */
export interface Launch<Ref> {
  readonly behaviour: Behaviour<never>;
  readonly options?: SpawnOptions;
  /** Makes the handle that the starter gets. */
  ref(pid: Pid<never>, kernel: Kernel): Ref;
}

/** Key of a definition's launch. */
export const launch: unique symbol = Symbol("signalbox.launch");

/** Marks definitions of supervisors, whose child specs default to type `supervisor`. */
export const supervising: unique symbol = Symbol("signalbox.supervising");

/** How a server or a state machine is spawned. */
export function serverSpawn(
  label: string,
  trapExit: boolean,
  mailbox: MailboxLimits | undefined,
): SpawnOptions {
  return mailbox === undefined ? { label, trapExit } : { label, trapExit, mailbox };
}

/** How a supervisor of any kind is spawned. */
export function supervisorSpawn(label: string, name: string | undefined): SpawnOptions {
  // It exits when its children have, and their shutdown times already limit that.
  const options = { label, trapExit: true, shutdown: Number.POSITIVE_INFINITY };
  return name === undefined ? options : { ...options, name };
}

/** Something `start` can start, such as the result of `defineServer` or `supervisor`. */
export interface Startable<in Args extends readonly unknown[], out Ref> {
  /** Internal. The types of the arguments and of the handle are inferred from this member. */
  readonly [launch]: (args: Args) => Launch<Ref>;
}

/** Options of a start: those of a spawn, and a limit on the time of `init`. */
export interface StartOptions extends SpawnOptions {
  /** How many milliseconds `init` may take before the process is killed. Default `Infinity`. */
  readonly timeoutMs?: number;
}

const DEFINITION = "a definition that can be started: of a server, a state machine, a supervisor or the like";
const START_OPTIONS: ReadonlySet<string> = new Set<string>([...SPAWN_OPTIONS, "timeoutMs"]);

/** The options of a start that has some. @throws OptionError */
export function checkStartOptions(options: StartOptions): StartOptions {
  only("", options, [...START_OPTIONS]);
  return options;
}

export function isStartable(value: unknown): value is Startable<readonly unknown[], unknown> {
  return typeof value === "object" && value !== null && launch in value;
}

/**
 * Starts something, linked to `parent` if that is a process, and waits until its `init` is done. A failed start leaves no
 * EXIT behind in a trapping parent's mailbox.
 */
export async function startAwaited<Args extends readonly unknown[], Ref>(
  kernel: Kernel,
  parent: Process | undefined,
  what: Startable<Args, Ref>,
  args: Args,
  options: StartOptions | undefined,
): Promise<Ref> {
  onlyKnown(options, START_OPTIONS);
  const timeoutMs = delay("timeoutMs", options?.timeoutMs ?? kernel.limits.startTimeoutMs, 0, true);
  const { behaviour, options: own, ref } = withMethod("definition", what, launch, DEFINITION)[launch](args);
  return new Promise<Ref>((resolve, reject) => {
    const ends: Settler = { resolve, reject };
    kernel.interception?.gate(parent as InterceptedProcess | undefined, "a start", ends);
    const child = spawnAwaited(kernel, parent, behaviour, { ...own, ...options }, timeoutMs, (outcome) => {
      const { pid } = child;
      const owner = parent;
      if (outcome.type === "started") {
        const started = ref(pid, kernel) as never;
        kernel.scheduler.resume({ owner, resume: () => ends.resolve?.(started) });
        return;
      }
      if (parent !== undefined)
        removeSignal(parent, (signal) => signal.type === "exit" && signal.from === pid);
      const ignored = outcome.type === "ignored";
      const error = new StartError(String(pid), ignored ? IGNORED : outcome.reason, ignored);
      kernel.scheduler.resume({ owner, resume: () => ends.reject?.(error) });
    });
    if (parent !== undefined) kernel.links.link(parent, child.pid, child.exitReason);
    reportEarlyEnd(kernel, child);
  });
}

/** Reports a failed start when a listener of the event `spawn` ended the process before `onStart` was set. */
export function reportEarlyEnd(kernel: Kernel, child: Process): void {
  if (!child.alive) kernel.notifyStart(child, { type: "failed", reason: child.exitReason as ExitReason });
}

const IGNORED: ExitReason = { type: "shutdown", detail: "its init returned `ignore`" };

/**
 * Spawns a process and calls `onOutcome` when its start has ended. A start that takes longer than `timeoutMs` is killed
 * and fails.
 */
export function spawnAwaited(
  kernel: Kernel,
  parent: Process | undefined,
  behaviour: Behaviour<never>,
  options: SpawnOptions | undefined,
  timeoutMs: number,
  onOutcome: (outcome: StartOutcome) => void,
): Process {
  if (timeoutMs === Number.POSITIVE_INFINITY) return kernel.spawn(behaviour, parent, options, onOutcome);
  let timedOut = false;
  // The spawn may throw, so the timer is set after it. The outcome comes in a later turn, so the timer is there by then.
  const child = kernel.spawn(behaviour, parent, options, (outcome) => {
    kernel.cancelTimer(timer);
    onOutcome(
      timedOut ? { type: "failed", reason: shutdown(`its init took longer than ${timeoutMs} ms`) } : outcome,
    );
  });
  const timer = kernel.addTimer(timeoutMs, {
    fire: () => {
      timedOut = true;
      kernel.links.exit(kernel.outside, child.pid, KILL, "exit");
    },
  });
  return child;
}
