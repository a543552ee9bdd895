// A mailbox as a stream: `for await (const message of ctx.messages())`.

import {
  type BodyContext,
  type ExitReason,
  type MessageStream,
  NotABodyError,
  type Pid,
  ProcessExitedError,
  ReceiveTimeoutError,
  System,
  stop,
  supervisor,
} from "signalbox";
import { testClock } from "signalbox/testing";
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from "vitest";

const clock = testClock();
let system: System;
let log: string[];

beforeEach(() => {
  system = new System({ environment: clock.environment, report: false });
  log = [];
});

afterEach(() => clock.until(system.stop()));

const note = (text: string): void => void log.push(text);

async function readAll(ctx: BodyContext<string>): Promise<void> {
  try {
    for await (const text of ctx.messages()) {
      expectTypeOf(text).toEqualTypeOf<string>();
      note(text);
    }
    note("after the loop");
  } finally {
    note(ctx.alive ? "alive" : "dead");
  }
}

function send(to: Pid<string>, ...texts: string[]): void {
  for (const text of texts) system.send(to, text);
}

describe("ctx.messages", () => {
  it("gives messages in order, to loop after loop, and leaves signals in the mailbox [B17]", async () => {
    const reader = system.spawn<string>(async (ctx) => {
      ctx.monitor("nobody");
      for await (const text of ctx.messages()) {
        note(text);
        if (text === "b") break;
      }
      note((await ctx.receiveSignal()).type);
      for await (const text of ctx.messages()) note(`second ${text}`);
    });
    send(reader, "a", "b", "c", "d");
    await clock.settle();
    expect(log).toEqual(["a", "b", "down", "second c", "second d"]);
  });

  it("is done when the parent asks a trapping process to stop, whose reason is then the parent's [B17]", async () => {
    const reader = system.spawn<string>(readAll, { trapExit: true });
    const exited = system.exited(reader);
    send(reader, "a");
    system.exit(reader, "shutdown");
    send(reader, "b");
    expect(await clock.until(exited)).toEqual({ type: "shutdown" });
    expect(log).toEqual(["a", "after the loop", "alive"]);
  });

  it("is done when a supervisor stops its child, which has its time to clean up [B17]", async () => {
    const reasons: ExitReason[] = [];
    const Desk = supervisor({
      children: [
        {
          id: "reader",
          start: async (ctx: BodyContext<never>) => {
            ctx.trapExit(true);
            for await (const _ of ctx.messages());
            await ctx.receive({ timeoutMs: 20 }).catch(() => note("cleaned up"));
          },
        },
      ],
    });
    system.events.on("exit", ({ reason }) => reasons.push(reason));
    const desk = await clock.until(system.start(Desk));
    await clock.settle();
    system.exit(desk.pid, "shutdown");
    await clock.advance(20);
    expect(log).toEqual(["cleaned up"]);
    expect(reasons).toEqual([{ type: "shutdown" }, { type: "shutdown" }]);
  });

  it("keeps a reason of the body's own, and the EXIT of a process that is not the parent [B17]", async () => {
    const reader = system.spawn<string>(
      async (ctx) => {
        const other = ctx.spawnLink(() => stop({ type: "custom", value: "other" }));
        for await (const text of ctx.messages()) note(text);
        const exit = await ctx.receiveSignal({ timeoutMs: 0 });
        note(exit.type === "exit" && exit.from === other ? "other" : "nobody");
        return stop({ type: "custom", value: "mine" });
      },
      { trapExit: true },
    );
    const exited = system.exited(reader);
    await clock.settle();
    send(reader, "a");
    await clock.settle();
    system.exit(reader, "shutdown");
    expect(await clock.until(exited)).toEqual({ type: "custom", value: "mine" });
    expect(log).toEqual(["a", "other"]);
  });

  it("does not take a message for a signal, whatever it looks like [B17]", async () => {
    const reader = system.spawn<unknown>(
      async (ctx) => {
        for await (const message of ctx.messages()) note(JSON.stringify(message));
      },
      { trapExit: true },
    );
    system.send(reader, { type: "exit", from: null, reason: { type: "shutdown" } });
    await clock.settle();
    expect(log).toEqual(['{"type":"exit","from":null,"reason":{"type":"shutdown"}}']);
    expect(system.isAlive(reader)).toBe(true);
  });

  it("ends a process that does not trap at once: only its finally blocks run [B17]", async () => {
    const reader = system.spawn<string>(readAll);
    await clock.settle();
    system.exit(reader, "shutdown");
    await clock.settle();
    expect(log).toEqual(["dead"]);
  });

  it("leaves nothing behind after a break: no wait, no timer, no listener [B18]", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = ((...args: Parameters<typeof add>) => {
      listeners++;
      add(...args);
    }) as typeof add;
    signal.removeEventListener = ((...args: Parameters<typeof remove>) => {
      listeners--;
      remove(...args);
    }) as typeof remove;
    const reader = system.spawn<string>(async (ctx) => {
      for await (const text of ctx.messages({ timeoutMs: 1_000, signal })) if (text === "last") break;
      note(`${listeners} listeners, ${clock.pendingTimers} timers`);
      note(await ctx.receive());
    });
    send(reader, "first");
    await clock.settle();
    expect([listeners, clock.pendingTimers]).toEqual([1, 1]);
    send(reader, "last");
    await clock.settle();
    expect(log).toEqual(["0 listeners, 0 timers"]);
    send(reader, "received");
    await clock.settle();
    expect(log.at(-1)).toBe("received");
  });

  it("can be closed while a next waits, which is done then and loses no message [B18]", async () => {
    let stream: MessageStream<string> | undefined;
    const reader = system.spawn<string>(async (ctx) => {
      stream = ctx.messages();
      note(JSON.stringify(await stream.next()));
      note(JSON.stringify(await stream.next()));
      note(await ctx.receive());
    });
    await clock.settle();
    await stream?.[Symbol.asyncDispose]();
    await clock.settle();
    send(reader, "kept");
    await clock.settle();
    expect(log).toEqual(['{"done":true}', '{"done":true}', "kept"]);
  });

  it("limits each wait, and rejects in the loop [B18]", async () => {
    const reader = system.spawn<string>(async (ctx) => {
      try {
        for await (const text of ctx.messages({ timeoutMs: 50 })) note(text);
      } catch (error) {
        note(error instanceof ReceiveTimeoutError ? `timeout at ${clock.now - began}` : String(error));
      }
    });
    const began = clock.now;
    await clock.advance(40);
    send(reader, "a");
    await clock.advance(40);
    expect(log).toEqual(["a"]);
    await clock.advance(10);
    expect(log).toEqual(["a", "timeout at 90"]);
  });

  it("is for function bodies that are alive [B18]", async () => {
    const errors: unknown[] = [];
    let dead: BodyContext | undefined;
    system.spawn({
      init: (ctx) => {
        try {
          (ctx as BodyContext).messages();
        } catch (error) {
          errors.push(error);
        }
      },
      handle: () => undefined,
    });
    system.spawn((ctx) => {
      dead = ctx;
    });
    await clock.settle();
    expect(errors).toEqual([expect.any(NotABodyError)]);
    expect(() => dead?.messages()).toThrow(ProcessExitedError);
  });
});
