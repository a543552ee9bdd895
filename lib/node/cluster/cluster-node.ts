// A system as a node of a cluster: it lists the other nodes, looks up names on them, and starts programs there.

import type { GroupScope, ScopedGroup, ScopedMembers } from "../../dispatch/scope.js";
import { OptionError, SystemStoppedError } from "../../process/errors.js";
import { waitForExit } from "../../process/exited.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { contained, listenerFailed } from "../../process/listening.js";
import { callable, delay, kernelOf, text, word } from "../../process/options.js";
import type { Pid, RemoteNode } from "../../process/pid.js";
import { KILL, SHUTDOWN } from "../../process/reason.js";
import type { ReplyTo } from "../../process/request.js";
import type { SessionView } from "../../process/session-view.js";
import type { Startable } from "../../process/start.js";
import type { System } from "../../system.js";
import { NodeGroups } from "../groups/groups.js";
import type { GroupMessage } from "../groups/messages.js";
import type { FrameCarrier } from "../session/carrier.js";
import { type SessionOptions, Sessions } from "../session/sessions.js";
import type { CarrierSource } from "./carrier-source.js";
import { leastLoaded } from "./choices.js";
import { CLUSTER_OPTIONS } from "./cluster-option-names.js";
import { type RunOptions, runJob } from "./job.js";
import { type AgentMessage, agentOf, OfferChange, SessionBegin, startAgent } from "./node-agent.js";
import { NodeSpans } from "./node-spans.js";
import { placedChild } from "./placed-child.js";
import { type Placement, type ProgramNode, ProgramNodes } from "./placement.js";
import { checkPrograms, type Programs, startStarter } from "./programs.js";

/** Options of {@link joinCluster}. */
export interface ClusterOptions extends Omit<SessionOptions, "versions"> {
  /** Labels of this node, such as its zone or its hardware. Placements on other nodes can read them. Default none. */
  readonly labels?: Readonly<Record<string, string>>;
  /** How long the join waits for answers of other nodes, in milliseconds. Default 250. */
  readonly settleMs?: number;
}

/** One node of a cluster, as this node knows it. */
export interface ClusterMember {
  /** Name and id of the node. */
  readonly node: RemoteNode;
  /** Whether it is this node itself. */
  readonly isHere: boolean;
  /** Its labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** The programs that it offers: other nodes may start these there. */
  readonly programs: readonly string[];
  /** How many processes run there, as the node last reported, plus the children that this node has placed there since. */
  readonly load: number;
  /** The session with it. Undefined for the node itself. */
  readonly session: SessionView | undefined;
}

/** Called when a node comes or goes. */
export interface ClusterListener {
  /** A node has joined. Children can be placed on it from now on. */
  up?(node: RemoteNode): void;
  /** A node was lost, or has left. */
  down?(node: RemoteNode): void;
}

/** Options of {@link ClusterNode.on}. */
export interface PlaceOptions {
  /** Chooses the node among those that have the program, this one included. Default {@link leastLoaded}. */
  readonly placement?: Placement;
  /** How long the child waits for a node that has the program, in milliseconds. Default 5,000. */
  readonly placeTimeoutMs?: number;
}

/** The number of the groups process on every node. The number of the agent is one higher, and that of the spans one lower. */
const GROUPS = Number.MAX_SAFE_INTEGER - 1;
const WHEREIS_MS = 1_000;
const LEAVE_MS = 5_000;
const PLACE_MS = 5_000;
const SETTLE_MS = 250;

/**
 * Makes a system a node of a cluster. From then on pids of other nodes work like its own. A system joins once.
 *
 * @param carrier - carries frames to the other nodes, such as `nats({ … })`
 * @throws OptionError, ClusterConnectError, SystemStoppedError when the system has stopped meanwhile
 * @example
 * const node = await joinCluster(system, nats({ servers: "127.0.0.1:4222", cluster: "shop" }));
 * programs(node, { picker: async (ctx) => console.log(await ctx.receive()) });
 * const stock = await node.whereis("stock");
 */
export async function joinCluster(
  system: System,
  carrier: CarrierSource | FrameCarrier,
  options: ClusterOptions = {},
): Promise<ClusterNode> {
  const kernel = kernelOf(system);
  only("", options, CLUSTER_OPTIONS);
  const { labels = {}, settleMs = SETTLE_MS, ...session } = options;
  delay("settleMs", settleMs, 0);
  checkLabels(labels);
  if (members.has(kernel))
    throw new OptionError("system", system.name, "a system that is no part of a cluster yet");
  members.add(kernel);
  const isSource = typeof (carrier as Partial<CarrierSource> | undefined)?.connect === "function";
  let connected: FrameCarrier | undefined;
  try {
    connected = isSource ? await (carrier as CarrierSource).connect(system) : (carrier as FrameCarrier);
    if (kernel.stopped) throw new SystemStoppedError(kernel.node.name);
    const sessions = new Sessions(system, connected, session);
    const node = new ClusterNode(system, connected, sessions, labels);
    if (settleMs > 0) await new Promise<void>((fire) => kernel.addTimer(settleMs, { fire }));
    return node;
  } catch (error) {
    members.delete(kernel);
    if (isSource) connected?.close();
    throw error;
  }
}

/** The systems that have joined a cluster, or are joining one. */
const members = new WeakSet<Kernel>();

/** @throws OptionError */
function checkLabels(labels: unknown): void {
  if (typeof labels !== "object" || labels === null || Array.isArray(labels))
    throw new OptionError("labels", labels, "an object of texts");
  for (const [name, value] of Object.entries(labels)) text(`labels.${name}`, value);
}

/**
 * Offers programs, which other nodes may then start here by name. A node refuses to start any other program. A second program of the same name
 * replaces the first one, for children that start later.
 *
 * @param given - by name: definitions of servers, supervisors and the like, and the bodies or callbacks of plain processes
 * @throws OptionError
 * @example programs(node, { picker: async (ctx) => console.log(await ctx.receive()) });
 */
export function programs(node: ClusterNode, given: Programs): void {
  if (Array.isArray(given) || Object.keys(given ?? {}).length === 0)
    throw new OptionError("programs", given, "an object of at least one program, by name");
  if (!(node instanceof ClusterNode)) throw new OptionError("node", node, "the result of joinCluster");
  node.offer(given);
}

/** A system as a node of a cluster; see {@link joinCluster}. */
export class ClusterNode implements AsyncDisposable, GroupScope {
  /** The system. */
  readonly system: System;
  readonly #kernel: Kernel;
  readonly #carrier: FrameCarrier;
  readonly #sessions: Sessions;
  readonly #labels: Readonly<Record<string, string>>;
  readonly #programs: Record<string, Programs[string]> = Object.create(null);
  readonly #nodes = new ProgramNodes();
  /** The epochs of the sessions that are up, by the ids of the nodes. */
  readonly #epochs = new Map<string, string>();
  readonly #listeners = new Set<ClusterListener>();
  readonly #agent: Pid<AgentMessage>;
  readonly #starter: Pid<never>;
  readonly #groups: NodeGroups;
  readonly #spans: NodeSpans;
  readonly #unwatch: () => void;
  #leaving: Promise<void> | undefined;
  #isWithdrawn = false;

  /** @internal */
  constructor(
    system: System,
    carrier: FrameCarrier,
    sessions: Sessions,
    labels: Readonly<Record<string, string>>,
  ) {
    this.system = system;
    this.#kernel = kernelOf(system);
    this.#carrier = carrier;
    this.#sessions = sessions;
    this.#labels = { ...labels };
    // The supervisors of its children place them elsewhere, so they must know that before the children end.
    const starter = startStarter(system, this.#programs, () => this.withdraw());
    this.#starter = starter;
    this.#agent = startAgent(this.#kernel, {
      nodes: this.#nodes,
      starter,
      offer: () => ({
        programs: this.#leaving === undefined && !this.#isWithdrawn ? Object.keys(this.#programs) : [],
        labels: this.#labels,
      }),
      up: (node) => {
        this.#spans.joined(node);
        this.#hear((listener) => listener.up?.(node));
      },
      left: (node) => this.#gone(node),
      joined: (node) => {
        const epoch = this.#epochs.get(node.id);
        if (epoch !== undefined) this.#met(node, epoch);
      },
      isCurrent: ({ node, epoch }) => this.#epochs.get(node.id) === epoch,
    });
    const groups = new NodeGroups({
      system,
      groupsOf: (other) => kernelOf(system).remote.pid({ node: other, id: GROUPS }) as Pid<GroupMessage>,
    });
    this.#kernel.remote.expose(GROUPS, groups.pid as Pid<unknown>);
    this.#groups = groups;
    this.#spans = new NodeSpans(this.#kernel, () =>
      this.#nodes.all.map(({ node }) => node).filter(({ id }) => id !== this.node.id),
    );
    // The transport has the sessions over all carriers: a thread that joins the cluster is a member over its port.
    const { transport } = sessions;
    this.#unwatch = transport.watch({
      up: ({ node, epoch }) => this.#met(node, epoch),
      down: ({ node }) => {
        groups.changed(node, false);
        this.#lost(node);
      },
    });
    for (const { node, epoch } of transport.view()) if (epoch !== undefined) this.#met(node, epoch);
  }

  /** A session has begun, or the node of a session has joined the cluster only now. */
  #met(node: RemoteNode, epoch: string): void {
    this.#groups.changed(node, true);
    this.#epochs.set(node.id, epoch);
    this.#kernel.send(this.#agent, new SessionBegin(node, epoch));
  }

  /** Runs in the same turn in which links end with `noconnection`, so that no restart is placed on the lost node. */
  #lost(node: RemoteNode): void {
    this.#epochs.delete(node.id);
    this.#gone(node);
  }

  #gone(node: RemoteNode): void {
    if (this.#nodes.get(node.id) === undefined) return;
    this.#nodes.remove(node.id);
    this.#spans.left(node);
    this.#hear((listener) => listener.down?.(node));
  }

  /** @internal Called by a group with this node as its `scope`. @throws OptionError when another group here has its name */
  share(group: ScopedGroup): ScopedMembers {
    return this.#groups.share(group);
  }

  /** Name and id of this node. */
  get node(): RemoteNode {
    return this.#kernel.node;
  }

  /** Whether the carrier can reach other nodes now. True for a carrier that does not know. */
  get isConnected(): boolean {
    return this.#leaving === undefined && (this.#carrier.isConnected ?? true);
  }

  /** The nodes of the cluster, this one included, in the order in which they joined. */
  nodes(): ClusterMember[] {
    const sessions = new Map(this.#sessions.transport.view().map((view) => [view.node.id, view]));
    return this.#nodes.all.map(({ node, labels, programs: offered = [], load }) => ({
      node,
      isHere: node.id === this.node.id,
      labels,
      programs: offered,
      load,
      session: sessions.get(node.id),
    }));
  }

  /** Calls the listener when a node comes or goes. Returns a function that removes the listener. */
  watch(listener: ClusterListener): () => void {
    only("listener", listener, ["up", "down"]);
    for (const name of ["up", "down"] as const)
      if (listener[name] !== undefined) callable(`listener.${name}`, listener[name]);
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Finds the process that is registered under a name, here or on another node. Names are not unique: this node comes first, and then
   * the node that answers first. Only a lease makes a name unique.
   *
   * @param options.timeoutMs - how long the other nodes may take to answer. Default 1,000
   * @returns undefined when no node has the name
   * @throws CallTimeoutError when no node that answered has the name, and others did not answer
   */
  async whereis(
    name: string,
    options: { readonly timeoutMs?: number } = {},
  ): Promise<Pid<unknown> | undefined> {
    word("name", name);
    only("", options, ["timeoutMs"]);
    const timeoutMs = delay("timeoutMs", options.timeoutMs ?? WHEREIS_MS, 0, true);
    const here = this.system.whereis(name);
    if (here !== undefined) return here;
    const others = this.#nodes.all.filter(({ node }) => node.id !== this.node.id);
    let silent: unknown;
    const asked = others.map(async ({ node }) => {
      try {
        return await this.#ask(node, name, timeoutMs);
      } catch (error) {
        if ((error as { code?: unknown }).code === "ERR_CALL_TIMEOUT") silent = error;
        return undefined;
      }
    });
    const found = await firstOf(asked);
    if (found === undefined && silent !== undefined) throw silent;
    return found;
  }

  #ask(node: RemoteNode, name: string, timeoutMs: number): Promise<Pid<unknown> | undefined> {
    const build = (replyTo: ReplyTo<Pid<unknown> | undefined>): AgentMessage => ({
      type: "whereis",
      name,
      replyTo,
    });
    return this.#kernel.calls.call(undefined, agentOf(this.#kernel, node), build, { timeoutMs });
  }

  /**
   * The start of a child on a node that offers the program, for child specs or for `system.start`. A process here stands for the child:
   * it passes on messages and calls, and ends when the child ends, with the same reason. When the node of the child is lost, the reason
   * is `noconnection`, and a restart chooses a node again. When the supervisor or its node is lost, the child is stopped.
   *
   * @param program - a name that the other node has offered by {@link programs}
   * @param args - arguments of its `init`. They travel, so functions and instances of classes are refused when the child starts
   * @throws OptionError
   * @example supervisor({ children: [{ id: "p", start: node.on("picker", [1]) }] });
   */
  on(
    program: string,
    args: readonly unknown[] = [],
    options: PlaceOptions = {},
  ): Startable<readonly [], Pid<unknown>> {
    only("", options, ["placement", "placeTimeoutMs"]);
    return this.#child(program, args, options);
  }

  #child(
    program: string,
    args: readonly unknown[],
    { placement = leastLoaded(), placeTimeoutMs = PLACE_MS }: PlaceOptions,
    lost?: (isInnocent: boolean) => void,
  ): Startable<readonly [], Pid<unknown>> {
    text("program", program);
    if (!Array.isArray(args)) throw new OptionError("args", args, "an array of arguments");
    return placedChild({
      nodes: this.#nodes,
      placement: callable("placement", placement, "a placement, such as leastLoaded()"),
      placeTimeoutMs: delay("placeTimeoutMs", placeTimeoutMs, 0, true),
      program,
      args,
      lost,
    });
  }

  /**
   * Runs a {@link job} on a node that offers it. When that node is lost, the run rejects. A step of a flow or a pipeline runs one by its
   * option `on`.
   *
   * @throws what the function throws; CalleeExitedError when the node is lost; the reason of the signal
   * @example
   * const total = await node.run("sum", [[1, 2, 3]], { signal: AbortSignal.timeout(1_000) });
   */
  async run(program: string, args: readonly unknown[] = [], options: RunOptions = {}): Promise<unknown> {
    return runJob(this.#kernel, (lost) => this.#child(program, args, {}, lost), options);
  }

  /** @internal */
  offer(given: Programs): void {
    Object.assign(this.#programs, checkPrograms("programs", given));
    this.#kernel.send(this.#agent, new OfferChange());
  }

  /** @internal Stops offering one program. */
  retract(program: string): void {
    if (!Object.hasOwn(this.#programs, program)) return;
    delete this.#programs[program];
    if (!this.#kernel.stopped) this.#kernel.send(this.#agent, new OfferChange());
  }

  /** @internal The nodes that offer a program, in the order in which they joined. */
  offering(program: string): readonly ProgramNode[] {
    return this.#nodes.all.filter(({ programs: offered }) => offered?.includes(program) === true);
  }

  /** @internal Calls `fn` when a node joins, goes or changes its offer. Returns a function that ends the calls. */
  onOffers(fn: () => void): () => void {
    return this.#nodes.onNode(fn);
  }

  /** @internal Stops offering programs. No further child is placed here; the children that run here continue. */
  withdraw(): void {
    if (this.#isWithdrawn || this.#leaving !== undefined || this.#kernel.stopped) return;
    this.#isWithdrawn = true;
    this.#kernel.send(this.#agent, new OfferChange());
  }

  /**
   * Leaves the cluster: starts no more children for other nodes, stops those that run here, tells the other nodes, and closes the
   * connection. Links, monitors and calls to other nodes end with `noconnection`. The system keeps running alone. A system that stops
   * leaves its cluster too.
   *
   * @param options.timeoutMs - how long the children may take, in milliseconds, before they are killed. Default 5,000
   */
  leave(options: { readonly timeoutMs?: number } = {}): Promise<void> {
    only("", options, ["timeoutMs"]);
    const timeoutMs = delay("timeoutMs", options.timeoutMs ?? LEAVE_MS, 0);
    this.#leaving ??= this.#leave(timeoutMs);
    return this.#leaving;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.leave();
  }

  async #leave(timeoutMs: number): Promise<void> {
    const kernel = this.#kernel;
    // `leave` sets `#leaving` during this wait. From then on the offer that the agent sends has no programs.
    await undefined;
    kernel.send(this.#agent, new OfferChange());
    kernel.links.exit(kernel.outside, this.#starter, SHUTDOWN, "exit");
    const kill = (): void => kernel.links.exit(kernel.outside, this.#starter, KILL, "exit");
    const timer = kernel.addTimer(timeoutMs, { fire: kill });
    await waitForExit(kernel, this.#starter, undefined);
    kernel.cancelTimer(timer);
    this.#groups.close();
    this.#spans.close();
    await this.#sessions.close();
    this.#unwatch();
    members.delete(kernel);
    kernel.links.exit(kernel.outside, this.#agent, SHUTDOWN, "exit");
  }

  #hear(call: (listener: ClusterListener) => void): void {
    for (const listener of [...this.#listeners])
      contained(
        () => call(listener),
        (error) => listenerFailed(this.#kernel, "a listener of a cluster", listener, error),
      );
  }
}

/** The first of the results that is not undefined. */
function firstOf<T>(all: readonly Promise<T | undefined>[]): Promise<T | undefined> {
  return new Promise((resolve) => {
    for (const one of all) void one.then((value) => value !== undefined && resolve(value));
    void Promise.all(all).then(() => resolve(undefined));
  });
}
