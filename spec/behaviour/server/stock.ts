// The server that the specs of servers ask.

import {
  type Caller,
  defer,
  defineServer,
  refuse,
  replyAndStop,
  type ServerDefinition,
  stop,
} from "signalbox";

/** What its calls take and give, written out: the types of an export are not inferred here. */
interface Calls {
  readonly left: (state: never) => number;
  readonly take: (state: never, n: number) => number;
  readonly slowly: (state: never, door: Promise<void>, word: string) => Promise<string[]>;
  readonly nextDelivery: (state: never) => number;
  readonly close: (state: never) => number;
  readonly burn: (state: never) => never;
}

interface Casts {
  readonly restock: (state: never, n: number) => void;
  readonly cancelDeliveries: (state: never) => void;
  readonly note: (state: never, door: Promise<void>, word: string) => void;
  readonly leave: (state: never) => void;
}

const inferred = defineServer({
  init: (_ctx, start: number) => ({ left: start, log: [] as string[], waiting: [] as Caller<number>[] }),
  calls: {
    left: (state) => state.left,
    take: (state, n: number) => {
      if (n > state.left) return refuse(new RangeError(`only ${state.left} left`));
      state.left -= n;
      return state.left;
    },
    slowly: async (state, door: Promise<void>, word: string) => {
      state.log.push(`${word} begins`);
      await door;
      state.log.push(`${word} ends`);
      return [...state.log];
    },
    nextDelivery: (state) => defer<number>((caller) => state.waiting.push(caller)),
    close: (state) => replyAndStop(state.left),
    burn: (_state) => stop({ type: "custom", value: "fire" }),
  },
  casts: {
    restock: (state, n: number) => {
      state.left += n;
      for (const caller of state.waiting.splice(0)) caller.reply(n);
    },
    cancelDeliveries: (state) => {
      for (const caller of state.waiting.splice(0)) caller.refuse(new Error("no delivery"));
    },
    note: async (state, door: Promise<void>, word: string) => {
      await door;
      state.log.push(word);
    },
    leave: (_state) => stop("shutdown"),
  },
});

export const Stock: ServerDefinition<[start: number], Calls, Casts> = inferred;
