// Topologies: the graph with rates on its edges, the figures of each component, the bottleneck, and scaling while it runs.

import type { JSX } from "preact";
import type { GraphComponent, TopologyGraph } from "../../../admin/system/graph-operations.js";
import type { TopologySummary } from "../../../admin/system/operations.js";
import { ActButton } from "../actions/act-button.js";
import { GraphPicture } from "../graph/picture.js";
import { plural } from "../model/format.js";
import { cardsOfTopology } from "../model/topology-cards.js";
import {
  Badge,
  type Column,
  figureColumn,
  type Items,
  itemsOf,
  Listed,
  Loading,
  Num,
  Page,
  PidLink,
  Problem,
  Section,
  Table,
} from "../parts/index.js";
import { live } from "../shell/feed.js";
import type { PageSpec } from "../shell/page-spec.js";
import { link, useRoute } from "../shell/router.js";

const PAGE = "topologies";
const CODE = `const words = topology("words")
  .spout("source", source)
  .bolt("split", split, { tasks: 2, from: { "source.lines": grouping.shuffle() } })
  .build();
await system.start(words);`;

const columns: readonly Column<TopologySummary>[] = [
  { title: "Topology", value: ({ name }) => name },
  {
    title: "Phase",
    value: ({ phase }) => phase,
    cell: ({ phase }) => <Badge tone={phaseTone(phase)}>{phase}</Badge>,
  },
  figureColumn("Up", ({ uptimeMs }) => uptimeMs, { unit: "ms" }),
  figureColumn("Restarts", ({ restarts }) => restarts),
  figureColumn("Tasks", ({ tasks }) => tasks, { isWide: true }),
  figureColumn("Trees pending", ({ pending }) => pending, {
    help: "Reliable tuples of its spouts whose trees are not complete",
  }),
  figureColumn("Waiting", ({ waiting }) => waiting, { help: "Tuples in the mailboxes of its tasks" }),
];

const phaseTone = (phase: string): "good" | "warn" => (phase === "running" ? "good" : "warn");

function View(): JSX.Element {
  const { params } = useRoute();
  const list = live<Items<TopologySummary>>("system.topologies", { limit: 200 }).value;
  const shown = params.id ?? list.value?.items[0]?.pid;
  return (
    <Page title="Topologies" about="Streams of tuples through spouts and bolts, and where they are held up.">
      <Listed
        of={list}
        label="Topologies"
        columns={columns}
        rows={itemsOf}
        keyOf={({ pid }) => pid}
        linkOf={({ pid }) => link(PAGE, { id: pid })}
        empty={{
          title: "No topology runs in this system",
          code: CODE,
          children:
            "A topology reads a stream in spouts and works on it in bolts. When one runs, its graph is drawn here.",
        }}
      />
      {shown === undefined ? null : <Topology id={shown} key={shown} />}
    </Page>
  );
}

function Topology({ id }: { readonly id: string }): JSX.Element {
  const { params } = useRoute();
  const { value, error } = live<TopologyGraph>("system.graph", { id }, 2).value;
  if (value === undefined) return error === undefined ? <Loading /> : <Problem error={error} />;
  const { bottleneck, components, name, pid, phase, restarts } = value;
  const of = components.find((one) => one.name === params.component);
  const graph = cardsOfTopology(value);
  const pending = components.reduce((sum, one) => sum + (one.kind === "spout" ? one.pending : 0), 0);
  return (
    <Section title={name} actions={<PidLink pid={pid} />}>
      <Problem error={error} />
      <p>
        <Badge tone={phaseTone(phase)}>{phase}</Badge>{" "}
        {restarts > 0 ? `${plural(restarts, "restart")} of the whole topology. ` : ""}
        {plural(pending, "tuple tree")} pending.{" "}
        {bottleneck === undefined ? (
          "Nothing holds it up."
        ) : (
          <strong class="problem-text">
            Bottleneck: {bottleneck.component}, {bottleneck.why}
          </strong>
        )}
      </p>
      <GraphPicture
        graph={graph}
        label={`The components of ${name} and the streams between them`}
        selected={of?.name}
        linkOf={(card) => link(PAGE, { id, component: card.id })}
      />
      {of === undefined ? null : <Component id={id} of={of} graph={value} />}
      <Table
        label={`Components of ${name}`}
        param="by"
        columns={componentColumns}
        rows={components}
        keyOf={(one) => one.name}
        linkOf={(one) => link(PAGE, { id, component: one.name })}
      />
    </Section>
  );
}

const componentColumns: readonly Column<GraphComponent>[] = [
  { title: "Component", value: ({ name }) => name },
  { title: "Kind", value: ({ kind }) => kind },
  figureColumn("Tasks", ({ tasks }) => tasks),
  figureColumn("Rate", rateOf, { unit: "rate", help: "Executed, of a spout emitted, a second" }),
  figureColumn("Capacity", ({ capacity }) => capacity, {
    unit: "percent",
    help: "The share of the time in which its busiest task works. Near 100 %, it needs more tasks",
  }),
  figureColumn("Latency", latencyOf, {
    unit: "ms",
    help: "Mean time of execute; of a spout until the tree is complete",
  }),
  figureColumn("Pending", ({ pending }) => pending),
  figureColumn("Waiting", ({ waiting }) => waiting),
  figureColumn("Executed", ({ executed }) => executed, { isWide: true }),
  figureColumn("Emitted", ({ emitted }) => emitted, { isWide: true }),
  figureColumn("Acked", ({ acked }) => acked, { isWide: true }),
  figureColumn("Failed", ({ failed }) => failed),
  figureColumn("Errors", ({ errors }) => errors, { isWide: true }),
  figureColumn("Restarts", ({ restarts }) => restarts, { isWide: true }),
];

function rateOf({ kind, emittedPerS, executedPerS }: GraphComponent): number | undefined {
  return kind === "spout" ? emittedPerS : executedPerS;
}

function latencyOf({ kind, completeMs, executeMs }: GraphComponent): number | undefined {
  return kind === "spout" ? completeMs : executeMs;
}

function Component({
  id,
  of,
  graph,
}: {
  readonly id: string;
  readonly of: GraphComponent;
  readonly graph: TopologyGraph;
}): JSX.Element {
  const isFixed = of.kind === "acker";
  const streams = graph.edges.filter(({ from, to }) => from === of.name || to === of.name);
  return (
    <section class="panel" aria-label={`Component ${of.name}`}>
      <h3>
        {of.name}{" "}
        <small>
          {of.kind}, {plural(of.tasks, "task")}
        </small>
      </h3>
      <ul class="plain">
        {streams.map((edge) => (
          <li key={`${edge.from} ${edge.stream} ${edge.to} ${edge.grouping}`}>
            {edge.to === of.name ? `from ${edge.from}` : `to ${edge.to}`}: stream {edge.stream},{" "}
            {edge.grouping}, <Num value={edge.perS} unit="rate" />
          </li>
        ))}
      </ul>
      <ActButton
        label="Scale"
        op="system.scale"
        question={`How many tasks should ${of.name} have?`}
        refusal={isFixed ? "The number of ackers is fixed when the topology starts." : undefined}
        fields={[
          { name: "tasks", label: "Tasks", kind: "number", initial: String(of.tasks), isRequired: true },
        ]}
        args={({ tasks }) => ({ id, component: of.name, tasks })}
        done={() => "Scaled."}
      >
        <p>
          The topology goes on while it is scaled. Tuples of fields groupings may go to other tasks
          afterwards.
        </p>
      </ActButton>
    </section>
  );
}

export const page: PageSpec = {
  name: PAGE,
  title: "Topologies",
  group: "Work",
  needs: "system",
  letter: "o",
  View,
};
