// The spans of a cluster: a process of each node, with the same number on all of them, answers the other nodes that ask for the spans of a trace.
// It is also the caller of this node's own questions, since telemetry does not follow what a helper of the library does.
//
// A node of an older release has no such process, so a question to it fails at once. What is sent and how it is read is in node-answer.ts.

import {
  type LostNode,
  offerPeers,
  type SpanQuestion,
  type TracePeers,
} from "../../admin/traces/trace-peers.js";
import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid, RemoteNode } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { SHUTDOWN } from "../../process/reason.js";
import type { ReplyTo } from "../../process/request.js";

/** The number of this process on every node. Those of the agent and of the groups are above. */
const SPANS = Number.MAX_SAFE_INTEGER - 2;
/** Nodes that are remembered after their loss. */
const LOST = 64;

type SpansMessage = SpanQuestion & { readonly replyTo: ReplyTo<unknown> };

export class NodeSpans implements TracePeers {
  readonly #kernel: Kernel;
  readonly #members: () => readonly RemoteNode[];
  readonly #process: Process;
  readonly #lost = new Map<string, LostNode>();
  readonly #withdraw: () => void;

  /** @param members - the other nodes of the cluster */
  constructor(kernel: Kernel, members: () => readonly RemoteNode[]) {
    this.#kernel = kernel;
    this.#members = members;
    this.#process = kernel.spawn(ANSWERS, undefined, { label: "spans of nodes" });
    kernel.remote.expose(SPANS, this.#process.pid as Pid<unknown>);
    this.#withdraw = offerPeers(kernel, this);
  }

  nodes(): readonly RemoteNode[] {
    return this.#members();
  }

  lost(): readonly LostNode[] {
    return [...this.#lost.values()];
  }

  ask(node: RemoteNode, question: SpanQuestion, timeoutMs: number): Promise<unknown> {
    const to = this.#kernel.remote.pid({ node, id: SPANS }) as Pid<SpansMessage>;
    const build = (replyTo: ReplyTo<unknown>): SpansMessage => ({ ...question, replyTo });
    return this.#kernel.calls.call(this.#process, to, build, { timeoutMs });
  }

  /** A member of the cluster was lost, or has left. */
  left(node: RemoteNode): void {
    this.#lost.set(node.id, { node, at: this.#kernel.env.wallTime() });
    const [oldest] = this.#lost.keys();
    if (this.#lost.size > LOST && oldest !== undefined) this.#lost.delete(oldest);
  }

  /** A node has joined, perhaps again. */
  joined(node: RemoteNode): void {
    this.#lost.delete(node.id);
  }

  close(): void {
    this.#withdraw();
    this.#kernel.end(this.#process, SHUTDOWN);
  }
}

/** One question at a time: the next one waits until this one is answered. */
const ANSWERS: Callbacks<unknown> = {
  isHelper: true,
  handle: async (ctx: Context<unknown>, message: unknown) => {
    // It comes from another node, so it can have any form.
    const { replyTo } = (message ?? {}) as { readonly replyTo?: ReplyTo<unknown> };
    if (typeof (replyTo as { readonly answer?: unknown } | undefined)?.answer !== "function") return;
    const { kernel } = ctx.self.process as Process;
    try {
      // Loaded when somebody looks.
      const { nodeAnswer } = await import("../../admin/traces/node-answer.js");
      ctx.reply(replyTo as ReplyTo<unknown>, await nodeAnswer(kernel, message));
    } catch (error) {
      ctx.refuse(replyTo as ReplyTo<unknown>, error instanceof Error ? error : new Error(String(error)));
    }
  },
};
