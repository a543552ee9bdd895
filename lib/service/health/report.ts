// The findings about the health of a service, and the verdict: a pure function of the findings.

import type { ChildPhase } from "../../supervisor/status.js";

/** The health of one part of a tree: the root, or a child of a supervisor. */
export interface PartHealth {
  /** The ids from below the root, such as `floor/clerk`. Empty for the root. */
  readonly path: string;
  /** Where the part is. `unknown`: its supervisor did not answer in time. */
  readonly phase: ChildPhase | "unknown";
  /** Messages in its mailbox, while it runs. */
  readonly mailboxDepth?: number;
  /** For a supervisor: how many restarts count at present, of how many, and within how long. */
  readonly restarts?: {
    /** Restarts that count. */
    readonly count: number;
    /** Restarts that are allowed. */
    readonly intensity: number;
    /** Within so many milliseconds. */
    readonly periodMs: number;
  };
}

/** The answer of one check. */
export interface CheckHealth {
  /** The name of the check. */
  readonly name: string;
  /** Its use: readiness or liveness. */
  readonly for: "ready" | "live";
  /** The part of the tree that it is about. Empty for the whole. */
  readonly part: string;
  /** Whether it passed. */
  readonly ok: boolean;
  /** Why not. May hold secrets of the code that was asked. */
  readonly error?: string;
}

/** The place of a service in its cluster. */
export interface ClusterHealth {
  /** Whether other nodes can be reached: for NATS, whether a server is connected. */
  readonly isConnected: boolean;
  /** How many nodes this one sees, itself included. */
  readonly nodes: number;
}

/** The health of a service, or of one part of it. */
export interface HealthReport {
  /** The name of the service. */
  readonly name: string;
  /** Where the service is in its life. */
  readonly phase: string;
  /** Whether the service works at all. If not, a restart of the Node process may help. */
  readonly live: boolean;
  /** Whether the service, or the part asked for, should get requests. */
  readonly ready: boolean;
  /** Why it is not live or not ready. */
  readonly reasons: readonly string[];
  /** Problems that may come soon: supervisors near their restart limit, or a cluster that cannot be reached. */
  readonly warnings: readonly string[];
  /** The parts of the tree, or of the part asked for. */
  readonly parts: readonly PartHealth[];
  /** The answers of the checks. */
  readonly checks: readonly CheckHealth[];
  /** By how many milliseconds a timer was late: how busy the event loop is. */
  readonly eventLoopDelayMs: number;
  /** For a service with the option `cluster`, once it has joined. */
  readonly cluster?: ClusterHealth;
}

/** The findings from which a report is made. */
export interface Findings {
  readonly parts: readonly PartHealth[];
  readonly checks: readonly CheckHealth[];
  readonly eventLoopDelayMs: number;
}

export interface Bounds {
  readonly maxMailboxDepth: number;
  readonly maxEventLoopDelayMs: number;
}

/** The report on the part at `path`. Undefined when there is no such part. */
export function reportOn(
  name: string,
  phase: string,
  path: string,
  { parts: all, checks: asked, eventLoopDelayMs }: Findings,
  bounds: Bounds,
  cluster?: ClusterHealth,
): HealthReport | undefined {
  const parts = all.filter((part) => isWithin(part.path, path));
  // Of the parts below a supervisor that does not run nothing is known.
  const above = all.filter(
    (part) => part.phase !== "running" && part.path !== "" && isWithin(path, part.path),
  );
  if (path !== "" && parts.length === 0 && above.length === 0 && phase === "running") return undefined;
  const checks = asked.filter(({ part }) => isWithin(part, path) || isWithin(path, part));
  const dead = notLive(phase, parts, checks, eventLoopDelayMs, bounds);
  const unready = notReady(phase, [...new Set([...above, ...parts])], checks);
  return {
    name,
    phase,
    live: dead.length === 0,
    ready: dead.length === 0 && unready.length === 0,
    reasons: [...dead, ...unready],
    warnings: [...warningsOf(parts), ...cutOff(cluster)],
    parts,
    checks,
    eventLoopDelayMs,
    ...(cluster === undefined ? {} : { cluster }),
  };
}

function cutOff(cluster: ClusterHealth | undefined): string[] {
  return cluster === undefined || cluster.isConnected ? [] : ["no other node of the cluster can be reached"];
}

function isWithin(path: string, whole: string): boolean {
  return whole === "" || path === whole || path.startsWith(`${whole}/`);
}

function called(path: string): string {
  return path === "" ? "the root" : path;
}

function notLive(
  phase: string,
  parts: readonly PartHealth[],
  checks: readonly CheckHealth[],
  delayMs: number,
  { maxMailboxDepth, maxEventLoopDelayMs }: Bounds,
): string[] {
  const reasons = phase === "stopped" ? ["the service is stopped"] : [];
  for (const { path, mailboxDepth = 0 } of parts)
    if (mailboxDepth > maxMailboxDepth)
      reasons.push(
        `${called(path)} has ${mailboxDepth} messages in its mailbox; at most ${maxMailboxDepth} are allowed`,
      );
  if (delayMs > maxEventLoopDelayMs)
    reasons.push(
      `the event loop is ${Math.round(delayMs)} ms late; at most ${maxEventLoopDelayMs} ms are allowed`,
    );
  return [...reasons, ...failed(checks, "live")];
}

function notReady(phase: string, parts: readonly PartHealth[], checks: readonly CheckHealth[]): string[] {
  const reasons = phase === "running" || phase === "stopped" ? [] : [`the service is ${phase}`];
  for (const { path, phase: where } of parts) {
    if (where === "restarting" || where === "starting") reasons.push(`${called(path)} is ${where}`);
    else if (where === "unknown") reasons.push(`${called(path)} did not answer in time`);
  }
  return [...reasons, ...failed(checks, "ready")];
}

function failed(checks: readonly CheckHealth[], kind: CheckHealth["for"]): string[] {
  return checks.filter((check) => check.for === kind && !check.ok).map(({ name }) => `check ${name} failed`);
}

function warningsOf(parts: readonly PartHealth[]): string[] {
  return parts.flatMap(({ path, restarts }) => {
    if (restarts === undefined || restarts.count === 0 || restarts.count < restarts.intensity) return [];
    const { count, intensity, periodMs } = restarts;
    return [`${called(path)} gives up at its next restart: ${count} of ${intensity} within ${periodMs} ms`];
  });
}
