// A state machine, after OTP's gen_statem: states and events as unions, a handler for each pair, and a pure transition.

import type { MailboxLimits } from "../../process/bound.js";
import type { Context } from "../../process/context.js";
import type { Signal } from "../../process/entries.js";
import { OptionError } from "../../process/errors.js";
import { type Swappable, successor } from "../../process/inspected.js";
import type { Kernel } from "../../process/kernel.js";
import { address, kernelOf } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { ExitReason } from "../../process/reason.js";
import type { ReplyTo } from "../../process/request.js";
import { type Launch, launch, type Startable, serverSpawn } from "../../process/start.js";
import type { ProcessSystem } from "../../process/system.js";
import { MachineProcess, STATE_MACHINE } from "./machine-process.js";
import { methodsOf, StateMachineRef } from "./machine-ref.js";
import type { NamedState, TypedEvent } from "./moves.js";
import { type MachinePictureOptions, machineDot, machineMermaid } from "./picture.js";
import { compile, targets as withTargets } from "./table.js";
import { type Transition, transitionOf } from "./transition.js";
import type {
  Begun,
  Going,
  InitMoves,
  MachineSnapshot,
  NeedsData,
  Sendable,
  Starting,
  StateHandler,
  StateNamed,
  StatesOf,
  TransitionArgs,
} from "./types.js";

/**
 * The definition of a state machine. `S` is the union of its states, `V` that of its events, `Args` are the arguments of a start,
 * and `D` is the type of the data that all states share.
 */
export interface StateMachineOptions<
  S extends NamedState,
  V extends TypedEvent,
  Args extends readonly unknown[],
  D = undefined,
> {
  /**
   * Makes the data that all states share, before `init`, with the arguments of the start. Handlers read them as `m.data` and replace
   * them by the action `m.setData`. It may return a promise; a throw fails the start. A machine without data leaves it out.
   *
   * @example
   * type Door = { name: "open" } | { name: "shut" };
   * const Door = defineStateMachine<Door, { type: "push" }, [id: string], { id: string; pushes: number }>({
   *   data: (_ctx, id) => ({ id, pushes: 0 }),
   *   init: startIn("shut", () => ({ name: "shut" })),
   *   states: {
   *     open: { on: { push: "ignore" } },
   *     shut: {
   *       on: {
   *         push: to("open", (_shut, _push, m) =>
   *           m.next({ name: "open" }, m.setData({ ...m.data, pushes: m.data.pushes + 1 })),
   *         ),
   *       },
   *     },
   *   },
   * });
   * await system.start(Door, "door-7");
   */
  readonly data?: (ctx: Context<unknown>, ...args: Args) => D | Promise<D>;
  /**
   * Makes the first state: `startIn("waiting", (m, …args) => ({ name: "waiting" }))`. The machine counts as started when
   * `init` has ended; the `enter` of the first state comes after that.
   */
  readonly init: Starting<S, V, Args, D>;
  /** Each state by its name, with what it does with each event. The compiler misses a state or an event that is not there. */
  readonly states: StatesOf<S, V, D>;
  /** Turns a message that no handle sent, such as one of `ctx.send`, into an event. `undefined` makes it a dead letter. */
  readonly info?: (message: unknown, data: D) => Sendable<V> | undefined;
  /** Turns an EXIT (when trapping), a DOWN or a change of a group into an event. `undefined` makes it a dead letter. */
  readonly signal?: (signal: Signal, data: D) => Sendable<V> | undefined;
  /** Runs before the machine exits: when it stops by itself, throws, or traps exits and gets a `shutdown` from its parent. */
  readonly terminate?: (state: S, reason: ExitReason, data: D) => unknown;
  /**
   * What inspection shows of the machine. Use it to hide secrets. It must not change the state or the data. Default: the state, or
   * `{ state, data }` of a machine with data.
   */
  readonly format?: (state: S, data: D) => unknown;
  /** The name of the machine in reports and drawings. Default `state machine`. */
  readonly label?: string;
  /** A bound for the mailbox. Without it the mailbox grows as needed. A start or a child spec may give another one. */
  readonly mailbox?: MailboxLimits;
  /** Whether the machine traps exits, so that `terminate` runs when its supervisor stops it. Default false. */
  readonly trapExit?: boolean;
  /** How many events may be postponed at once, 1 or more. One more crashes the machine. Default `Infinity`. */
  readonly maxPostponed?: number;
}

/** The result of `defineStateMachine`: start it, make it a child of a supervisor, draw it, or ask what an event leads to. */
export interface StateMachineDefinition<
  S extends NamedState,
  V extends TypedEvent,
  Args extends readonly unknown[],
  D = undefined,
> extends Startable<Args, StateMachineRef<V>>,
    Swappable<MachineSnapshot<S, D>> {
  /** A handle of a running machine, by its pid or by its registered name. A handle by name still works after a restart. */
  at(system: ProcessSystem, address: Pid<never> | string): StateMachineRef<V>;
  /**
   * What an event leads to in a state: the next state, and the actions of the handler and of the `enter` that follows. Pure: no
   * process runs, and nothing is carried out. A machine with data gets them as the third argument, and gives those after the event.
   *
   * @param rest - the data of a machine that has some; then what the handler of a call gets as `from`
   * @throws what the handler throws; UndeclaredTransitionError and the other errors of a bad step; AsyncTransitionError
   */
  transition(state: S, event: V, ...rest: TransitionArgs<D>): Transition<S, D>;
  /** The machine as a Mermaid flowchart: an arrow for each declared target. @throws OptionError when an option is invalid */
  toMermaid(options?: MachinePictureOptions): string;
  /** The same picture for Graphviz. @throws OptionError when an option is invalid */
  toDot(options?: MachinePictureOptions): string;
}

/**
 * A handler that may go to other states: those named here, and no others. The types hold it, and the machine crashes with
 * UndeclaredTransitionError when they are circumvented. So a drawing of the machine is true.
 *
 * @param targets - the name of a state, or several
 * @throws OptionError when an argument is not what it has to be
 * @example
 * type Gate = { name: "shut" } | { name: "open" };
 * const Gate = defineStateMachine<Gate, { type: "push" }>({
 *   init: startIn("shut", () => ({ name: "shut" })),
 *   states: {
 *     shut: { on: { push: to("open", (_shut, _push, m) => m.next({ name: "open" })) } },
 *     open: { on: { push: "ignore" } },
 *   },
 * });
 */
export function to<S, E, A extends NamedState, V, const T extends A["name"], D = undefined>(
  targets: T | readonly T[],
  handle: StateHandler<S, E, S | StateNamed<A, T>, V, D>,
): Going<S, E, A, V, D> {
  return withTargets(targets as string, handle) as unknown as Going<S, E, A, V, D>;
}

/**
 * The start of a state machine, with the state or states in which it may start.
 *
 * @throws OptionError when an argument is not what it has to be
 * @example
 * type Counter = { name: "counting"; count: number };
 * const Counter = defineStateMachine<Counter, { type: "tick" }, [count: number]>({
 *   init: startIn("counting", (_m, count) => ({ name: "counting", count })),
 *   states: {
 *     counting: { on: { tick: ({ name, count }, _tick, m) => m.next({ name, count: count + 1 }) } },
 *   },
 * });
 * await system.start(Counter, 7);
 */
export function startIn<
  A extends NamedState,
  V,
  Args extends readonly unknown[],
  const T extends A["name"],
  D = undefined,
>(
  targets: T | readonly T[],
  init: (
    m: InitMoves<NoInfer<StateNamed<A, T>>, V, D>,
    ...args: Args
  ) => Begun<NoInfer<StateNamed<A, T>>> | Promise<Begun<NoInfer<StateNamed<A, T>>>>,
): Starting<A, V, Args, D> {
  return withTargets(targets as string, init) as unknown as Starting<A, V, Args, D>;
}

/**
 * Defines a state machine: a process that is in one of several states and handles each event as that state says. State the
 * union of the states and that of the events; the rest is inferred, and a state or event without a handler does not compile.
 *
 * @throws OptionError when a part of the definition is not what it has to be
 * @see https://www.erlang.org/doc/apps/stdlib/gen_statem.html
 * @example
 * type Door = { name: "open" } | { name: "locked"; code: string };
 * type DoorEvent = Call<{ type: "unlock"; code: string }, boolean> | { type: "lock"; code: string };
 * const Door = defineStateMachine<Door, DoorEvent>({
 *   init: startIn("open", () => ({ name: "open" })),
 *   states: {
 *     open: {
 *       on: {
 *         unlock: "refuse",
 *         lock: to("locked", (_open, { code }, m) => m.next({ name: "locked", code })),
 *       },
 *     },
 *     locked: {
 *       on: {
 *         unlock: to("open", (locked, { code }, m) =>
 *           code === locked.code ? m.next({ name: "open" }, m.reply(true)) : m.keep(m.reply(false)),
 *         ),
 *         lock: "ignore",
 *       },
 *     },
 *   },
 * });
 * const door = await system.start(Door);
 * door.cast.lock({ code: "1234" });
 * await door.call.unlock({ code: "1234" }); // true
 */
export function defineStateMachine<
  S extends NamedState,
  V extends TypedEvent,
  Args extends readonly unknown[] = [],
  D = undefined,
>(definition: StateMachineOptions<S, V, Args, D> & NeedsData<D>): StateMachineDefinition<S, V, Args, D> {
  if (typeof definition !== "object" || definition === null)
    throw new OptionError("definition", definition, "an object with init and states");
  const table = compile(definition);
  const { label, trapExit, mailbox } = table;
  const methods = methodsOf(table.events);
  const ref = (address: Pid<never> | string, kernel: Kernel): StateMachineRef<V> =>
    new StateMachineRef<V>(address, kernel, methods);
  return {
    at: (system, where) => ref(address("address", where), kernelOf(system)),
    transition: (state, event, ...rest) => {
      const [data, from] = table.rules.hasData ? rest : [undefined, ...rest];
      return transitionOf(table, state, event, from as ReplyTo<never> | undefined, data) as Transition<S, D>;
    },
    toMermaid: (options) => machineMermaid(label, table, options),
    toDot: (options) => machineDot(label, table, options),
    [successor]: { kind: STATE_MACHINE, definition: table },
    [launch]: (args): Launch<StateMachineRef<V>> => ({
      behaviour: new MachineProcess(table, args),
      options: serverSpawn(label, trapExit, mailbox),
      ref,
    }),
  };
}
