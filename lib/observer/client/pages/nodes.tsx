// Nodes: the sessions with the other nodes, their epochs, credit, gaps and round trips.

import type { JSX } from "preact";
import type { NodeSummary } from "../../../admin/system/operations.js";
import { nodeWords } from "../model/node-words.js";
import {
  Badge,
  type Column,
  type FigureMore,
  figureColumn,
  type Items,
  itemsOf,
  Listed,
  Page,
} from "../parts/index.js";
import { live } from "../shell/feed.js";
import type { PageSpec } from "../shell/page-spec.js";

const CODE = `await joinCluster(system, nats({ servers: "127.0.0.1:4222", cluster: "shop" }));`;

function View(): JSX.Element {
  return (
    <Page title="Nodes" about="The other systems that this one talks to, and how well.">
      <Listed
        of={live<Items<NodeSummary>>("system.nodes", { limit: 500 }, 2).value}
        label="Nodes"
        columns={columns}
        rows={itemsOf}
        keyOf={({ place }) => place}
        empty={{
          title: "This system is alone",
          code: CODE,
          children:
            "Connected nodes see each other here: an epoch is a time without loss between two of them, credit is what may be sent before the other one acknowledges more, and a gap is something that was lost on the way and noticed.",
        }}
      />
    </Page>
  );
}

type Session = NonNullable<NodeSummary["session"]>;

const figure = (
  title: string,
  of: (session: Session) => number | undefined,
  more?: FigureMore<NodeSummary>,
): Column<NodeSummary> =>
  figureColumn(title, ({ session }) => (session === undefined ? undefined : of(session)), more);

const columns: readonly Column<NodeSummary>[] = [
  { title: "Node", value: ({ name }) => name, cell: ({ name, id }) => <span title={id}>{name}</span> },
  {
    title: "Session",
    value: ({ state }) => state,
    cell: (node) => {
      const { tone, why } = nodeWords(node);
      return (
        <>
          <Badge tone={tone}>{node.state}</Badge> <small>{why ?? ""}</small>
        </>
      );
    },
  },
  figure("Up", ({ uptimeMs }) => uptimeMs, { unit: "ms" }),
  figure("Round trip", ({ roundTripMs }) => roundTripMs, {
    unit: "ms",
    help: "The median of the last heartbeats",
  }),
  figure("Credit", ({ credit }) => credit.frames, {
    help: "Frames that may be sent before the other node acknowledges more",
  }),
  figure("Queued", ({ queued }) => queued.signals, { help: "Signals that wait here" }),
  figure("Bytes", ({ queued }) => queued.bytes, { unit: "bytes", isWide: true }),
  figure("In flight", ({ inFlight }) => inFlight, { help: "Frames that are sent and not acknowledged" }),
  figure("Gaps", ({ gaps }) => gaps),
  figure("Lost", ({ lost }) => lost, { help: "Signals that were not acknowledged when an epoch ended" }),
  figure("Refused", ({ refused }) => refused, {
    isWide: true,
    help: "Signals that were refused: there was no session, or too much waited",
  }),
  figure("Last", ({ lastRoundTripMs }) => lastRoundTripMs, { unit: "ms", isWide: true }),
  {
    title: "Epoch",
    value: ({ session }) => session?.epoch,
    cell: ({ session }) => <code>{session?.epoch ?? "–"}</code>,
    isWide: true,
  },
  figure("Epochs ended", ({ ends }) => ends, { isWide: true }),
];

export const page: PageSpec = {
  name: "nodes",
  title: "Nodes",
  group: "System",
  needs: "system",
  letter: "e",
  View,
};
