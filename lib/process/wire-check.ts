// Checks what comes from other nodes, at the door: a signal has the shape of its type, and is one of another node for this one.

import { OptionError } from "./errors.js";
import type { RemoteNode } from "./pid.js";
import type { PidAddress, ReplyAddress, WireSignal } from "./wire-signal.js";

const SIGNAL = "a signal that another node gave to its transport";
const NUMBER = "a whole number of at least 0";

/** The fields of an object, whatever it is. */
type Fields = Readonly<Record<string, unknown>>;

/** @throws OptionError */
export function checkPidAddress(path: string, value: PidAddress): void {
  try {
    if (isPidAddress(value)) return;
  } catch {
    // Reading the value threw.
  }
  throw new OptionError(path, value, "an address that system.address(pid) made");
}

/** @throws OptionError */
export function checkReplyAddress(path: string, value: ReplyAddress): void {
  try {
    if (isReplyAddress(value)) return;
  } catch {
    // Reading the value threw.
  }
  throw new OptionError(path, value, "an address that system.replyAddress(replyTo) made");
}

// Every call and reply passes here, so the fields are read one by one: a look by a name that differs, or a copy, would cost more.

function isPidAddress(value: PidAddress): boolean {
  return typeof value === "object" && value !== null && isNumber(value.id) && isNode(value.node);
}

function isReplyAddress(value: ReplyAddress): boolean {
  return typeof value === "object" && value !== null && isNumber(value.ref) && isNode(value.node);
}

function isNode(node: RemoteNode): boolean {
  return (
    typeof node === "object" && node !== null && typeof node.id === "string" && typeof node.name === "string"
  );
}

/**
 * Checks the shape of a signal, so that nothing in it can harm the kernel.
 *
 * @throws OptionError
 */
export function checkSignal(signal: WireSignal, here: RemoteNode): void {
  try {
    checkType(signal, here);
  } catch (error) {
    // Reading the signal threw.
    throw error instanceof OptionError ? error : new OptionError("signal", signal, SIGNAL);
  }
}

function checkType(signal: WireSignal, here: RemoteNode): void {
  const type: unknown = typeof signal === "object" && signal !== null ? signal.type : undefined;
  if (typeof type !== "string") throw new OptionError("signal", signal, SIGNAL);
  switch (signal.type) {
    case "message":
      checkReceiver(signal.to, here);
      return;
    case "call":
      checkReceiver(signal.to, here);
      if (signal.from !== undefined) checkSender(signal.from, here);
      return;
    case "reply":
      checkSender(signal.from, here);
      checkReplyAddress("signal.to", signal.to);
      checkNode("signal.to", signal.to, here);
      checkOutcome(signal.outcome);
      return;
    case "cancel":
      checkReceiver(signal.to, here);
      checkReplyAddress("signal.replyTo", signal.replyTo);
      return;
    case "link":
      checkEnds(signal, here);
      return;
    case "unlink":
    case "unlinked":
      checkEnds(signal, here);
      checkNumber("signal.id", signal.id);
      return;
    case "exit":
      checkEnds(signal, here);
      if (signal.source !== "link" && signal.source !== "exit")
        throw new OptionError("signal.source", signal.source, '"link" or "exit"');
      return;
    case "monitor":
    case "demonitor":
    case "down":
      checkEnds(signal, here);
      checkNumber("signal.ref", signal.ref);
      return;
    default:
      signal satisfies never;
      throw new OptionError("signal.type", type, "the type of a signal");
  }
}

function checkEnds(
  { from, to }: { readonly from: PidAddress; readonly to: PidAddress },
  here: RemoteNode,
): void {
  checkReceiver(to, here);
  checkSender(from, here);
}

function checkReceiver(to: PidAddress, here: RemoteNode): void {
  checkPidAddress("signal.to", to);
  checkNode("signal.to", to, here);
}

function checkNode(path: string, address: PidAddress | ReplyAddress, here: RemoteNode): void {
  if (address.node.id !== here.id) throw new OptionError(path, address, "an address of this node");
}

function checkSender(from: PidAddress, here: RemoteNode): void {
  checkPidAddress("signal.from", from);
  if (from.node.id === here.id) throw new OptionError("signal.from", from, "an address of another node");
}

function checkOutcome(outcome: unknown): void {
  const { ok, exited, isUntaken } = fieldsOf(outcome);
  if (typeof ok === "boolean" || (exited !== undefined && typeof isUntaken === "boolean")) return;
  throw new OptionError("signal.outcome", outcome, "a reply, an error or the exit reason of the callee");
}

function checkNumber(path: string, value: number): void {
  if (!isNumber(value)) throw new OptionError(path, value, NUMBER);
}

function isNumber(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
