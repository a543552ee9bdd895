// A topology while it runs: what its tasks share. It belongs to the process that started it (director.ts), and outlives the
// restarts of all others.

import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import type { ExitReason } from "../../process/reason.js";
import type { Blueprint } from "../definition/blueprint.js";
import type { LogLevel } from "../definition/component.js";
import { Acking } from "./acking.js";
import { Expiry } from "./expiry.js";
import type { Homes } from "./homes.js";
import { Incarnations } from "./incarnations.js";
import { Registry } from "./registry.js";
import { Settlements } from "./settlements.js";
import { SimulatorHooks } from "./simulator-hooks.js";
import { Switches } from "./switches.js";
import type { ComponentRun } from "./task-slots.js";
import type { WindowResults } from "./window-results.js";

/** Takes the lines that components log. */
export type LogSink = (
  level: LogLevel,
  component: string,
  task: number,
  line: string | (() => string),
) => void;

export class RunningTopology {
  readonly blueprint: Blueprint;
  readonly kernel: Kernel;
  readonly log: LogSink;
  readonly startedAt: number;
  readonly hooks: SimulatorHooks;
  readonly settlements: Settlements = new Settlements();
  readonly incarnations: Incarnations = new Incarnations(this);
  readonly acking: Acking = new Acking(this);
  readonly expiry: Expiry = new Expiry(this);
  readonly registry: Registry;
  readonly switches: Switches;
  /** Of each bolt with windows: the homes of its tuples. */
  readonly homes: Map<ComponentRun, Homes> = new Map();
  /** Of a topology with windows of the tuples' own time: the tuples that descend from their results. */
  results: WindowResults | undefined = undefined;
  /** The supervisors of ackers, bolts, spouts and system, when they run. */
  readonly groups: Map<string, Pid> = new Map();
  /** Why a task crashed last: the reason of the topology, when the topology fails. */
  lastCrash: ExitReason | undefined = undefined;
  /** How often the topology has started again as a whole. */
  restarts = 0;
  /** Called when the topology has ended. */
  readonly endings: Set<() => void> = new Set();
  /** How many tuples the spouts have emitted with an id. */
  serial = 0;

  constructor(blueprint: Blueprint, kernel: Kernel, log: LogSink) {
    this.blueprint = blueprint;
    this.kernel = kernel;
    this.log = log;
    this.startedAt = kernel.env.now();
    this.hooks = new SimulatorHooks(blueprint.name, kernel.shared);
    this.registry = new Registry(blueprint, kernel, this.hooks);
    this.switches = new Switches(this.registry, this.hooks);
  }

  get name(): string {
    return this.blueprint.name;
  }
}
