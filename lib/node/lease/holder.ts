// The holder of a lease as a text that its source keeps. People read it, and other systems find the process by it.

import { text } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { PidAddress } from "../../process/wire-signal.js";

/** The text of a holder: the address of the process that contends for it. */
export function holderText({ node, id }: Pid): string {
  return JSON.stringify({ node: node.name, id: node.id, process: id });
}

/** The address in the text of a holder; undefined for a text of anything else. @throws OptionError when it is no text */
export function holderAddress(holder: string): PidAddress | undefined {
  text("holder", holder);
  let parsed: unknown;
  try {
    parsed = JSON.parse(holder);
  } catch {
    return undefined;
  }
  const { node, id, process } = (parsed ?? {}) as Record<string, unknown>;
  if (typeof node !== "string" || typeof id !== "string" || !Number.isSafeInteger(process)) return undefined;
  return { node: { name: node, id }, id: process as number };
}
