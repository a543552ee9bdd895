// One message: where it is now and where it was, by the id of its trace, of a flow, or of a message.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type {
  MissingSpans,
  SpanRecord,
  TraceSpans,
  TraceSummary,
} from "../../../admin/traces/trace-operations.js";
import type { FlowPage } from "../../../flow/operations/operations.js";
import { numberText, plural } from "../model/format.js";
import { queryOf, type WayHop, type WayRow, wayOf, wayText } from "../model/message-way.js";
import { storesSearched } from "../model/stores.js";
import {
  Badge,
  type Column,
  Copy,
  Empty,
  Loading,
  Num,
  Page,
  PidLink,
  Problem,
  Search,
  Section,
  Table,
  Time,
} from "../parts/index.js";
import { serverNow } from "../shell/clock.js";
import { live } from "../shell/feed.js";
import type { PageSpec } from "../shell/page-spec.js";
import { link, useRoute } from "../shell/router.js";
import { useHello } from "../shell/session.js";
import { TimeBar } from "../work/time-bar.js";
import { toneOf } from "../work/tones.js";

const PAGE = "message";

function View(): JSX.Element {
  const { find = "" } = useRoute().params;
  const query = queryOf(find);
  return (
    <Page
      title="One message"
      about="Its way through calls, dispatches, re-routes, flows, pipelines and nodes."
      actions={<Search label="Id of a trace, flow, envelope or message" />}
    >
      {query?.by === "trace" ? <Way trace={query.trace} key={query.trace} /> : null}
      {query?.by === "pipeline" ? (
        <p>
          This is a message of a pipeline: see{" "}
          <a href={link("lineage", { id: query.execution, message: query.message })}>its lineage</a>, or the
          traces that name it.
        </p>
      ) : null}
      {query?.by === "trace" ? null : (
        <Traces find={query?.by === "pipeline" ? query.message : query?.text} />
      )}
      {query?.by === "text" ? <Flows prefix={query.text} /> : null}
    </Page>
  );
}

function Traces({ find }: { readonly find: string | undefined }): JSX.Element {
  const { value, error } = live<readonly TraceSummary[]>("system.traces", {
    limit: 100,
    ...(find !== undefined && { find }),
  }).value;
  return (
    <Section title={find === undefined ? "The latest traces" : `Traces with ${find}`}>
      <Problem error={error} />
      {value === undefined && error === undefined ? <Loading /> : null}
      {value === undefined ? null : (
        <Table
          label="Traces"
          columns={traceColumns}
          rows={value}
          keyOf={({ trace }) => trace}
          linkOf={({ trace }) => link(PAGE, { find: trace })}
          empty={
            <Empty title="No trace is kept that fits">
              Traces are kept from now on, while somebody looks; all the time with <code>traces: true</code>{" "}
              of the observer. Paste the id of a trace, as it is in logs and in the header{" "}
              <code>traceparent</code>, or the id of a flow, an envelope or a message.
            </Empty>
          }
        />
      )}
    </Section>
  );
}

const traceColumns: readonly Column<TraceSummary>[] = [
  { title: "Trace", value: ({ trace }) => trace, cell: ({ trace }) => <code>{trace.slice(0, 16)}…</code> },
  { title: "Begins with", value: ({ name }) => name },
  {
    title: "State",
    value: ({ status }) => status,
    cell: ({ status }) => <Badge tone={toneOf(status)}>{status}</Badge>,
  },
  { title: "Began", value: ({ at }) => at, cell: ({ at }) => <Time at={at} />, align: "end" },
  {
    title: "Took",
    value: ({ tookMs }) => tookMs,
    cell: ({ tookMs }) => <Num value={tookMs} unit="ms" />,
    align: "end",
  },
  { title: "Spans", value: ({ spans }) => spans, cell: ({ spans }) => <Num value={spans} />, align: "end" },
  { title: "Nodes", value: ({ nodes }) => nodes.join(", ") },
];

/** Flows by their ids. Where hosts have several stores, each is asked, since an id does not say where the flow is. */
function Flows({ prefix }: { readonly prefix: string }): JSX.Element | null {
  const { subjects, stores } = useHello();
  if (!subjects.includes("flows")) return null;
  return (
    <>
      {storesSearched("flows", stores).map((store) => (
        <FlowsIn prefix={prefix} store={store} key={store} />
      ))}
    </>
  );
}

interface FlowsInProps {
  readonly prefix: string;
  /** Of several, this one. */
  readonly store: string | undefined;
}

function FlowsIn({ prefix, store }: FlowsInProps): JSX.Element | null {
  const { value } = live<FlowPage>("list", { idPrefix: prefix, limit: 20, store }).value;
  if (value === undefined || value.flows.length === 0) return null;
  return (
    <Section title={`Flows whose ids begin with ${prefix}${store === undefined ? "" : `, in ${store}`}`}>
      <ul class="plain">
        {value.flows.map(({ id, name, status }) => (
          <li key={id}>
            <a href={link("flow", { id, store })}>{id}</a> {name}{" "}
            <Badge tone={toneOf(status)}>{status}</Badge>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Way({ trace }: { readonly trace: string }): JSX.Element {
  const [open, setOpen] = useState<string>();
  const { value, error } = live<TraceSpans>("system.spans", { trace }).value;
  if (value === undefined) return error === undefined ? <Loading /> : <Problem error={error} />;
  const { rows, hops, from, to, nodes, failures, open: unfinished } = wayOf(value.spans, serverNow.value);
  if (rows.length === 0)
    return (
      <>
        <Missing nodes={value.missing} />
        <Empty title="No span of this trace is kept">
          Spans are kept while somebody looks, and the oldest go first. With <code>traces: true</code> of the
          observer they are kept all the time.
        </Empty>
      </>
    );
  return (
    <Section title={rows[0]?.span.name ?? trace} actions={<Copy text={() => wayText(rows)} />}>
      <Problem error={error} />
      <p>
        <code>{trace}</code>: {plural(rows.length, "span")} in {numberText(to - from, "ms")}, began{" "}
        <Time at={from} />, on {nodes.join(", ")}
        {failures === 0 ? "" : `, ${plural(failures, "failure")}`}
        {unfinished === 0 ? "" : `, ${plural(unfinished, "span")} still open`}.
        {value.dropped === 0 ? "" : ` ${plural(value.dropped, "span")} had to make room for newer ones.`}
      </p>
      <Hops hops={hops} />
      <Missing nodes={value.missing} />
      <ol class="timeline-rows way">
        {rows.map((row) => (
          <li key={row.span.id} class={open === row.span.id ? "open" : ""}>
            <button
              type="button"
              aria-expanded={open === row.span.id}
              onClick={() => setOpen(open === row.span.id ? undefined : row.span.id)}
            >
              <span class="timeline-name" style={{ "--depth": String(row.depth) }}>
                {row.span.name} <small>{marksOf(row, nodes.length > 1)}</small>
              </span>
              <Badge tone={toneOf(row.span.status)}>{row.span.kind}</Badge>
              <span class="num">
                {row.span.tookMs === undefined ? "open" : numberText(row.span.tookMs, "ms")}
              </span>
              <TimeBar
                bar={row.bar}
                tone={toneOf(row.span.status)}
                label={`${row.span.name}: ${row.span.status}`}
              />
            </button>
            {open === row.span.id ? <SpanDetails row={row} here={value.node} /> : null}
          </li>
        ))}
      </ol>
    </Section>
  );
}

/** From which node to which one the message went, and how often. */
function Hops({ hops }: { readonly hops: readonly WayHop[] }): JSX.Element | null {
  if (hops.length === 0) return null;
  return (
    <ul class="counts" aria-label="Hops between nodes">
      {hops.map(({ from, to, count }) => (
        <li key={`${from} ${to}`}>
          <span>
            {from} ⇢ {to}
            {count === 1 ? "" : ` ${count} times`}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The nodes whose spans are not all here. */
function Missing({ nodes }: { readonly nodes: readonly MissingSpans[] }): JSX.Element | null {
  if (nodes.length === 0) return null;
  return (
    <div class="panel">
      <p>The trace may have more spans on {plural(nodes.length, "node")}:</p>
      <ul class="plain">
        {nodes.map(({ node, why }) => (
          <li key={node}>
            <strong>{node}</strong> {why}
          </li>
        ))}
      </ul>
    </div>
  );
}

function marksOf({ hopFrom, rerouted, orphan, span }: WayRow, isOverNodes: boolean): string {
  const onNode = isOverNodes ? `on ${span.node}` : undefined;
  const marks = [
    hopFrom === undefined ? onNode : `⇢ from ${hopFrom} to ${span.node}`,
    rerouted ? "re-routed" : undefined,
    orphan ? "what it follows is not here" : undefined,
  ];
  return marks.filter((one) => one !== undefined).join(", ");
}

interface SpanDetailsProps {
  readonly row: WayRow;
  /** The node that is looked at: it has no pages on processes of others. */
  readonly here: string;
}

function SpanDetails({ row: { span, afterMs }, here }: SpanDetailsProps): JSX.Element {
  const { pid, node, at, error, attributes, status } = span;
  return (
    <div class="timeline-details">
      <p>
        <Badge tone={toneOf(status)}>{status}</Badge> <Time at={at} />, {numberText(afterMs, "ms")} after the
        begin, on {node}
        {pid === undefined ? null : (
          <>, in {node === here ? <PidLink pid={pid} /> : <span class="pid">{pid}</span>}</>
        )}
      </p>
      {error === undefined ? null : <p class="problem lines">{error}</p>}
      <dl class="facts">
        {Object.entries(attributes).flatMap(([name, value]) => [
          <dt key={name}>{name}</dt>,
          <dd key={`${name} is`}>
            <Attribute span={span} here={here} name={name} value={value} />
          </dd>,
        ])}
      </dl>
    </div>
  );
}

interface AttributeProps {
  readonly span: SpanRecord;
  readonly here: string;
  readonly name: string;
  readonly value: string | number | boolean;
}

/** An attribute that names something with a page of its own is a link to it. */
function Attribute({ span, here, name, value }: AttributeProps): JSX.Element {
  const text = String(value);
  // Flows, pipelines and queues may be in a store that the nodes share. A process of another node has its page there.
  const href = name === "to" && span.node !== here ? undefined : pageOf(span, name, text);
  return href === undefined ? <span>{text}</span> : <a href={href}>{text}</a>;
}

function pageOf({ kind, attributes }: SpanRecord, name: string, text: string): string | undefined {
  const { execution, message } = attributes;
  switch (name) {
    case "to":
      return link("process", { id: text });
    case "id":
      return kind === "flow" || kind === "step" ? link("flow", { id: text }) : undefined;
    case "execution":
      return link("pipeline", { id: text });
    case "message":
      return execution === undefined || message === undefined
        ? undefined
        : link("lineage", { id: String(execution), message: text });
    case "queue":
      return link("queues", { queue: text });
    default:
      return undefined;
  }
}

export const page: PageSpec = {
  name: PAGE,
  title: "One message",
  group: "Traces",
  needs: "system",
  letter: "m",
  View,
};
