// Two who trace one system: the tracer of the user, and the keeper of spans for the observer. Code runs in the contexts of both. What
// leaves the program says only what the user's tracer says.

import type { Tracing } from "./tracing.js";

/** @param users - by the tracer of the user @param kept - by the keeper of spans */
export function bothTracings(users: Tracing | undefined, kept: Tracing | undefined): Tracing | undefined {
  if (users === undefined || kept === undefined) return users ?? kept;
  return {
    around: (span, run) => users.around(span, () => kept.around(span, run)),
    received: (headers, run) => users.received(headers, () => kept.received(headers, run)),
    sent: () => users.sent(),
    job: () => users.job(),
    // A tracer that makes no spans, because no exporter is set up, names none.
    kept: () => users.kept() ?? kept.kept(),
    continuing: (text, run) => users.continuing(text, () => kept.continuing(text, run)),
    elsewhere: (span, text) => {
      users.elsewhere(span, text);
      kept.elsewhere(span, text);
    },
  };
}
