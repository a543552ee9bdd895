// Spans of OpenTelemetry: with `context: "sender"` a handler finds the span of its sender, with either context manager.

import { type Context as Baggage, context, createContextKey, ROOT_CONTEXT } from "@opentelemetry/api";
import {
  AsyncHooksContextManager,
  AsyncLocalStorageContextManager,
} from "@opentelemetry/context-async-hooks";
import { ConsumerGroup, consumer, type ReplyTo, System } from "signalbox";
import { afterEach, describe, expect, it } from "vitest";
import { macrotask } from "../support/host.js";

const KEY = createContextKey("span");
const span = (): unknown => context.active().getValue(KEY);
const inSpan = <T>(name: string, fn: () => T): T => context.with(spanned(name), fn);
const spanned = (name: string): Baggage => ROOT_CONTEXT.setValue(KEY, name);

const MANAGERS = { AsyncLocalStorageContextManager, AsyncHooksContextManager };

afterEach(() => context.disable());

describe.each(Object.entries(MANAGERS))("with OpenTelemetry's %s", (_name, Manager) => {
  it.each([
    ["sender", (name: string) => name],
    ["system", () => "system"],
  ] as const)(
    "and context %s, calls, awaits, timers and dispatches run in the right span [X8]",
    async (mode, where) => {
      context.setGlobalContextManager(new Manager().enable());
      await using system = inSpan("system", () => new System({ report: false, context: mode }));
      const seen: unknown[] = [];
      const server = system.spawn<{ name: string; to: ReplyTo<unknown> }>({
        handle: async (ctx, { name, to }) => {
          seen.push([name, span()]);
          await macrotask();
          seen.push([name, span()]);
          ctx.runAfter(1, () => {
            seen.push([name, span()]);
            ctx.reply(to, span());
          });
        },
      });
      const group = new ConsumerGroup<string>({ patienceMs: 1_000 });
      system.spawn(consumer<string>((name) => void seen.push([name, span()]), { group }));
      const names = Array.from({ length: 20 }, (_, n) => `request ${n}`);
      await Promise.all(
        names.map((name) =>
          inSpan(name, async () => {
            const reply = await system.call(server, (to: ReplyTo<unknown>) => ({ name, to }));
            await system.dispatch(group, name);
            expect([reply, span()]).toEqual([where(name), name]);
          }),
        ),
      );
      expect(seen).toHaveLength(80);
      for (const [name, found] of seen as [string, unknown][]) expect(found).toBe(where(name));
    },
  );
});
