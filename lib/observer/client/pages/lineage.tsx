// Where a message comes from and what became of it: its ancestors and descendants as a tree, with the calls of the selected one.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { DeadMessageRecord, Lineage, MessageRecord } from "../../../pipeline/operations/operations.js";
import { numberText, plural } from "../model/format.js";
import { jsonLine } from "../model/json-text.js";
import { fateOf, type LineageRow, lineageTree, type ReadChildren, tookOf } from "../model/lineage-tree.js";
import { moveRefusal } from "../model/moves.js";
import {
  Badge,
  type Column,
  Copy,
  Empty,
  Looked,
  Num,
  Page,
  Problem,
  Section,
  Table,
  Time,
} from "../parts/index.js";
import { useAsked } from "../shell/asked.js";
import { live } from "../shell/feed.js";
import { ask } from "../shell/operations.js";
import type { PageSpec } from "../shell/page-spec.js";
import { link, useRoute } from "../shell/router.js";
import { MoveActs } from "../work/move-acts.js";
import { toneOf } from "../work/tones.js";

const PAGE = "lineage";
/** Children that are read at once. */
const CHILDREN = 100;

function View(): JSX.Element {
  const { id, message } = useRoute().params;
  const isNamed = id !== undefined && message !== undefined;
  const [when, setWhen] = useState(0);
  // Once, and not live: a store may have to read all messages of the execution that wait for their next attempt.
  const look = useAsked<Lineage>(isNamed ? "pipelines.lineage" : undefined, { id, message }, when);
  if (!isNamed)
    return (
      <Page title="Lineage">
        <Empty title="No message was named">
          Open a <a href={link("pipelines")}>pipeline</a>, and look for a message there.
        </Empty>
      </Page>
    );
  return (
    <Page
      title={`Message ${message}`}
      subject="pipelines"
      about={
        <>
          of execution <a href={link("pipeline", { id })}>{id}</a>
        </>
      }
      actions={
        <>
          <button type="button" class="button" onClick={() => setWhen(when + 1)}>
            Look again
          </button>
          {look.value === undefined ? null : (
            <MoveActs id={id} of={message} refusal={moveRefusal(look.value.message.status)} />
          )}
        </>
      }
    >
      <Looked of={look}>{(lineage) => <Tree id={id} lineage={lineage} key={`${id} ${message}`} />}</Looked>
    </Page>
  );
}

function Tree({ id, lineage }: { readonly id: string; readonly lineage: Lineage }): JSX.Element {
  const [opened, setOpened] = useState<ReadonlyMap<string, ReadChildren>>(new Map());
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [problem, setProblem] = useState<string>();
  const { rows, left } = lineageTree(lineage, opened, closed);

  const read = async ({ record, open }: LineageRow): Promise<void> => {
    if (open === true && !closed.has(record.id) && isWhole(record)) {
      setClosed(new Set([...closed, record.id]));
      return;
    }
    if (closed.has(record.id)) {
      setClosed(new Set([...closed].filter((one) => one !== record.id)));
      return;
    }
    try {
      const known =
        opened.get(record.id)?.children ?? (record.id === lineage.message.id ? lineage.children : []);
      const after = known.at(-1)?.id;
      const args = { id, message: record.id, limit: CHILDREN, ...(after !== undefined && { after }) };
      const page = await ask<{ readonly items: readonly MessageRecord[]; readonly more: boolean }>(
        "pipelines.children",
        args,
      );
      setOpened(new Map([...opened, [record.id, { children: [...known, ...page.items], more: page.more }]]));
      setProblem(undefined);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  const isWhole = ({ id: of, children }: MessageRecord): boolean => {
    const known = opened.get(of)?.children ?? (of === lineage.message.id ? lineage.children : []);
    return known.length >= children || opened.get(of)?.more === false;
  };

  return (
    <>
      <Section title="Lineage" actions={<Copy text={() => treeText(rows)} />}>
        {problem === undefined ? null : <Problem error={{ message: problem }} />}
        <ol class="tree-rows">
          {rows.map((row) => (
            <Row key={`${row.role} ${row.record.id}`} id={id} row={row} onOpen={() => void read(row)} />
          ))}
        </ol>
        {left === 0 ? null : (
          <p class="quiet">{plural(left, "further row")} did not fit: open one of the messages.</p>
        )}
      </Section>
      <Calls record={lineage.message} />
      <Changes record={lineage.message} />
      <Records id={id} message={lineage.message.id} />
    </>
  );
}

interface RowProps {
  readonly id: string;
  readonly row: LineageRow;
  onOpen(): void;
}

function Row({ id, row, onOpen }: RowProps): JSX.Element {
  const { record, depth, role, open, unread } = row;
  const took = tookOf(record);
  const verb =
    open === true ? (unread > 0 ? "More children of" : "Hide the children of") : "Show the children of";
  return (
    <li class={`tree-row ${role}`} style={{ "--depth": String(depth) }}>
      {open === undefined ? (
        <span class="tree-twig" aria-hidden="true">
          ·
        </span>
      ) : (
        <button
          type="button"
          class="tree-twig"
          aria-label={`${verb} ${record.id}`}
          aria-expanded={open}
          onClick={onOpen}
        >
          {open ? (unread > 0 ? "+" : "▾") : "▸"}
        </button>
      )}
      {role === "subject" ? (
        <strong>{record.id}</strong>
      ) : (
        <a href={link(PAGE, { id, message: record.id })}>{record.id}</a>
      )}{" "}
      <span>{record.route ?? record.queue ?? ""}</span>{" "}
      <Badge tone={toneOf(record.status)}>{fateOf(record)}</Badge>{" "}
      {took === undefined ? null : <span class="num">{numberText(took, "ms")}</span>}{" "}
      {unread > 0 ? <small>{plural(unread, "further child", "further children")}</small> : null}
    </li>
  );
}

function treeText(rows: readonly LineageRow[]): string {
  return `${rows.map(({ record, depth }) => `${"  ".repeat(depth)}${record.id}\t${record.route ?? record.queue ?? ""}\t${fateOf(record)}`).join("\n")}\n`;
}

function Calls({ record: { calls, errors } }: { readonly record: MessageRecord }): JSX.Element {
  return (
    <Section title="Calls and attempts">
      {errors.length === 0 ? null : (
        <ol class="attempts">
          {errors.map((error, i) => (
            <li key={i}>
              <pre>{error}</pre>
            </li>
          ))}
        </ol>
      )}
      <Table
        label="Calls of adapters in the attempt that settled it"
        param="calls"
        columns={callColumns}
        rows={calls}
        keyOf={(call) => calls.indexOf(call)}
        empty={
          <Empty title="No call is recorded">
            Calls are recorded when a message is settled. Errors of attempts that failed stand above.
          </Empty>
        }
      />
    </Section>
  );
}

const callColumns: readonly Column<MessageRecord["calls"][number]>[] = [
  { title: "Adapter", value: ({ adapter }) => adapter },
  {
    title: "Outcome",
    value: ({ status }) => status,
    cell: ({ status }) => <Badge tone={toneOf(status)}>{status}</Badge>,
  },
  {
    title: "Began",
    value: ({ startedMs }) => startedMs,
    cell: ({ startedMs }) => <Time at={startedMs} />,
    align: "end",
  },
  {
    title: "Took",
    value: ({ tookMs }) => tookMs,
    cell: ({ tookMs }) => <Num value={tookMs} unit="ms" />,
    align: "end",
  },
  { title: "Gave", value: ({ gave }) => gave, cell: ({ gave }) => <Num value={gave} />, align: "end" },
  { title: "Error", value: ({ error }) => error, cell: ({ error }) => jsonLine(error, 300) },
];

function Changes({ record: { changes = [] } }: { readonly record: MessageRecord }): JSX.Element | null {
  if (changes.length === 0) return null;
  return (
    <Section title="What people did with it">
      <ul class="plain">
        {changes.map(({ what, at, queue, by, reason }) => (
          <li key={at}>
            <Time at={at} />: {what} in queue {queue} by {by}
            {reason === undefined ? "" : `, because: ${reason}`}
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Records({ id, message }: { readonly id: string; readonly message: string }): JSX.Element | null {
  const { value } = live<{ readonly items: readonly DeadMessageRecord[] }>("pipelines.deadRecords", {
    id,
    message,
    limit: 50,
  }).value;
  if (value === undefined || value.items.length === 0) return null;
  return (
    <Section title="It was a dead letter">
      <ul class="plain">
        {value.items.map(({ turn, fate, by, reason, at, into }) => (
          <li key={turn}>
            <Time at={at} />: {fate} by {by}
            {reason === undefined ? "" : `, because: ${reason}`}
            {into === undefined ? null : (
              <>
                , into <a href={link(PAGE, { id: into, message })}>{into}</a>
              </>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}

export const page: PageSpec = {
  name: PAGE,
  title: "Lineage",
  group: "Work",
  needs: "pipelines",
  isHidden: true,
  View,
};
