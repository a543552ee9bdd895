// Notifications of the store to a host: mail, requests, flows that can be taken, ends.

import {
  BORN_TOPIC,
  END_TOPIC,
  type FlowRow,
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
      this.look();
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

  /** Looks for messages and requests for the flows in memory that no notification told of: their sender may have been killed in between. */
  look(): void {
    if (this.#host.loaded.size > 0) this.#host.background.do("requests", () => this.#look());
  }

  /** A message and a request make their flow due, so the rows of all other flows stay in the store. */
  async #look(): Promise<void> {
    const { store, claim } = this.#host;
    const wanted = { index: "holder", prefix: [claim.token], where: { due: 0 }, limit: PAGE };
    for (let after = 0; ; ) {
      const rows = await store.scan(flows, { ...wanted, after });
      for (const row of rows) this.#compare(row);
      if (rows.length < PAGE) return;
      after = (rows.at(-1) as FlowRow).number;
    }
  }

  #compare(row: FlowRow): void {
    const { number, mail, wish } = row;
    const loaded = this.#host.loaded.get(number);
    if (loaded === undefined) return;
    if (wish !== loaded.wish) this.#carryOut(loaded, row);
    if (mail === loaded.mail) return;
    loaded.mail = mail;
    this.#mailed(number);
  }

  #requested(number: number): void {
    this.#host.background.do(`request ${number}`, () => this.#readRequest(number));
  }

  async #readRequest(number: number): Promise<void> {
    const [row] = await this.#host.store.get(flows, [[number]]);
    if (row === undefined || isEnded(row)) return;
    const loaded = this.#host.loaded.get(number);
    if (loaded === undefined) return this.#host.acquisition.take(row);
    this.#carryOut(loaded, row);
  }

  #carryOut(loaded: Loaded, { wish, epoch }: FlowRow): void {
    // The answer of the store may be late. A flow that was taken again since then began with what its row said by then.
    if (epoch !== loaded.row.epoch) return;
    loaded.wish = wish;
    if (wish?.startsWith(OBSERVE)) this.#host.runs.observe(loaded, wish.slice(OBSERVE.length));
    else if (wish === "cancel" || wish === "kill" || wish === "pause")
      loaded.pid.process?.deliver({ type: "control", action: wish }, undefined);
  }
}
