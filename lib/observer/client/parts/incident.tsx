// What went wrong, as people read it: in a line, and as the story of a crash.

import type { ComponentChildren, JSX } from "preact";
import type { Incident, IncidentError } from "../../../admin/history/operations.js";
import { durationText, plural } from "../model/format.js";
import { ofKind, toneOf } from "../model/incidents.js";
import type { Story } from "../model/tree.js";
import { link } from "../shell/router.js";
import { Badge, PidLink, Time } from "./figures.js";
import type { Column } from "./table.js";

/** Code that keeps what goes wrong from the start. */
export const KEEP_HISTORY: string = `import { history } from "signalbox/observer";

children: [{ id: "history", start: history() }, …]`;

/** The word for a kind of incident, and how often it was. */
export function IncidentKindBadge({ kind, count }: Pick<Incident, "kind" | "count">): JSX.Element {
  return (
    <>
      <Badge tone={toneOf(kind)}>{ofKind(kind)}</Badge>
      {count > 1 ? <span class="times"> × {count}</span> : null}
    </>
  );
}

/** Where it was: a link to the process, the flow or the node. */
export function IncidentPlace({ incident }: { readonly incident: Incident }): JSX.Element {
  const { pid, path, label, breaker, flow, node } = incident;
  if (pid !== undefined) return <PidLink pid={pid} label={path ?? label} />;
  if (flow !== undefined) return <a href={link("flow", { id: flow })}>{flow}</a>;
  return <>{path ?? label ?? breaker ?? node ?? "–"}</>;
}

/** The columns of a list of incidents. */
export const INCIDENT_COLUMNS: readonly Column<Incident>[] = [
  { title: "What", value: ({ kind }) => ofKind(kind), cell: (one) => <IncidentKindBadge {...one} /> },
  { title: "When", value: ({ lastAt }) => lastAt, cell: ({ lastAt }) => <Time at={lastAt} /> },
  {
    title: "Where",
    value: ({ path, label, pid, node, breaker, flow }) => path ?? label ?? pid ?? breaker ?? flow ?? node,
    cell: (incident) => <IncidentPlace incident={incident} />,
    isWide: true,
  },
  { title: "Text", value: ({ text }) => text },
];

/** A crash with what the process was doing, where the code failed, and what came of it. */
export function CrashStory({ story }: { readonly story: Story }): JSX.Element {
  const { crash, restarts, reroutes, others } = story;
  return (
    <div class="story">
      <p class="story-line">
        <IncidentKindBadge kind={crash.kind} count={crash.count} /> <Time at={crash.lastAt} />{" "}
        <a href={link("tree", { at: crash.lastAt, incident: crash.number })}>The tree at that time</a>
      </p>
      <h2 class="story-text">{crash.text}</h2>
      <dl class="facts-list">
        {crash.pid === undefined ? null : (
          <Fact name="Process">
            <PidLink pid={crash.pid} label={crash.path ?? crash.label} />
          </Fact>
        )}
        {crash.reason === undefined ? null : <Fact name="Reason">{crash.reason}</Fact>}
        {crash.last === undefined ? null : (
          <Fact name="Last message">
            <code>{crash.last}</code>
          </Fact>
        )}
        {crash.linked === undefined || crash.linked === 0 ? null : (
          <Fact name="Along links">{plural(crash.linked, "more process", "more processes")} ended</Fact>
        )}
      </dl>
      {crash.error === undefined ? null : <ErrorFrames error={crash.error} />}
      <Restarts restarts={restarts} />
      <Followed title="Re-routed" incidents={reroutes} />
      <Followed title="Also" incidents={others} />
    </div>
  );
}

function Fact({
  name,
  children,
}: {
  readonly name: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function ErrorFrames({
  error: { name, message, code, frames, hidden },
}: {
  readonly error: IncidentError;
}): JSX.Element {
  return (
    <figure class="frames">
      <figcaption>
        <strong>{name}</strong>: {message} {code === undefined ? null : <code>{code}</code>}
      </figcaption>
      {frames.length === 0 ? (
        <p class="soft">No frame of its stack is of your code.</p>
      ) : (
        <pre>
          <code>{frames.join("\n")}</code>
        </pre>
      )}
      {hidden === 0 ? null : (
        <p class="soft">{plural(hidden, "frame")} of the library and of Node left out</p>
      )}
    </figure>
  );
}

function Restarts({ restarts }: { readonly restarts: readonly Incident[] }): JSX.Element | null {
  if (restarts.length === 0) return null;
  return (
    <section>
      <h3>Restarted</h3>
      <ul class="followed">
        {restarts.map(({ number, restart, count, lastAt }) =>
          restart === undefined ? null : (
            <li key={number}>
              <strong>{restart.id}</strong> by{" "}
              <PidLink pid={restart.supervisor} label={restart.supervisorLabel} />
              {count > 1 ? `, ${count} times` : ""}
              {restart.siblings.length === 0
                ? ""
                : `, with ${restart.siblings.join(", ")} (${restart.strategy})`}
              {restart.delayMs > 0 ? ` after ${durationText(restart.delayMs)}` : ""}. {leftText(restart)}{" "}
              <Time at={lastAt} />
            </li>
          ),
        )}
      </ul>
    </section>
  );
}

/** What is left of the intensity, in a sentence. */
function leftText({ intensity, intensityLeft, periodMs }: NonNullable<Incident["restart"]>): string {
  if (intensity === null || intensityLeft === null || periodMs === null)
    return "It may restart any number of times.";
  return `${intensityLeft} of ${plural(intensity, "restart")} in ${durationText(periodMs)} left.`;
}

function Followed({
  title,
  incidents,
}: {
  readonly title: string;
  readonly incidents: readonly Incident[];
}): JSX.Element | null {
  if (incidents.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ul class="followed">
        {incidents.map((one) => (
          <li key={one.number}>
            {one.reroute === undefined ? one.text : rerouteText(one.reroute)} <Time at={one.lastAt} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function rerouteText({
  group,
  envelope,
  from,
  to,
  attempt,
  tookMs,
}: NonNullable<Incident["reroute"]>): string {
  const took = tookMs === undefined ? "" : ` after ${durationText(tookMs)}`;
  return `${envelope} of ${group}: from ${from} to ${to ?? "the next that is free"}, attempt ${attempt}${took}`;
}
