// The flows that run in a host, each in a process of its own: how they begin, and what follows when their processes end.

import type { Pid } from "../../process/pid.js";
import { crash, type ExitReason } from "../../process/reason.js";
import { spawnIn } from "../../process/spawn-in.js";
import { StoreClosedError } from "../../store/index.js";
import type { Entry } from "../journal/entry.js";
import type { FlowRow } from "../journal/tables.js";
import type { Letter } from "../machine/state.js";
import { FlowProcess } from "./flow-process.js";
import { PARKED } from "./flow-rest.js";
import { hostPort } from "./host-port.js";
import type { HostState } from "./host-state.js";
import type { Loaded } from "./loaded.js";
import type { FlowPort } from "./port.js";

const KILLED_BY_HOST = crash(new StoreClosedError("of the host that stops"));

export class Runs {
  readonly #host: HostState;
  readonly #byPid = new Map<Pid, Loaded>();
  /** Made with the first run: the store is open then. */
  #port: FlowPort | undefined;

  constructor(host: HostState) {
    this.#host = host;
  }

  begin(row: FlowRow, history: readonly Entry[], letters: readonly Letter[]): void {
    const { kernel, ctx, hospital, orders, queues, loaded, byId } = this.#host;
    this.#port ??= hostPort(this.#host);
    const definition = orders.known(row.name, row.version);
    const process = new FlowProcess(this.#port, row, definition, history, letters);
    const run = hospital.begin(row);
    queues.taken(row);
    const pid = spawnIn(kernel, row.trace, `flow ${row.name}`, () =>
      ctx.spawnLink(process, { label: `flow ${row.id}` }),
    );
    const begun: Loaded = { row, process, pid, run, observing: undefined, reading: "no" };
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
    const { loaded: all, byId, taking, queues, requests, hospital } = this.#host;
    const { row, process } = loaded;
    all.delete(row.number);
    byId.delete(row.id);
    taking.idle(process, false);
    taking.left();
    queues.left(row);
    requests.left(loaded);
    requests.caughtUp(row.number);
    if (loaded.observing !== undefined) hospital.observeRun(loaded, loaded.observing);
    else if (reason.type !== "normal" && reason !== PARKED) {
      hospital.failed(loaded, reason);
      // It may have been killed when its end was already on the way to the store: then it has mail to answer, and no run does that.
      taking.takeSoon(row.number);
    } else if (loaded.reading !== "no" || (reason !== PARKED && process.owes)) taking.takeSoon(row.number);
    taking.vacated();
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
      pid.process?.deliver({ type: "wish", wish: "stop" }, undefined);
  }

  /** The host ends: ends the processes of flows that did not leave memory in time. */
  kill(): void {
    for (const loaded of this.#host.loaded.values()) this.#kill(loaded);
  }

  #kill({ pid }: Loaded): void {
    if (pid.process !== undefined) this.#host.kernel.stop(pid.process, KILLED_BY_HOST, undefined);
  }
}
