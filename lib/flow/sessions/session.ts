// A session as the code of a flow has it: carries out the effects of its machine by asks of the flow. Every message is mail, and every
// arrival is in the journal, so the session is the same on replay.

import { type Duration, duration } from "../../process/duration.js";
import { EffectLoop } from "../../process/effect-loop.js";
import { only } from "../../process/known-options.js";
import { SessionEndedError, SessionPeerError, SessionRejectedError, SessionWaitError } from "./errors.js";
import type { SessionMessage } from "./messages.js";
import {
  decide,
  type Ending,
  initiator,
  responder,
  type SessionEffect,
  type SessionEvent,
  type SessionState,
} from "./session-machine.js";
import { ACCEPT_MAIL, SESSION_MAIL } from "./tables.js";

/** Limits of sessions. */
export const SESSION_LIMITS: { readonly window: number } = {
  /** Most values that a side has not received. A sender waits for more room. */
  window: 64,
};

/** Options of a wait in a session. */
export interface SessionWait {
  /** Default: no limit. */
  readonly timeout?: Duration;
}

/** A conversation with another flow. Values arrive once and in order. See {@link FlowContext.session}. */
export interface Session extends AsyncIterable<unknown> {
  /** The same on both sides. */
  readonly id: string;
  /** The id of the flow on the other side. */
  readonly peer: string;
  /**
   * Sends a value. Fulfilled when it is durable; waits while the other side has {@link SESSION_LIMITS}`.window` values to receive.
   *
   * @throws SessionPeerError, SessionEndedError
   */
  send(value: unknown): Promise<void>;
  /**
   * Takes the next value, or waits for it. `undefined` after the timeout.
   *
   * @throws SessionPeerError, SessionEndedError
   */
  receive<T>(): Promise<T>;
  receive<T>(options: SessionWait): Promise<T | undefined>;
  /** `send`, then `receive`. */
  sendAndReceive<T>(value: unknown): Promise<T>;
  /** Ends the session: the other side receives what was sent, and then its end. */
  close(): Promise<void>;
}

/** The port of a session to its flow. */
export interface SessionAsks {
  readonly flowId: string;
  /** Waits for mail on a topic; undefined after the time. */
  next(topic: string, withinMs: number | undefined): Promise<unknown>;
  /** Sends mail. `open`: whether the peer is to be notified of this flow's end from now on; undefined: as before. */
  post(message: Post): Promise<void>;
  /** Milliseconds since 1970, the same on replay. */
  now(): number;
}

/** Mail of a session. */
export interface Post {
  readonly to: string;
  readonly topic: string;
  readonly message: unknown;
  readonly session: string;
  readonly open: boolean | undefined;
}

/** The first message. It names the asking flow. */
export interface Question {
  readonly session: string;
  readonly from: string;
  readonly message: Message;
}

type Message = SessionMessage<unknown, unknown>;
type State = SessionState<unknown, unknown>;
type Event = SessionEvent<unknown, unknown>;
type Effect = SessionEffect<unknown, unknown>;

/** A promise that the code waits for. */
class Wait<T> {
  readonly promise: Promise<T>;
  resolve!: (value: T) => void;
  reject!: (error: unknown) => void;
  open = true;
  constructor() {
    this.promise = new Promise<T>((resolve, reject) => {
      this.resolve = (value) => this.#end(() => resolve(value));
      this.reject = (error) => this.#end(() => reject(error));
    });
  }
  #end(settle: () => void): void {
    this.open = false;
    settle();
  }
}

export class FlowSession implements Session {
  readonly id: string;
  readonly peer: string;
  readonly #protocol: string;
  readonly #asks: SessionAsks;
  readonly #loop: EffectLoop<State, Event, Effect>;
  #opening: Wait<void> | undefined;
  #receiving: Wait<unknown> | undefined;
  readonly #sending: Wait<void>[] = [];
  /** Mail of the session that is being written, in order. */
  #mail: Promise<void> = Promise.resolve();

  private constructor(asks: SessionAsks, id: string, peer: string, protocol: string, state: State) {
    this.#asks = asks;
    this.id = id;
    this.peer = peer;
    this.#protocol = protocol;
    this.#loop = new EffectLoop(state, decide, (effect) => this.#perform(effect));
  }

  /** The side that asks. @throws SessionRejectedError, SessionWaitError */
  static async ask(
    asks: SessionAsks,
    id: string,
    peer: string,
    protocol: string,
    { timeout }: SessionWait,
  ): Promise<FlowSession> {
    const [state, [first]] = initiator<unknown, unknown>(protocol, SESSION_LIMITS.window);
    const session = new FlowSession(asks, id, peer, protocol, state);
    const { message } = first as Effect & { readonly type: "mail" };
    const question: Question = { session: id, from: asks.flowId, message };
    try {
      await asks.post({
        to: peer,
        topic: ACCEPT_MAIL + protocol,
        message: question,
        session: id,
        open: true,
      });
    } catch (error) {
      throw isGone(error) ? new SessionRejectedError(protocol, `there is no flow "${peer}"`) : error;
    }
    const opening = new Wait<void>();
    session.#opening = opening;
    await session.#listen(opening, timeout === undefined ? undefined : duration("timeout", timeout));
    if (!opening.open) {
      await opening.promise;
      return session;
    }
    await session.close();
    throw new SessionWaitError(protocol, `flow "${peer}" did not answer in time`);
  }

  /** The side that answers. Undefined: no flow asked in time. */
  static async answer(
    asks: SessionAsks,
    protocol: string,
    withinMs: number | undefined,
  ): Promise<FlowSession | undefined> {
    const question = (await asks.next(ACCEPT_MAIL + protocol, withinMs)) as Question | undefined;
    if (question === undefined) return undefined;
    const { session: id, from, message } = question;
    const window = message.type === "initiate" ? message.window : 0;
    const [state, [first]] = responder<unknown, unknown>(SESSION_LIMITS.window, window);
    const session = new FlowSession(asks, id, from, protocol, state);
    await session.#post((first as Effect & { readonly type: "mail" }).message, true);
    return session;
  }

  async send(value: unknown): Promise<void> {
    const wait = new Wait<void>();
    this.#sending.push(wait);
    this.#take({ type: "send", value });
    if (wait.open) void this.#listen(wait, undefined);
    await wait.promise;
    await this.#mail;
  }

  receive<T>(): Promise<T>;
  receive<T>(options: SessionWait): Promise<T | undefined>;
  async receive<T>(options: SessionWait = {}): Promise<T | undefined> {
    only("", options, ["timeout"]);
    const withinMs = options.timeout === undefined ? undefined : duration("timeout", options.timeout);
    if (this.#receiving?.open === true)
      throw new SessionWaitError(this.#protocol, "a receive waits already; await it before the next");
    const wait = new Wait<unknown>();
    this.#receiving = wait;
    this.#take({ type: "receive" });
    if (wait.open)
      void this.#listen(wait, withinMs).then(() => {
        if (!wait.open) return;
        this.#take({ type: "give-up" });
        wait.resolve(undefined);
      });
    return (await wait.promise) as T | undefined;
  }

  async sendAndReceive<T>(value: unknown): Promise<T> {
    await this.send(value);
    return this.receive<T>();
  }

  async close(): Promise<void> {
    this.#take({ type: "close" });
    await this.#mail;
  }

  /** Values until the other side closes the session. */
  async *[Symbol.asyncIterator](): AsyncIterator<unknown> {
    for (;;) {
      try {
        yield await this.receive();
      } catch (error) {
        if (error instanceof SessionEndedError) return;
        throw error;
      }
    }
  }

  /** Takes mail until the wait is over, or its time is. Another wait's mail may end this one. */
  async #listen(wait: Wait<never> | Wait<void> | Wait<unknown>, withinMs: number | undefined): Promise<void> {
    const until = withinMs === undefined ? undefined : this.#asks.now() + withinMs;
    try {
      while (wait.open) {
        const left = until === undefined ? undefined : Math.max(0, until - this.#asks.now());
        const message = (await this.#asks.next(SESSION_MAIL + this.id, left)) as Message | undefined;
        if (message === undefined) return;
        this.#take({ type: "arrived", message });
      }
    } catch (error) {
      (wait as Wait<unknown>).reject(error);
    }
  }

  #take(event: Event): void {
    this.#loop.dispatch(event);
  }

  #perform(effect: Effect): void {
    switch (effect.type) {
      case "mail":
        this.#enqueue(effect.message);
        return;
      case "opened":
        this.#opening?.resolve();
        return;
      case "sent":
        this.#sending.shift()?.resolve();
        return;
      case "received":
        this.#receiving?.resolve(effect.value);
        return;
      case "failed": {
        const wait = { open: this.#opening, receive: this.#receiving, send: this.#sending[0] }[effect.of];
        if (effect.of === "send") this.#sending.shift();
        (wait as Wait<unknown> | undefined)?.reject(this.#errorOf(effect.ending));
        return;
      }
      default:
        effect satisfies never;
    }
  }

  #enqueue(message: Message): void {
    const open = message.type === "end" ? false : undefined;
    const posted = this.#post(message, open);
    // Only the caller awaits it.
    this.#mail = Promise.all([this.#mail, posted]).then(() => undefined);
    this.#mail.catch(() => undefined);
  }

  async #post(message: Message, open: boolean | undefined): Promise<void> {
    try {
      const topic = SESSION_MAIL + this.id;
      await this.#asks.post({ to: this.peer, topic, message, session: this.id, open });
    } catch (error) {
      // The flow on the other side was removed, and reads no mail.
      if (!isGone(error)) throw error;
      this.#take({ type: "arrived", message: { type: "end" } });
    }
  }

  #errorOf(ending: Ending<unknown> | undefined): Error {
    switch (ending?.type) {
      case "rejected":
        return new SessionRejectedError(this.#protocol, ending.why);
      case "error":
        return new SessionPeerError(this.#protocol, ending.error);
      case "violated":
        return new SessionEndedError(this.#protocol, ending.what);
      default:
        return new SessionEndedError(this.#protocol, `flow "${this.peer}" or this one has closed it`);
    }
  }
}

/** Errors that a journal gives back may have lost their class, and keep their code. */
function isGone(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === "ERR_FLOW_NOT_FOUND";
}
