// A consumer group: its members, the function that chooses among them, and the queue of the dispatches that wait.

import { NoProcessError, OptionError, SystemStoppedError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import { only, onlyKnown } from "../process/known-options.js";
import { address, count, delay, text, withMethod } from "../process/options.js";
import { Pid } from "../process/pid.js";
import type { Process } from "../process/process.js";
import type { Access } from "../process/shared-state.js";
import { search } from "../process/shared-state.js";
import { show } from "../process/show.js";
import { Conversation } from "./conversation.js";
import { Deduplication } from "./dedup.js";
import { BareEnvelope, type Envelope, OwnEnvelope } from "./envelope.js";
import type { IsolatedRoute } from "./isolated.js";
import {
  type ConsumerView,
  type JoinOptions,
  Member,
  type MemberGroup,
  type WaitingDispatch,
} from "./member.js";
import type { Outcome } from "./outcome.js";
import { type Demand, decide, type Event, initial, offerTo, type State } from "./queue-machine.js";
import { JoiningRequest } from "./request.js";
import { leastLoaded, pure, type RouteContext, type RoutingFunction } from "./route.js";
import type { GroupScope, ScopedMembers } from "./scope.js";
import {
  DISPATCH_OPTIONS,
  DISPATCH_SETTINGS,
  type DispatchOptions,
  type DispatchSettings,
  type FullSettings,
  GROUP_DEFAULTS,
  settingsOf,
} from "./settings.js";
import { Watcher } from "./watcher.js";

/** Options of a {@link ConsumerGroup}. A dispatch may override the dispatch settings among them. */
export interface GroupOptions<T> extends DispatchSettings<T> {
  /** Name of the group in errors and reports. Default `consumers`. */
  readonly name?: string;
  /** Chooses the consumer. Default {@link leastLoaded}. */
  readonly route?: RoutingFunction<T> | IsolatedRoute<T>;
  /** Dispatches that may wait for a slot or a member. Further ones fail with NoConsumerError. Default 100,000. */
  readonly maxWaiting?: number;
  /** Receipts that the group remembers for deduplication by envelope id. Default 10,000. */
  readonly window?: number;
  /** Milliseconds after which the group forgets a receipt. Default 600,000, ten minutes. */
  readonly windowMs?: number;
  /** Bytes of all remembered replies, estimated. A receipt with a larger reply is not remembered. Default 50,000,000. */
  readonly windowBytes?: number;
  /**
   * A node that has joined a cluster (`signalbox/nodes`): consumers that join a group of this name there, on any node, are members here.
   * Default: the group has the consumers of this thread alone.
   */
  readonly scope?: GroupScope;
}

const SETTINGS: readonly (keyof GroupOptions<never>)[] = DISPATCH_SETTINGS;
const GROUP_OPTIONS = /* @__PURE__ */ SETTINGS.concat(
  "name",
  "route",
  "maxWaiting",
  "window",
  "windowMs",
  "windowBytes",
  "scope",
);

/**
 * A group of consumers that take envelopes with a payload `T` and reply with `R`. A join or a leave takes effect at the next
 * choice. A consumer that exits leaves the group.
 *
 * @throws OptionError when an option is not valid
 * @example
 * const pickers = new ConsumerGroup<Order>({ route: leastLoaded() });
 * pickers.join(system.spawn(consumer((order: Order) => pick(order))));
 * const outcome = await system.dispatch(pickers, order, { deadlineMs: 2_000 });
 */
export class ConsumerGroup<T = unknown, R = unknown> {
  // The class has the shape of `MemberGroup`. To declare that would name internal members, which the published types omit.
  /** In types only. */
  declare protected readonly replies: R;
  /** Name of the group in errors and reports. */
  readonly name: string;
  /** @internal */
  readonly settings: FullSettings<T>;
  /** @internal */
  readonly dedup: Deduplication<T, Conversation<T>>;
  /** @internal See {@link MemberGroup}. */
  isOffering = false;
  /** Members that left while they had envelopes to settle. */
  readonly #left = new WeakMap<Pid<never>, Member>();
  #queue: State<WaitingDispatch, Member>;
  /** Not frozen: V8 reads a frozen array at a fifth of the speed, and each dispatch reads this one. */
  #members: readonly Member[] = [];
  /** A frozen copy, made when a user asks for the members. */
  #view: readonly ConsumerView[] | undefined = undefined;
  #route: RoutingFunction<T> | IsolatedRoute<T>;
  #turn = 0;
  readonly #context = new SharedContext();
  readonly #watchers = new WeakMap<Kernel, Watcher>();
  readonly #affinities = new Map<string, Member>();
  readonly #scoped: ScopedMembers | undefined;

  /** Creates a group that has no members yet. */
  constructor(options: GroupOptions<T> = {}) {
    only("", options, GROUP_OPTIONS);
    this.name = text("name", options.name ?? "consumers");
    this.#route = checkRoute(options.route ?? leastLoaded());
    this.settings = settingsOf(options, undefined);
    this.#queue = initial(count("maxWaiting", options.maxWaiting ?? GROUP_DEFAULTS.maxWaiting, 0, true));
    this.dedup = new Deduplication({
      window: count("window", options.window ?? GROUP_DEFAULTS.window, 0),
      windowMs: delay("windowMs", options.windowMs ?? GROUP_DEFAULTS.windowMs, 0, true),
      windowBytes: count("windowBytes", options.windowBytes ?? GROUP_DEFAULTS.windowBytes, 0, true),
    });
    this.#scoped =
      options.scope === undefined
        ? undefined
        : withMethod("scope", options.scope, "share", "a node, as joinCluster gives it").share(this as never);
  }

  /** The members at this moment. The list does not change: a join or a leave makes a new one. The counters are live. */
  get consumers(): readonly ConsumerView[] {
    this.touched("read");
    this.#view ??= Object.freeze([...this.#members]);
    return this.#view;
  }

  /** Dispatches that wait for a slot or for a member. */
  get waitingCount(): number {
    this.touched("read");
    return this.#queue.places.size;
  }

  get route(): RoutingFunction<T> | IsolatedRoute<T> {
    this.touched("read");
    return this.#route;
  }

  /** Dispatches that begin later use the new function. Dispatches in flight keep the one that they began with. */
  set route(route: RoutingFunction<T> | IsolatedRoute<T>) {
    this.touched("write");
    this.#route = checkRoute(route);
  }

  /**
   * Adds a consumer, until it leaves by {@link leave} or exits. A consumer that acknowledges gets {@link Delivery} messages;
   * another one gets the bare payload.
   *
   * @throws OptionError when an option is not valid or the id is taken, NoProcessError when the process is not running
   * @example pickers.join(system.spawn(consumer(pick)), { id: "north", maxInFlight: 10, tags: { item: "tea" } });
   */
  join(pid: Pid<never>, options: JoinOptions = {}): ConsumerView {
    // The groups of a consumer matter to its end, and to the step in which it leaves all.
    if (pid instanceof Pid) search.shared?.process(pid, "write");
    this.touched("write");
    const process = pid instanceof Pid ? pid.process : undefined;
    if (process === undefined)
      throw new NoProcessError(pid instanceof Pid ? String(pid) : show(pid), this.name);
    const registration = new Member(process, checkJoin(pid, options, this.#scoped), this);
    const taken = this.#members.find((member) => member.id === registration.id);
    if (taken !== undefined) search.shared?.process(taken.pid, "read");
    if (taken?.pid.process !== undefined) {
      throw new OptionError(
        "id",
        registration.id,
        `different from the ids of the other consumers of ${this.name}`,
      );
    }
    if (taken !== undefined) this.#remove(taken);
    const before = this.#left.get(pid);
    if (before !== undefined) registration.takeOverFrom(before);
    this.#left.delete(pid);
    this.#become([...this.#members, registration]);
    groupsOf.set(pid, (groupsOf.get(pid) ?? new Set()).add(this));
    this.#watch(process.kernel, registration);
    this.#apply({ type: "joined", consumer: registration });
    this.#scoped?.joined(registration);
    return registration;
  }

  /** Removes a consumer, by id or pid. It gets no more envelopes, and finishes those in flight. False when it is no member. */
  leave(consumer: string | Pid): boolean {
    address("consumer", consumer);
    this.touched("write");
    const members = this.#members.filter((one) => one.id === consumer || one.pid === consumer);
    for (const member of members) this.#remove(member);
    return members.length > 0;
  }

  #remove(member: Member): void {
    groupsOf.get(member.pid)?.delete(this);
    if (member.inFlight > 0) this.#left.set(member.pid, member);
    this.#become(this.#members.filter((one) => one !== member));
    const { node } = member.pid;
    const isLast = !this.#members.some(({ pid }) => pid.node === node && pid.process !== undefined);
    this.#apply({ type: "left", consumer: member, isLast });
    this.#scoped?.left(member);
  }

  #become(members: readonly Member[]): void {
    this.#members = members;
    this.#view = undefined;
  }

  /**
   * @internal Starts a conversation for the envelope, or joins the one that is in flight. `System` has no other way to the code of dispatch, so that a bundle without
   * a group has none of that code.
   */
  dispatch(
    kernel: Kernel,
    owner: Process | undefined,
    payload: T | Envelope<T>,
    options: DispatchOptions<T> | undefined,
  ): Promise<Outcome<T, R>> {
    try {
      kernel.shared?.stopping("read");
      onlyKnown(options, DISPATCH_OPTIONS);
      if (options?.signal !== undefined) kernel.shared?.signals();
      if (kernel.stopped) throw new SystemStoppedError(kernel.node.name);
      options?.signal?.throwIfAborted();
      const settings = options === undefined ? this.settings : settingsOf(options, this.settings);
      // A bare payload has been wrapped already when its envelope comes from an error or an outcome.
      const isOwn = payload instanceof OwnEnvelope || payload instanceof BareEnvelope;
      const envelope: Envelope<T> = isOwn ? payload : new BareEnvelope(payload as T, kernel.env);
      return this.#begin(kernel, owner, envelope, isOwn, settings, this.#route, options);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #begin(
    kernel: Kernel,
    owner: Process | undefined,
    envelope: Envelope<T>,
    isOwn: boolean,
    settings: FullSettings<T>,
    route: RoutingFunction<T> | IsolatedRoute<T>,
    options: DispatchOptions<T> | undefined,
  ): Promise<Outcome<T, R>> {
    let inFlight: Conversation<T> | undefined;
    if (isOwn) {
      this.touched("write");
      const receipt = this.dedup.receipt(envelope.id, kernel.env.now());
      if (receipt !== undefined)
        return Promise.resolve({ envelope, ...receipt, duplicate: true } as Outcome<T, R>);
      inFlight = this.dedup.inFlight(envelope.id);
    }
    if (inFlight !== undefined)
      return joined(kernel, owner, inFlight, settings, options) as Promise<Outcome<T, R>>;
    const conversation = new Conversation<T>(this, envelope, settings, route, isOwn);
    // The group knows the type of the replies.
    const outcome = conversation.await(kernel, owner) as Promise<Outcome<T, R>>;
    conversation.start(kernel, owner);
    if (options?.signal !== undefined) conversation.obey(options.signal);
    return outcome;
  }

  /** @internal See {@link ScopedGroup}. The node that dispatches has the deadline, the attempts and the crash policy. */
  dispatchTo(
    member: Member,
    kernel: Kernel,
    owner: Process | undefined,
    envelope: Envelope<T>,
    attempt: number,
    signal: AbortSignal,
  ): Promise<Outcome<T, R>> {
    const route = Object.assign(
      (_envelope: Envelope<T>, candidates: readonly ConsumerView[]) =>
        candidates.includes(member) ? member : undefined,
      { interchangeable: false },
    );
    const isOwn = envelope instanceof OwnEnvelope;
    const settings = { ...this.settings, ...ONCE, attemptsBefore: attempt - 1 };
    return this.#begin(kernel, owner, envelope, isOwn, settings, pure(route), { signal });
  }

  /** Has the group's watcher watch the consumer of a new member. Each system with members has one watcher. */
  #watch(kernel: Kernel, added: Member): void {
    let watcher = this.#watchers.get(kernel);
    if (watcher?.alive !== true) {
      watcher = new Watcher(this, kernel);
      this.#watchers.set(kernel, watcher);
      // The watcher before this one was ended from outside: this one watches its members.
      for (const member of this.#members)
        if (member.pid.process?.kernel === kernel) member.flights = watcher.watch(member.pid);
    }
    added.flights = watcher.watch(added.pid);
  }

  /** @internal Called by the watcher: the consumer has exited. */
  ended(consumer: Pid): void {
    this.touched("write");
    for (const member of this.#members) if (member.pid === consumer) this.#remove(member);
  }

  /** @internal Notifies an exhaustive search: all users of the group share its members, counters and queue. */
  touched(access: Access): void {
    search.shared?.of(`c:${this.name}`, access);
  }

  // ── for conversations ─────────────────────────────────────────────────────────────────────────────────────────

  /**
   * @internal Members that run in that system and are not excluded. A routing function gets an array of its own, which it
   * may sort, unless the function is trusted.
   */
  candidates(kernel: Kernel, excluded: readonly Member[], isTrusted: boolean): readonly Member[] {
    const members = this.#members;
    if (search.shared !== undefined) for (const { pid } of members) search.shared.process(pid, "read");
    for (let i = 0; i < members.length; i++) {
      if (!isCandidate(members[i] as Member, kernel, excluded))
        return members.filter((one) => isCandidate(one, kernel, excluded));
    }
    return isTrusted ? members : members.slice();
  }

  /**
   * @internal Whether there are members, and each of them has rejected the envelope or has a full buffer. To wait for another
   * member would only delay the failure.
   */
  isTurningAway(kernel: Kernel, excluded: readonly Member[]): boolean {
    const here = this.candidates(kernel, NOBODY, true);
    return here.length > 0 && here.every((one) => excluded.includes(one) || one.pressure === "reject");
  }

  /** @internal @param key - the affinity key of the envelope, by the routing function */
  context(
    kernel: Kernel,
    key: string | undefined,
    candidates: readonly Member[],
    isTrusted: boolean,
  ): RouteContext {
    const last = key === undefined ? undefined : this.#affinities.get(key);
    const previous = last !== undefined && candidates.includes(last) ? last : undefined;
    const turn = this.#turn++;
    return isTrusted
      ? this.#context.set(kernel, turn, previous)
      : { turn, roll: kernel.env.random(), previous };
  }

  /** @internal Remembers which consumer takes the envelopes of the key from now on. */
  remember(key: string, consumer: Member): void {
    // Deleted first, so that the order of the map is the order of use.
    this.#affinities.delete(key);
    this.#affinities.set(key, consumer);
    if (this.#affinities.size <= GROUP_DEFAULTS.affinities) return;
    for (const oldest of this.#affinities.keys()) {
      this.#affinities.delete(oldest);
      return;
    }
  }

  /** @internal Gives the dispatch a place in the queue, or lets it keep its place. False when the queue is full. */
  wait(dispatch: WaitingDispatch, demand: Demand<Member>): boolean {
    return this.#apply({ type: "wait", dispatch, demand });
  }

  /** @internal The dispatch has been served, or has ended. */
  stopWaiting(dispatch: WaitingDispatch): void {
    this.#apply({ type: "leave", dispatch });
  }

  /** @internal Whether a slot is reserved for the dispatch. */
  isOffered(dispatch: WaitingDispatch): boolean {
    this.touched("read");
    return offerTo(this.#queue, dispatch) !== undefined;
  }

  /** @internal A conversation noticed the exit of a consumer before the process that watches the members did. */
  lost(consumer: Member): void {
    if (this.#members.includes(consumer)) this.#remove(consumer);
  }

  /** @internal The consumer has a free slot again. */
  freed(consumer: Member): void {
    if (this.#queue.places.size > 0) this.#apply({ type: "freed", consumer });
  }

  /** False when the queue turned a dispatch away. Waking is a message, so no effect leads to another event here. */
  #apply(event: Event<WaitingDispatch, Member>): boolean {
    this.touched("write");
    const [queue, effects] = decide(this.#queue, event);
    this.#queue = queue;
    let isAdmitted = true;
    for (const effect of effects) {
      if (effect.type === "wake") effect.dispatch.wake();
      else isAdmitted = false;
    }
    return isAdmitted;
  }
}

const NOBODY: readonly Member[] = [];

/** Of a dispatch to one member, for another node. */
const ONCE = {
  ...{ deadlineMs: Number.POSITIVE_INFINITY, maxAttempts: 1, patienceMs: 0, outwaitsRefusals: false },
  onCrash: "reroute",
} as const;

/** The context that all trusted routing functions of a group get: one object for all dispatches. */
class SharedContext implements RouteContext {
  turn = 0;
  previous: ConsumerView | undefined = undefined;
  #kernel: Kernel | undefined = undefined;

  set(kernel: Kernel, turn: number, previous: ConsumerView | undefined): this {
    this.turn = turn;
    this.previous = previous;
    this.#kernel = kernel;
    return this;
  }

  /** Drawn when it is read: most functions do not read it. */
  get roll(): number {
    return this.#kernel?.env.random() ?? 0;
  }
}

function isCandidate(one: Member, kernel: Kernel, excluded: readonly Member[]): boolean {
  const { process } = one;
  return process.alive && process.kernel === kernel && (excluded.length === 0 || !excluded.includes(one));
}

/** The groups that a process is a member of. */
const groupsOf = new WeakMap<Pid<never>, Set<{ leave(consumer: Pid): boolean }>>();

/** Removes a process from all groups. */
export function leaveAll(pid: Pid<never>): void {
  for (const group of [...(groupsOf.get(pid) ?? [])]) group.leave(pid as Pid);
}

function checkRoute<T>(route: RoutingFunction<T> | IsolatedRoute<T>): RoutingFunction<T> | IsolatedRoute<T> {
  // `instanceof` would import isolated routes into every bundle that has a group.
  if (typeof route === "object" && typeof route?.choose === "function") return route;
  if (typeof route !== "function")
    throw new OptionError("route", route, "a routing function, or isolated(…)");
  if (route.everyone === true)
    throw new OptionError(
      "route",
      route,
      "a function that chooses one: a dispatch goes to one consumer, not to all",
    );
  return route;
}

const JOIN_OPTIONS: readonly (keyof JoinOptions)[] = [
  ...(["id", "maxInFlight", "maxBuffer", "weight", "tags", "acknowledges"] as const),
];

function checkJoin(
  pid: Pid<never>,
  options: JoinOptions,
  scoped: ScopedMembers | undefined,
): Required<JoinOptions> {
  only("", options, JOIN_OPTIONS);
  const weight = options.weight ?? 1;
  if (!(weight >= 0 && Number.isFinite(weight)))
    throw new OptionError("weight", weight, "a number, 0 or more");
  return {
    id: text("id", options.id ?? scoped?.idOf(pid) ?? String(pid)),
    maxInFlight: count("maxInFlight", options.maxInFlight ?? Number.POSITIVE_INFINITY, 1, true),
    maxBuffer: count("maxBuffer", options.maxBuffer ?? Number.POSITIVE_INFINITY, 1, true),
    weight,
    tags: options.tags ?? {},
    acknowledges: options.acknowledges ?? true,
  };
}

/** Another caller has dispatched the envelope, and its dispatch is in flight: this caller waits for the same end. */
function joined<T>(
  kernel: Kernel,
  owner: Process | undefined,
  conversation: Conversation<T>,
  { deadlineMs }: FullSettings<T>,
  options: DispatchOptions<T> | undefined,
): Promise<Outcome<T>> {
  const request = new JoiningRequest(conversation);
  const outcome = request.await(kernel, owner);
  const process = conversation.appear();
  // A joined conversation may run in another system. Its deadlines belong to that system, and end with it.
  request.begin(process.kernel, owner, process.pid, process, deadlineMs);
  if (options?.signal !== undefined) request.obey(options.signal);
  return outcome;
}
