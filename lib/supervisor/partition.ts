// A partition supervisor: one child of one kind for each partition, and a route from a key to the child that has it. After
// Elixir's PartitionSupervisor. Each partition is a process, so that a flood in one leaves the others their turns.

import type { Behaviour, Callbacks } from "../process/behaviour.js";
import { OptionError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import { asGiven, whole } from "../process/option-schema.js";
import { kernelOf } from "../process/options.js";
import type { Pid } from "../process/pid.js";
import { type Launch, launch, type Startable, supervising } from "../process/start.js";
import type { ProcessSystem } from "../process/system.js";
import type { Via } from "../process/via.js";
import {
  type ArgsOf,
  type ChildOptions,
  type ChildSpec,
  type ChildStart,
  checkChild,
  childHandle,
  type FullChildSpec,
} from "./child.js";
import { checkSupervision, type SupervisionOptions } from "./options.js";
import { type PartitionKey, PartitionTable, PartitionVia, partitionOf } from "./partition-table.js";
import { AnySupervisorRef, checkAddress } from "./ref.js";
import type { SupervisorDefinition } from "./supervisor.js";
import { supervisorBehaviour } from "./supervisor-process.js";

/** The handle of a partition: that of its child's definition, or an address for a plain process. */
export type PartitionHandle<S> =
  S extends Startable<never, infer Ref> ? Ref : S extends Behaviour<infer M> ? Via<M> : never;

/** Options of a partition supervisor. */
export interface PartitionSupervisorOptions<S extends ChildStart = ChildStart> extends SupervisionOptions {
  /** The child that every partition runs. The ids of the children are the numbers of their partitions, as texts. */
  readonly child: Omit<ChildOptions, "id" | "name" | "significant"> & {
    /** The code that every partition runs: a definition, a function body or callbacks. */
    readonly start: S;
  } & (readonly [] extends ArgsOf<S>
      ? {
          /** Arguments for `init`: the same for all, or a function from the number of the partition. Default none. */
          readonly args?: ArgsOf<S> | ((partition: number) => ArgsOf<S>);
        }
      : {
          /** Arguments for `init`: the same for all, or a function from the number of the partition. */
          readonly args: ArgsOf<S> | ((partition: number) => ArgsOf<S>);
        });
  /** How many partitions there are, 1 or more. Default {@link PARTITION_DEFAULTS}`.partitions`. */
  readonly partitions?: number;
}

/** The defaults of a partition supervisor, in addition to those of every supervisor. */
export const PARTITION_DEFAULTS: {
  /** How many partitions there are. All run in one thread, so the number of cores says nothing here. */
  readonly partitions: number;
} = { partitions: 8 };

/** The part of its definition that a handle needs. */
interface Plan<S extends ChildStart> {
  readonly partitions: number;
  readonly start: S;
  argsOf(partition: number): readonly unknown[];
}

/** The handle of a running partition supervisor. */
export class PartitionSupervisorRef<S extends ChildStart = ChildStart> extends AnySupervisorRef {
  readonly #plan: Plan<S>;
  readonly #ofPartition: (partition: number) => PartitionHandle<S>;
  readonly #handles: PartitionHandle<S>[] = [];

  /** @internal */
  constructor(address: Pid | string, kernel: Kernel, plan: Plan<S>) {
    super(address, kernel);
    this.#plan = plan;
    this.#ofPartition = (partition) => {
      const via = new PartitionVia(kernel, `${address}/${partition}`, () => {
        const process = typeof address === "string" ? kernel.names.find(address) : address.process;
        return process && tables.get(process.behaviour as Callbacks<never>)?.holder(kernel, partition);
      });
      return childHandle(plan.start, plan.argsOf(partition), via, kernel) as PartitionHandle<S>;
    };
  }

  /** How many partitions there are. */
  get partitions(): number {
    return this.#plan.partitions;
  }

  /**
   * The handle of the partition that a key belongs to. It goes on with the child that replaces a failed one. An integer k
   * belongs to partition |k| mod n; a text is hashed, the same in every run and on every machine.
   *
   * @throws OptionError when the key is neither a text nor a finite number nor a bigint
   * @example await counters.for("user-17").call.take(1);
   */
  for(key: PartitionKey): PartitionHandle<S> {
    const partition = partitionOf(key, this.#plan.partitions);
    this.#handles[partition] ??= this.#ofPartition(partition);
    return this.#handles[partition];
  }

  /** The handles of all partitions, in their order. */
  all(): PartitionHandle<S>[] {
    return Array.from({ length: this.#plan.partitions }, (_, partition) => this.for(partition));
  }
}

/** The tables of the partition supervisors that run, by their behaviours. */
const tables = new WeakMap<object, PartitionTable>();

/**
 * Defines a supervisor of partitions: `partitions` children of one kind, and a handle that finds the child for a key. Use it
 * where one server for all keys would be a bottleneck, or where a failure should cost a part of the keys only.
 *
 * @throws OptionError when an option is not what it has to be
 * @see https://hexdocs.pm/elixir/PartitionSupervisor.html
 * @example
 * const Counters = partitionSupervisor({ partitions: 4, child: { start: Stock, args: [100] } });
 * const counters = await system.start(Counters);
 * await counters.for("user-17").call.take(3);
 */
export function partitionSupervisor<S extends ChildStart>(
  options: PartitionSupervisorOptions<S>,
): SupervisorDefinition<PartitionSupervisorRef<S>> {
  const { limits, spawn, quiet, own } = checkSupervision(
    options,
    "partition supervisor",
    { child: asGiven<PartitionSupervisorOptions<S>["child"]>(), partitions: whole(1) },
    PARTITION_DEFAULTS,
  );
  const { partitions } = own;
  const { plan, specs } = checkPartitions(own.child, partitions);
  return {
    [supervising]: true,
    at: (system: ProcessSystem, address) =>
      new PartitionSupervisorRef(checkAddress(address), kernelOf(system), plan),
    [launch]: (): Launch<PartitionSupervisorRef<S>> => {
      const table = new PartitionTable(partitions);
      const config = { strategy: "one_for_one", autoShutdown: "never", ...limits } as const;
      const placed = specs.map((spec, index) => ({ ...spec, name: table.place(index) }));
      const behaviour = supervisorBehaviour(config, placed, quiet, ({ self }) =>
        self.process?.kernel.shared?.created(table),
      );
      tables.set(behaviour, table);
      return {
        behaviour,
        options: spawn,
        ref: (pid, kernel) => new PartitionSupervisorRef(pid, kernel, plan),
      };
    },
  };
}

function checkPartitions<S extends ChildStart>(
  child: PartitionSupervisorOptions<S>["child"],
  partitions: number,
): { readonly plan: Plan<S>; readonly specs: readonly FullChildSpec[] } {
  if (typeof child !== "object" || child === null)
    throw new OptionError("child", child, "a child spec { start, … }");
  const { args = [], ...rest } = child as Omit<ChildSpec, "id" | "args"> & {
    readonly args?: readonly unknown[] | ((partition: number) => readonly unknown[]);
  };
  const argsOf = (partition: number): readonly unknown[] =>
    typeof args === "function" ? args(partition) : args;
  const specs = Array.from({ length: partitions }, (_, index) => {
    const spec = { ...rest, id: String(index), args: argsOf(index), name: undefined };
    return checkChild("child", spec as never, "never");
  });
  return { plan: { partitions, start: rest.start as S, argsOf: (index) => specs[index]?.args ?? [] }, specs };
}
