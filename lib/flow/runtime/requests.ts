// The requests to a host: starts, results, messages, control, queries.

import { Waiters } from "../../host/handles/waiters.js";
import type { ReplyTo } from "../../process/request.js";
import { standsStill } from "../hospital/patients.js";
import { resolved } from "../journal/blobs.js";
import { decided } from "../journal/changes.js";
import { type FlowRow, isEnded } from "../journal/tables.js";
import { FlowQueryError } from "./errors.js";
import { eventPage } from "./event-page.js";
import type { HostState } from "./host-state.js";
import type { FlowEnd, HostRequest } from "./messages.js";
import { MESSAGE } from "./outgoing.js";
import { findFlow, rowOf } from "./reading.js";
import type { Loaded } from "./runs.js";

export class Requests {
  readonly #host: HostState;
  readonly #waiters = new Waiters<ReplyTo<FlowEnd>>();
  /** Queries that wait for a flow to be in memory, by its number. */
  readonly #replaying = new Map<number, (() => void)[]>();

  constructor(host: HostState) {
    this.#host = host;
  }

  readonly #after = (ms: number, fn: () => void): (() => void) => {
    const { kernel } = this.#host;
    const timer = kernel.addTimer(ms, { fire: fn });
    return () => void kernel.cancelTimer(timer);
  };

  caughtUp(number: number): void {
    const waiting = this.#replaying.get(number) ?? [];
    this.#replaying.delete(number);
    for (const go of waiting) go();
  }

  /** The answer of a flow's code to a query. A flow that has left memory is woken for it. */
  async #answerOf(id: string, query: string): Promise<(argument: unknown) => unknown> {
    const row = await rowOf(this.#host.store, id);
    const { number, status } = row;
    if (!isEnded(row) && this.#host.loaded.get(number)?.process.isCaughtUp !== true) {
      await new Promise<void>((go, fail) => {
        this.#replaying.set(number, [...(this.#replaying.get(number) ?? []), go]);
        this.#host.acquisition.takeNumber(number).catch(fail);
      });
    }
    const answers = this.#host.loaded.get(number)?.process.answers;
    const answer = answers?.get(query);
    if (answer === undefined) throw new FlowQueryError(id, query, status, answers && [...answers.keys()]);
    return answer;
  }

  async answer(request: HostRequest): Promise<void> {
    const host = this.#host;
    switch (request.type) {
      case "start":
        return host.ctx.reply(request.replyTo, await host.starting.start(request.flow));
      case "start many":
        return host.ctx.reply(request.replyTo, await host.starting.startMany(request.flows, request.isLast));
      case "find":
        return host.ctx.reply(request.replyTo, await findFlow(host.store, request.id));
      case "signals":
        return host.ctx.reply(request.replyTo, await host.readSignals());
      case "result":
        return this.#awaitEnd(request.id, request.replyTo);
      case "send": {
        const { id, topic, value, messageId } = request;
        await host.outgoing.apply(
          await host.outgoing.mail(id, MESSAGE + topic, value, `outside/${messageId}`, null),
        );
        return host.ctx.reply(request.replyTo, undefined);
      }
      case "events": {
        const { id, after, waitMs } = request;
        const wait = waitMs === undefined ? undefined : { timeoutMs: waitMs, after: this.#after };
        return host.ctx.reply(request.replyTo, await eventPage(host.store, id, after, wait));
      }
      case "control":
        await decided(async () =>
          host.outgoing.apply(await host.outgoing.control(request.id, request.action)),
        );
        return host.ctx.reply(request.replyTo, undefined);
      case "hospital":
        return host.ctx.reply(
          request.replyTo,
          await host.hospital.answer(request.ask, host.settings.definitions.all),
        );
      case "query": {
        const answer = await this.#answerOf(request.id, request.name);
        return host.ctx.reply(request.replyTo, answer(request.argument));
      }
      case "schedules":
        return host.ctx.reply(request.replyTo, await host.schedules.answer(request.ask));
      default:
        request satisfies never;
    }
  }

  async #awaitEnd(id: string, replyTo: ReplyTo<FlowEnd>): Promise<void> {
    // Waits first: the end may come while the row is read.
    this.#waiters.add(id, replyTo);
    // A flow that runs here notifies its waiters when it leaves memory.
    if (this.#host.byId.has(id)) return;
    await rowOf(this.#host.store, id).then(
      (row) => this.#tellWaiters(row),
      (error: unknown) => {
        this.#waiters.remove(id, replyTo);
        throw error;
      },
    );
  }

  /** A flow has left memory: it has ended, or its row says what became of it. */
  left({ row: { id }, process: { ending } }: Loaded): void {
    if (!this.#waiters.has(id)) return;
    if (ending === undefined) this.#checkEnd(id);
    else
      for (const one of this.#waiters.take(id))
        this.#host.ctx.reply(one, { status: ending.status, outcome: ending.value });
  }

  async #tellWaiters(found: FlowRow): Promise<void> {
    if (!isEnded(found)) {
      // While the host starts, it may still discharge the flow. The waiters are answered after that.
      const symptom = this.#host.hospital.isOpen ? standsStill(found) : undefined;
      if (symptom !== undefined)
        for (const one of this.#waiters.take(found.id))
          this.#host.ctx.reply(one, { status: "hospitalized", symptom });
      return;
    }
    const [outcome = null] = await resolved(this.#host.store, [found.outcome]);
    const row = { ...found, outcome };
    for (const one of this.#waiters.take(row.id)) this.#host.ctx.reply(one, row);
  }

  #checkEnd(id: string): void {
    this.#host.background.do(`end ${id}`, async () => {
      const row = this.#waiters.has(id) ? await findFlow(this.#host.store, id) : undefined;
      if (row !== undefined) await this.#tellWaiters(row);
    });
  }

  /** A flow has ended somewhere. */
  ended(id: string): void {
    if (this.#waiters.has(id) && !this.#host.byId.has(id)) this.#checkEnd(id);
  }

  /** Ends may have been missed. A flow that runs here tells its waiters itself. */
  checkAll(): void {
    for (const id of this.#waiters.ids()) this.ended(id);
  }
}
