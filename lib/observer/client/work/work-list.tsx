// A page with a list of durable work: how many there are in each state, the filters, the list and the way to its older part. What is looked for
// is part of the address.

import type { JSX } from "preact";
import { Choice, type Column, type EmptyProps, Listed, Page, Problem, Search } from "../parts/index.js";
import { live } from "../shell/feed.js";
import { link, useRoute } from "../shell/router.js";
import type { Subject } from "../shell/session.js";
import { Counts } from "./counts.js";
import { Evidence } from "./evidence.js";
import { Pager } from "./pager.js";

/** A page of a list goes from the newest to the oldest. */
interface PageOfWork {
  /** The place of the next page. */
  readonly next?: string;
}

export interface WorkListProps<Answer extends PageOfWork, Row extends { readonly id: string }> {
  readonly title: string;
  readonly about: string;
  readonly subject: Subject;
  /** The names of the pages of the list and of one of it. */
  readonly pages: { readonly list: string; readonly one: string };
  /** What the list has, what each is one of, and what the table is called. */
  readonly nouns: { readonly one: string; readonly of: string; readonly many: string };
  readonly ops: { readonly list: string; readonly counts: string; readonly evidence: string };
  /** The argument that chooses those of one name. */
  readonly nameArg: string;
  readonly statuses: readonly string[];
  readonly columns: readonly Column<Row>[];
  rows(answer: Answer): readonly Row[];
  /** What is said when there is none at all. */
  readonly empty: EmptyProps;
}

const LIMIT = 100;

export function WorkList<Answer extends PageOfWork, Row extends { readonly id: string }>(
  props: WorkListProps<Answer, Row>,
): JSX.Element {
  const { title, about, subject, pages, nouns, ops, nameArg, statuses, columns, rows, empty } = props;
  const { status, name, find, cursor } = useRoute().params;
  const args = { limit: LIMIT, status, [nameArg]: name, idPrefix: find, cursor };
  const counts = live<{ readonly counts: Readonly<Record<string, number>>; readonly atMost: number }>(
    ops.counts,
  ).value;
  const isWhole = [status, name, find, cursor].every((one) => one === undefined);
  return (
    <Page
      title={title}
      about={about}
      subject={subject}
      actions={
        <>
          <Search label="Id begins with" />
          <Search label={`Name of the ${nouns.of}`} param="name" />
          <Choice
            label="State"
            param="status"
            options={[["", "all states"], ...statuses.map((one) => [one, one] as const)]}
          />
        </>
      }
    >
      <Problem error={counts.error} />
      {counts.value === undefined ? null : <Counts page={pages.list} {...counts.value} />}
      <Evidence op={ops.evidence} />
      <Listed
        of={live<Answer>(ops.list, args).value}
        label={nouns.many}
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        linkOf={({ id }) => link(pages.one, { id })}
        empty={
          isWhole
            ? empty
            : {
                title: `No ${nouns.one} fits`,
                children: "Loosen a filter, or look for the beginning of an id.",
              }
        }
        below={({ next }) => <Pager next={next} />}
      />
    </Page>
  );
}
