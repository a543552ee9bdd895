// A value as text: JSON with its lines, cut where it is too long to be read.

import type { JSX } from "preact";
import { jsonText } from "../model/json-text.js";
import { Copy, Scroll } from "../parts/index.js";

export function JsonText({ value, label }: { readonly value: unknown; readonly label: string }): JSX.Element {
  const { text, left } = jsonText(value);
  return (
    <div class="json">
      <ScrollText label={label} text={text} />
      {left > 0 ? <p class="quiet">{left} more characters: Copy has all of them.</p> : null}
      <Copy text={() => jsonText(value, Number.POSITIVE_INFINITY).text} />
    </div>
  );
}

/** A text of many lines, which scrolls. */
export function ScrollText({ label, text }: { readonly label: string; readonly text: string }): JSX.Element {
  return (
    <Scroll kind="scroll-text" label={label}>
      <pre>{text}</pre>
    </Scroll>
  );
}
