// The part of a behaviour and of a definition that inspection needs: how to read the state, and how to replace the definition. A
// behaviour that has a state offers it by `inspected` of its Callbacks; inspection.ts is the other side.

/** One process, as inspection sees it. All members are used between two messages of the process, after its `init`. */
export interface Inspected {
  /** The kind of the process, for people: `server`, `state machine`, `supervisor`. */
  readonly kind: string;
  /** The state, as the process holds it. Inspection copies what it shows. */
  state(): unknown;
  /** Returns the part of the state that may be shown, by the running definition. Absent: all of it. May throw. */
  readonly format?: ((state: never) => unknown) | undefined;
  /** The call or cast that a message is, for traces. Undefined for any other message. */
  readonly describe?: (message: unknown) => Described | undefined;
  /** Of a supervisor alone: the state of its machine. */
  readonly machine?: (() => unknown) | undefined;
  /** Absent: the process runs no definition that a swap could replace. */
  readonly swap?: SwapPoint | undefined;
}

/** A message with a method and arguments. */
export interface Described {
  readonly method: string;
  readonly args: readonly unknown[];
}

/** Where the definition of a running process is replaced. */
export interface SwapPoint {
  /** The {@link Successor.definition} that runs. */
  readonly definition: object;
  /** Takes over a definition of the same kind, with a state that fits it. Must not throw. */
  replace(definition: object, state: unknown): void;
}

/** Key of what a definition is to a swap. */
export const successor: unique symbol = Symbol("signalbox.successor");

/** A definition, as a swap sees it. */
export interface Successor<out S> {
  /** The {@link Inspected.kind} of the processes that can take it over. */
  readonly kind: string;
  /** The argument of {@link SwapPoint.replace}. The same object each time. */
  readonly definition: object;
  /** In types only. */
  readonly state?: S;
}

/** A definition that a running process of the same kind can take over, with a state of type `S`. */
export interface Swappable<out S> {
  /** Internal. The type of the state is inferred from this member. */
  readonly [successor]: Successor<S>;
}

/** The state of the processes that run a definition: `StateOfDefinition<typeof Stock>`. */
export type StateOfDefinition<D> = D extends Swappable<infer S> ? S : never;

export function isSwappable(value: unknown): value is Swappable<unknown> {
  return typeof value === "object" && value !== null && successor in value;
}
