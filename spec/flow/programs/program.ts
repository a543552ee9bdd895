// Programs of flows as data: what a random flow does, step by step. Each node has a name that no other node of its program has.

import fc from "fast-check";

/** One part of a program. */
export type Node =
  /** A step that throws `failures` times, is retried, and then gives its value. */
  | { readonly type: "step"; readonly name: string; readonly value: number; readonly failures: number }
  /** A step that throws, without a retry. */
  | { readonly type: "broken"; readonly name: string }
  /** A transaction on the flow's store. */
  | { readonly type: "book"; readonly name: string; readonly value: number }
  | { readonly type: "sleep"; readonly name: string; readonly ms: number }
  /** Receives the next message that is sent from outside. */
  | { readonly type: "mail"; readonly name: string }
  /** Waits for a message that nobody sends. */
  | { readonly type: "silence"; readonly name: string; readonly ms: number }
  /** Sends a message to itself, and receives it. */
  | { readonly type: "echo"; readonly name: string; readonly value: number }
  | { readonly type: "throw"; readonly name: string }
  /** Goes on with one of the parts, by what the flow says about chance or time. */
  | {
      readonly type: "chance";
      readonly name: string;
      readonly by: "random" | "now" | "id";
      readonly of: readonly Node[];
    }
  | { readonly type: "sequence"; readonly name: string; readonly of: readonly Node[] }
  /** Parts side by side, joined by the method of Promise of this name; `completions` takes them as they come. */
  | {
      readonly type: "all" | "allSettled" | "race" | "any" | "completions";
      readonly name: string;
      readonly of: readonly Node[];
    }
  | { readonly type: "loop"; readonly name: string; readonly times: number; readonly of: readonly [Node] }
  /** A flow of its own. */
  | { readonly type: "child"; readonly name: string; readonly of: readonly [Node] }
  /** The first part; if it throws, the second. */
  | { readonly type: "catch"; readonly name: string; readonly of: readonly [Node, Node] };

/** The parts of a node. */
export function partsOf(node: Node): readonly Node[] {
  return "of" in node ? node.of : [];
}

/** What programs may contain. */
export interface ProgramOptions {
  /** The longest sleep, in milliseconds. */
  readonly sleepMs: number;
  /** Messages from outside: somebody has to send them. */
  readonly mail: boolean;
}

const JOINS = ["all", "allSettled", "race", "any", "completions"] as const;
const SOURCES = ["random", "now", "id"] as const;

/** Random programs. They shrink to short ones. */
export function programs(options: ProgramOptions): fc.Arbitrary<Node> {
  const { node } = fc.letrec<{ node: Node; leaf: Node }>((tie) => {
    const parts = (minLength: number) => fc.array(tie("node"), { minLength, maxLength: 4 });
    const weighted = (weight: number, arbitrary: fc.Arbitrary<Node>) => ({ weight, arbitrary });
    return {
      leaf: leaves(options),
      node: fc.oneof(
        { maxDepth: 3, depthIdentifier: "program" },
        weighted(4, tie("leaf")),
        weighted(4, noded("sequence", { of: parts(1) })),
        weighted(
          4,
          fc.constantFrom(...JOINS).chain((type) => noded(type, { of: parts(2) })),
        ),
        weighted(1, noded("chance", { by: fc.constantFrom(...SOURCES), of: parts(2) })),
        weighted(1, noded("loop", { times: fc.integer({ min: 1, max: 3 }), of: fc.tuple(tie("node")) })),
        weighted(1, noded("child", { of: fc.tuple(tie("node")) })),
        weighted(2, noded("catch", { of: fc.tuple(tie("node"), tie("node")) })),
      ),
    };
  });
  return fc
    .array(node, { minLength: 1, maxLength: 5 })
    .map((of) => named({ type: "sequence", name: "", of }));
}

function leaves({ sleepMs, mail }: ProgramOptions): fc.Arbitrary<Node> {
  const value = fc.integer({ min: 0, max: 9 });
  const ms = fc.integer({ min: 0, max: sleepMs });
  const weighted = (weight: number, arbitrary: fc.Arbitrary<Node>) => ({ weight, arbitrary });
  return fc.oneof(
    weighted(6, noded("step", { value, failures: fc.constantFrom(0, 0, 0, 1, 2) })),
    weighted(1, noded("broken", {})),
    weighted(2, noded("book", { value })),
    weighted(2, noded("sleep", { ms })),
    weighted(1, noded("silence", { ms })),
    weighted(1, noded("echo", { value })),
    weighted(1, noded("throw", {})),
    weighted(mail ? 2 : 0, noded("mail", {})),
  );
}

type Fields<N> = { readonly [K in Exclude<keyof N, "type" | "name">]: fc.Arbitrary<N[K]> };

function noded<T extends Node["type"]>(
  type: T,
  fields: Fields<Extract<Node, { readonly type: T }>>,
): fc.Arbitrary<Node> {
  return fc
    .record(fields as Readonly<Record<string, fc.Arbitrary<unknown>>>)
    .map((made) => ({ type, name: "", ...made }) as unknown as Node);
}

/** The program with names: the beginning of the type and a number. Children get no mail: nobody outside knows them. */
export function named(program: Node): Node {
  let count = 0;
  const visit = (node: Node, inChild: boolean): Node => {
    const name = `${node.type.slice(0, 3)}${count++}`;
    if (node.type === "mail" && inChild) return { type: "echo", name, value: 0 };
    const within = inChild || node.type === "child";
    return {
      ...node,
      name,
      ...("of" in node ? { of: node.of.map((part) => visit(part, within)) } : {}),
    } as Node;
  };
  return visit(program, false);
}

/** The topics of the messages from outside that a program may receive, one message each. */
export function mailOf(node: Node, round = ""): string[] {
  if (node.type === "mail") return [`${node.name}${round}`];
  if (node.type !== "loop") return partsOf(node).flatMap((part) => mailOf(part, round));
  return Array.from({ length: node.times }, (_, turn) => mailOf(node.of[0], `${round}.${turn}`)).flat();
}

/** The message of a topic. */
export const mailFor = (topic: string): string => `to ${topic}`;
