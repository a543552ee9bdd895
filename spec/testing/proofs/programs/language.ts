// Programs as data: a few processes and the scenario, each with a few instructions. A program is small enough that all its
// schedules can be run, and fast-check can make it smaller still.

import fc from "fast-check";
import type { FaultOptions, NetworkOptions } from "signalbox/testing";
import type { Actor } from "./stage.js";

/** One instruction: its name, and its arguments. */
export interface Instruction {
  readonly op: string;
}

/** Who can perform an instruction. */
export type Performer = "anyone" | "process" | "body" | "callbacks" | "scenario";

/** How one kind of instruction is drawn and performed. */
export interface Operation {
  readonly by: Performer;
  readonly args: fc.Arbitrary<object>;
  /** What it returns is part of the outcome; undefined adds nothing. */
  readonly run: (me: Actor, args: never) => unknown;
}

/** Instructions by name. Each is a feature of the public API. */
export type Operations = Readonly<Record<string, Operation>>;

export function operation<A extends object>(
  by: Performer,
  args: fc.Arbitrary<A>,
  run: (me: Actor, args: A) => unknown,
): Operation {
  return { by, args, run };
}

/** How a process meets calls. */
export type Manners = "answers" | "refuses" | "answers late" | "never answers" | "asks whether it is open";

export interface Proc {
  readonly kind: "body" | "callbacks" | "server" | "supervisor" | "dynamic" | "consumer";
  /** What it does when it starts. */
  readonly script: readonly Instruction[];
  /** What it does for each message, as long as that has hops left. */
  readonly reaction: readonly Instruction[];
  readonly manners: Manners;
  readonly trap: boolean;
  readonly mailbox: "unbounded" | "reject" | "drop-newest" | "drop-oldest" | "exit";
  /** A number for whatever the kind has to choose. */
  readonly variant: number;
}

export interface Program {
  readonly procs: readonly Proc[];
  readonly scenario: readonly Instruction[];
  readonly faults: FaultOptions;
  /** Connects two systems, which have every other process each. Undefined for one system. */
  readonly network: NetworkOptions | undefined;
}

/** What programs are drawn from. */
export interface Theme {
  readonly operations: Operations;
  readonly kinds: readonly Proc["kind"][];
  readonly faults: fc.Arbitrary<FaultOptions>;
  readonly network: fc.Arbitrary<NetworkOptions | undefined>;
  readonly mailboxes: readonly Proc["mailbox"][];
  /** Schedules of a program that is searched in full. */
  readonly schedules: number;
  readonly most: {
    readonly procs: number;
    readonly script: number;
    readonly reaction: number;
    readonly scenario: number;
  };
}

/** The processes of a program are named by their place. */
export const NAMES = ["a", "b", "c", "d"] as const;
export const target: fc.Arbitrary<number> = fc.nat(NAMES.length - 1);
export const NO_FAULTS: fc.Arbitrary<FaultOptions> = fc.constant({});

function instructions(
  operations: Operations,
  by: readonly Performer[],
  maxLength: number,
): fc.Arbitrary<Instruction[]> {
  const usable = Object.entries(operations).filter(([, operation]) => by.includes(operation.by));
  if (usable.length === 0) return fc.constant([]);
  const one = fc.oneof(
    ...usable.map(([op, { args, by }]) => ({
      arbitrary: args.map((given): Instruction => ({ ...given, op })),
      // Few processes can perform what not everyone can.
      weight: by === "anyone" || by === "process" ? 1 : 3,
    })),
  );
  return fc.array(one, { maxLength });
}

function procOf(kind: Proc["kind"], theme: Theme): fc.Arbitrary<Proc> {
  const by: readonly Performer[] =
    kind === "body" ? ["anyone", "process", "body"] : ["anyone", "process", "callbacks"];
  return fc.record({
    kind: fc.constant(kind),
    script: instructions(theme.operations, by, theme.most.script),
    reaction: instructions(theme.operations, by, theme.most.reaction),
    manners: fc.constantFrom<Manners[]>(
      "answers",
      "refuses",
      "answers late",
      "never answers",
      "asks whether it is open",
    ),
    trap: fc.boolean(),
    mailbox: fc.constantFrom(...theme.mailboxes),
    variant: fc.nat(7),
  });
}

export function programs(theme: Theme): fc.Arbitrary<Program> {
  const proc = fc.oneof(...theme.kinds.map((kind) => procOf(kind, theme)));
  // Without the bias of fast-check towards small values, which would leave most processes with nothing to do.
  return fc.noBias(
    fc.record({
      procs: fc.array(proc, { minLength: 2, maxLength: theme.most.procs }),
      scenario: instructions(theme.operations, ["anyone", "scenario"], theme.most.scenario),
      faults: theme.faults,
      network: theme.network,
    }),
  );
}
