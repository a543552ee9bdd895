// The presence messages of a cluster, which go outside of all sessions: a node has joined, is here or leaves, or another
// node is lost.

import type { RemoteNode } from "../../process/pid.js";

export interface Presence {
  readonly type: "join" | "here" | "leave" | "lost";
  /** The node that sends. With `lost`, the node that is gone: each receiver checks that for itself. */
  readonly node: RemoteNode;
}

const TYPES = new Set<unknown>(["join", "here", "leave", "lost"]);
/** Most characters of an id or a name. The subjects of NATS are limited to 4,096 bytes in a line. */
export const LONGEST_NAME = 256;

export function writePresence({ type, node: { id, name } }: Presence): string {
  return JSON.stringify({ type, id, name });
}

/** Undefined for any text that {@link writePresence} did not write. Later releases may send more, and other programs may publish there. */
export function readPresence(text: string): Presence | undefined {
  try {
    const { type, id, name } = JSON.parse(text) as { type: unknown; id: unknown; name: unknown };
    return TYPES.has(type) && isName(id) && isName(name)
      ? { type: type as Presence["type"], node: { name, id } }
      : undefined;
  } catch {
    return undefined;
  }
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= LONGEST_NAME;
}
