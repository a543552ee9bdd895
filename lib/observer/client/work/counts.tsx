// How many there are in each state. Each count is a filter of the list below.

import type { JSX } from "preact";
import { Badge, Num } from "../parts/index.js";
import { link, useRoute } from "../shell/router.js";
import { toneOf } from "./tones.js";

interface CountsProps {
  readonly page: string;
  readonly counts: Readonly<Record<string, number>>;
  /** No state is counted further. */
  readonly atMost: number;
}

export function Counts({ page, counts, atMost }: CountsProps): JSX.Element {
  const shown = useRoute().params.status;
  return (
    <ul class="counts">
      {Object.entries(counts).map(([status, count]) => (
        <li key={status}>
          <a
            href={link(page, { status: shown === status ? undefined : status })}
            aria-current={shown === status}
          >
            <Num value={count} atMost={atMost} />{" "}
            <Badge tone={count > 0 ? toneOf(status) : "quiet"}>{status}</Badge>
          </a>
        </li>
      ))}
    </ul>
  );
}
