// One connection: the process that owns one WebSocket. It is a member of its room, and ends when its client cannot keep up.

import { type Context, defineServer, type Pid, type ServerDefinition, type System, stop } from "signalbox";

/** What a connection needs of a WebSocket of `ws`. */
export interface Socket {
  /** Bytes that the client has not taken yet. */
  readonly bufferedAmount: number;
  send(text: string): void;
  ping(): void;
  resume(): void;
  close(code: number, reason: string): void;
  /** Cuts the connection off. */
  terminate(): void;
  on(event: "message", listener: (data: { toString(): string }) => void): unknown;
  on(event: "pong", listener: () => void): unknown;
  on(event: "close", listener: () => void): unknown;
}

/** The limits of one connection. */
export const LIMITS = {
  /** A client that leaves more bytes than these waiting is dropped. */
  maxBufferedBytes: 1_000_000,
  /** A connection with more unhandled messages than these is dropped: its client, or a very loud room, floods it. */
  maxMessages: 1_000,
  /** A client that has not answered one ping when the next is due is gone. */
  pingMs: 30_000,
} as const;

interface State {
  readonly socket: Socket;
  readonly system: System;
  readonly room: string;
  isAnswering: boolean;
  isClosing: boolean;
}
type Casts = {
  /** The client sent this. */
  received(this: { readonly ctx: Context<unknown> }, state: State, text: string): void;
  /** Somebody in the room said this. */
  said(state: State, text: string): unknown;
  answered(state: State): void;
  gone(state: State): unknown;
};

export const Connection: ServerDefinition<
  [system: System, socket: Socket, room: string],
  Record<never, never>,
  Casts
> = defineServer({
  label: "connection",
  mailbox: { capacity: LIMITS.maxMessages, overflow: "exit" },
  trapExit: true, // so that `terminate` runs at a stop
  init: (ctx: Context<unknown>, system: System, socket: Socket, room: string): State => {
    const state: State = { socket, system, room, isAnswering: true, isClosing: false };
    const self = Connection.at(system, ctx.self);
    socket.on("message", (data) => self.cast.received(data.toString()));
    socket.on("pong", () => self.cast.answered());
    socket.on("close", () => self.cast.gone());
    // However this process ends, its socket does not outlive it.
    ctx.signal.addEventListener("abort", () => {
      if (!state.isClosing) socket.terminate();
    });
    ctx.join(room);
    ctx.sendInterval(ctx.self, "ping", LIMITS.pingMs);
    socket.send(`welcome to ${room}`);
    socket.resume();
    return state;
  },
  casts: {
    received({ system, room }, text) {
      // Bad JSON, or what is no text, ends this connection alone. Unchecked, it would end all those that get it.
      const { say } = JSON.parse(text) as { readonly say?: unknown };
      if (typeof say !== "string") throw new TypeError("a message needs a text to say");
      for (const pid of this.ctx.members(room)) Connection.at(system, pid as Pid<never>).cast.said(say);
    },
    said({ socket }, text) {
      socket.send(text);
      return socket.bufferedAmount > LIMITS.maxBufferedBytes ? stop() : undefined;
    },
    answered: (state) => {
      state.isAnswering = true;
    },
    gone: () => stop(),
  },
  info: (state) => {
    // The interval: time for the next ping.
    if (!state.isAnswering) return stop();
    state.isAnswering = false;
    state.socket.ping();
    return undefined;
  },
  terminate: (state, reason) => {
    if (reason.type === "normal") return; // gone, silent or slow: nobody to say goodbye to
    state.isClosing = true;
    if (reason.type === "shutdown") state.socket.close(1001, "the server stops");
    else state.socket.close(1011, "this connection failed");
  },
});
