// The state that the parts of a flow host share: its store and its claim, the flows in its memory, and each other.
//
//     host-process.ts    how the host begins and ends
//     acquisition.ts     which flows come into memory
//     runs.ts            how a flow runs there, what its process uses of its host, and how it leaves
//     host-hospital.ts   what becomes of flows that fail
//     notifications.ts   what the store notifies the host of
//     requests.ts        what users ask it
//     signals.ts         what it says to an autoscaler
//     starting.ts        how it starts flows
//     outgoing.ts        what flows and users send to other flows

import type { Background } from "../../host/background/background.js";
import type { HostLife } from "../../host/host-life.js";
import type { Evidence } from "../../host/index.js";
import type { Values } from "../../host/payload/values.js";
import type { HostSignals, SignalLooks } from "../../host/signals.js";
import type { Context } from "../../process/context.js";
import type { Kernel } from "../../process/kernel.js";
import type { Claim, Store } from "../../store/index.js";
import type { FlowDefinition } from "../definition/define.js";
import type { BlobWriter } from "../journal/blobs.js";
import type { Queues } from "../queues/queues.js";
import type { HostSchedules } from "../schedules/host-schedules.js";
import { Acquisition } from "./acquisition.js";
import { HostHospital } from "./host-hospital.js";
import type { HostMessage } from "./messages.js";
import { Notifications } from "./notifications.js";
import type { HostSettings } from "./options.js";
import { Outgoing } from "./outgoing.js";
import type { FlowLimits } from "./port.js";
import { Requests } from "./requests.js";
import { type Loaded, Runs } from "./runs.js";
import { dueFlows } from "./signals.js";
import { Starting } from "./starting.js";

export class HostState {
  readonly settings: HostSettings;
  readonly ctx: Context<HostMessage>;
  readonly kernel: Kernel;
  readonly life: HostLife<HostMessage>;
  // Each is there from a step of the start on.
  store!: Store;
  claim!: Claim;
  evidence!: Evidence;
  blobs!: BlobWriter;
  queues!: Queues;
  schedules!: HostSchedules;
  /** The flows in memory, by number and by id. */
  readonly loaded: Map<number, Loaded> = new Map();
  readonly byId: Map<string, Loaded> = new Map();
  readonly hospital: HostHospital;
  readonly outgoing: Outgoing;
  readonly acquisition: Acquisition;
  readonly runs: Runs;
  readonly starting: Starting;
  readonly requests: Requests;
  readonly notifications: Notifications;
  /** The signals on the pages of metrics. */
  signals!: SignalLooks;
  #offsetMs = 0;

  constructor(settings: HostSettings, ctx: Context<HostMessage>, life: HostLife<HostMessage>) {
    this.settings = settings;
    this.ctx = ctx;
    this.kernel = ctx.self.process?.kernel as Kernel;
    this.life = life;
    this.hospital = new HostHospital(this);
    this.outgoing = new Outgoing(this);
    this.acquisition = new Acquisition(this);
    this.runs = new Runs(this);
    this.starting = new Starting(this);
    this.requests = new Requests(this);
    this.notifications = new Notifications(this);
  }

  get background(): Background {
    return this.life.background;
  }
  get payloads(): Values {
    return this.settings.payloads;
  }
  get limits(): FlowLimits {
    return this.settings.limits;
  }
  /** The host takes no more flows. */
  get isStopping(): boolean {
    return this.life.isStopping;
  }

  definition(name: string, version: number | undefined): FlowDefinition<never> | undefined {
    return this.settings.definitions.get(name, version);
  }

  /** Milliseconds since 1970 by the store's clock. */
  readonly now = (): number => Math.floor(this.kernel.env.now() + this.#offsetMs);

  /** The store's clock goes on by the monotonic clock of this host, so jumps of the wall clock move nothing. */
  async syncClock(): Promise<void> {
    this.#offsetMs = (await this.store.clock()) - this.kernel.env.now();
  }

  /** Calls `fn` after this time, unless the host has ended; returns the call that cancels it. */
  readonly timer = (ms: number, fn: () => void): (() => void) => {
    const { ctx } = this;
    if (!ctx.alive) return () => undefined;
    const timer = ctx.runAfter(ms, fn);
    return () => void (ctx.alive && ctx.cancel(timer));
  };

  /** What it says to an autoscaler. */
  async readSignals(): Promise<HostSignals> {
    const found = await dueFlows(this.store, this.now());
    return { ...found, room: this.isStopping ? 0 : this.acquisition.room, held: this.loaded.size };
  }

  /** The host ends when it is to stop and no flow is in memory, or on its way there. */
  mayStop(): void {
    if (this.loaded.size === 0 && !this.acquisition.isBusy) this.life.mayStop();
  }
}
