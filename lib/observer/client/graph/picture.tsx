// A graph of cards as a picture: each card is a link, each edge has its figure. The layout is made again when the shape changes.

import type { JSX } from "preact";
import { useId, useMemo } from "preact/hooks";
import type { Card, CardGraph } from "../model/card-graph.js";
import { clipped } from "../model/format.js";
import { place, shapeKey } from "../model/layout.js";

export interface GraphProps {
  readonly graph: CardGraph;
  /** What the picture is of, for people who do not see it. */
  readonly label: string;
  /** The address of a card's details. */
  linkOf(card: Card): string;
  /** The card whose details are shown. */
  readonly selected?: string | undefined;
}

/** Characters that fit into a card. Its tooltip has all of them, and the reason of its colour. */
const TITLE = 20;
const LINE = 28;
/** Thickness of the line of the busiest edge, and of an idle one. */
const THICK = 3.5;
const THIN = 1.2;

export function GraphPicture({ graph, label, linkOf, selected }: GraphProps): JSX.Element {
  const head = useId();
  const { cards, edges, shape } = graph;
  const placed = useMemo(() => place(shape), [shapeKey(shape)]);
  if (placed === undefined)
    return <p class="quiet">This graph has too many parts for a picture. The table below has all of them.</p>;
  const { width, height } = placed;
  return (
    <div class="graph">
      {/* biome-ignore lint/a11y/useSemanticElements: a picture is no fieldset */}
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="group" aria-label={label}>
        <defs>
          <marker
            id={head}
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="8"
            markerHeight="8"
            orient="auto"
            markerUnits="userSpaceOnUse"
          >
            <path d="M0 0L8 4L0 8z" fill="context-stroke" />
          </marker>
        </defs>
        {placed.edges.map(({ id, path, label: at }) => {
          const edge = edges.get(id);
          if (edge === undefined) return null;
          return (
            <g key={id} class="graph-edge">
              <title>{`${edge.title}${edge.label === "" ? "" : `: ${edge.label}`}`}</title>
              <path
                d={path}
                stroke-width={THIN + (THICK - THIN) * edge.weight}
                marker-end={`url(#${head})`}
              />
              <text x={at.x} y={at.y + 4}>
                {edge.label}
              </text>
            </g>
          );
        })}
        {placed.nodes.map(({ id, x, y, width: wide, height: high }) => {
          const card = cards.get(id);
          if (card === undefined) return null;
          return (
            <a key={id} href={linkOf(card)} class={`graph-card ${card.tone}`} aria-current={id === selected}>
              <rect x={x} y={y} width={wide} height={high} rx="8">
                <title>{spoken(card)}</title>
              </rect>
              <text x={x + 10} y={y + 19} class="graph-title">
                {clipped(card.title, TITLE)}
              </text>
              <text x={x + 10} y={y + 35} class="graph-kind">
                {clipped(card.kind, LINE)}
              </text>
              {card.lines.map((text, i) => (
                <text key={i} x={x + 10} y={y + 51 + 15 * i}>
                  {clipped(text, LINE)}
                </text>
              ))}
            </a>
          );
        })}
      </svg>
    </div>
  );
}

const spoken = ({ title, kind, lines, why }: Card): string =>
  [title, kind, ...lines, why].filter((part) => part !== undefined && part !== "").join(", ");
