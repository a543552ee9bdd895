// The letters of a queue between the broker and the store: a letter is over once the commit that settles its message is done, and not
// before. Else it comes again.

import { describe, expect, it } from "vitest";
import type { Carrier, CarrierDelivery } from "../../../lib/pipeline/messages/carrier.js";
import type { Channels } from "../../../lib/pipeline/messages/channels.js";
import { Inbox } from "../../../lib/pipeline/messages/inbox.js";
import { MESSAGE_LIMITS } from "../../../lib/pipeline/messages/limits.js";
import { FencedError } from "../../../lib/store/index.js";
import { gate } from "../queues/waits.js";

const IN_WORK_MS = 1_000;
const PREFETCH = 10;

/** A broker that delivers what a test says, and notes its answers: `+` is an acknowledgement, a number the wait before it comes again. */
class Desk {
  readonly answers: string[] = [];
  /** Closed consumptions, by channel. */
  readonly closed: string[] = [];
  /** What to call when the broker does not have a channel, for each that was consumed. */
  readonly gone: (() => void)[] = [];
  /** Consumptions cannot be closed. */
  isStuck = false;
  news = 0;
  readonly inbox: Inbox<number>;
  #deliver: (letter: CarrierDelivery) => Promise<void> = async () => undefined;
  #watcher: (channel: string) => void = () => undefined;

  constructor(prefetch = PREFETCH) {
    const carrier = {
      consume: (
        channel: string,
        _prefetch: number,
        deliver: (letter: CarrierDelivery) => Promise<void>,
        gone: () => void,
      ) => {
        this.#deliver = deliver;
        this.gone.push(gone);
        return {
          close: async () => {
            this.closed.push(channel);
            if (this.isStuck) throw new Error("the broker is away");
          },
        };
      },
    } as unknown as Carrier;
    const channels = {
      watch: (_queue: string, watcher: (channel: string) => void) => {
        this.#watcher = watcher;
        return () => undefined;
      },
      gone: () => undefined,
    } as unknown as Channels;
    this.inbox = new Inbox({
      ...{ queue: "q", carrier, channels, prefetch, inWorkMs: IN_WORK_MS },
      read: (letter) => (Number.isNaN(Number(letter)) ? undefined : Number(letter)),
      news: () => void this.news++,
    });
    this.open("first");
  }

  open(channel: string): void {
    this.#watcher(channel);
  }

  /** @param name - tells deliveries of the same letter apart */
  deliver(body: string, name = body): Promise<void> {
    return this.#deliver({
      body,
      ackUnconfirmed: () => void this.answers.push(`${name} +`),
      nak: (delayMs) => void this.answers.push(`${name} ${delayMs}`),
    });
  }

  /** Takes all letters; the store has the messages that `has` says. */
  take(has: (message: number) => boolean = () => true): Promise<string[]> {
    return this.inbox.take(PREFETCH, async (messages) =>
      messages.map((message) => (has(message) ? `row ${message}` : undefined)),
    );
  }
}

/** Delivers these letters, one after the other. */
async function withLetters(...letters: readonly string[]): Promise<Desk> {
  const desk = new Desk();
  for (const letter of letters) await desk.deliver(letter);
  return desk;
}

describe("the inbox of a queue", () => {
  it("acknowledges the letter of a message that it holds once the message is settled, and not before (bug 7) (bug 8) [Y67]", async () => {
    const desk = await withLetters("1", "2");
    expect(desk.inbox.isEmpty).toBe(false);
    expect(await desk.take()).toEqual(["row 1", "row 2"]);
    expect([desk.inbox.isEmpty, desk.inbox.has("1"), desk.inbox.has("2")]).toEqual([true, true, true]);
    expect(desk.answers).toEqual([]);
    desk.inbox.settled("1");
    expect(desk.answers).toEqual(["1 +"]);
    expect([desk.inbox.has("1"), desk.inbox.has("2")]).toEqual([false, true]);
    desk.inbox.settled("1");
    expect(desk.answers).toEqual(["1 +"]);
  });

  it("acknowledges the letter of a message that cannot be had, and one that says nothing", async () => {
    const desk = await withLetters("1", "2", "a stranger's");
    expect(await desk.take((message) => message === 1)).toEqual(["row 1"]);
    expect(desk.answers).toEqual(["a stranger's +", "2 +"]);
  });

  it("has the letter of a message that is lost come again", async () => {
    const desk = await withLetters("1");
    await desk.take();
    desk.inbox.lost("1");
    desk.inbox.settled("1");
    expect(desk.answers).toEqual([`1 ${IN_WORK_MS}`]);
  });

  it("has a second letter of a message in work come again: it may be of a later time [Y883]", async () => {
    const desk = await withLetters("1");
    await desk.take();
    await desk.deliver("1", "second");
    expect(await desk.take()).toEqual([]);
    expect(desk.answers).toEqual([`second ${IN_WORK_MS}`]);
    desk.inbox.settled("1");
    expect(desk.answers.at(-1)).toBe("1 +");
  });

  it("has a second letter come again while its message is being held, so that it is not held twice [Y890]", async () => {
    const desk = await withLetters("1");
    const answer = gate();
    const first = desk.inbox.take(PREFETCH, async () => {
      await answer.opened;
      return ["row 1"];
    });
    await desk.deliver("1", "second");
    expect(await desk.take()).toEqual([]);
    expect(desk.answers).toEqual([`second ${IN_WORK_MS}`]);
    answer.open();
    expect(await first).toEqual(["row 1"]);
    desk.inbox.settled("1");
    expect(desk.answers.at(-1)).toBe("1 +");
    await desk.deliver("1", "third");
    expect(await desk.take(() => false)).toEqual([]);
    expect(desk.answers.at(-1)).toBe("third +");
  });

  it("holds a message once whose letter arrives twice", async () => {
    const desk = new Desk();
    await desk.deliver("1");
    await desk.deliver("1", "second");
    expect(await desk.take()).toEqual(["row 1"]);
    expect(desk.answers).toEqual(["second +"]);
  });

  it("has letters come again after a while when the store fails, and passes the error on", async () => {
    const desk = await withLetters("1", "a stranger's");
    const error = new Error("the store is away");
    const taken = desk.inbox.take(PREFETCH, () => Promise.reject(error));
    await expect(taken).rejects.toBe(error);
    expect(desk.answers).toEqual(["a stranger's +", `1 ${MESSAGE_LIMITS.again.maxMs}`]);
    expect(desk.inbox.has("1")).toBe(false);
  });

  it("has letters come again at once when the claim is lost: another host may have the messages [Y884]", async () => {
    const desk = await withLetters("1");
    const error = new FencedError("claim", 7);
    await expect(desk.inbox.take(PREFETCH, () => Promise.reject(error))).rejects.toBe(error);
    expect(desk.answers).toEqual(["1 0"]);
  });

  it("has all its letters come again at once when it is closed", async () => {
    const desk = await withLetters("1", "2");
    await desk.inbox.take(1, async () => ["row 1"]);
    await desk.inbox.close();
    expect(desk.answers.toSorted()).toEqual(["1 0", "2 0"]);
    expect(desk.closed).toEqual(["first"]);
    await desk.deliver("3");
    expect(desk.answers.at(-1)).toBe("3 0");
    desk.inbox.settled("1");
    expect(desk.answers.length).toBe(3);
  });

  it.each(["held", "failed"])(
    "has letters come again at once that are %s after it was closed [Y885]",
    async (how) => {
      const desk = await withLetters("1");
      const asked = gate();
      const answer = gate();
      const taken = desk.inbox.take(PREFETCH, async () => {
        asked.open();
        await answer.opened;
        if (how === "failed") throw new Error("the store is away");
        return ["row 1"];
      });
      await asked.opened;
      await desk.inbox.close();
      expect(desk.answers).toEqual([]);
      answer.open();
      await taken.catch(() => undefined);
      expect(desk.answers).toEqual(["1 0"]);
      expect(desk.inbox.has("1")).toBe(false);
    },
  );

  it("asks for no more letters than it may have ahead, until some are taken", async () => {
    const desk = new Desk(2);
    await desk.deliver("1");
    let isAsked = false;
    const second = desk.deliver("2").then(() => {
      isAsked = true;
    });
    await Promise.resolve();
    expect([isAsked, desk.news]).toEqual([false, 2]);
    await desk.take();
    await second;
    expect(isAsked).toBe(true);
  });

  it("takes the letters of the channel that counts", async () => {
    const desk = await withLetters("1");
    desk.open("first");
    expect(desk.closed).toEqual([]);
    desk.open("second");
    await desk.deliver("2");
    expect(desk.closed).toEqual(["first"]);
    expect(await desk.take()).toEqual(["row 1", "row 2"]);
  });

  it("goes on with the channel that counts when the broker says late that it has lost the one before", async () => {
    const desk = await withLetters("1");
    desk.open("second");
    desk.gone[0]?.();
    desk.open("second");
    expect(desk.gone.length).toBe(2);
    await desk.inbox.close();
    expect(desk.closed).toEqual(["first", "second"]);
  });

  it("is closed, and goes to another channel, also when the broker cannot be told", async () => {
    const desk = await withLetters("1");
    desk.isStuck = true;
    desk.open("second");
    await desk.inbox.close();
    expect([desk.closed, desk.answers]).toEqual([["first", "second"], ["1 0"]]);
  });
});
