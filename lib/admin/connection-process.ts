// The process of one connection to an admin socket: it turns events of the socket into those of connection-machine.ts, and
// carries the effects out.

import { type Callbacks, type Stop, stop } from "../process/behaviour.js";
import type { Context } from "../process/context.js";
import { EffectLoop } from "../process/effect-loop.js";
import type { TimerRef } from "../process/owned-timer.js";
import type { AdminLimits } from "./admin-limits.js";
import type { Socket } from "./admin-socket.js";
import { decide, type Effect, type Event, initial, type Problem, type State } from "./connection-machine.js";
import { AdminProtocolError, AdminTimeoutError } from "./errors.js";
import { LineSplitter } from "./line-splitter.js";
import { type AdminOperations, errorLine, serve } from "./protocol.js";

/** The messages that the process sends itself at events of the socket. */
export type ConnectionMessage = Event;

/** @param turned - called when the connection becomes idle, or busy with a request */
export function connectionBehaviour(
  socket: Socket,
  operations: AdminOperations,
  limits: AdminLimits,
  turned: (isIdle: boolean) => void,
): Callbacks<ConnectionMessage> {
  let connection: Connection;
  return {
    init: (ctx) => {
      connection = new Connection(ctx, socket, operations, limits);
    },
    handle: (_ctx, event) => {
      const { isIdle: before } = connection;
      const end = connection.dispatch(event);
      if (connection.isIdle !== before) turned(!before);
      return end;
    },
  };
}

class Connection {
  readonly #ctx: Context<ConnectionMessage>;
  readonly #socket: Socket;
  readonly #operations: AdminOperations;
  readonly #limits: AdminLimits;
  readonly #loop: EffectLoop<State, Event, Effect>;
  #timer: TimerRef | undefined;
  #request = new AbortController();
  #end: Stop | undefined;

  constructor(
    ctx: Context<ConnectionMessage>,
    socket: Socket,
    operations: AdminOperations,
    limits: AdminLimits,
  ) {
    this.#ctx = ctx;
    this.#socket = socket;
    this.#operations = operations;
    this.#limits = limits;
    const [state, effects] = initial(limits);
    this.#loop = new EffectLoop<State, Event, Effect>(state, decide, (effect) => this.#carryOut(effect));
    this.#listen();
    for (const effect of effects) this.#carryOut(effect);
  }

  get isIdle(): boolean {
    return this.#loop.state.phase === "idle";
  }

  dispatch(event: Event): Stop | undefined {
    this.#loop.dispatch(event);
    return this.#end;
  }

  #listen(): void {
    const ctx = this.#ctx;
    const socket = this.#socket;
    const splitter = new LineSplitter(this.#limits.requestBytes);
    const tell = (event: Event): void => ctx.send(ctx.self, event);
    // However this process ends, the socket ends with it.
    ctx.signal.addEventListener("abort", () => {
      this.#request.abort();
      socket.destroy();
    });
    socket.on(
      "data",
      ctx.wrap((bytes: Uint8Array) => {
        const lines = splitter.push(bytes);
        if (lines === undefined || lines.length > 0) tell({ type: "received", lines });
      }),
    );
    socket.on(
      "end",
      ctx.wrap(() => tell({ type: "half-closed" })),
    );
    socket.on(
      "close",
      ctx.wrap(() => tell({ type: "gone" })),
    );
    // It may be gone before this process has begun.
    if (socket.destroyed) tell({ type: "gone" });
  }

  #carryOut(effect: Effect): unknown {
    const socket = this.#socket;
    switch (effect.type) {
      case "perform":
        return this.#perform(effect.turn, effect.line);
      case "abandon":
        return this.#request.abort();
      case "write":
        return this.#write(effect.line);
      case "refuse":
        return this.#write(errorLine(null, this.#refusal(effect.problem)));
      case "pause":
        return socket.pause();
      case "resume":
        return socket.resume();
      case "expire":
        if (this.#timer !== undefined) this.#ctx.cancel(this.#timer);
        this.#timer = this.#ctx.sendAfter(this.#ctx.self, { type: "expired" }, effect.afterMs);
        return undefined;
      case "end":
        return socket.end();
      case "destroy":
        socket.destroy();
        this.#end = stop();
        return undefined;
      default:
        return effect satisfies never;
    }
  }

  #perform(turn: number, line: string): void {
    const ctx = this.#ctx;
    this.#request = new AbortController();
    const answered = ctx.wrap((answer: string) =>
      ctx.send(ctx.self, { type: "answered", turn, line: answer }),
    );
    void serve(this.#operations, line, this.#request.signal).then(answered);
  }

  #write(line: string): void {
    const written = this.#ctx.wrap(() => this.#ctx.send(this.#ctx.self, { type: "written" }));
    this.#socket.write(`${line}\n`, () => written());
  }

  #refusal(problem: Problem): Error {
    const { requestBytes, requestMs } = this.#limits;
    return problem === "too-long"
      ? new AdminProtocolError(`the request has more than ${requestBytes} bytes`)
      : new AdminTimeoutError(requestMs);
  }
}
