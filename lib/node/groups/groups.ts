// The consumer groups of a node that span the cluster. One process announces the consumers of this node to the other nodes, starts a
// stand-in here for each of their consumers, and dispatches what stand-ins elsewhere pass on to the consumers here.

import { OwnEnvelope } from "../../dispatch/envelope.js";
import type { DispatchError } from "../../dispatch/errors.js";
import type { Member } from "../../dispatch/member.js";
import type { Outcome } from "../../dispatch/outcome.js";
import type { GroupScope, ScopedGroup, ScopedMembers } from "../../dispatch/scope.js";
import type { Callbacks } from "../../process/behaviour.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { kernelOf } from "../../process/options.js";
import type { Pid, RemoteNode } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { crash, SHUTDOWN } from "../../process/reason.js";
import { requestOf } from "../../process/request.js";
import type { ProcessSystem } from "../../process/system.js";
import {
  decide,
  type Exchange,
  type ExchangeEffect,
  type ExchangeEvent,
  initialExchange,
  type News,
} from "./exchange-machine.js";
import { Loads } from "./loads.js";
import { type Ending, type GroupMessage, isGroupMessage, type RemoteMember } from "./messages.js";
import { DISMISSED, StandIn } from "./stand-in.js";

/** The other nodes of a cluster, as the groups see them. */
export interface GroupPeers {
  readonly system: ProcessSystem;
  /** The pid of the groups process of another node. That node may have no such process. */
  groupsOf(node: RemoteNode): Pid<GroupMessage>;
}

/** A session with a node began or ended. It is a class, so that no message of another node can pass for one. */
class NodeChange {
  readonly node: RemoteNode;
  readonly isUp: boolean;
  constructor(node: RemoteNode, isUp: boolean) {
    this.node = node;
    this.isUp = isUp;
  }
}

export class NodeGroups implements GroupScope {
  readonly #peers: GroupPeers;
  readonly #kernel: Kernel;
  readonly #process: Process;
  readonly #groups = new Map<string, ScopedGroup>();
  /** The consumers of this node, by group and id. */
  readonly #members = new Map<string, Map<string, Member>>();
  /** The groups processes of other nodes, by node. */
  readonly #agents = new Map<string, Pid<GroupMessage>>();
  /** The members here that stand for consumers of other nodes. */
  readonly #standIns = new Map<string, StandIn>();
  readonly #loads: Loads;
  #exchange: Exchange<RemoteMember> = initialExchange();

  constructor(peers: GroupPeers) {
    this.#peers = peers;
    this.#kernel = kernelOf(peers.system);
    this.#process = this.#kernel.spawn(this.#behaviour(), undefined, { label: "groups", trapExit: true });
    this.#loads = new Loads(this.#kernel, (node, loads) => {
      this.#kernel.send(this.#agents.get(node) as Pid<GroupMessage>, {
        type: "loads",
        from: this.pid,
        loads,
      });
    });
  }

  get node(): RemoteNode {
    return this.#kernel.node;
  }

  /** The process. */
  get pid(): Pid<GroupMessage> {
    return this.#process.pid as Pid<GroupMessage>;
  }

  /** A session with a node began or ended. The change is handled in order with the messages of that node. */
  changed(node: RemoteNode, isUp: boolean): void {
    this.#kernel.send(this.pid, new NodeChange(node, isUp));
  }

  /** Ends all stand-ins, and what other nodes dispatch to consumers here. */
  close(): void {
    this.#loads.close();
    this.#kernel.end(this.#process, SHUTDOWN);
  }

  // ── groups of this node ───────────────────────────────────────────────────────────────────────────────────────

  share(group: ScopedGroup): ScopedMembers {
    const { name } = group;
    if (this.#groups.has(name))
      throw new OptionError("name", name, "a name that no other group of this node has");
    this.#groups.set(name, group);
    const members = new Map<string, Member>();
    this.#members.set(name, members);
    this.#apply({ type: "shared", group: name });
    return {
      idOf: (pid) => `${pid}@${pid.node.id}`,
      joined: (member) => {
        if (!this.#isToldOf(member)) return;
        const { id, pid, maxInFlight, weight, tags } = member;
        members.set(id, member);
        member.onLoad = this.#loads.watch(name, member);
        this.#apply({ type: "joined", group: name, member: { id, pid, maxInFlight, weight, tags } });
      },
      left: (member) => {
        if (members.get(member.id) !== member) return;
        members.delete(member.id);
        this.#loads.forget(member);
        this.#apply({ type: "left", group: name, id: member.id });
      },
    };
  }

  /** Other nodes learn only of consumers that acknowledge: without an acknowledgement no node knows when a delivery is done. */
  #isToldOf({ process, acknowledges }: Member): boolean {
    const isStandIn = process.behaviour instanceof StandIn;
    return acknowledges && !isStandIn && process.kernel === this.#kernel;
  }

  // ── other nodes ───────────────────────────────────────────────────────────────────────────────────────────────

  #met({ node, isUp }: NodeChange): void {
    const { id } = node;
    if (isUp) {
      this.#loads.up(id);
      this.#agents.set(id, this.#agents.get(id) ?? this.#peers.groupsOf(node));
    } else {
      this.#agents.delete(id);
      this.#loads.down(id);
    }
    this.#apply({ type: isUp ? "up" : "down", node: id });
  }

  #apply(event: ExchangeEvent<RemoteMember>): void {
    const [exchange, effects] = decide(this.#exchange, event);
    this.#exchange = exchange;
    if (this.#process.alive) for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: ExchangeEffect<RemoteMember>): void {
    const { node } = effect;
    switch (effect.type) {
      case "tell":
        this.#tell(this.#agents.get(node) as Pid<GroupMessage>, effect.news);
        return;
      case "admit":
        this.#admit(node, effect.group, effect.member);
        return;
      case "dismiss": {
        const key = keyOf(node, effect.group, effect.id);
        const standIn = this.#standIns.get(key);
        this.#standIns.delete(key);
        standIn?.dismiss(effect.isLost);
        // After the loss of the connection its monitors end it.
        if (standIn !== undefined && !effect.isLost) this.#kernel.send(standIn.pid, DISMISSED);
        return;
      }
      default:
        effect satisfies never;
    }
  }

  #tell(to: Pid<GroupMessage>, news: News<RemoteMember>): void {
    const from = this.pid;
    if (news.type !== "all") this.#kernel.send(to, { type: "news", from, news });
    else
      this.#process.ctx.ask<GroupMessage, GroupMessage, true>(
        to,
        (replyTo) => ({ type: "meet", from, news, replyTo }),
        // A node without groups gets no more news. The loss of a node is handled elsewhere.
        (reply) => void (reply.ok || this.#apply({ type: "down", node: to.node.id })),
        { timeoutMs: Number.POSITIVE_INFINITY },
      );
  }

  #admit(node: string, group: string, member: RemoteMember): void {
    const here = this.#groups.get(group);
    const there = this.#agents.get(node);
    if (here === undefined || there === undefined) return;
    const standIn = new StandIn(here, member, this.pid, there);
    standIn.pid = this.#kernel.spawn(standIn, this.#process, { label: member.id }).pid as Pid<
      typeof DISMISSED
    >;
    this.#kernel.links.link(this.#process, standIn.pid as Pid);
    this.#standIns.set(keyOf(node, group, member.id), standIn);
  }

  // ── the process ───────────────────────────────────────────────────────────────────────────────────────────────

  #behaviour(): Callbacks<GroupMessage | NodeChange> {
    return {
      isHelper: true,
      handle: (_ctx, message) => {
        if (message instanceof NodeChange) this.#met(message);
        else if (isGroupMessage(message)) this.#heard(message);
      },
      // Stand-ins come and go with their consumers.
      signal: () => undefined,
    };
  }

  #heard(message: GroupMessage): void {
    const node = message.from.node.id;
    switch (message.type) {
      case "meet":
      case "news":
        this.#agents.set(node, message.from);
        this.#apply({ type: "news", node, news: message.news });
        if (message.replyTo !== undefined) requestOf(message.replyTo).answer(true);
        return;
      case "loads":
        for (const { group, id, elsewhere } of message.loads) {
          this.#standIns.get(keyOf(node, group, id))?.seat?.takenElsewhere(elsewhere);
        }
        return;
      case "deliver":
        this.#deliver(node, message);
        return;
      default:
        message satisfies never;
    }
  }

  /** Dispatches an envelope of another node to a consumer here, and replies with how the dispatch ended. */
  #deliver(node: string, message: GroupMessage & { readonly type: "deliver" }): void {
    const { group, member: id, envelope: sent, attempt = 1, trace, replyTo } = message;
    const member = this.#members.get(group)?.get(id);
    const request = requestOf(replyTo);
    if (member === undefined) {
      request.answer({ type: "left" });
      return;
    }
    const withdrawn = new AbortController();
    const { onClose } = request;
    request.onClose = (ok, value) => {
      onClose?.(ok, value);
      withdrawn.abort();
    };
    const { payload, isOwn, ...options } = sent;
    const envelope = isOwn ? new OwnEnvelope(payload, this.#kernel.env, options) : sent;
    this.#loads.began(node, member);
    const shared = this.#groups.get(group) as ScopedGroup;
    const dispatch = (): Promise<Outcome<unknown>> =>
      shared.dispatchTo(member, this.#kernel, this.#process, envelope, attempt, withdrawn.signal);
    const { taps } = this.#kernel;
    (taps === undefined ? dispatch() : taps.arriving(trace, dispatch))
      .then(endingOf, failureOf)
      .then((ending) => {
        this.#loads.ended(node, member);
        request.answer(ending);
      });
  }
}

function keyOf(node: string, group: string, id: string): string {
  return `${node} ${group} ${id}`;
}

function endingOf({ reply, settledBy }: Outcome<unknown>): Ending {
  return { type: "acked", value: reply, replied: settledBy === "reply" };
}

/** The last attempt of a failed dispatch says why the consumer did not settle the envelope. */
function failureOf(error: DispatchError): Ending {
  const last = error.history?.at(-1);
  const code = (error as { code?: unknown }).code;
  if (last === undefined) return { type: "rejected", reason: crash(error), final: false };
  const { end, reason } = last;
  if (end === "rejected") return { type: end, reason, final: code === "ERR_REJECTED" };
  return { type: end, reason };
}
