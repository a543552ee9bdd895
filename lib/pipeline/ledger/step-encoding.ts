// What a step stores, encoded at once when it is submitted: values may change afterwards.

import type { Payloads } from "../../host/payload/payloads.js";
import { OptionError } from "../../process/errors.js";
import { showThrown } from "../../process/show.js";
import { StepTooLargeError } from "./errors.js";
import type { Remembered, Step } from "./ledger.js";
import type { LedgerState } from "./ledger-state.js";
import type { Body } from "./live-message.js";
import { bodyWithin, messageBody } from "./message-size.js";
import { publishedBy, sizeOf } from "./step-parts.js";
import type { Entry } from "./step-writes.js";

type StepPayloads = Pick<Payloads, "store" | "storeThrown">;

const NO_BODIES: readonly (Body | null)[] = [];

/** @throws what the codec throws, MessageTooLargeError, StepTooLargeError, and OptionError */
export function entryOf(step: Step, { options, limits: { commitSize } }: LedgerState): Entry {
  const { maxMessageBytes, payloads } = options;
  const bodies = publishedBy(step).map(({ queue, value, key }) => {
    checkKey("key", key);
    return bodyWithin(maxMessageBytes, atOnce(messageBody(payloads, value)), queue);
  });
  const size = bodies.length > 1 ? sizeOf({ step, bodies }) : 0;
  if (size > commitSize) throw new StepTooLargeError(bodies.length, size, commitSize);
  return { step, bodies, passed: [], extra: extraOf(step, payloads) };
}

function extraOf(step: Step, payloads: StepPayloads): readonly (Body | null)[] {
  switch (step.type) {
    case "source":
      return [step.checkpoint === undefined ? null : stored(payloads, step.checkpoint, "checkpoint")];
    case "settle":
    case "emit":
      return step.remember === undefined ? NO_BODIES : step.remember.map((one) => remembered(one, payloads));
    case "end":
      return [step.error === undefined ? null : storedThrown(payloads, step.error)];
    default:
      return NO_BODIES;
  }
}

function remembered({ key, value }: Remembered, payloads: StepPayloads): Body | null {
  checkKey("remember.key", key);
  return value === undefined ? null : stored(payloads, value, "remember");
}

function stored(payloads: StepPayloads, value: unknown, root: string): Body {
  return atOnce(payloads.store(value, root));
}

function atOnce(body: Body | Promise<Body>): Body {
  if (body instanceof Promise) throw lateCodec();
  return body;
}

function storedThrown(payloads: StepPayloads, thrown: unknown): Body {
  const body = payloads.storeThrown(thrown);
  return body instanceof Promise ? JSON.stringify(showThrown(thrown)) : body;
}

/** Steps are encoded in the turn in which they are submitted, and messages decoded in the turn in which they are handed out. */
export function lateCodec(): OptionError {
  return new OptionError("payloads.codec", "a codec that answers later", "a codec that works at once");
}

/** Names of adapters have no blanks; keys are of the user. @throws OptionError */
function checkKey(path: string, key: string | undefined): void {
  if (key === undefined) return;
  const isText = typeof key === "string" && key.length <= KEY_LENGTH && !key.includes("\0");
  if (!(isText && (key as string & { isWellFormed(): boolean }).isWellFormed()))
    throw new OptionError(
      path,
      key,
      `a text of at most ${KEY_LENGTH} characters, without NUL and without lone surrogates`,
    );
}

/** Most characters of a key of a message, and of something remembered. */
const KEY_LENGTH = 1_000;
