// What goes wrong now, and what has changed since a minute ago.

import type { JSX } from "preact";
import { Empty, Page } from "../parts/index.js";
import type { PageSpec } from "../shell/page-spec.js";

function View(): JSX.Element {
  return (
    <Page title="Now">
      <Empty title="Nothing has gone wrong since somebody looked" />
    </Page>
  );
}

export const page: PageSpec = {
  name: "now",
  title: "Now",
  group: "System",
  needs: "system",
  letter: "n",
  View,
};
