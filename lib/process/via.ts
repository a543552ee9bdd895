// Addresses that are looked up at each use, and the claims that a process gives back when it ends. A registry's key is such an address,
// and so is a partition of a partition supervisor.

import type { Context } from "./context.js";
import { MailboxFullError, OptionError, ThrownValueError } from "./errors.js";
import type { Kernel } from "./kernel.js";
import { Pid } from "./pid.js";
import type { Process } from "./process.js";

declare const claims: unique symbol;

/** The `name` that a process is spawned under, if it is no text: the `claim` of a registry. */
export interface Claim {
  /** In types only: without it, anything would be a claim in the types of the package, which leave out what is internal. */
  readonly [claims]: true;
  /** @internal Takes it for a process that has not run yet. Throws when another process has it. */
  claim(process: Process): void;
  /** @internal The address of its holder, if one process at most can have it. */
  readonly via?: (() => SoleVia) | undefined;
}

/** A name that one process at most can have. Two names are the same when both the place and the key are the same. */
export interface SoleName {
  /** Where it is a name: in the names of a system, or in a registry. */
  readonly place: object;
  readonly key: unknown;
}

/** Something that holds entries of processes. It drops the entries of a process that ends. */
export interface Holding {
  /** Called before other processes learn of the end. Must not throw. */
  release(process: Process): void;
}

/** Has `release` called when the process ends. */
export function holdFor(process: Process, holding: Holding): void {
  process.extras.holdings ??= new Set();
  process.extras.holdings.add(holding);
}

/**
 * The address of the process that holds a key now. It can stand wherever a pid can: `ctx.send`, `ctx.call`, `ctx.monitor`, the
 * `at` of a server. Sends and calls look the holder up each time, so the address outlives restarts. A link or a monitor belongs to
 * the holder of the moment. Without a holder, messages are dead letters and calls reject with `noproc`.
 */
export abstract class Via<in M = never> extends Pid<M> {
  /** @internal What the code of the service calls all such addresses: the name of their registry. Never a key. */
  readonly family?: string | undefined;

  /** @internal */
  constructor(kernel: Kernel, label: string, family: string | undefined) {
    super(kernel.node, 0, label, undefined);
    this.family = family;
  }

  /** @internal The holder, if there is one. */
  abstract override get process(): Process | undefined;

  /** The name or key that it is the address of. */
  override toString(): string {
    return this.label as string;
  }
}

/** A name, or a key of a registry, as an address of the process that has it now. */
export class SoleVia<in M = never> extends Via<M> {
  readonly sole: SoleName;
  readonly #holder: () => Process | undefined;

  constructor(
    kernel: Kernel,
    label: string,
    sole: SoleName,
    holder: () => Process | undefined,
    family?: string,
  ) {
    super(kernel, label, family);
    this.sole = sole;
    this.#holder = holder;
  }

  override get process(): Process | undefined {
    return this.#holder();
  }
}

/** The address of the process that has a registered name. */
export function nameVia(kernel: Kernel, name: string): SoleVia {
  const { names } = kernel;
  return new SoleVia(kernel, name, { place: names, key: name }, () => names.find(name));
}

/** The process at an address: an address that is looked up becomes the pid of its holder. */
export function actual(pid: Pid): Pid {
  return pid.process?.pid ?? pid;
}

/**
 * Sends a message that no code could catch an error of. Without room it becomes a dead letter, and so it does when the transport to
 * another node throws at it. That is also the crash of the process that it is sent by.
 */
export function post(kernel: Kernel, to: Pid | string, message: unknown, from?: Process): void {
  try {
    kernel.send(to, message, from);
  } catch (error) {
    if (error instanceof MailboxFullError) kernel.deadLetter(to, message, "mailbox-full");
    else if (typeof to !== "string" && to.node !== kernel.node) {
      kernel.deadLetter(to, message, "unsendable", () =>
        error instanceof Error ? error : new ThrownValueError(error),
      );
      from?.failed(error, undefined);
    } else throw error;
  }
}

/** The process of a `ctx` or a pid. @throws ProcessExitedError of a `ctx`, NoProcessError of a pid */
export function processOf(kernel: Kernel, owner: Context<never> | Pid): Process {
  if (owner instanceof Pid) return kernel.locate(owner);
  if (typeof (owner as Context<never> | undefined | null)?.alive !== "boolean")
    throw new OptionError("process", owner, "a ctx or a pid");
  if (!owner.alive) throw owner.signal.reason;
  return kernel.locate(owner.self);
}
