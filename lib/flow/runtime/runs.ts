// The flows that run in a host, each in a process of its own: how they begin, what they use of the host, how they are given back to the store,
// and what follows when their processes end.

import type { Pid } from "../../process/pid.js";
import { crash, type ExitReason } from "../../process/reason.js";
import { spawnIn } from "../../process/spawn-in.js";
import { ConflictError, StoreClosedError } from "../../store/index.js";
import { rowGets, rowIs } from "../journal/changes.js";
import type { Entry } from "../journal/entry.js";
import { type FlowRow, flows } from "../journal/tables.js";
import type { UnreadMessage } from "../machine/state.js";
import { freeSlotTopics } from "../queues/queues.js";
import { replayTo, verifyingReplay } from "./dry-replay.js";
import { FlowProcess } from "./flow-process.js";
import { PARKED } from "./flow-rest.js";
import { subjectOf } from "./host-hospital.js";
import type { HostState } from "./host-state.js";
import type { FlowPort, Parked } from "./port.js";
import { unreadOf } from "./reading.js";

const KILLED_BY_HOST = crash(new StoreClosedError("of the host that stops"));

export class Runs {
  readonly #host: HostState;
  readonly #byPid = new Map<Pid, Loaded>();
  /** Made with the first run: the store is open then. */
  #port: FlowPort | undefined;

  constructor(host: HostState) {
    this.#host = host;
  }

  begin(row: FlowRow, history: readonly Entry[], messages: readonly UnreadMessage[]): void {
    const { kernel, ctx, hospital, outgoing, queues, loaded, byId } = this.#host;
    this.#port ??= hostPort(this.#host);
    const definition = outgoing.known(row.name, row.version);
    const process = new FlowProcess(this.#port, row, definition, history, messages);
    const run = hospital.begin(row);
    queues.taken(row);
    const pid = spawnIn(kernel, row.trace, `flow ${row.name}`, () =>
      ctx.spawnLink(process, { label: `flow ${row.id}` }),
    );
    const { wish, mail } = row;
    const begun: Loaded = {
      row,
      process,
      pid,
      run,
      observing: undefined,
      wish,
      mail,
      reading: "no",
      isWanted: false,
    };
    loaded.set(row.number, begun);
    this.#byPid.set(pid, begun);
    byId.set(row.id, begun);
  }

  /** A process has ended that is linked to the host: perhaps that of a flow. */
  exited(pid: Pid, reason: ExitReason): void {
    const loaded = this.#byPid.get(pid);
    if (loaded === undefined) return;
    this.#byPid.delete(pid);
    loaded.process.abandon(() => {
      if (this.#host.ctx.alive) this.#left(loaded, reason);
    });
  }

  /** The process of a flow has ended, and nothing of it is on the way to the store. */
  #left(loaded: Loaded, reason: ExitReason): void {
    const { loaded: all, byId, acquisition, queues, requests, hospital } = this.#host;
    const { row, process } = loaded;
    all.delete(row.number);
    byId.delete(row.id);
    acquisition.idle(process, false);
    acquisition.left();
    queues.left(row);
    requests.left(loaded);
    requests.caughtUp(row.number);
    if (loaded.observing !== undefined) hospital.observeRun(loaded, loaded.observing);
    else if (reason.type !== "normal" && reason !== PARKED) {
      hospital.failed(loaded, reason);
      // It may have been killed when its end was already on the way to the store: then it has mail to answer, and no run does that.
      acquisition.takeSoon(row.number);
    } else if (loaded.isWanted || loaded.reading !== "no" || (reason !== PARKED && process.owes))
      acquisition.takeSoon(row.number);
    acquisition.vacated();
    this.#host.mayStop();
  }

  /** Ends the process of a flow, and keeps the flow. */
  observe(loaded: Loaded, reason: string): void {
    loaded.observing = reason;
    this.#kill(loaded);
  }

  /** Asks all flows to end the steps that run, and to leave memory. */
  stop(): void {
    for (const { pid } of this.#host.loaded.values())
      pid.process?.deliver({ type: "control", action: "stop" }, undefined);
  }

  /** The host ends: ends the processes of flows that did not leave memory in time. */
  kill(): void {
    for (const loaded of this.#host.loaded.values()) this.#kill(loaded);
  }

  #kill({ pid }: Loaded): void {
    if (pid.process !== undefined) this.#host.kernel.stop(pid.process, KILLED_BY_HOST, undefined);
  }
}

export function hostPort(host: HostState): FlowPort {
  const { kernel, store, claim, blobs, payloads, limits, settings, hospital, outgoing, background } = host;
  let asks = 0;
  /** Reads the store for an ask about another flow. While the read fails, the flow waits. */
  const read = <T>(ask: () => Promise<T>): Promise<T> => background.until(`ask ${++asks}`, ask);
  return {
    kernel,
    store,
    claim,
    payloads,
    blobs,
    limits,
    interceptors: settings.interceptors,
    readBack: settings.verify
      ? (definition, row, history, time) =>
          verifyingReplay({ kernel, definition, row, history, payloads, limits }, time)
      : undefined,
    replayTo: (flow, ask, signal) => replayTo({ kernel, payloads, limits, ...flow }, ask, signal),
    now: host.now,
    drain: drainOf(host),
    begin: (id) => host.evidence.begin(subjectOf(id)),
    isForHospital: (row, error, at, kind) => hospital.isForHospital(row, error, at, kind),
    childOf: (parent, flow, input, as) => read(() => outgoing.childOf(parent, flow, input, as)),
    cancelChildren: (number, isSpared) => read(() => outgoing.cancelChildren(number, isSpared)),
    answererOf: (from, flow, id) => outgoing.answererOf(from, flow, id),
    mailTo: (from, id, topic, value, key) => read(() => outgoing.mailTo(from, id, topic, value, key)),
    control: (id, action) => read(() => outgoing.control(id, action)),
    park: (number, lastMessage, row) => park(host, number, lastMessage, row),
    caughtUp: (number) => host.requests.caughtUp(number),
    idle: (flow, isIdle) => host.acquisition.idle(flow, isIdle),
  };
}

/** Notifies flows that their code has run as far as it can: all at once, when the scheduler has nothing else to run. */
function drainOf({ kernel: { scheduler } }: HostState): FlowPort["drain"] {
  let draining: { drained(): void }[] = [];
  const flush = (): void => {
    const all = draining;
    draining = [];
    for (const one of all) one.drained();
  };
  return (flow) => {
    draining.push(flow);
    if (draining.length > 1) return;
    if (scheduler.drained === undefined) flush();
    else scheduler.drained(flush);
  };
}

/** Gives a flow back to the store, if it has no mail behind `lastMessage`. Gives that mail. */
export function park(
  host: HostState,
  number: number,
  lastMessage: number,
  to: Parked,
): Promise<UnreadMessage[]> {
  return host.background.until(`park ${number}`, () => tryToPark(host, number, lastMessage, to));
}

async function tryToPark(
  host: HostState,
  number: number,
  lastMessage: number,
  { status, due, isCancelled }: Parked,
): Promise<UnreadMessage[]> {
  const { store, claim, queues } = host;
  for (;;) {
    const [row] = await store.get(flows, [[number]]);
    if (row?.holder !== claim.token) {
      // The answer to an earlier attempt was lost: the flow is in the store, and may be another host's by now.
      if (row !== undefined && row.due !== null) host.acquisition.alarmAt(row.due);
      return [];
    }
    const messages = await unreadOf(store, number, lastMessage);
    if (messages.length > 0) return messages;
    const isRequested = row.wish !== null && row.wish !== "pause" && !(row.wish === "cancel" && isCancelled);
    const at = isRequested ? 0 : due;
    // A flow that waits for people gives its slot back. A flow that waits for time or mail does so if its queue says so.
    const leaves = status === "paused" || (at !== 0 && queues.releases(row.slot));
    try {
      await store.commit({
        claim,
        expect: [rowIs(row, { holder: row.holder, mail: row.mail, wish: row.wish })],
        writes: [
          rowGets(row, {
            status,
            due: at,
            holder: null,
            updated: host.now(),
            ...(status === "paused" && { wish: null }),
            ...(leaves && { slot: null }),
          }),
        ],
        notify: leaves ? freeSlotTopics(row) : [],
      });
    } catch (error) {
      if (error instanceof ConflictError) continue;
      throw error;
    }
    if (at !== null) host.acquisition.alarmAt(at);
    return [];
  }
}

export interface Loaded {
  readonly row: FlowRow;
  readonly process: FlowProcess;
  readonly pid: Pid;
  /** Grows with every run of this host. */
  readonly run: number;
  /** Why its process is being ended, to keep the flow in the hospital. */
  observing: string | undefined;
  /** The request that it was last told of. */
  wish: string | null;
  /** How many messages it had been sent when a look last compared that. */
  mail: number;
  /** Its mail is being read; `again`: more has come since. */
  reading: "no" | "once" | "again";
  /** Its time came when the store had it back already, and its process had not ended. */
  isWanted: boolean;
}
