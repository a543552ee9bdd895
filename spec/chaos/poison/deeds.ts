// What a program with one bad flow or message among a hundred good ones does, and what it agrees on with the test that starts it.

/** How bad code ends its program. */
export const POISON_KINDS = ["exit", "uncaught", "memory", "spin", "stack", "abort"] as const;
export type PoisonKind = (typeof POISON_KINDS)[number];

export function isPoison(kind: string): kind is PoisonKind {
  return (POISON_KINDS as readonly string[]).includes(kind);
}

/** For the stack: nothing that a compiler turns into a loop. */
function deep(n: number): number {
  return deep(n + 1) + 1;
}

const DEEDS: Readonly<Record<PoisonKind, () => unknown>> = {
  exit: () => process.exit(1),
  uncaught: () =>
    void setTimeout(() => {
      throw new Error("nobody catches this");
    }),
  memory: () => {
    const all: unknown[] = [];
    for (;;) all.push(new Array(100_000).fill(all));
  },
  spin: () => {
    for (;;);
  },
  // The flags below have the limit of V8 lie above the end of the real stack: a segmentation fault, not a RangeError.
  stack: () => deep(0),
  abort: () => process.abort(),
};

/** Ends this program. A spin does not, and an uncaught error does so a moment later. */
export function harm(kind: PoisonKind): void {
  DEEDS[kind]();
}

/**
 * For Node: a small heap, which is full before the machine is, and a limit of the stack of 16 MB, which is more than programs have. Without it, deep
 * recursion is a RangeError on Node 20, in native code as well (JSON, regular expressions, structuredClone, serialization, the parser).
 */
export const POISON_FLAGS: readonly string[] = ["--max-old-space-size=96", "--stack-size=16000"];

/** The id of the bad flow, and the number of good ones. */
export const POISON = "poison";
export const GOOD = 100;

/** What a program prints: all is started; that it goes on; who is in hospital. */
export const READY = "READY";
export const ALIVE = "ALIVE";
export const HURT = "HURT ";
