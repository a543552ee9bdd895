// A symptom: the error for which a flow comes to the hospital, as data that a store can keep.

import type { EvidenceMark } from "../../host/index.js";
import { isError, show, stackOf } from "../../process/show.js";
import { classOf, type StoreErrorClass } from "../../store/error-classes.js";
import { CrashLoopError } from "./errors.js";

/**
 * The kind of error. It decides which member of the default staff treats it.
 *
 * - `deadlock`: other writers were in the way: a deadlock, a lock that was not free in time, a transaction that was always overtaken
 * - `constraint`: a constraint of the database was violated
 * - `timeout`: something took longer than it may, or its statement was cancelled
 * - `connection`: the store cannot be reached, or its server is read-only
 * - `exhausted`: the store has no space, memory or connection left
 * - `server`: the server or the file system failed by itself
 * - `store`: any other error of the store
 * - `engine`: a transition of the engine failed, or an effect of it
 * - `divergence`: the code asked for something else than was recorded
 * - `payload`: something stored cannot be read
 * - `definition`: no definition with the name and version of the flow is registered
 * - `crash-loop`: the program died again and again with evidence against the flow, and the flow made no progress
 * - `requested`: the flow asked for the hospital
 * - `final`: an error that says itself that a retry is in vain
 * - `code`: any other error of the flow's own code
 */
export type SymptomKind =
  | ("deadlock" | "constraint" | "timeout" | "connection" | "exhausted" | "server" | "store")
  | ("engine" | "divergence" | "payload" | "definition" | "crash-loop")
  | ("requested" | "final" | "code");

/** Every kind of symptom. */
export const SYMPTOM_KINDS: readonly SymptomKind[] = [
  ...(["deadlock", "constraint", "timeout", "connection", "exhausted", "server", "store"] as const),
  ...(["engine", "divergence", "payload", "definition", "crash-loop"] as const),
  ...(["requested", "final", "code"] as const),
];

/** An error as data. */
export interface Symptom {
  /** The kind of the error. */
  readonly kind: SymptomKind;
  /** The name of the error's class, at most 100 characters. */
  readonly name: string;
  /** The `code` of the error, if it has one, at most 100 characters. */
  readonly code?: string;
  /** At most 1,000 characters. */
  readonly message: string;
  /** At most 4,000 characters. */
  readonly stack?: string;
  /** The evidence of a `crash-loop`: its kind, when the flow ended the program, and in which life of the host. */
  readonly evidence?: Pick<EvidenceMark, "kind" | "at" | "life">;
}

const WORD_LENGTH = 100;
const MESSAGE_LENGTH = 1_000;
const STACK_LENGTH = 4_000;

/**
 * Makes a symptom of a thrown value. Never throws.
 *
 * @param thrown - any value
 * @param kind - what the caller knows about it; else the error itself tells
 */
export function symptomOf(thrown: unknown, kind: SymptomKind = kindOf(thrown)): Symptom {
  if (!isError(thrown)) return { kind, name: "Error", message: show(thrown) };
  const code = read(thrown, "code");
  const stack = stackOf(thrown)?.slice(0, STACK_LENGTH);
  return {
    kind,
    name: textOf(read(thrown, "name"))?.slice(0, WORD_LENGTH) || "Error",
    ...(typeof code === "string" || typeof code === "number"
      ? { code: String(code).slice(0, WORD_LENGTH) }
      : {}),
    message: textOf(read(thrown, "message"))?.slice(0, MESSAGE_LENGTH) ?? "(no readable message)",
    ...(stack === undefined ? {} : { stack }),
    ...evidenceOf(thrown),
  };
}

function evidenceOf(thrown: object): Pick<Symptom, "evidence"> {
  if (!(thrown instanceof CrashLoopError)) return {};
  const { kind, at, life } = thrown.evidence;
  return { evidence: { kind, at, life } };
}

/** The kind of symptom that an error is, as far as the error itself tells. Never throws. */
export function kindOf(thrown: unknown): SymptomKind {
  if (typeof thrown !== "object" || thrown === null) return "code";
  const code = read(thrown, "code");
  const known = typeof code === "string" ? OWN[code] : undefined;
  if (known !== undefined) return known;
  if (read(thrown, "retriable") === false) return "final";
  // Only what a store reports counts as an error of the store: a flow may well use databases and services of its own.
  return typeof code === "string" && /^ERR_(STORE|SQL)/.test(code) ? kindOfStore(thrown) : "code";
}

/** By the code of an error of the library itself. */
const OWN: Readonly<Record<string, SymptomKind>> = {
  ERR_FLOW_HOSPITALIZED: "requested",
  ERR_FLOW_DIVERGED: "divergence",
  ERR_FLOW_UNKNOWN: "definition",
  ERR_FLOW_JOURNAL_DAMAGED: "payload",
  ERR_FLOW_PAYLOAD_UNREADABLE: "payload",
  ERR_FLOW_CRASH_LOOP: "crash-loop",
};

/** The kind of symptom of each class of a store's errors. */
const OF_STORE: Readonly<Record<StoreErrorClass, SymptomKind>> = {
  contention: "deadlock",
  timeout: "timeout",
  unreachable: "connection",
  exhausted: "exhausted",
  failing: "server",
  damaged: "store",
  constraint: "constraint",
  refused: "store",
  over: "store",
};

/** The kind of symptom that an error of a store is. Never throws. */
export function kindOfStore(error: unknown): SymptomKind {
  const found = classOf(error);
  return found === undefined ? "store" : OF_STORE[found];
}

/** A property of any object: it may be a getter that throws. */
function read(of: object, key: string): unknown {
  try {
    return (of as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
