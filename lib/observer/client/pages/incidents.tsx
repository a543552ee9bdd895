// Everything that went wrong and is kept, by kind, and one of them with its story.

import type { JSX } from "preact";
import type { Incident } from "../../../admin/history/operations.js";
import { kindChoices, ofKind } from "../model/incidents.js";
import { storyOf } from "../model/tree.js";
import {
  Choice,
  CrashStory,
  Empty,
  INCIDENT_COLUMNS,
  KEEP_HISTORY,
  Loading,
  Page,
  Problem,
  Table,
} from "../parts/index.js";
import { live } from "../shell/feed.js";
import type { PageSpec } from "../shell/page-spec.js";
import { link, useRoute } from "../shell/router.js";

function View(): JSX.Element {
  const { params } = useRoute();
  const number = params.number;
  const kind = params.kind;
  const { value, error } = live<readonly Incident[]>("system.recent", { limit: 500, kind }).value;
  return (
    <Page
      title="Incidents"
      about="What went wrong, the newest first. Of each kind, the latest 512 are kept while somebody looks."
      actions={<Choice label="Kind" param="kind" options={[["", "All kinds"], ...kindChoices()]} />}
    >
      <Problem error={error} />
      {number === undefined ? null : <One number={Number(number)} />}
      {value === undefined ? (
        error === undefined ? (
          <Loading />
        ) : null
      ) : (
        <Table
          label="Incidents"
          columns={INCIDENT_COLUMNS}
          rows={value}
          keyOf={(one) => one.number}
          linkOf={(one) => link("incidents", { ...params, number: one.number })}
          empty={
            <Empty
              title={
                kind === undefined ? "Nothing has gone wrong" : `No ${ofKind(kind).toLowerCase()} is kept`
              }
              code={KEEP_HISTORY}
            >
              They are kept while somebody looks at the system. To keep them always, start the history with
              your service.
            </Empty>
          }
        />
      )}
    </Page>
  );
}

/** An incident with all that it came from and that came of it, whatever kind is listed. */
function One({ number }: { readonly number: number }): JSX.Element {
  const { set } = useRoute();
  const { value } = live<readonly Incident[]>("system.recent", { limit: 500 }).value;
  const story = value === undefined ? undefined : storyOf(value, number);
  return (
    <section class="card panel" aria-label={`Incident ${number}`}>
      <button type="button" class="button small close" onClick={() => set({ number: undefined })}>
        Close
      </button>
      {value === undefined ? (
        <Loading />
      ) : story === undefined ? (
        <p class="soft">This incident is no longer kept.</p>
      ) : (
        <CrashStory story={story} />
      )}
    </section>
  );
}

export const page: PageSpec = {
  name: "incidents",
  title: "Incidents",
  group: "System",
  needs: "system",
  letter: "i",
  View,
};
