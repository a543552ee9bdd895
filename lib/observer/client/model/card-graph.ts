// A graph of cards: what stands on a node and on an edge, and which of them needs a look. Topologies and pipelines are shown so.

import { countText, numberText } from "./format.js";
import type { GraphShape } from "./layout.js";

export type CardTone = "calm" | "warn" | "bad";

export interface Card {
  readonly id: string;
  readonly title: string;
  /** `spout`, `bolt`, `route`, … */
  readonly kind: string;
  /** Two lines at most, so that the size of a card does not depend on its figures. */
  readonly lines: readonly string[];
  readonly tone: CardTone;
  /** Why it has its tone. */
  readonly why: string | undefined;
}

export interface CardEdge {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly label: string;
  /** The whole name of the edge, for its title. */
  readonly title: string;
  /** Its share of the busiest edge, 0 to 1. */
  readonly weight: number;
}

export interface CardGraph {
  readonly shape: GraphShape;
  readonly cards: ReadonlyMap<string, Card>;
  readonly edges: ReadonlyMap<string, CardEdge>;
}

/** Sizes in the units of the picture. */
const CARD = { width: 172, height: 74 } as const;
const LABEL = { width: 62, height: 16 } as const;
/** An edge with its figures. */
export interface DrawnEdge extends Omit<CardEdge, "label" | "weight"> {
  readonly perS?: number | undefined;
  readonly total?: number | undefined;
}

export function graphOf(cards: readonly Card[], drawn: readonly DrawnEdge[]): CardGraph {
  const most = Math.max(0, ...drawn.map(({ perS = 0 }) => perS));
  const edges = drawn.map(({ id, from, to, title, perS, total }): CardEdge => {
    const label = perS !== undefined ? rate(perS) : total !== undefined ? countText(total) : "";
    return { id, from, to, title, label: label ?? "", weight: most === 0 ? 0 : (perS ?? 0) / most };
  });
  return {
    shape: {
      nodes: cards.map(({ id }) => ({ id, ...CARD })),
      edges: edges.map(({ id, from, to }) => ({ id, from, to, ...LABEL })),
      direction: "right",
    },
    cards: new Map(cards.map((card) => [card.id, card])),
    edges: new Map(edges.map((edge) => [edge.id, edge])),
  };
}

export const rate = (perS: number | undefined): string | undefined =>
  perS === undefined ? undefined : numberText(perS, "rate");

/** A line of a card, of those of its parts that are known. */
export const cardLine = (...parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined).join(" · ");
