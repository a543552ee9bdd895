// A timeline: a row for each step or wait, with bars along the time. A row opens: attempts, value, and what can be done from there.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { FlowTimeline, HistoryEvent } from "../../../flow/operations/operations.js";
import type { TimelineItem } from "../../../flow/operations/timeline.js";
import { numberText, plural } from "../model/format.js";
import type { ShownTimeline, TimelineRow } from "../model/timeline.js";
import { Badge, Copy, Empty, Num, Problem, Time } from "../parts/index.js";
import { useAsked } from "../shell/asked.js";
import { isoTime } from "../shell/browser.js";
import { link } from "../shell/router.js";
import { ForkButton, RetryButton } from "./flow-acts.js";
import { JsonText } from "./json.js";
import { TimeBar } from "./time-bar.js";
import { toneOf } from "./tones.js";

interface TimelineViewProps {
  readonly flow: FlowTimeline["flow"];
  readonly timeline: ShownTimeline;
}

export function TimelineView({ flow, timeline: { rows, from, to } }: TimelineViewProps): JSX.Element {
  const [open, setOpen] = useState<string>();
  if (rows.length === 0)
    return (
      <Empty title="Nothing is recorded yet">
        Each step and wait of its code becomes a row here as soon as it is recorded.
      </Empty>
    );
  return (
    <div class="timeline">
      <div class="table-bar">
        <span class="table-count">
          {plural(rows.length, "step or wait", "steps and waits")} in {numberText(to - from, "ms")}
        </span>
        <Copy text={() => timelineText(rows)} />
      </div>
      <ol class="timeline-rows">
        {rows.map((row) => {
          const { kind, key, status } = row.item;
          return (
            <li key={key} class={open === key ? "open" : ""}>
              <button
                type="button"
                aria-expanded={open === key}
                onClick={() => setOpen(open === key ? undefined : key)}
              >
                <span class="timeline-name">
                  {key} <small>{kind}</small>
                </span>
                <Badge tone={toneOf(status)}>{status}</Badge>
                <Num value={row.tookMs} unit="ms" />
                <TimeBar tone={toneOf(status)} bar={row.bar} marks={row.marks} label={spoken(row)} />
              </button>
              {open === key ? <ItemDetails item={row.item} flow={flow} /> : null}
            </li>
          );
        })}
      </ol>
    </div>
  );
}

interface ItemDetailsProps {
  readonly item: TimelineItem;
  readonly flow: FlowTimeline["flow"];
}

function ItemDetails({ item, flow: { id, status } }: ItemDetailsProps): JSX.Element {
  const { key, at, endedAt, dueAt, attempts, seq, child } = item;
  return (
    <div class="timeline-details">
      <p>
        {at === undefined ? (
          "Asked before the part of the journal that was read"
        ) : (
          <>
            Asked <Time at={at} />
          </>
        )}
        {endedAt === undefined ? null : (
          <>
            , decided <Time at={endedAt} />
          </>
        )}
        {seq === undefined ? "" : ` by entry ${seq}`}
        {dueAt === undefined ? null : (
          <>
            , due <Time at={dueAt} />
          </>
        )}
        {child === undefined ? null : (
          <>
            : flow <a href={link("flow", { id: child })}>{child}</a>
          </>
        )}
      </p>
      {attempts.length === 0 ? null : (
        <ol class="attempts">
          {attempts.map((one) => (
            <li key={one.attempt} value={one.attempt}>
              <Time at={one.at} /> failed{one.error === undefined ? "" : `: ${one.error}`}
              {one.dueAt === undefined ? null : (
                <>
                  ; next attempt <Time at={one.dueAt} />
                </>
              )}
            </li>
          ))}
        </ol>
      )}
      {seq === undefined ? null : <Outcome id={id} seq={seq} label={`Outcome of ${key}`} />}
      <div class="acts">
        <RetryButton id={id} status={status} step={key} />
        <ForkButton id={id} status={status} step={key} />
      </div>
    </div>
  );
}

/** The value is in the journal, and read when somebody wants to see it. */
function Outcome({
  id,
  seq,
  label,
}: {
  readonly id: string;
  readonly seq: number;
  readonly label: string;
}): JSX.Element | null {
  const { value, error } = useAsked<{ readonly events: readonly HistoryEvent[] }>("history", {
    id,
    after: seq - 1,
    limit: 1,
  });
  const [event] = value?.events ?? [];
  if (error !== undefined) return <Problem error={error} />;
  return event?.seq === seq && "value" in event ? <JsonText label={label} value={event.value} /> : null;
}

function spoken({ item: { key, status, attempts }, tookMs }: TimelineRow): string {
  const took = tookMs === undefined ? "" : `, ${numberText(tookMs, "ms")}`;
  return `${key}: ${status}${took}${attempts.length === 0 ? "" : `, ${plural(attempts.length, "failed attempt")}`}`;
}

/** For the clipboard: a line a row, with tabs. */
function timelineText(rows: readonly TimelineRow[]): string {
  const timeText = (at: number | undefined): string => (at === undefined ? "" : isoTime(at));
  const lines = rows.map(({ item: { key, kind, status, at, endedAt, attempts } }) =>
    [key, kind, status, timeText(at), timeText(endedAt), attempts.length, attempts.at(-1)?.error ?? ""].join(
      "\t",
    ),
  );
  return `${["step\tkind\tstate\tfrom\tto\tfailed attempts\tlast error", ...lines].join("\n")}\n`;
}
