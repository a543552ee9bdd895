// What a system reports of failures: a record each, with a text for people, to a sink of the owner's choice.

import type { Environment } from "./environment.js";
import { OptionError } from "./errors.js";
import type { Limits } from "./limits.js";
import { outside } from "./origin.js";
import type { Pid } from "./pid.js";
import type { ExitReason } from "./reason.js";
import { decide, type Event, initial, type State } from "./report-limit-machine.js";
import { formatReason, show, stackOf } from "./show.js";
import type { Due, Timer } from "./timer-queue.js";

/** How urgent a report is. */
export type ReportLevel = "trace" | "debug" | "info" | "warn" | "error";

/**
 * What a report is about.
 *
 * | event | a report that |
 * |---|---|
 * | `crash` | a process ended abnormally, and nobody was linked to it or monitored it |
 * | `restart` | a supervisor starts a child again |
 * | `childExit` | a child of a supervisor failed, and its spec says not to start it again |
 * | `gaveUp` | a supervisor had to restart too often, and ends |
 * | `lateError` | code of a process threw after its exit, or while it terminated |
 * | `transport` | the transport threw at a signal |
 * | `host` | the host lacks something that the system makes use of |
 * | `log` | a component of a topology logged a line |
 * | `suppressed` | so many reports were left out within the last second |
 */
export type ReportEvent =
  | "crash"
  | "restart"
  | "childExit"
  | "gaveUp"
  | "lateError"
  | "transport"
  | "host"
  | "log"
  | "suppressed";

/** One report. */
export interface Report {
  /** How urgent the report is. */
  readonly level: ReportLevel;
  /** What happened. */
  readonly event: ReportEvent;
  /** The process that it is about; of a child, its supervisor. */
  readonly pid?: Pid | undefined;
  /** Where that is: names from the system down, such as `shop/floor/clerk`. */
  readonly path: string;
  /** The exit reason, if the report is about an exit. */
  readonly reason?: ExitReason | undefined;
  /** What was thrown, if anything was. */
  readonly error?: unknown;
  /** The message it was at work on; only if asked for, and as `redact` left it. */
  readonly message?: unknown;
  /** All of it for people, with the stack. */
  readonly text: string;
}

/** Takes reports: the text first, for those who want no more. */
export type ReportSink = (text: string, report: Report) => void;

/** Where reports go and what is in them. */
export interface ReportOptions {
  /** Default {@link consoleReport}. */
  readonly to?: ReportSink;
  /** Whether the report of a crash shows the last message, which may hold secrets. Default false. */
  readonly messages?: boolean;
  /** Gives what is to be shown of a message. One that throws shows nothing. */
  readonly redact?: (message: unknown) => unknown;
}

/**
 * A sink that writes the text of each report to standard error: the default.
 *
 * @example new System({ report: { to: consoleReport(), messages: true } });
 */
export function consoleReport(): ReportSink {
  return (text) => console.error(text);
}

/** The methods of a logger that reports use: those of pino, bunyan and the like. */
export type ReportLogger = { readonly [level in ReportLevel]: (fields: object, text: string) => void };

/**
 * A sink that hands each report to a logger as pino has it: the fields first (`event`, `pid`, `path`, `reason`, `err`,
 * `lastMessage`), then the text.
 *
 * @example new System({ report: loggerReport(pino()) });
 */
export function loggerReport(logger: ReportLogger): ReportSink {
  return (text, { level, event, pid, path, reason, error, message }) =>
    logger[level](
      {
        event,
        pid: pid && String(pid),
        path,
        reason: reason && formatReason(reason),
        err: error,
        lastMessage: message,
      },
      text,
    );
}

/** A process ended abnormally, unobserved. */
export interface CrashReport {
  /** The process that crashed. */
  readonly pid: Pid;
  /** Its exit reason. */
  readonly reason: ExitReason;
  /** The message it was at work on, if any. */
  readonly lastMessage: unknown;
  /** Stack of the Error it died of, if it died of one. */
  readonly stack: string | undefined;
  /** All of it, as printed by default. */
  readonly text: string;
}

/** @param said - what is shown of the last message */
export function crashReport(
  pid: Pid,
  reason: ExitReason,
  lastMessage: unknown,
  said: { readonly message: unknown } | undefined,
): CrashReport {
  const at = said === undefined ? "" : ` at message ${show(said.message)}`;
  const stack = reason.type === "crash" ? stackOf(reason.error) : undefined;
  const text = `${pid} ended, and nobody was linked to it or monitored it: ${formatReason(reason)}${at}${stack === undefined ? "" : `\n${stack}`}`;
  return { pid, reason, lastMessage, stack, text };
}

/** Longest path, in names. */
const PATH_NAMES = 16;

/** Names from the system down to a process, as far up as its ancestors are alive. */
export function pathOf(pid: Pid, parent: Pid | undefined = pid.process?.parent): string {
  const names: (string | number)[] = [pid.label ?? pid.id];
  for (let up = parent; up !== undefined && names.length < PATH_NAMES; up = up.process?.parent)
    names.unshift(up.label ?? up.id);
  return [pid.node.name, ...names].join("/");
}

/** {@link ReportOptions} that have been checked; without `to`, nothing is printed. */
export interface ReportSettings extends Omit<ReportOptions, "to"> {
  readonly to: ReportSink | undefined;
}

/** What a {@link Reporter} needs of its kernel. */
interface ReportingSystem {
  readonly node: { readonly name: string };
  readonly env: Environment;
  readonly limits: Limits;
  enter(fn: () => void): void;
  addTimer(delayMs: number, due: Due): Timer;
  cancelTimer(timer: Timer): boolean;
}

/** Prints the reports of one system, no more of them than its limit allows. */
export class Reporter {
  private readonly host: ReportingSystem;
  private readonly options: ReportSettings;
  private limit: State;
  private timer: Timer | undefined = undefined;

  constructor(host: ReportingSystem, options: ReportSettings) {
    this.host = host;
    this.options = options;
    this.limit = initial(host.limits.reportsPerSecond);
  }

  /** Whether to build and {@link write} a report: false without a sink, and when there were too many in this second. */
  admits(): boolean {
    return this.options.to !== undefined && this.step({ type: "report", at: this.host.env.now() });
  }

  /** A sink that throws is the host's affair, as a listener that throws is. */
  write(report: Report): void {
    outside(() =>
      this.host.enter(() => {
        try {
          this.options.to?.(report.text, report);
        } catch (error) {
          void Promise.reject(error);
        }
      }),
    );
  }

  /** What may be shown of a message. */
  said(message: unknown): { readonly message: unknown } | undefined {
    const { messages, redact } = this.options;
    if (messages !== true || message === undefined) return undefined;
    try {
      return { message: redact === undefined ? message : redact(message) };
    } catch {
      return undefined;
    }
  }

  /** Says what has been left out so far. */
  close(): void {
    this.step({ type: "over", at: this.host.env.now() });
  }

  private step(event: Event): boolean {
    const { host } = this;
    const [limit, effects] = decide(this.limit, event);
    this.limit = limit;
    let prints = false;
    for (const effect of effects) {
      if (effect.type === "print") prints = true;
      else {
        if (this.timer !== undefined) host.cancelTimer(this.timer);
        this.timer = undefined;
        if (effect.type === "summary") this.summarise(effect.count);
        else {
          const fire = (): void => void this.step({ type: "over", at: host.env.now() });
          this.timer = host.addTimer(effect.at - host.env.now(), { fire });
        }
      }
    }
    return prints;
  }

  private summarise(count: number): void {
    const { name } = this.host.node;
    const text = `${name}: ${count} more reports left out; ${this.limit.perSecond} a second are printed (reportsPerSecond)`;
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
  const kinds = new Map([
    ["to", "function"],
    ["messages", "boolean"],
    ["redact", "function"],
  ]);
  for (const [name, value] of Object.entries(given)) {
    const kind = kinds.get(name);
    if (value !== undefined && typeof value !== kind)
      throw new OptionError(`report.${name}`, value, kind === undefined ? "left out" : `a ${kind}`);
  }
  return { to: consoleReport(), ...given };
}
