// Hashes of values, for the lineage: they say whether two calls had the same at hand.

import type { Payloads } from "../../host/payload/payloads.js";
import { node } from "../../process/node-modules.js";
import { messageBody } from "../ledger/message-size.js";

/** Undefined: the value cannot be stored, or the codec answers later, when the value may have changed. */
export type ValueHash = (value: unknown) => string | undefined;

/** 128 bits suffice: no attacker looks for collisions, and each row of the lineage has two hashes for each call. */
const DIGITS = 32;

/** Hashes what rows hold of a value. @throws HostModuleError without `node:crypto`: Web Crypto answers later */
export function valueHash(payloads: Pick<Payloads, "store">): ValueHash {
  const { createHash } = node.crypto;
  return (value) => {
    try {
      const body = messageBody(payloads, value);
      if (!(body instanceof Promise)) return createHash("sha256").update(body).digest("hex").slice(0, DIGITS);
      body.catch(() => undefined);
    } catch {
      // Between the adapters of a route, a value need not be one that can be stored.
    }
    return undefined;
  };
}
