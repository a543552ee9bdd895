// The agent of a node: a process that answers other nodes. It reports the programs and labels of its node, and looks up registered names.
// It has the same number on all nodes, so that a node can be asked as soon as its session is up. The agent asks each new node for its
// offer, and adds the node to the cluster when the answer is there.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Signal } from "../../process/entries.js";
import type { Kernel } from "../../process/kernel.js";
import type { Monitor } from "../../process/monitor.js";
import { Pid, type RemoteNode } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { type ReplyTo, requestOf } from "../../process/request.js";
import type { NodeOffer, ProgramNodes, StarterPid } from "./placement.js";

/** The number of this process on every node, far above all others. */
const AGENT = Number.MAX_SAFE_INTEGER;
/** How often a node reports how many processes it has, if the number has changed. */
const LOAD_MS = 1_000;
/** Each period is between three and five quarters of that, at random, so that nodes do not report at the same moment. */
const JITTER_FROM = 0.75;
const JITTER = 0.5;
/** The most labels or programs that are accepted from another node, and the most characters of each. */
const MOST = 1_024;

/** The offer of a node, and the process that starts its programs. */
export interface NodeCard extends NodeOffer {
  readonly starter: StarterPid;
  readonly programs: readonly string[];
}

export type AgentMessage =
  | { readonly type: "meet"; readonly replyTo: ReplyTo<NodeCard> }
  | { readonly type: "card"; readonly card: NodeCard }
  | { readonly type: "whereis"; readonly name: string; readonly replyTo: ReplyTo<Pid<unknown> | undefined> }
  | SessionBegin
  | OfferChange;

/** A session with another node has begun. It is a class, so that no message of another node can pass for one. */
export class SessionBegin {
  readonly type = "session";
  readonly node: RemoteNode;
  readonly epoch: string;
  constructor(node: RemoteNode, epoch: string) {
    this.node = node;
    this.epoch = epoch;
  }
}

/** The offer of this node has changed. */
export class OfferChange {
  readonly type = "offer";
}

/** What the agent needs from its node. */
export interface AgentGround {
  readonly nodes: ProgramNodes;
  readonly starter: StarterPid;
  /** The present offer of this node. */
  offer(): { readonly programs: readonly string[]; readonly labels: Readonly<Record<string, string>> };
  /** Whether the session with a node is still the same. */
  isCurrent(session: SessionBegin): boolean;
  up(node: RemoteNode): void;
  /** A node has left the cluster, but its session continues, as between a program and its threads. */
  left(node: RemoteNode): void;
  /** A node has asked this one that had not joined the cluster when their session began. */
  joined(node: RemoteNode): void;
}

/** The agent of another node. */
export function agentOf(kernel: Kernel, node: RemoteNode): Pid<AgentMessage> {
  return kernel.remote.pid({ node, id: AGENT }) as Pid<AgentMessage>;
}

/** Starts the agent of this node, and makes it reachable for other nodes. */
export function startAgent(kernel: Kernel, ground: AgentGround): Pid<AgentMessage> {
  const { pid } = kernel.spawn(new NodeAgent(ground), undefined, { label: "node" });
  kernel.remote.expose(AGENT, pid);
  return pid as Pid<AgentMessage>;
}

class NodeAgent implements Callbacks<AgentMessage> {
  readonly isHelper = true;
  /** While children for other nodes end, it says that none can be placed here. */
  readonly isLast = true;
  readonly #ground: AgentGround;
  /** Monitors of other agents. When an agent ends and its session continues, its node has left the cluster. */
  readonly #watched = new Map<Monitor, RemoteNode>();
  #saidLoad = -1;

  constructor(ground: AgentGround) {
    this.#ground = ground;
  }

  init(ctx: Context<AgentMessage>): void {
    const { nodes, starter } = this.#ground;
    nodes.add(ctx.self.node, starter, this.#card(ctx));
    this.#sayLoadLater(ctx);
  }

  handle(ctx: Context<AgentMessage>, message: AgentMessage): void {
    if (message instanceof SessionBegin) this.#session(ctx, message);
    else if (message instanceof OfferChange) this.#say(ctx);
    else this.#asked(ctx, message);
  }

  /** The message comes from another node, so it can have any form. */
  #asked(ctx: Context<AgentMessage>, message: AgentMessage): void {
    const { type } = (message ?? {}) as AgentMessage;
    if (type === "card") this.#learn((message as { readonly card: unknown }).card);
    else if (type === "meet" || type === "whereis") {
      const { replyTo, name } = message as { readonly replyTo: ReplyTo<unknown>; readonly name?: unknown };
      if (typeof (replyTo as { readonly answer?: unknown } | undefined)?.answer !== "function") return;
      if (type === "meet") this.#met(ctx, replyTo as ReplyTo<NodeCard>);
      else ctx.reply(replyTo, typeof name === "string" ? ctx.whereis(name) : undefined);
    }
  }

  #met(ctx: Context<AgentMessage>, replyTo: ReplyTo<NodeCard>): void {
    const node = requestOf(replyTo).away?.node;
    ctx.reply(replyTo, this.#card(ctx));
    if (node === undefined || node.id === ctx.self.node.id) return;
    if (![...this.#watched.values()].some(({ id }) => id === node.id)) this.#ground.joined(node);
  }

  signal(_ctx: Context<AgentMessage>, signal: Signal): void {
    if (signal.type !== "down") return;
    const node = this.#watched.get(signal.ref);
    if (this.#watched.delete(signal.ref) && node !== undefined) this.#ground.left(node);
  }

  #session(ctx: Context<AgentMessage>, session: SessionBegin): void {
    const { nodes, up, isCurrent } = this.#ground;
    const { node } = session;
    // It has ended while this message waited. A monitor that is set now would be one of the next session, which has a message of its own.
    if (!isCurrent(session)) return;
    const { kernel } = ctx.self.process as Process;
    this.#watched.set(ctx.monitor(agentOf(kernel, node) as Pid<unknown> as Pid), node);
    ctx.ask(
      agentOf(kernel, node),
      (replyTo: ReplyTo<NodeCard>) => ({ type: "meet" as const, replyTo }),
      (reply) => {
        // A node that has a session, but has not joined the cluster, has no agent, so the ask fails.
        if (!reply.ok || !isCurrent(session) || !isCardOf(reply.value, node)) return;
        nodes.add(node, reply.value.starter, reply.value);
        up(node);
      },
      { timeoutMs: Number.POSITIVE_INFINITY },
    );
  }

  #learn(card: unknown): void {
    const node = (card as { readonly starter?: { readonly node?: RemoteNode } } | undefined)?.starter?.node;
    if (node !== undefined && isCardOf(card, node)) this.#ground.nodes.learn(node.id, card);
  }

  #card(ctx: Context<AgentMessage>): NodeCard {
    const { starter, offer } = this.#ground;
    const { kernel } = ctx.self.process as Process;
    return { ...offer(), starter, load: kernel.population };
  }

  /** Sends the offer of this node to all nodes. */
  #say(ctx: Context<AgentMessage>): void {
    const card = this.#card(ctx);
    this.#saidLoad = card.load;
    const { kernel } = ctx.self.process as Process;
    for (const { node } of this.#ground.nodes.all)
      if (node.id === ctx.self.node.id) this.#ground.nodes.learn(node.id, card);
      else ctx.send(agentOf(kernel, node), { type: "card", card });
  }

  #sayLoadLater(ctx: Context<AgentMessage>): void {
    ctx.runAfter(LOAD_MS * (JITTER_FROM + ctx.random() * JITTER), () => {
      if ((ctx.self.process as Process).kernel.population !== this.#saidLoad) this.#say(ctx);
      this.#sayLoadLater(ctx);
    });
  }
}

/** Whether a value is a card of this node. */
function isCardOf(value: unknown, node: RemoteNode): value is NodeCard {
  const { starter, programs, labels, load } = (value ?? {}) as Partial<NodeCard>;
  return (
    starter instanceof Pid &&
    starter.node.id === node.id &&
    isList(programs) &&
    typeof labels === "object" &&
    labels !== null &&
    isList(Object.values(labels)) &&
    typeof load === "number" &&
    load >= 0
  );
}

function isList(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length <= MOST &&
    value.every((one) => typeof one === "string" && one.length <= MOST)
  );
}
