// A consumer group: who may be given envelopes, and the function that chooses among them.

import type { Callbacks } from "../process/behaviour.js";
import { NoProcessError, OptionError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import { count, delay, text } from "../process/options.js";
import { Pid } from "../process/pid.js";
import type { Process } from "../process/process.js";
import { show } from "../process/show.js";
import { Deduplication } from "./dedup.js";
import type { DispatchOptions } from "./dispatch.js";
import type { Envelope } from "./envelope.js";
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
import { leastLoaded, type RouteContext, type RoutingFunction } from "./route.js";
import { type DispatchSettings, type FullSettings, GROUP_DEFAULTS, settingsOf } from "./settings.js";
import { startDispatch } from "./start.js";

export interface GroupOptions<T> extends DispatchSettings<T> {
  /** What to call the group in reports. Default `consumers`. */
  readonly name?: string;
  /** Chooses the consumer. Default {@link leastLoaded}. */
  readonly route?: RoutingFunction<T> | IsolatedRoute<T>;
  /** Dispatches that may wait for room or for a member; beyond that they fail. */
  readonly maxWaiting?: number;
  /** Receipts remembered for deduplication by envelope id. */
  readonly window?: number;
  /** Milliseconds for which a receipt is remembered at most. Default 600,000, ten minutes. */
  readonly windowMs?: number;
  /** Bytes that the replies of these receipts have together, about; one with a greater reply is not remembered. Default 50,000,000. */
  readonly windowBytes?: number;
}

/**
 * The consumers that an envelope with a payload `T` may go to, and that reply with `R`. Join and leave are effective at the next choice; a consumer that exits has
 * left. Dispatches under way keep the routing function they began with.
 *
 * @throws OptionError when an option is not what it has to be
 * @example
 * const pickers = new ConsumerGroup<Order>({ route: leastLoaded() });
 * pickers.join(system.spawn(consumer((order: Order) => pick(order))));
 * const outcome = await system.dispatch(pickers, order, { deadlineMs: 2_000 });
 */
export class ConsumerGroup<T = unknown, R = unknown> {
  // It serves as `Slots` by its shape: to say so would name internal members, which the published types leave out.
  /** In types only. */
  declare protected readonly replies: R;
  readonly name: string;
  /** @internal */
  readonly settings: FullSettings<T>;
  /** @internal */
  readonly dedup: Deduplication<T>;
  /** @internal See {@link MemberGroup}. */
  isOffering = false;
  /** Members that left with envelopes to settle. */
  readonly #left = new WeakMap<Pid<never>, Member>();
  #queue: State<WaitingDispatch, Member>;
  /** Not frozen: V8 goes through a frozen array at a fifth of the speed, and each dispatch goes through this one. */
  #members: readonly Member[] = [];
  /** The same for whoever asks. */
  #view: readonly ConsumerView[] | undefined = undefined;
  #route: RoutingFunction<T> | IsolatedRoute<T>;
  #turn = 0;
  readonly #context = new SharedContext();
  readonly #watchers = new WeakMap<Kernel, Pid<Pid>>();
  readonly #affinities = new Map<string, Member>();

  constructor(options: GroupOptions<T> = {}) {
    this.name = text("name", options.name ?? "consumers");
    this.#route = checkRoute(options.route ?? leastLoaded());
    this.settings = settingsOf(options, undefined);
    this.#queue = initial(count("maxWaiting", options.maxWaiting ?? GROUP_DEFAULTS.maxWaiting, 0, true));
    this.dedup = new Deduplication({
      window: count("window", options.window ?? GROUP_DEFAULTS.window, 0),
      windowMs: delay("windowMs", options.windowMs ?? GROUP_DEFAULTS.windowMs, 0, true),
      windowBytes: count("windowBytes", options.windowBytes ?? GROUP_DEFAULTS.windowBytes, 0, true),
    });
  }

  /** The members at this moment: immutable; join and leave make a new one. Their counters are live. */
  get consumers(): readonly ConsumerView[] {
    this.#view ??= Object.freeze([...this.#members]);
    return this.#view;
  }

  /** Dispatches that wait for room or for a member. */
  get waitingCount(): number {
    return this.#queue.places.size;
  }

  get route(): RoutingFunction<T> | IsolatedRoute<T> {
    return this.#route;
  }

  /** Dispatches that begin from now on use this function; those under way keep theirs. */
  set route(route: RoutingFunction<T> | IsolatedRoute<T>) {
    this.#route = checkRoute(route);
  }

  /**
   * Adds a consumer. It leaves by `leave`, or by its exit. Acknowledging consumers are sent Delivery objects, others
   * the bare payload.
   *
   * @throws OptionError when the id is taken, NoProcessError when the process is not running
   */
  join(pid: Pid<never>, options: JoinOptions = {}): ConsumerView {
    const process = pid instanceof Pid ? pid.process : undefined;
    if (process === undefined)
      throw new NoProcessError(pid instanceof Pid ? String(pid) : show(pid), this.name);
    const registration = new Member(pid, checkJoin(pid, options), this);
    const taken = this.#members.find((member) => member.id === registration.id);
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
    this.touched(process.kernel);
    this.#become([...this.#members, registration]);
    groupsOf.set(pid, (groupsOf.get(pid) ?? new Set()).add(this));
    this.#watch(process.kernel, pid);
    this.#apply({ type: "joined", consumer: registration });
    return registration;
  }

  /** Takes a consumer out, by id or pid: it is given nothing more; what it has in flight goes on. False when it is no member. */
  leave(consumer: string | Pid): boolean {
    const members = this.#members.filter((one) => one.id === consumer || one.pid === consumer);
    for (const member of members) {
      if (member.pid.process !== undefined) this.touched(member.pid.process.kernel);
      this.#remove(member);
    }
    return members.length > 0;
  }

  #remove(member: Member): void {
    groupsOf.get(member.pid)?.delete(this);
    if (member.inFlight > 0) this.#left.set(member.pid, member);
    this.#become(this.#members.filter((one) => one !== member));
    this.#apply({ type: "left", consumer: member });
  }

  #become(members: readonly Member[]): void {
    this.#members = members;
    this.#view = undefined;
  }

  /**
   * @internal Starts a dispatch to this group. `System` has no other way to the code of dispatch, so that a bundle without
   * a group has none of that code.
   */
  dispatch(
    kernel: Kernel,
    owner: Process | undefined,
    what: T | Envelope<T>,
    options: DispatchOptions<T> | undefined,
  ): Promise<Outcome<T, R>> {
    return startDispatch(kernel, owner, this, what, options);
  }

  /** A process of the group watches over the members, in each system that has some. */
  #watch(kernel: Kernel, pid: Pid<never>): void {
    let watcher = this.#watchers.get(kernel);
    if (watcher?.process === undefined) {
      const watched = new Set<Pid>();
      const watch: Callbacks<Pid> = {
        isLast: true,
        handle: (ctx, member) => {
          if (watched.has(member)) return; // it left and came back
          watched.add(member);
          ctx.monitor(member);
        },
        signal: (_ctx, signal) => {
          if (signal.type !== "down") return;
          watched.delete(signal.pid);
          this.touched(kernel);
          for (const member of this.#members) if (member.pid === signal.pid) this.#remove(member);
        },
      };
      watcher = kernel.spawn(watch, undefined, { label: `group ${this.name}` }).pid as Pid<Pid>;
      this.#watchers.set(kernel, watcher);
      // Those that the watcher before it, if somebody ended that, watched over.
      for (const member of this.#members) {
        if (member.pid !== pid && member.pid.node === kernel.node) kernel.send(watcher, member.pid);
      }
    }
    kernel.send(watcher, pid);
  }

  /** @internal Members and counters are shared by all conversations: a simulator has to know. */
  touched(kernel: Kernel): void {
    kernel.interception?.touched(`c:${this.name}`, "write");
  }

  // ── for conversations ─────────────────────────────────────────────────────────────────────────────────────────

  /**
   * @internal Members that run in that system and are not excluded. A routing function gets an array of its own, which it
   * may sort, unless the function is trusted.
   */
  candidates(kernel: Kernel, excluded: readonly Member[], isTrusted: boolean): readonly Member[] {
    const members = this.#members;
    for (let i = 0; i < members.length; i++) {
      if (!isCandidate(members[i] as Member, kernel, excluded))
        return members.filter((one) => isCandidate(one, kernel, excluded));
    }
    return isTrusted ? members : members.slice();
  }

  /** @internal @param key - what the routing function calls the envelope's affinity key */
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

  /** @internal Notes who takes the envelopes of the key from now on. */
  remember(key: string, consumer: Member): void {
    // Written anew, so that the order of the map is the order of use.
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
  return one.pid.process?.kernel === kernel && (excluded.length === 0 || !excluded.includes(one));
}

/** Groups that a process is a member of. */
const groupsOf = new WeakMap<Pid<never>, Set<{ leave(consumer: Pid): boolean }>>();

/** Takes a process out of all groups. */
export function leaveAll(pid: Pid<never>): void {
  for (const group of [...(groupsOf.get(pid) ?? [])]) group.leave(pid as Pid);
}

function checkRoute<T>(route: RoutingFunction<T> | IsolatedRoute<T>): RoutingFunction<T> | IsolatedRoute<T> {
  // Not by its class: whoever uses no isolated route has none of it in their bundle.
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

function checkJoin(pid: Pid<never>, options: JoinOptions): Required<JoinOptions> {
  const weight = options.weight ?? 1;
  if (!(weight >= 0 && Number.isFinite(weight)))
    throw new OptionError("weight", weight, "a number, 0 or more");
  return {
    id: text("id", options.id ?? String(pid)),
    maxInFlight: count("maxInFlight", options.maxInFlight ?? Number.POSITIVE_INFINITY, 1, true),
    maxBuffer: count("maxBuffer", options.maxBuffer ?? Number.POSITIVE_INFINITY, 1, true),
    weight,
    tags: options.tags ?? {},
    acknowledges: options.acknowledges ?? true,
  };
}
