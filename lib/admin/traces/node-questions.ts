// One question to the other nodes of a cluster. Some are asked at a time, each has its time, and all together have theirs. A node that does not
// answer, or answers with an error, is named with the reason, and the others are not held up: a node that was silent is left alone for a while.

import type { CalleeExitedError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import type { RemoteNode } from "../../process/pid.js";
import { cut } from "../../process/show.js";
import type { MissingPart } from "./joined-trace.js";
import { type SpanQuestion, tracePeersOf } from "./trace-peers.js";

/** The bounds of one look at the other nodes. */
export const ASKING = {
  /** Nodes that are asked. */
  nodes: 64,
  /** Nodes that are asked at the same time. */
  atOnce: 16,
  /** How long one node may take, in milliseconds. */
  answerMs: 1_000,
  /** No node is asked later than that, in milliseconds after the begin. */
  beginMs: 1_500,
  /** How long a node that did not answer in time is not asked again, in milliseconds. */
  silentMs: 5_000,
  /** Characters of an error. */
  text: 200,
} as const;

/** What the nodes said. */
export interface AskedNodes {
  readonly answers: readonly { readonly node: RemoteNode; readonly answer: unknown }[];
  readonly missing: readonly MissingPart[];
}

const NOBODY: AskedNodes = { answers: [], missing: [] };
/** Why the spans of a node are missing that was lost. */
export const GONE = "is gone, with the spans that it kept";
const SILENT = `did not answer within ${ASKING.answerMs} ms`;

/** Asks the other nodes of the cluster that the system is in, if it is in one. */
export function askingNodes(kernel: Kernel): (question: SpanQuestion) => Promise<AskedNodes> {
  /** The nodes that were silent, and until when they are left alone. */
  const silent = new Map<string, number>();
  const now = (): number => kernel.env.now();
  return async (question) => {
    const peers = tracePeersOf(kernel);
    if (peers === undefined) return NOBODY;
    for (const [id, until] of silent) if (until <= now()) silent.delete(id);
    const answers: { readonly node: RemoteNode; readonly answer: unknown }[] = [];
    const missing: MissingPart[] = [];
    const members = peers.nodes();
    const left = members.slice(0, ASKING.nodes);
    const beyond = members.length - left.length;
    if (beyond > 0)
      missing.push({
        node: { name: `${beyond} more nodes`, id: "" },
        why: `were not asked: one look asks ${ASKING.nodes} at most`,
      });
    const endAt = now() + ASKING.beginMs;
    const askOne = async (node: RemoteNode): Promise<void> => {
      if (silent.has(node.id)) missing.push({ node, why: SILENT });
      else if (now() >= endAt) missing.push({ node, why: "was not asked: other nodes took too long" });
      else
        try {
          answers.push({ node, answer: await peers.ask(node, question, ASKING.answerMs) });
        } catch (error) {
          missing.push({ node, why: whyOf(error) });
          if (isTimeout(error)) silent.set(node.id, now() + ASKING.silentMs);
        }
    };
    const askNext = async (): Promise<void> => {
      for (let node = left.shift(); node !== undefined; node = left.shift()) await askOne(node);
    };
    await Promise.all(Array.from({ length: Math.min(ASKING.atOnce, left.length) }, askNext));
    return { answers, missing };
  };
}

const isTimeout = (error: unknown): boolean =>
  (error as { readonly code?: unknown }).code === "ERR_CALL_TIMEOUT";

function whyOf(error: unknown): string {
  const { code, reason, message } = error as Partial<CalleeExitedError>;
  if (isTimeout(error)) return SILENT;
  if (code === "ERR_CALLEE_EXITED" && reason?.type === "noconnection") return GONE;
  if (code === "ERR_CALLEE_EXITED" && reason?.type === "noproc")
    return "cannot be asked for spans, as nodes of older versions cannot";
  return `failed: ${cut(String(message), ASKING.text)}`;
}
