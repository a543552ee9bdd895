// A supervision tree whose parts crash when they are told to, and a group of consumers that passes on what a crashed one had.

import {
  type ChildSpec,
  ConsumerGroup,
  consumer,
  defineServer,
  type ServerDefinition,
  type ServerRef,
  type SupervisorDefinition,
  type System,
  supervisor,
} from "signalbox";
import { TEXTS } from "./hostile.js";

interface TillCalls {
  take(state: Till, n: number): number;
}
interface TillCasts {
  restock(state: Till, n: number): void;
  breakDown(state: Till, why: string): void;
}
interface Till {
  left: number;
  readonly token: string;
}

/** A server with a secret, which its format hides. */
const Till: ServerDefinition<[left: number], TillCalls, TillCasts> = defineServer({
  label: "till",
  init: (_ctx, left: number): Till => ({ left, token: "sk-secret-4711" }),
  calls: { take: (state: Till, n: number): number => (state.left -= n) },
  casts: {
    restock: (state: Till, n: number): void => {
      state.left += n;
    },
    breakDown: (_state: Till, why: string): void => {
      throw new Error(why);
    },
  },
  format: ({ left }) => ({ left, label: TEXTS.markup }),
});

/** An order for the pickers. */
export interface Order {
  readonly number: number;
  /** The first picker that gets it crashes. */
  readonly isHeavy: boolean;
}

/** Handles of the parts that the script uses. */
export interface Parts {
  readonly till: ServerRef<TillCalls, TillCasts>;
  readonly printer: ServerRef<TillCalls, TillCasts>;
  readonly pickers: ConsumerGroup<Order, string>;
}

/** Restarts that a test asks for are no reason to give up. */
const OFTEN = { intensity: 1_000, periodMs: 60_000 } as const;

export function tree(
  system: System,
  more: readonly ChildSpec[],
): { root: SupervisorDefinition; parts: Parts } {
  const heavy = new Set<number>();
  const pickers = new ConsumerGroup<Order, string>({ name: "pickers", maxAttempts: 5 });
  const picker = (id: string): ChildSpec => ({
    id,
    start: consumer<Order, string>(
      async ({ number, isHeavy }) => {
        if (isHeavy && !heavy.has(number)) {
          heavy.add(number);
          throw new Error(`order ${number} is too heavy`);
        }
        return `${id} picked ${number}`;
      },
      { group: pickers, id, concurrency: 2 },
    ),
  });
  const root = supervisor({
    ...OFTEN,
    label: "shop floor",
    name: "root",
    children: [
      { id: "till", name: "till", start: Till, args: [1_000] },
      {
        id: "printing",
        start: supervisor({
          ...OFTEN,
          strategy: "rest_for_one",
          label: "printing",
          children: [
            { id: "printer", name: "printer", start: Till, args: [10] },
            { id: "paper", name: "paper", start: Till, args: [20] },
          ],
        }),
      },
      {
        id: "picking",
        start: supervisor({ ...OFTEN, label: "picking", children: ["kim", "mei", "noor"].map(picker) }),
      },
      ...Object.values(TEXTS).map((name): ChildSpec => ({ id: name, name, start: Till, args: [1] })),
      ...more,
    ],
  });
  const at = (name: string): ServerRef<TillCalls, TillCasts> => Till.at(system, name);
  return { root, parts: { till: at("till"), printer: at("printer"), pickers } };
}
