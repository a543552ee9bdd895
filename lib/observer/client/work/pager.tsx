// The way between the pages of a list, which goes from the newest to the oldest.

import type { JSX } from "preact";
import { useRoute } from "../shell/router.js";

interface PagerProps {
  /** The place of the page after this one. Undefined: this is the last page. */
  readonly next: string | undefined;
}

/** Links to the first page and to the next one. The address of the page holds the place. */
export function Pager({ next }: PagerProps): JSX.Element {
  const { params, set } = useRoute();
  return (
    <p class="pager">
      {params.cursor === undefined ? null : (
        <button type="button" class="button small" onClick={() => set({ cursor: undefined })}>
          Newest
        </button>
      )}
      {next === undefined ? null : (
        <button type="button" class="button small" onClick={() => set({ cursor: next })}>
          Older
        </button>
      )}
    </p>
  );
}
