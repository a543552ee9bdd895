// The keys, in a dialog.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { KEY_HELP } from "../model/keys.js";
import { isHelpShown } from "./keyboard.js";
import type { PageSpec } from "./page-spec.js";

export function Help({ pages }: { readonly pages: readonly PageSpec[] }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const isShown = isHelpShown.value;
  useEffect(() => {
    if (isShown) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isShown]);
  const letters = pages.flatMap(({ letter, title }) =>
    letter === undefined ? [] : [[`g ${letter}`, title]],
  );
  return (
    <dialog ref={dialog} aria-labelledby="help-title" onClose={() => (isHelpShown.value = false)}>
      <h2 id="help-title">Keys</h2>
      <dl class="keys">
        {[...KEY_HELP, ...letters].map(([keys = "", text]) => (
          <div key={keys}>
            <dt>
              {keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit" class="button">
          Close
        </button>
      </form>
    </dialog>
  );
}
