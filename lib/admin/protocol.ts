// The protocol of admin sockets: one request and one answer, each a line of JSON. Hosts and the command `signalbox` speak it.
//
//     {"v":1,"id":7,"op":"pause","args":{"id":"order-1"}}
//     {"id":7,"ok":null}
//     {"id":8,"error":{"name":"FlowNotFoundError","code":"ERR_FLOW_NOT_FOUND","message":"there is no flow \"order-2\""}}
//
// Every request ends by itself: a long list is read page by page, and a wait for an outcome is asked for again and again.

import { alike, only } from "../process/known-options.js";
import { show } from "../process/show.js";
import { AdminProtocolError, RemoteOperationError } from "./errors.js";
import { faultOf } from "./fault.js";
import { type Json, toJson } from "./json-view.js";
import { subjectOf } from "./subject.js";

export const PROTOCOL_VERSION = 1;

/** The limits of the protocol. */
export const PROTOCOL_LIMITS: {
  /** Most bytes of a request. */
  readonly requestBytes: number;
  /** Most characters of an answer. */
  readonly answerLength: number;
  /** Most items of a page of a list. */
  readonly pageItems: number;
  /** A page ends when it has so many characters. */
  readonly pageLength: number;
  /** How long one request waits for an end, in milliseconds. */
  readonly waitMs: number;
} = {
  requestBytes: 1 << 20,
  answerLength: 1 << 26,
  pageItems: 500,
  pageLength: 1 << 20,
  waitMs: 10_000,
};

/** The arguments of a request. */
export type Args = Readonly<Record<string, unknown>>;

/** The right that an operation needs: to look, to change something that can be changed again, or to remove for good. */
export type Leave = "look" | "change" | "remove";

/** A system behind a socket. */
export interface SystemId {
  readonly name: string;
  readonly id: string;
}

/** One operation of the protocol: the names of its arguments, and how it is done. */
export interface AdminOperation {
  readonly args: readonly string[];
  /** The right that it needs. */
  readonly leave: Leave;
  run(args: Args, signal: AbortSignal): Promise<unknown>;
  /** Of several hosts that offer it, the one that answers true does it; else one that could not tell; else the first. */
  mine?(args: Args): Promise<boolean>;
  /** The store of its host, where hosts of several stores offer it. The argument `store` says which one is meant. */
  readonly store?: string;
  /**
   * The system that it looks at. Where several listen at a socket, the argument `system` says which one is meant: by its name, or by its id where
   * several have the name.
   */
  readonly system?: SystemId;
}

/** The operations, by name. Several hosts may offer the same. */
export interface AdminOperations {
  readonly names: readonly string[];
  find(op: string): readonly AdminOperation[];
}

/** The operation that every host answers by itself: what it offers. */
export const OFFERS_OP = "operations";

/** What a host offers. */
export interface Offers {
  readonly operations: readonly { readonly name: string; readonly leave: Leave }[];
  /** The systems that its operations look at. */
  readonly systems: readonly SystemId[];
  /** See {@link storesOf}. An earlier release does not say. */
  readonly stores?: Stores;
}

/** The stores of hosts, by the subject of their operations. */
export type Stores = Readonly<Record<string, readonly string[]>>;

/**
 * The stores on which hosts offer operations, by their subject: `{ flows: ["sqlite a.db", "sqlite b.db"] }`. The argument `store` of a request
 * names one of them; without it, the first one is meant unless another one has what the request names. A subject whose hosts have no such argument is
 * left out.
 */
export function storesOf(operations: AdminOperations): Stores {
  const stores = new Map<string, Set<string>>();
  for (const op of operations.names)
    for (const { store } of operations.find(op)) {
      if (store === undefined) continue;
      const known = stores.get(subjectOf(op));
      if (known === undefined) stores.set(subjectOf(op), new Set([store]));
      else known.add(store);
    }
  return Object.fromEntries([...stores].map(([subject, labels]) => [subject, [...labels]]));
}

/** What is offered now, in the order of the names. */
function offersOf(operations: AdminOperations): Offers {
  const systems = new Map<string, SystemId>();
  const offered = operations.names.flatMap((name) => {
    const offers = operations.find(name);
    for (const { system } of offers) if (system !== undefined) systems.set(system.id, system);
    return offers.slice(0, 1).map(({ leave }) => ({ name, leave }));
  });
  return {
    operations: offered,
    systems: [...systems.values()].map(({ name, id }) => ({ name, id })),
    stores: storesOf(operations),
  };
}

/** Carries out the request of a line. Resolves with the line of its answer; never rejects. */
export async function serve(operations: AdminOperations, line: string, signal: AbortSignal): Promise<string> {
  let of: number | null = null;
  try {
    const request = parse(line);
    of = request.id;
    const found =
      request.op === OFFERS_OP
        ? offersOf(operations)
        : await (await chosenOf(operations, request.op, request.args)).run(request.args, signal);
    const answer = JSON.stringify({ id: of, ok: toJson(found) });
    if (answer.length <= PROTOCOL_LIMITS.answerLength) return answer;
    throw new AdminProtocolError(
      `the answer has ${answer.length} characters, and ${PROTOCOL_LIMITS.answerLength} are allowed: ask for less`,
    );
  } catch (error) {
    return errorLine(of, error);
  }
}

/**
 * The operation that a request means: of several hosts that offer it, the one that it is meant for.
 *
 * @throws AdminProtocolError when there is none, OptionError when it has no such argument
 */
export async function chosenOf(
  operations: AdminOperations,
  op: unknown,
  args: Args,
): Promise<AdminOperation> {
  const offers = typeof op === "string" ? operations.find(op) : [];
  const [first] = offers;
  if (first === undefined) throw new AdminProtocolError(noOperation(operations.names, op));
  only("args", args as object, [...new Set(offers.flatMap((one) => one.args))]);
  if (first.system !== undefined) return ofSystem(offers, args.system);
  const meant = inStore(offers, args.store);
  return (await ownerOf(meant, args)) ?? (meant[0] as AdminOperation);
}

/** @throws AdminProtocolError when no host of that store offers it */
function inStore(offers: readonly AdminOperation[], wanted: unknown): readonly AdminOperation[] {
  if (wanted === undefined) return offers;
  const meant = offers.filter(({ store }) => store === wanted);
  if (meant.length > 0) return meant;
  const stores = [...new Set(offers.flatMap(({ store }) => store ?? []))];
  throw new AdminProtocolError(
    `no host here has the store ${show(wanted)}: there is only ${stores.join(", ")}`,
  );
}

/** The offer of the host that has what a request names. A host whose store fails now cannot tell: no other one may answer for it. */
async function ownerOf(offers: readonly AdminOperation[], args: Args): Promise<AdminOperation | undefined> {
  if (offers.length < 2) return undefined;
  let silent: AdminOperation | undefined;
  for (const one of offers) {
    try {
      if ((await one.mine?.(args)) === true) return one;
    } catch {
      // What is wrong with it shows when the operation runs there.
      silent ??= one;
    }
  }
  return silent;
}

/**
 * The operation on the system that a request names; of systems with the same name, by its id.
 *
 * @throws AdminProtocolError when there is none, or when the request does not say which of several is meant
 */
function ofSystem(offers: readonly AdminOperation[], wanted: unknown): AdminOperation {
  const systems: (SystemId & { readonly offer: AdminOperation })[] = [];
  for (const offer of offers) {
    const { system } = offer;
    if (system !== undefined && !systems.some(({ id }) => id === system.id))
      systems.push({ ...system, offer });
  }
  const labelOf = ({ id, name }: SystemId): string =>
    systems.filter((one) => one.name === name).length > 1 ? `${id} (${name})` : name;
  const list = (of: readonly SystemId[]): string => of.map(labelOf).join(", ");
  const meant = systems.filter(({ id, name }) => wanted === undefined || wanted === name || wanted === id);
  const [one, ...others] = meant;
  if (one !== undefined && others.length === 0) return one.offer;
  if (one === undefined)
    throw new AdminProtocolError(
      `no system ${show(wanted)} listens at this socket: there is only ${list(systems)}`,
    );
  throw new AdminProtocolError(
    wanted === undefined
      ? `several systems listen at this socket: name one of them with --system: ${list(meant)}`
      : `several systems ${show(wanted)} listen at this socket: name one by its id: ${list(meant)}`,
  );
}

/** The line of an answer that is an error. */
export function errorLine(id: number | null, error: unknown): string {
  const { name, message, code } = faultOf(error);
  return JSON.stringify({ id, error: { name, message, code } });
}

interface Parsed {
  readonly id: number;
  readonly op: unknown;
  readonly args: Args;
}

/** @throws AdminProtocolError */
function parse(line: string): Parsed {
  let request: unknown;
  try {
    request = JSON.parse(line);
  } catch {
    throw new AdminProtocolError("a request must be a line of JSON");
  }
  if (typeof request !== "object" || request === null || Array.isArray(request))
    throw new AdminProtocolError("a request must be an object with v, id, op and args");
  const { v, id: number, op, args = {} } = request as Args;
  if (v !== PROTOCOL_VERSION)
    throw new AdminProtocolError(
      `the request has version ${JSON.stringify(v)} of the protocol; this host has version ${PROTOCOL_VERSION}`,
    );
  if (!Number.isSafeInteger(number))
    throw new AdminProtocolError("the id of a request must be a whole number");
  return { id: number as number, op, args: args as Args };
}

/** Says that there is no such operation, and which was meant; or that this program has nothing of its kind. */
function noOperation(names: readonly string[], op: unknown): string {
  const shown = JSON.stringify(op)?.slice(0, 100);
  if (typeof op !== "string") return `there is no operation ${shown}: there is only ${names.join(", ")}`;
  const kinds = [...new Set(names.map(subjectOf))];
  if (!kinds.includes(subjectOf(op)))
    return `there is no operation ${shown}: this program answers only about ${kinds.join(", ") || "nothing"} here`;
  const meant = alike(names, op.slice(0, 100));
  const hint = meant.length > 0 ? `did you mean ${meant.join(" or ")}?` : `there is only ${names.join(", ")}`;
  return `there is no operation ${shown}: ${hint}`;
}

/** Items of a list as JSON, as many as a page may have. */
export async function pageOf(
  items: AsyncIterable<unknown>,
  limit: number,
): Promise<{ readonly shown: readonly Json[] /** Whether there may be more. */; readonly isFull: boolean }> {
  const { pageLength } = PROTOCOL_LIMITS;
  const shown: Json[] = [];
  let length = 0;
  for await (const item of items) {
    const one = toJson(item);
    shown.push(one);
    length += JSON.stringify(one).length;
    if (length > pageLength || shown.length === limit) break;
  }
  return { shown, isFull: shown.length > 0 && (shown.length === limit || length > pageLength) };
}

/** Waits for an outcome as long as one request may, and gives "pending" then. @param timeout - the code of the error of a wait */
export async function pendingAfter<T>(
  args: Args,
  timeout: string,
  wait: (timeoutMs: number) => Promise<T>,
): Promise<T | "pending"> {
  const timeoutMs = Math.min(typeof args.timeoutMs === "number" ? args.timeoutMs : 0, PROTOCOL_LIMITS.waitMs);
  try {
    return await wait(Math.max(timeoutMs, 0));
  } catch (error) {
    if ((error as { code?: unknown } | undefined)?.code === timeout) return "pending";
    throw error;
  }
}

/** The other side of it: asks again and again. */
export async function askedAgain<T>(
  timeoutMs: number,
  ask: (timeoutMs: number) => Promise<T | "pending">,
  timeout: () => Error,
): Promise<T> {
  for (let left = timeoutMs; ; left -= PROTOCOL_LIMITS.waitMs) {
    const found = await ask(Math.min(Math.max(left, 0), PROTOCOL_LIMITS.waitMs));
    if (found !== "pending") return found;
    if (left <= PROTOCOL_LIMITS.waitMs) throw timeout();
  }
}

/** The line of a request. */
export function requestLine(id: number, op: string, args: object): string {
  return JSON.stringify({ v: PROTOCOL_VERSION, id, op, args });
}

/** The result in an answer. @throws RemoteOperationError when it is an error, or no answer to this request */
export function readAnswer(id: number, line: string): Json {
  let answer: { id?: unknown; ok?: Json; error?: { name?: unknown; code?: unknown; message?: unknown } };
  try {
    answer = JSON.parse(line);
  } catch {
    throw new RemoteOperationError("the answer is no JSON: is this the admin socket of a host?", {
      name: "Error",
    });
  }
  const { error } = answer;
  if (error !== undefined) {
    const { name, message, code } = error;
    const remote = { name: String(name), ...(typeof code === "string" && { code }) };
    throw new RemoteOperationError(
      String(message),
      remote,
      code === "ERR_ADMIN_TIMEOUT" ? "kept" : undefined,
    );
  }
  if (answer.id !== id || answer.ok === undefined)
    throw new RemoteOperationError(`the answer is not that of request ${id}`, { name: "Error" });
  return answer.ok;
}

/**
 * Sends a request. Resolves with the result in its answer.
 *
 * @param changes - the operation changes something: it may take as long as the host gives itself
 */
export type Ask = (op: string, args: object, signal?: AbortSignal, changes?: boolean) => Promise<Json>;
