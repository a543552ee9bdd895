// The consumer groups of a node that span the cluster: one process, which tells the other nodes of the consumers here, has a stand-in
// for each of theirs, and dispatches to a consumer here what a stand-in elsewhere passes on.

import { OwnEnvelope } from "../../dispatch/envelope.js";
import type { DispatchError } from "../../dispatch/errors.js";
import type { Member } from "../../dispatch/member.js";
import type { Outcome } from "../../dispatch/outcome.js";
import type { GroupScope, ScopedGroup, ScopedMembers } from "../../dispatch/scope.js";
import type { Callbacks } from "../../process/behaviour.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid, RemoteNode } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { crash, SHUTDOWN } from "../../process/reason.js";
import { type ReplyTo, requestOf } from "../../process/request.js";
import type { System } from "../../system.js";
import {
  decide,
  type Exchange,
  type ExchangeEffect,
  type ExchangeEvent,
  initialExchange,
} from "./exchange-machine.js";
import { Loads } from "./loads.js";
import type { Ending, GroupMessage, RemoteMember, SentEnvelope } from "./messages.js";
import { DISMISSED, StandIn } from "./stand-in.js";

/** The other nodes of a cluster, as the groups see them. */
export interface GroupPeers {
  readonly system: System;
  /**
   * Calls `up` for each node that is up, and for each that comes up later, with the process that stands for its groups; and `down`
   * when the connection to it is lost. Returns what ends that.
   */
  follow(agent: Pid<GroupMessage>, follower: GroupFollower): () => void;
}

export interface GroupFollower {
  up(agent: Pid<GroupMessage>): void;
  down(node: RemoteNode): void;
}

export class NodeGroups implements GroupScope, GroupFollower {
  readonly #kernel: Kernel;
  readonly #process: Process;
  readonly #groups = new Map<string, ScopedGroup>();
  /** The consumers of this node, by group and id. */
  readonly #members = new Map<string, Map<string, Member>>();
  /** By node. */
  readonly #agents = new Map<string, Pid<GroupMessage>>();
  /** The members here that stand for consumers of other nodes. */
  readonly #standIns = new Map<string, StandIn>();
  readonly #loads: Loads;
  readonly #unfollow: () => void;
  #exchange: Exchange<RemoteMember> = initialExchange();

  constructor(peers: GroupPeers) {
    this.#kernel = peers.system.kernel;
    this.#process = this.#kernel.spawn(this.#behaviour(), undefined, { label: "groups", trapExit: true });
    this.#loads = new Loads(this.#kernel, (node, loads) => {
      this.#kernel.send(this.#agents.get(node) as Pid<GroupMessage>, {
        type: "loads",
        from: this.#pid,
        loads,
      });
    });
    this.#unfollow = peers.follow(this.#pid, this);
  }

  get #pid(): Pid<GroupMessage> {
    return this.#process.pid as Pid<GroupMessage>;
  }

  /** Ends all stand-ins, and what other nodes dispatch to consumers here. */
  close(): void {
    this.#unfollow();
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

  /** Consumers of this system that acknowledge. Of others, no node could know when they are done. */
  #isToldOf({ process, acknowledges }: Member): boolean {
    const isStandIn = process.behaviour instanceof StandIn;
    return acknowledges && !isStandIn && process.kernel === this.#kernel;
  }

  // ── other nodes ───────────────────────────────────────────────────────────────────────────────────────────────

  up(agent: Pid<GroupMessage>): void {
    const { id } = agent.node;
    this.#agents.set(id, agent);
    this.#loads.up(id);
    this.#apply({ type: "up", node: id });
  }

  down({ id }: RemoteNode): void {
    this.#agents.delete(id);
    this.#loads.down(id);
    this.#apply({ type: "down", node: id });
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
        this.#kernel.send(this.#agents.get(node) as Pid<GroupMessage>, {
          ...{ type: "news", from: this.#pid, news: effect.news },
        });
        return;
      case "admit":
        this.#admit(node, effect.group, effect.member);
        return;
      case "dismiss": {
        const key = keyOf(node, effect.group, effect.id);
        const standIn = this.#standIns.get(key);
        this.#standIns.delete(key);
        standIn?.dismiss();
        // After the loss of the connection its links end it.
        if (standIn !== undefined && !effect.isLost) this.#kernel.send(standIn.pid, DISMISSED);
        return;
      }
      default:
        effect satisfies never;
    }
  }

  #admit(node: string, group: string, member: RemoteMember): void {
    const here = this.#groups.get(group);
    const there = this.#agents.get(node);
    if (here === undefined || there === undefined) return;
    const standIn = new StandIn(here, member, this.#pid, there);
    standIn.pid = this.#kernel.spawn(standIn, this.#process, { label: member.id }).pid as Pid<
      typeof DISMISSED
    >;
    this.#kernel.links.link(this.#process, standIn.pid as Pid);
    this.#standIns.set(keyOf(node, group, member.id), standIn);
  }

  // ── the process ───────────────────────────────────────────────────────────────────────────────────────────────

  #behaviour(): Callbacks<GroupMessage> {
    return {
      isHelper: true,
      handle: (_ctx, message) => this.#heard(message),
      // Stand-ins come and go with their consumers.
      signal: () => undefined,
    };
  }

  #heard(message: GroupMessage): void {
    const node = message.from.node.id;
    switch (message.type) {
      case "news":
        this.#apply({ type: "news", node, news: message.news });
        return;
      case "loads":
        for (const { group, id, elsewhere } of message.loads) {
          this.#standIns.get(keyOf(node, group, id))?.seat?.takenElsewhere(elsewhere);
        }
        return;
      case "deliver":
        this.#deliver(node, message.group, message.member, message.envelope, message.replyTo);
        return;
      default:
        message satisfies never;
    }
  }

  /** Dispatches an envelope of another node to a consumer here, and answers how that ended. */
  #deliver(node: string, group: string, id: string, sent: SentEnvelope, replyTo: ReplyTo<Ending>): void {
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
    (this.#groups.get(group) as ScopedGroup)
      .dispatchTo(member, this.#kernel, this.#process, envelope, withdrawn.signal)
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

/** The last attempt says how the consumer and the envelope parted. */
function failureOf(error: DispatchError): Ending {
  const last = error.history?.at(-1);
  const code = (error as { code?: unknown }).code;
  if (last === undefined) return { type: "rejected", reason: crash(error), final: false };
  const { end, reason } = last;
  if (end === "rejected") return { type: end, reason, final: code === "ERR_REJECTED" };
  return { type: end, reason };
}
