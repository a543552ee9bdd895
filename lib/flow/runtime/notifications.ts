// Notifications of the store to a host: mail, requests, flows that can be taken, ends.

import {
  BORN_TOPIC,
  END_TOPIC,
  flows,
  isEnded,
  LEFT_TOPIC,
  MAIL_TOPIC,
  READY_TOPIC,
  REQUEST_TOPIC,
} from "../journal/tables.js";
import { SCHEDULE_TOPIC } from "../schedules/tables.js";
import { OBSERVE } from "./host-hospital.js";
import type { HostState } from "./host-state.js";
import { unreadOf } from "./reading.js";
import type { Loaded } from "./runs.js";

/** Rows that are read at once. */
const PAGE = 1_000;

export class Notifications {
  readonly #host: HostState;

  constructor(host: HostState) {
    this.#host = host;
  }

  /** A commit named a topic. Undefined: topics may have been missed. */
  noted(topic: string | undefined): void {
    if (topic === undefined) {
      for (const loaded of this.#host.loaded.values()) this.#mailed(loaded.row.number);
      this.#host.background.do("requests", () => this.#readRequests());
      this.#host.requests.checkAll();
      this.#host.queues.look();
      this.#host.schedules.keeper.look();
      this.#host.acquisition.pollSoon();
      return;
    }
    if (this.#host.queues.noted(topic)) return;
    if (topic === LEFT_TOPIC) {
      this.#host.acquisition.pollSoon();
      return;
    }
    if (topic === SCHEDULE_TOPIC) {
      this.#host.schedules.keeper.look();
      return;
    }
    if (topic.startsWith(MAIL_TOPIC)) {
      this.#mailed(Number(topic.slice(MAIL_TOPIC.length)));
    } else if (topic.startsWith(REQUEST_TOPIC)) this.#requested(Number(topic.slice(REQUEST_TOPIC.length)));
    else if (topic.startsWith(READY_TOPIC))
      this.#host.acquisition.takeSoon(Number(topic.slice(READY_TOPIC.length)));
    else if (topic.startsWith(BORN_TOPIC)) this.#host.acquisition.takeBorn(topic.slice(BORN_TOPIC.length));
    else if (topic.startsWith(END_TOPIC)) this.#host.requests.ended(topic.slice(END_TOPIC.length));
  }

  #mailed(number: number): void {
    const read = async (): Promise<void> => {
      const loaded = this.#host.loaded.get(number);
      await (loaded === undefined ? this.#host.acquisition.takeNumber(number) : this.#readMail(loaded));
    };
    this.#host.background.do(`mail ${number}`, read);
  }

  async #readMail(loaded: Loaded): Promise<void> {
    if (loaded.reading !== "no") {
      loaded.reading = "again";
      return;
    }
    try {
      do {
        loaded.reading = "once";
        const messages = await unreadOf(this.#host.store, loaded.row.number, 0);
        if (messages.length > 0) loaded.pid.process?.deliver({ type: "mail", messages }, undefined);
      } while ((loaded.reading as Loaded["reading"]) === "again");
    } finally {
      loaded.reading = "no";
    }
  }

  /** Something came for a flow while it was taken: its mail and its request are read again. */
  reread({ row: { number } }: Loaded): void {
    this.#mailed(number);
    this.#requested(number);
  }

  /** Reads the requests for the flows in memory: notifications may have been lost. */
  async #readRequests(): Promise<void> {
    const numbers = [...this.#host.loaded.keys()];
    for (let i = 0; i < numbers.length; i += PAGE) {
      const rows = await this.#host.store.get(
        flows,
        numbers.slice(i, i + PAGE).map((number) => [number]),
      );
      for (const row of rows) {
        const loaded = row && this.#host.loaded.get(row.number);
        if (loaded !== undefined) this.#carryOut(loaded, row?.wish ?? null);
      }
    }
  }

  #requested(number: number): void {
    this.#host.background.do(`request ${number}`, () => this.#readRequest(number));
  }

  async #readRequest(number: number): Promise<void> {
    const [row] = await this.#host.store.get(flows, [[number]]);
    if (row === undefined || isEnded(row)) return;
    const loaded = this.#host.loaded.get(number);
    if (loaded === undefined) return this.#host.acquisition.take(row);
    this.#carryOut(loaded, row.wish);
  }

  #carryOut(loaded: Loaded, action: string | null): void {
    if (action?.startsWith(OBSERVE)) this.#host.runs.observe(loaded, action.slice(OBSERVE.length));
    else if (action === "cancel" || action === "kill" || action === "pause")
      loaded.pid.process?.deliver({ type: "control", action }, undefined);
  }
}
