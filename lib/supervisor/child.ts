// The specification of a child, with its defaults (OTP's) in one table.

import type { Behaviour } from "../process/behaviour.js";
import type { BodyContext } from "../process/body-context.js";
import type { MailboxLimits } from "../process/bound.js";
import { checkBound } from "../process/bound.js";
import { OptionError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import { only } from "../process/known-options.js";
import { delay, oneOf, text } from "../process/options.js";
import type { Pid } from "../process/pid.js";
import { isStartable, type Launch, launch, type Startable, supervising } from "../process/start.js";
import type { Claim } from "../process/via.js";

/** When a supervisor restarts a child: always (`permanent`), after an abnormal exit (`transient`), or never (`temporary`). */
export type Restart = "permanent" | "transient" | "temporary";

/**
 * How a supervisor stops a child: it sends `shutdown` and kills the child after this many milliseconds, or kills it at
 * once.
 */
export type Shutdown = number | "brutal_kill";

/** Whether a child is a worker or a supervisor. */
export type ChildType = "worker" | "supervisor";

/** The start of a child: the definition of a server or supervisor, or the body or callbacks of a plain process. */
export type ChildStart = Startable<never, unknown> | Behaviour<never> | TypedBody;

/**
 * A body that says which messages it receives. A body that does not gets its context's type from {@link Behaviour}: two signatures, of
 * which one is generic, give TypeScript none.
 */
interface TypedBody {
  (ctx: BodyContext<Anything>): unknown;
  <_>(ctx: BodyContext<Anything>): unknown;
}

/** Fits every type of messages. */
type Anything = ReturnType<JSON["parse"]>;

/** The arguments of a definition's `init`; none for a plain process. */
export type ArgsOf<S> =
  S extends Startable<infer A, unknown>
    ? [A] extends [never]
      ? readonly unknown[]
      : Readonly<A>
    : readonly [];

/** The handle of a child: that of its definition, or the address of a plain process. */
export type ChildHandle<S> =
  S extends Startable<never, infer Ref> ? Ref : S extends Behaviour<infer M> ? Pid<M> : never;

/** The options of a child, without the code that it runs. */
export interface ChildOptions {
  /** Names the child within its supervisor. */
  readonly id: string;
  /** When the child is restarted. Default `permanent`. */
  readonly restart?: Restart;
  /** The shutdown time. Default 5,000 ms for a worker, `Infinity` for a supervisor. */
  readonly shutdown?: Shutdown;
  /** Whether an exit of the child by itself counts for `autoShutdown`. Not allowed for permanent children. Default false. */
  readonly significant?: boolean;
  /** Default: `supervisor` for the result of `supervisor()`, else `worker`. */
  readonly type?: ChildType;
  /** How many milliseconds the `init` of the child may take. Default `Infinity`, as in OTP. */
  readonly startTimeoutMs?: number;
  /** Registers the child under this name, or under this key of a registry (`registry.claim(key)`). */
  readonly name?: string | Claim;
  /** A bound for the mailbox of the child. Default: that of its definition, or none. */
  readonly mailbox?: MailboxLimits;
  /** @internal Asked when the child is stopped: `true` leaves it no time at all. */
  readonly hurry?: () => boolean;
}

/** One child of a supervisor: what it runs, with the arguments that this takes. */
export type ChildSpec<S extends ChildStart = ChildStart> = ChildOptions & {
  /** The code that the child runs: a definition, a function body or callbacks. */
  readonly start: S;
} & (readonly [] extends ArgsOf<S>
    ? {
        /** Arguments of a definition's `init`. Default none. */
        readonly args?: ArgsOf<S>;
      }
    : {
        /** Arguments of a definition's `init`. */
        readonly args: ArgsOf<S>;
      });

const CHILD_OPTIONS: readonly (keyof ChildSpec)[] = [
  ...(["id", "start", "args", "restart", "shutdown", "significant", "type"] as const),
  ...(["startTimeoutMs", "name", "mailbox", "hurry"] as const),
];

/** A child spec with all defaults filled in. */
export interface FullChildSpec extends Required<Omit<ChildOptions, "name" | "mailbox" | "hurry">> {
  readonly start: ChildStart;
  readonly args: readonly unknown[];
  readonly name: string | Claim | undefined;
  readonly mailbox: MailboxLimits | undefined;
  readonly hurry: (() => boolean) | undefined;
  /** Whether the child was added to a running supervisor. Its id may be a key then, so metrics count it by its definition. */
  readonly isAdded: boolean;
}

/** The defaults of a child spec. */
export const CHILD_DEFAULTS: {
  /** When a child is restarted. */
  readonly restart: Restart;
  /** The shutdown time by type of child. */
  readonly shutdown: { readonly [type in ChildType]: Shutdown };
  /** Whether a child counts for `autoShutdown`. */
  readonly significant: boolean;
  /** How long an `init` may take, in milliseconds. */
  readonly startTimeoutMs: number;
} = {
  restart: "permanent",
  shutdown: { worker: 5_000, supervisor: Number.POSITIVE_INFINITY },
  significant: false,
  startTimeoutMs: Number.POSITIVE_INFINITY,
};

/** Whether a process with this behaviour is a supervisor, and understands what its handle asks. */
export function isSupervisor(behaviour: object): boolean {
  return supervising in behaviour;
}

/** When a supervisor ends because significant children ended by themselves. */
export type AutoShutdown = "never" | "any_significant" | "all_significant";

/**
 * Fills in and checks a child spec.
 *
 * @param path - where the spec stands, for the error text
 * @param isAdded - whether the supervisor runs already
 * @throws OptionError
 */
export function checkChild(
  path: string,
  spec: ChildSpec,
  autoShutdown: AutoShutdown,
  isAdded = false,
): FullChildSpec {
  if (typeof spec !== "object" || spec === null)
    throw new OptionError(path, spec, "a child spec { id, start, … }");
  const id = text(`${path}.id`, spec.id);
  const where = `${path}(${id})`;
  only(where, spec, CHILD_OPTIONS);
  if (!isRunnable(spec.start)) {
    throw new OptionError(
      `${where}.start`,
      spec.start,
      "a server or supervisor definition, a function body or callbacks with `handle`",
    );
  }
  const restart = oneOf(`${where}.restart`, spec.restart ?? CHILD_DEFAULTS.restart, [
    "permanent",
    "transient",
    "temporary",
  ]);
  const guess = typeof spec.start === "object" && supervising in spec.start ? "supervisor" : "worker";
  const type = oneOf(`${where}.type`, spec.type ?? guess, ["worker", "supervisor"]);
  const shutdown = spec.shutdown ?? CHILD_DEFAULTS.shutdown[type];
  if (shutdown !== "brutal_kill") delay(`${where}.shutdown`, shutdown, 0, true);
  const significant = spec.significant ?? CHILD_DEFAULTS.significant;
  if (significant && (restart === "permanent" || autoShutdown === "never")) {
    const why =
      restart === "permanent"
        ? "for a permanent child, which never ends by itself"
        : "under autoShutdown `never`";
    throw new OptionError(`${where}.significant`, significant, `false ${why}`);
  }
  const startTimeoutMs = delay(
    `${where}.startTimeoutMs`,
    spec.startTimeoutMs ?? CHILD_DEFAULTS.startTimeoutMs,
    0,
    true,
  );
  const args = spec.args ?? [];
  if (!Array.isArray(args)) throw new OptionError(`${where}.args`, args, "an array of arguments");
  const { name } = spec;
  if (name !== undefined && typeof (name as Claim | null)?.claim !== "function") text(`${where}.name`, name);
  return {
    id,
    start: spec.start,
    args,
    restart,
    shutdown,
    significant,
    type,
    startTimeoutMs,
    name,
    mailbox: checkMailbox(`${where}.mailbox`, spec.mailbox, type),
    hurry: spec.hurry,
    isAdded,
  };
}

function checkMailbox(
  path: string,
  mailbox: MailboxLimits | undefined,
  type: ChildType,
): MailboxLimits | undefined {
  if (mailbox === undefined) return undefined;
  if (type === "supervisor")
    throw new OptionError(
      path,
      mailbox,
      "absent for a supervisor, which needs every message of its children",
    );
  return checkBound(path, mailbox);
}

function isRunnable(start: unknown): start is ChildStart {
  if (typeof start === "function" || isStartable(start)) return true;
  return (
    typeof start === "object" &&
    start !== null &&
    typeof (start as { handle?: unknown }).handle === "function"
  );
}

/** The name of a child in metrics: its definition if it was added, else undefined, which stands for its id. */
export function countedAs(spec: FullChildSpec): string | undefined {
  if (!spec.isAdded) return undefined;
  try {
    return childLaunch(spec.start, spec.args).options?.label ?? "child";
  } catch {
    // The start fails in the same way, and says why.
    return "child";
  }
}

/** The handle of the child at an address. */
export function childHandle(
  start: ChildStart,
  args: readonly unknown[],
  address: Pid<never>,
  kernel: Kernel,
): unknown {
  if (!isStartable(start)) return address;
  return (start as Startable<readonly unknown[], unknown>)[launch](args).ref(address, kernel);
}

/** The process to spawn for a child, given the arguments. */
export function childLaunch(
  start: ChildStart,
  args: readonly unknown[],
): Pick<Launch<unknown>, "behaviour" | "options"> {
  if (isStartable(start)) return (start as Startable<readonly unknown[], unknown>)[launch](args);
  return { behaviour: start as Behaviour<never> };
}
