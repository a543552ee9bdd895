// A system's reports of failures. Each report is a record with a text for people. The system passes each report to the
// sink that the system's owner chose.

import type { Environment } from "./environment.js";
import { OptionError } from "./errors.js";
import { only } from "./known-options.js";
import type { Limits } from "./limits.js";
import { contained } from "./listening.js";
import { loggedError } from "./logged-error.js";
import { withMethod } from "./options.js";
import { outside } from "./origin.js";
import { isFrame } from "./own-code.js";
import type { Pid } from "./pid.js";
import { printable } from "./printable.js";
import type { ExitReason } from "./reason.js";
import { decide, type Event, initial, type ReportSource, type State } from "./report-limit-machine.js";
import type { SharedState } from "./shared-state.js";
import {
  cut,
  formatReason,
  framesIn,
  isError,
  STACK_LENGTH,
  show,
  showThrown,
  wholeStackOf,
} from "./show.js";
import type { Due, Timer } from "./timer-queue.js";

/** How urgent a report is. */
export type ReportLevel = "trace" | "debug" | "info" | "warn" | "error";

/**
 * The kind of event that a report describes.
 *
 * | event | reported when |
 * |---|---|
 * | `crash` | a process ended abnormally, and no process was linked to it or monitored it |
 * | `restart` | a supervisor restarts a child |
 * | `childExit` | a child of a supervisor failed, and its spec says not to restart the child |
 * | `gaveUp` | a supervisor had to restart children too often, and gives up |
 * | `lateError` | code of a process threw after its exit, or while it terminated |
 * | `transport` | the transport threw when it was given a signal |
 * | `host` | the host lacks a feature that the system uses |
 * | `listener` | a listener of events, a trace or a topology's log threw for the first time |
 * | `log` | a component of a topology logged a line |
 * | `store` | a store has a warning |
 * | `lease` | a singleton lost its lease, or the source of the lease fails |
 * | `hospital` | the hospital of a flow host treats a flow, or the host finds flows that it cannot run |
 * | `application` | a service stops, or has ended |
 * | `observer` | an observer is open |
 * | `suppressed` | the limit left out reports within the last second |
 */
export type ReportEvent =
  | "crash"
  | "restart"
  | "childExit"
  | "gaveUp"
  | "lateError"
  | "transport"
  | "host"
  | "listener"
  | "log"
  | "store"
  | "storeOutage"
  | "lease"
  | "hospital"
  | "executionStranded"
  | "application"
  | "observer"
  | "suppressed";

/** One report. */
export interface Report {
  /** How urgent the report is. */
  readonly level: ReportLevel;
  /** The event that is reported. */
  readonly event: ReportEvent;
  /** The process concerned. For a child, this is its supervisor. */
  readonly pid?: Pid | undefined;
  /** The names from the system down to the process, such as `shop/floor/clerk`. */
  readonly path: string;
  /** The exit reason, if the report is about an exit. */
  readonly reason?: ExitReason | undefined;
  /** The thrown value, if there is one. */
  readonly error?: unknown;
  /**
   * The message that the process was handling. Present only with the option `messages`, in the form that `redact`
   * returned.
   */
  readonly message?: unknown;
  /** The whole report as text for people, with the frames of the stack that are the user's. */
  readonly text: string;
}

/** Receives reports. The text comes first, for a sink that needs nothing else. */
export interface ReportSink {
  (text: string, report: Report): void;
  /** Writes what the sink still holds. A service awaits this before it ends. */
  readonly flush?: () => unknown;
}

/** Where reports go and what they contain. */
export interface ReportOptions {
  /** The sink. Default {@link consoleReport}. */
  readonly to?: ReportSink;
  /** Whether the report of a crash shows the last message. Messages may hold secrets. Default false. */
  readonly messages?: boolean;
  /** Returns the form of a message that the report shows. If `redact` throws, the report shows no message. */
  readonly redact?: (message: unknown) => unknown;
}

/**
 * The default sink. It writes the text of each report to standard error.
 *
 * @example new System({ report: { to: consoleReport(), messages: true } });
 */
export function consoleReport(): ReportSink {
  return (text) => console.error(text);
}

/** The methods of a logger that reports call. pino, bunyan and similar loggers have these methods. */
export type ReportLogger = {
  readonly [level in ReportLevel]: (fields: object, text: string) => void;
} & {
  /** Writes what the logger still holds, and calls back; or returns a promise. Called before a service ends. */
  readonly flush?: ((done: (error?: unknown) => void) => unknown) | (() => unknown);
};

/**
 * A sink that passes each report to a logger with pino's order of arguments: the fields first (`event`, `pid`, `path`,
 * `reason`, `err`, `lastMessage`), then the text. `err` is bounded for any thrown value: at most 1,000 characters of a
 * message, and the frames of the stack that are the user's. The stack is in `err` alone, not in the text too.
 *
 * @example new System({ report: loggerReport(pino()) });
 */
export function loggerReport(logger: ReportLogger): ReportSink {
  for (const level of ["info", "warn", "error"] as const)
    withMethod("logger", logger, level, "an object with methods info, warn and error");
  const sink = (text: string, { level, event, pid, path, reason, error, message }: Report): void =>
    logger[level](
      {
        event,
        pid: pid && String(pid),
        path,
        reason: reason && formatReason(reason),
        err: loggedError(error),
        lastMessage: message,
      },
      // The logger writes the stack of `err`.
      isError(error) ? withoutFrames(text) : text,
    );
  return Object.assign(sink, { flush: () => flushLogger(logger) });
}

function withoutFrames(text: string): string {
  return text
    .split("\n")
    .filter((line) => !isFrame(line))
    .join("\n");
}

/** pino's `flush` calls back; others return a promise, or are done when they return. */
function flushLogger(logger: ReportLogger): unknown {
  if (logger.flush === undefined) return undefined;
  if (logger.flush.length === 0) return (logger.flush as () => unknown)();
  return new Promise<void>((resolve, reject) => {
    logger.flush?.((error?: unknown) => (error ? reject(error) : resolve()));
  });
}

/** A process ended abnormally, and no process was linked to it or monitored it. */
export interface CrashReport {
  /** The process that crashed. */
  readonly pid: Pid;
  /** The exit reason of the process. */
  readonly reason: ExitReason;
  /** The message that the process was handling, if any. */
  readonly lastMessage: unknown;
  /** The stack of the Error that crashed the process, if an Error did. */
  readonly stack: string | undefined;
  /** The whole report as text, as printed by default. */
  readonly text: string;
}

/** @param said - the form of the last message that the report shows */
export function crashReport(
  pid: Pid,
  reason: ExitReason,
  lastMessage: unknown,
  said: { readonly message: unknown } | undefined,
): CrashReport {
  const at = said === undefined ? "" : ` at message ${show(said.message)}`;
  const whole = reason.type === "crash" ? wholeStackOf(reason.error) : undefined;
  const stack = whole && cut(whole, STACK_LENGTH);
  const frames = whole === undefined ? "" : framesIn(whole);
  const text = `${pid} ended, and no process was linked to it or monitored it: ${formatReason(reason)}${at}${frames}`;
  return { pid, reason, lastMessage, stack, text: printable(text) };
}

/** Most characters of a report. */
const TEXT_LENGTH = 20_000;

/** Most names in a path. */
const PATH_NAMES = 16;

/** The names from the system down to a process. The path goes up only as far as the ancestors are alive. */
export function pathOf(pid: Pid, parent: Pid | undefined = pid.process?.parent): string {
  const names: (string | number)[] = [pid.label ?? pid.id];
  for (let up = parent; up !== undefined && names.length < PATH_NAMES; up = up.process?.parent)
    names.unshift(up.label ?? up.id);
  return [pid.node.name, ...names].join("/");
}

/** {@link ReportOptions} that have been checked. Without `to`, nothing is printed. */
export interface ReportSettings extends Omit<ReportOptions, "to"> {
  readonly to: ReportSink | undefined;
}

/** The parts of a kernel that a {@link Reporter} uses. */
interface ReportingSystem {
  readonly node: { readonly name: string };
  readonly env: Environment;
  readonly limits: Limits;
  enter(fn: () => void): void;
  readonly shared: SharedState | undefined;
  addTimer(delayMs: number, due: Due): Timer;
  cancelTimer(timer: Timer): boolean;
}

/** The budget of a report. Each budget has its own reports per second, so that a flood of one kind hides no other. */
export type ReportBudget = ReportEvent | "request";

/** The reports of one budget in the second under way. */
interface Spent {
  limit: State;
  timer: Timer | undefined;
}

/** Prints the reports of one system, up to the limit of reports per second. */
export class Reporter {
  readonly #host: ReportingSystem;
  readonly #options: ReportSettings;
  /** By kind, so at most as many as there are kinds. */
  readonly #budgets = new Map<ReportBudget, Spent>();
  /** The sink has thrown. */
  #isRefused = false;

  constructor(host: ReportingSystem, options: ReportSettings) {
    this.#host = host;
    this.#options = options;
  }

  /**
   * Whether to build and {@link write} a report. False without a sink, and when the limit for this second is reached. The end of a
   * service and a supervisor that gives up are always reported: each happens once.
   *
   * @param place - what the report belongs to: the supervisor or the parent, by its id. The first report of a place within a
   * second is printed beyond the limit, up to {@link PLACES}.
   */
  admits(budget: ReportBudget, place: ReportSource = 0): boolean {
    if (this.#options.to === undefined) return false;
    return budget === "gaveUp" || this.#step(budget, { type: "report", at: this.#host.env.now(), place });
  }

  /** Passes a report to the sink. A report that the sink throws at is printed, and the first of them says why. */
  write(given: Report): void {
    const text = printable(cut(given.text, TEXT_LENGTH));
    outside(() =>
      this.#host.enter(() => {
        const { to } = this.#options;
        contained(
          () => to?.(text, { ...given, text }),
          (error) => this.#refused({ ...given, text }, error),
        );
      }),
    );
  }

  #refused(report: Report, error: unknown): void {
    const { node } = this.#host;
    const why = this.#isRefused ? "" : `${node.name}: the sink of reports threw: ${showThrown(error)}\n`;
    this.#isRefused = true;
    consoleReport()(`${why}${report.text}`, report);
  }

  /** Resolves when the sink has written all reports. */
  async flush(): Promise<void> {
    await this.#options.to?.flush?.();
  }

  /** The form of a message that a report may show. */
  said(message: unknown): { readonly message: unknown } | undefined {
    const { messages, redact } = this.#options;
    if (messages !== true || message === undefined) return undefined;
    try {
      return { message: redact === undefined ? message : redact(message) };
    } catch {
      return undefined;
    }
  }

  /** Whether the system says what of a value may be shown. */
  get redacts(): boolean {
    return this.#options.redact !== undefined;
  }

  /** Whether reports show messages. */
  get tellsMessages(): boolean {
    return this.#options.messages === true;
  }

  /** What may be shown of a state, by the same `redact` as of a message. @throws what `redact` throws */
  redacted(value: unknown): unknown {
    const { redact } = this.#options;
    return redact === undefined ? value : redact(value);
  }

  /** Reports how many reports were left out so far. */
  close(): void {
    for (const budget of this.#budgets.keys()) this.#step(budget, { type: "over", at: this.#host.env.now() });
  }

  #step(budget: ReportBudget, event: Event): boolean {
    const host = this.#host;
    if (this.#options.to !== undefined) host.shared?.listeners("write");
    let spent = this.#budgets.get(budget);
    if (spent === undefined) {
      spent = { limit: initial(host.limits.reportsPerSecond), timer: undefined };
      this.#budgets.set(budget, spent);
    }
    const [limit, effects] = decide(spent.limit, event);
    spent.limit = limit;
    let prints = false;
    for (const effect of effects) {
      if (effect.type === "print") prints = true;
      else {
        if (spent.timer !== undefined) host.cancelTimer(spent.timer);
        spent.timer = undefined;
        if (effect.type === "summary") this.#summarise(budget, effect.count);
        else {
          const fire = (): void => void this.#step(budget, { type: "over", at: host.env.now() });
          spent.timer = host.addTimer(effect.at - host.env.now(), { fire });
        }
      }
    }
    return prints;
  }

  #summarise(budget: ReportBudget, count: number): void {
    const { name } = this.#host.node;
    const { reportsPerSecond } = this.#host.limits;
    const text = `${name}: ${count} more reports left out (${budget}); ${reportsPerSecond} a second are printed (reportsPerSecond)`;
    this.write({ level: "warn", event: "suppressed", path: name, text });
  }
}

/** @throws OptionError */
export function checkReport(given: unknown): ReportSettings {
  if (given === false) return { to: undefined };
  if (typeof given === "function") return { to: given as ReportSink };
  if (typeof given !== "object" || given === null)
    throw new OptionError(
      "report",
      given,
      "a function that takes a text, { to, messages, redact }, or false",
    );
  only("report", given, ["to", "messages", "redact"]);
  const kinds = new Map([
    ["to", "function"],
    ["messages", "boolean"],
    ["redact", "function"],
  ]);
  for (const [name, value] of Object.entries(given)) {
    const kind = kinds.get(name);
    if (value !== undefined && typeof value !== kind)
      throw new OptionError(`report.${name}`, value, `a ${kind}`);
  }
  return { to: consoleReport(), ...given };
}
